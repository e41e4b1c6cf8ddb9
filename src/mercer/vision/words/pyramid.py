"""Spatial pyramids: descriptors sorted into the cells of several grids laid over the image. [lazebnik06beyond]

Grids need not divide each other (3 x 1 and 2 x 2 do not). The lines of all of them together cut the image into *atoms*;
every descriptor lies in one atom and every cell is a union of atoms. An encoder sums over the descriptors of each atom
once, and a product with ``cells`` gives the sums of all cells of all levels: the number of levels costs nothing.
"""

__all__ = ["SpatialPyramid", "check_weights"]

from fractions import Fraction
from numbers import Integral, Real

import numpy as np

from mercer._base.errors import InputError

MOST_PARTS = 256  # rows or columns of a level
MOST_ENTRIES = 2**24  # of the table of cells and atoms: a level of 64 x 64 cells is the largest alone


class SpatialPyramid:
    """Grids over an image.

    Parameters
    ----------
    levels : sequence of (rows, columns)
        ``((1, 1),)`` is the whole image, ``((1, 1), (2, 2), (3, 1))`` adds quarters and three horizontal strips.
    who : str
        Who complains about levels that are none.

    Attributes
    ----------
    cells : ndarray of shape (n_cells, n_atoms), float32
        1 where an atom is part of a cell. Cells come level by level, and row by row within a level.
    level_of_cell : ndarray of shape (n_cells,)
    """

    def __init__(self, levels, who="SpatialPyramid"):
        self.levels = _checked_levels(levels, who)
        self._row_lines = _lines(rows for rows, _ in self.levels)
        self._column_lines = _lines(columns for _, columns in self.levels)
        self.n_atoms = (len(self._row_lines) + 1) * (len(self._column_lines) + 1)
        if self.n_atoms * sum(rows * columns for rows, columns in self.levels) > MOST_ENTRIES:
            raise InputError(f"{who} does not support this many cells; got pyramid={levels!r}. Use coarser levels.")
        self.cells = np.concatenate([self._membership_of(*level) for level in self.levels])
        sizes = [rows * columns for rows, columns in self.levels]
        self.level_of_cell = np.repeat(np.arange(len(sizes)), sizes)

    def atoms(self, frames, shape):
        """The atom of each descriptor.

        Parameters
        ----------
        frames : array of shape (n, >= 2), with x and y of the centers in the first columns
            Pixel i covers the numbers from i - 1/2 to i + 1/2. A center on a line belongs to the cell below or to the
            right of it.
        shape : (height, width) of the image
        """
        height, width = shape[:2]
        row = np.searchsorted(_places(self._row_lines, height), frames[:, 1], side="right")
        column = np.searchsorted(_places(self._column_lines, width), frames[:, 0], side="right")
        return row * (len(self._column_lines) + 1) + column

    def cells_of(self, frames, shape):
        """The cell of each descriptor at each level, (n, levels); parameters as in :meth:`atoms`."""
        atoms = self.atoms(frames, shape)
        levels = [np.flatnonzero(self.level_of_cell == level) for level in range(len(self.levels))]
        return np.stack([cells[self.cells[cells].argmax(axis=0)][atoms] for cells in levels], axis=1)

    def _membership_of(self, rows, columns):
        down = _membership(self._row_lines, rows)
        across = _membership(self._column_lines, columns)
        return np.kron(down, across)


def check_weights(weights, n_levels, who):
    """Weights of the levels, divided by their sum; equal ones for None."""
    if weights is None:
        return np.full(n_levels, 1 / n_levels)
    try:
        weights = list(weights)
    except TypeError:
        weights = [None]
    usable = all(isinstance(w, Real) and not isinstance(w, bool) and 0 <= w < np.inf for w in weights)
    if not usable or len(weights) != n_levels or sum(weights) == 0:
        raise InputError(
            f"{who} needs level_weights to be {n_levels} numbers >= 0, one per level of the pyramid and not all zero; "
            f"got {weights!r}."
        )
    return np.array(weights, dtype=np.float64) / sum(weights)


def _checked_levels(levels, who):
    try:
        pairs = [tuple(level) for level in levels]
    except TypeError:
        pairs = []
    wrong = [p for p in pairs if len(p) != 2 or not all(_is_count(side) for side in p)]
    if wrong or not pairs:
        raise InputError(
            f"{who} needs pyramid to be a sequence of (rows, columns), integers from 1 to {MOST_PARTS}, such as ((1, "
            f"1), (2, 2)); got pyramid={levels!r}."
        )
    return tuple((int(rows), int(columns)) for rows, columns in pairs)


def _is_count(value):
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= value <= MOST_PARTS


def _lines(counts):
    """The inner lines of all grids along one side, as fractions of it, ascending."""
    return sorted({Fraction(i, count) for count in counts for i in range(1, count)})


def _places(lines, side):
    """Lines in the coordinates of pixel centers."""
    return np.array([float(line * int(side)) for line in lines]) - 0.5


def _membership(lines, count):
    """(count, atoms along this side): 1 where an atom lies in one of ``count`` equal parts."""
    parts = [int(start * count) for start in [Fraction(0), *lines]]
    return (np.arange(count)[:, None] == np.array(parts)).astype(np.float32)
