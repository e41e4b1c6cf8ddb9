"""How the cells of a pyramid are kept: as float32, as bytes, or as one word each.

    storage   bytes per cell    cells are
    dense     128               float32 (..., 32)
    bytes     32                uint8 (..., 32), each channel scaled by its largest value
    codes     1 or 2            words of a codebook

All three offer the same methods; detectors see nothing else of how cells are kept.
"""

__all__ = ["ByteCells", "CodedCells", "DenseCells", "cells_as"]

import numpy as np

from mercer._base.errors import InputError
from mercer.detection.cells.codebook import CHANNELS, PADDING, flip_channels

# Largest value of each channel: half of four times the clip for directions; 0.2357 times 18 directions at the clip, of
# which no cell comes near, for texture (half of that is kept); truncation.
TOPS = np.concatenate([np.full(27, 0.4), np.full(4, 0.4243), [1.0]]).astype(np.float32)


class DenseCells:
    """Cells as they are."""

    name: str = "dense"
    dtype: np.dtype = np.dtype(np.float32)
    tail: tuple[int, ...] = (CHANNELS,)
    channels: int = CHANNELS  # of a filter at one cell
    scale: np.ndarray | float = 1.0  # of the channels as they are kept

    def encode(self, features, n_jobs=None):
        """Features (..., 32) as they are kept."""
        return np.ascontiguousarray(features, dtype=np.float32)

    def decode(self, cells):
        """Features (..., 32) of what is kept."""
        return cells

    def mirrored(self, cells):
        """Rectangles of cells (..., rows, columns, 32), mirrored."""
        return flip_channels(cells[..., ::-1, :])

    @property
    def padding(self):
        """What stands for a cell outside the image."""
        return self.encode(_outside())


class ByteCells(DenseCells):
    """Cells of one byte per channel, as [felzenszwalb10object]'s features are often kept."""

    name = "bytes"
    dtype = np.dtype(np.uint8)
    scale = TOPS / 255

    def encode(self, features, n_jobs=None):
        return np.rint(np.minimum(features / TOPS, 1.0) * 255).astype(np.uint8)

    def decode(self, cells):
        return cells * self.scale


class CodedCells:
    """Cells of one word each.

    Parameters
    ----------
    codebook : CellCodebook
    """

    name, tail = "codes", ()

    def __init__(self, codebook):
        self.codebook, self.dtype = codebook, codebook.dtype
        self.channels = codebook.features.shape[1]

    def encode(self, features, n_jobs=None):
        return self.codebook.encode(features, n_jobs)

    def decode(self, cells):
        return self.codebook.decode(cells)

    def mirrored(self, cells):
        return self.codebook.mirror[cells[..., ::-1]]

    @property
    def padding(self):
        return self.codebook.dtype.type(PADDING)


def cells_as(name, codebook=None):
    """The storage of this name."""
    if name == "codes":
        return CodedCells(codebook)
    if name not in ("dense", "bytes"):
        raise InputError(f"The storage of cells must be 'dense', 'bytes' or 'codes'; got {name!r}.")
    return DenseCells() if name == "dense" else ByteCells()


def _outside():
    """The features of a cell outside the image."""
    features = np.zeros(CHANNELS, dtype=np.float32)
    features[-1] = 1.0
    return features
