"""Codes: vectors as a few bytes, with an inner product on the codes that stands for a kernel on the vectors."""

from mercer.codes._levels import LevelQuantizer
from mercer.codes._predictor import CodePredictor
from mercer.codes._product import ProductQuantizer

__all__ = ["CodePredictor", "LevelQuantizer", "ProductQuantizer"]
