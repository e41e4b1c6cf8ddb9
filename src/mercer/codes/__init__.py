"""Codes: vectors as a few bytes, with an inner product or a Hamming distance on the codes that stands for a kernel."""

from mercer.codes._compact import CompactEmbedding
from mercer.codes._hamming import hamming_top_k
from mercer.codes._klsh import KLSH
from mercer.codes._levels import LevelQuantizer
from mercer.codes._predictor import CodePredictor
from mercer.codes._product import ProductQuantizer
from mercer.codes._quantized_jl import QuantizedJL
from mercer.codes._rmmh import RMMH
from mercer.codes._sign_hash import SignHash
from mercer.codes._specification import Specification
from mercer.codes._universal import UniversalEmbedding

__all__ = [
    "KLSH",
    "RMMH",
    "CodePredictor",
    "CompactEmbedding",
    "LevelQuantizer",
    "ProductQuantizer",
    "QuantizedJL",
    "SignHash",
    "Specification",
    "UniversalEmbedding",
    "hamming_top_k",
]
