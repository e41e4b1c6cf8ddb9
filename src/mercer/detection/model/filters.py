"""Scores of many filters at all places of a grid of cells.

    codes    tables [offset, word, filter], sixteen numbers at a time (`mercer._native.detection.part_filters`)
    dense    for each cell the products with all rows of all filters, by one BLAS product per grid, which are then added
             up over rows: cells are laid out w times, not h w times as for a product of whole filters

Filters of one shape are scored together.
"""

__all__ = ["FilterBank"]

from math import prod

import numpy as np

from mercer._native.detection.part_filters import TOGETHER, add_shifted, fold_scores, sum_tables
from mercer._native.lanes import LANES, LONG
from mercer.detection.cells.codebook import CHANNELS

PLACES = 4096  # whose sums are kept at a time, in the cache
AT_ONCE = 2**20  # numbers of products that are kept at a time: they stay in the cache until they are added up


class FilterBank:
    """Filters, prepared for one kind of cells.

    Parameters
    ----------
    filters : sequence of float arrays (h, w, 32)
    storage : how the cells are kept
    """

    def __init__(self, filters, storage):
        self.n_filters = len(filters)
        shapes = [filter.shape[:2] for filter in filters]
        self._groups = []
        for shape in dict.fromkeys(shapes):
            which = [i for i, other in enumerate(shapes) if other == shape]
            stack = np.stack([filters[i] for i in which]).astype(np.float32)
            group = _TableGroup(stack, storage) if storage.name == "codes" else _DenseGroup(stack, storage)
            self._groups.append((which, group))

    def scores(self, grid):
        """Scores of all filters, each of shape (rows, columns) of its places in the grid."""
        found = [None] * self.n_filters
        for which, group in self._groups:
            for i, scores in zip(which, group.scores(grid), strict=True):
                found[i] = scores
        return found


class _TableGroup:
    """Filters of one shape as tables of words.

    A lane is one filter in one of `fold` rows; rows come in steps of `fold`. All lanes of one lookup are used if there
    are sixteen of them, or a multiple. Offsets that fill up the last six have tables of zeros.
    """

    def __init__(self, filters, storage):
        self.F, self.h, self.w = filters.shape[:3]
        self.fold = min(range(1, min(self.h, LONG) + 1), key=self._cost)
        steps = -(-self.h // self.fold)
        words = storage.codebook.table(filters)  # (F, h, w, D)
        D = words.shape[-1]
        padded = np.zeros((self.F, steps * self.fold, self.w, D), dtype=np.float32)
        padded[:, : self.h] = words
        # offset (step, column), word, lane (row within the step, filter)
        lanes = padded.reshape(self.F, steps, self.fold, self.w, D).transpose(1, 3, 4, 2, 0)
        lanes = lanes.reshape(steps * self.w, D, self.fold * self.F)
        n_groups = -(-lanes.shape[2] // LONG)
        n_offsets = -(-len(lanes) // TOGETHER) * TOGETHER
        tables = _aligned((n_groups, n_offsets, D, LONG))
        for g in range(n_groups):
            part = lanes[:, :, g * LONG : (g + 1) * LONG]
            tables[g, : len(lanes), :, : part.shape[2]] = part
        self.tables = tables.reshape(n_groups, -1)
        offsets = [(step * self.fold, column) for step in range(steps) for column in range(self.w)]
        self.offsets = offsets + [(0, 0)] * (n_offsets - len(offsets))

    def _cost(self, fold):
        """Vectors that are added for each place, in lookups and afterward."""
        n_offsets = -(-(-(-self.h // fold) * self.w) // TOGETHER) * TOGETHER
        return n_offsets * -(-fold * self.F // LONG) + (fold if fold > 1 else 0) * -(-self.F // LANES)

    def scores(self, grid):
        """(F, rows, columns) float32."""
        Y, X = grid.shape
        rows, columns = Y - self.h + 1, X - self.w + 1
        out = np.empty((self.F, max(rows, 0), max(columns, 0)), dtype=np.float32)
        if out.size == 0:
            return out
        shifts = np.array([dy * X + dx for dy, dx in self.offsets], dtype=np.int64)
        codes = grid.reshape(-1)
        beyond = (rows + self.fold - 1) * X + int(shifts.max()) - len(codes)
        if beyond > 0:  # sums at the ends of rows are of no place, and read on
            codes = np.concatenate([codes, np.zeros(beyond, dtype=codes.dtype)])
        together = min(rows, max(1, PLACES // X))
        stride = len(self.tables) * LONG
        sums = _aligned(((together + self.fold - 1) * X * stride + LANES,))
        square = np.empty(LANES * LANES, dtype=np.float32)
        for start in range(0, rows, together):
            stop = min(start + together, rows)
            count = (stop - start + self.fold - 1) * X
            sum_tables(codes[start * X :], shifts, self.tables, count, sums)
            fold_scores(sums, stride, X, self.fold, square, out, start, stop)
        return out


class _DenseGroup:
    """Filters of one shape as a matrix (w * 32, h * F)."""

    def __init__(self, filters, storage):
        self.F, self.h, self.w = filters.shape[:3]
        filters = filters * storage.scale  # cells need no decoding then
        matrix = filters.transpose(2, 3, 1, 0).reshape(self.w * CHANNELS, self.h * self.F)
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)

    def scores(self, grid):
        """(F, rows, columns) float32."""
        Y, X = grid.shape[:2]
        rows, columns = Y - self.h + 1, X - self.w + 1
        out = np.empty((self.F, max(rows, 0), max(columns, 0)), dtype=np.float32)
        if out.size == 0:
            return out
        together = max(1, AT_ONCE // (columns * self.h * self.F))
        for start in range(0, rows, together):
            stop = min(start + together, rows)
            cells = grid[start : stop + self.h - 1].astype(np.float32, copy=False)
            windows = np.lib.stride_tricks.sliding_window_view(cells, self.w, axis=1)  # (Y, columns, 32, w)
            laid = np.ascontiguousarray(windows.transpose(0, 1, 3, 2)).reshape(-1, self.w * CHANNELS)
            products = (laid @ self.matrix).reshape(len(cells), columns, self.h, self.F)
            add_shifted(products, out[:, start:stop])
        return out


def _aligned(shape):
    """Zeros, float32, of which every sixteen lie in one cache line."""
    size = prod(shape)
    zeros = np.zeros(size + LONG, dtype=np.float32)
    first = -zeros.ctypes.data % (4 * LONG) // 4
    return zeros[first : first + size].reshape(shape)
