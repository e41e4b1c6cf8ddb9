"""Spaces: how encoded rows are stored, the inner products between them, and predictors on raw rows.

Every method of the library encodes x as phi(x) with K(x, y) ~ phi(x)' H phi(y). Rows store the phi(x), inner products
are the H, and a predictor is weights on phi turned back into a function of x. Learners and searchers see only these.
"""

from mercer.spaces.cells import CellPredictor, CellTree
from mercer.spaces.coded_rows import FEW_ROWS, BitRows, CodeRows
from mercer.spaces.decoded_rows import DecodedRows
from mercer.spaces.design import Design
from mercer.spaces.factored import BlockFactor, CumulativeSum, Factor
from mercer.spaces.inner import BlockDiagonal, Identity, InnerProduct, block_diag
from mercer.spaces.predictors import GridPredictor, LandmarkPredictor, MapPredictor, Predictor
from mercer.spaces.rows import CSRRows, DenseRows, Rows, RowShape, StackedRows, as_rows, hstack
from mercer.spaces.signed import SignedWords

__all__ = [
    "FEW_ROWS",
    "BitRows",
    "BlockDiagonal",
    "BlockFactor",
    "CSRRows",
    "CellPredictor",
    "CellTree",
    "CodeRows",
    "CumulativeSum",
    "DecodedRows",
    "DenseRows",
    "Design",
    "Factor",
    "GridPredictor",
    "Identity",
    "InnerProduct",
    "LandmarkPredictor",
    "MapPredictor",
    "Predictor",
    "RowShape",
    "Rows",
    "SignedWords",
    "StackedRows",
    "as_rows",
    "block_diag",
    "hstack",
]
