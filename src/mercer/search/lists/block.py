"""A block of inverted lists: for up to 2**16 consecutive rows and each of their columns, who has it and how much.

columns  int32 (C,)      columns that some row of the block has, ascending
offsets  int64 (C + 1,)  the list of columns[i] is at offsets[i] to offsets[i + 1]
rows     uint16 (P,)     rows of the lists, counted from the first of the block, ascending in each list
values   float32 (P,)    their values
totals   float64 (S, n)  s(y, y) of every row, for each sum of the kernel: see `mercer.search.lists.formula`
"""

__all__ = ["BLOCK_ROWS", "LARGEST", "Block", "build_block", "checked_block"]

from functools import cached_property

import numpy as np

from mercer._base.files.container import FileProblem
from mercer._native.search.postings import fill_lists, find_lists, first_damaged
from mercer.search.model.measure import as_double

BLOCK_ROWS = 2**16
LARGEST = 2.0**80  # totals of rows whose sums are finite in single precision
WEIGHT_ROUNDING = 1e-6  # more than that of single precision
DTYPES = {"columns": "<i4", "offsets": "<i8", "rows": "<u2", "values": "<f4", "totals": "<f8"}


class Block:
    """Lists of the rows ``first`` to ``first + n_rows``.

    Parameters
    ----------
    first : int
    arrays : dict of the arrays above
    trusted : bool
        False: lists are looked at before the first search among them.
    """

    def __init__(self, first, arrays, trusted=True):
        self.first, self.arrays = first, arrays
        self.columns, self.offsets = arrays["columns"], arrays["offsets"]
        self.rows, self.values, self.totals = arrays["rows"], arrays["values"], arrays["totals"]
        self.is_stored = not trusted  # has a file
        self._checked = None if trusted else np.zeros(len(self.rows), dtype=bool)

    @property
    def n_rows(self):
        return self.totals.shape[1]

    @property
    def stop(self):
        return self.first + self.n_rows

    @property
    def nbytes(self):
        return sum(array.nbytes for array in self.arrays.values())

    @cached_property
    def inverses(self):
        """1 / sqrt(b) of the first sum, 0 of empty rows."""
        b = self.totals[0]
        return np.divide(1.0, np.sqrt(b), out=np.zeros(len(b)), where=b > 0)

    @cached_property
    def inverse_weights(self):
        """The inverses in single precision, not smaller than they are: see `keep_nearest`."""
        return np.minimum(self.inverses * (1 + WEIGHT_ROUNDING), np.finfo(np.float32).max).astype(np.float32)

    @cached_property
    def total_weights(self):
        """The totals of the first sum in single precision, not larger than they are."""
        return (self.totals[0] * (1 - WEIGHT_ROUNDING)).astype(np.float32)

    @cached_property
    def largest(self):
        """The largest total."""
        return float(self.totals.max(initial=0.0))

    @cached_property
    def least_totals(self):
        """The smallest b of each sum."""
        return self.totals.min(axis=1, keepdims=True)

    @cached_property
    def least_total(self):
        """The smallest b of the first sum."""
        return float(self.least_totals[0, 0])

    @cached_property
    def spread(self):
        """(smallest, largest) b of the first sum among rows that are not empty."""
        b = self.totals[0]
        filled = b[b > 0]
        return (float(filled.min()), float(filled.max())) if len(filled) else (1.0, 1.0)

    def lists_of(self, columns):
        """(begins, ends) of the lists of ascending columns."""
        begins, ends = np.empty(len(columns), dtype=np.int64), np.empty(len(columns), dtype=np.int64)
        find_lists(columns, self.columns, self.offsets, begins, ends)
        if self._checked is not None:
            at = first_damaged(begins, ends, self.rows, self.values, self.n_rows, self._checked)
            if at >= 0:
                raise FileProblem(f"has damaged lists of the rows from {self.first} on: posting {at} is none.")
        return begins, ends


def build_block(X, first, sums):
    """The block of rows (CSR, float32), whose first has the position ``first``."""
    columns, counts, places = _counted(X)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows, values = np.empty(offsets[-1], dtype=np.uint16), np.empty(offsets[-1], dtype=np.float32)
    fill_lists(X.indptr.astype(np.int64), X.data, places, offsets[:-1].copy(), rows, values)
    double = as_double(X)
    totals = np.stack([np.asarray(part.totals(double), dtype=np.float64) for part in sums])
    arrays = {"columns": columns.astype(np.int32), "offsets": offsets, "rows": rows, "values": values, "totals": totals}
    return Block(first, arrays)


def _counted(X):
    """(columns with values that are not zero, how many each has, the place among them of every entry)."""
    kept = X.indices[X.data != 0]
    if X.shape[1] > 16 * X.nnz + 2**16:
        columns, counts = np.unique(kept, return_counts=True)
        return columns, counts, np.searchsorted(columns, X.indices)
    counts = np.bincount(kept, minlength=X.shape[1])
    columns = np.flatnonzero(counts)
    place_of = np.zeros(X.shape[1], dtype=np.int64)
    place_of[columns] = np.arange(len(columns))
    return columns, counts[columns], place_of[X.indices]


def checked_block(first, n_rows, width, n_sums, arrays):
    """A block from a file that nobody vouches for; its lists are looked at when they are used."""
    for name, dtype in DTYPES.items():
        if name not in arrays or arrays[name].dtype != np.dtype(dtype):
            raise FileProblem(f"has damaged lists: no {name!r} of type {np.dtype(dtype)}.")
    columns, offsets, totals = arrays["columns"], arrays["offsets"], arrays["totals"]
    if totals.shape != (n_sums, n_rows) or not (np.isfinite(totals) & (totals >= 0)).all():
        raise FileProblem("has damaged lists: row totals are not what they can be.")
    flat = all(arrays[name].ndim == 1 for name in ("columns", "offsets", "rows", "values"))
    if not flat or len(offsets) != len(columns) + 1 or len(arrays["rows"]) != len(arrays["values"]):
        raise FileProblem("has damaged lists: they have more rows than values, or fewer.")
    if len(columns) and (columns[0] < 0 or columns[-1] >= width or (np.diff(columns) <= 0).any()):
        raise FileProblem("has damaged lists: their columns do not ascend.")
    if offsets[0] != 0 or offsets[-1] != len(arrays["rows"]) or (np.diff(offsets) <= 0).any():
        raise FileProblem("has damaged lists: they overlap.")
    return Block(first, arrays, trusted=False)
