"""Codes: vectors as a few bytes, with an inner product or a Hamming distance on the codes that stands for a kernel."""

from mercer.codes.hashing.hamming import hamming_top_k
from mercer.codes.hashing.klsh import KLSH
from mercer.codes.hashing.rmmh import RMMH
from mercer.codes.hashing.sign_hash import SignHash
from mercer.codes.levels.quantizer import LevelQuantizer
from mercer.codes.product.predictor import CodePredictor
from mercer.codes.product.quantizer import ProductQuantizer
from mercer.codes.wire.bit_embedding import BitEmbedding
from mercer.codes.wire.compact import CompactEmbedding
from mercer.codes.wire.quantized_jl import QuantizedJL
from mercer.codes.wire.specification import Specification
from mercer.codes.wire.universal import UniversalEmbedding

__all__ = [
    "KLSH",
    "RMMH",
    "BitEmbedding",
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
