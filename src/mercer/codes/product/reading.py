"""Rows as float32 a part at a time: strips of columns, or blocks of rows, never a copy of the whole."""

__all__ = ["Sample", "check_finite", "chunks", "dense_single", "release_pages", "rotated"]

import mmap

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from mercer._base.errors import InputError
from mercer._base.memory import row_chunks
from mercer._base.threads import run_row_blocks
from mercer.maps.landmarks.choice import sample_rows

CHUNK_BYTES = 2**25  # rows in float32 that exist at once
PRODUCT_ROWS = 256  # rows multiplied by a rotation at a time


class Sample:
    """Some rows of X, read by strips of the columns that the blocks are cut from.

    Parameters
    ----------
    X : validated rows, array or csr_array
    which : ascending row numbers, or None for all rows
    """

    def __init__(self, X, which=None):
        self.which = which
        self._X = X if which is None or not sparse.issparse(X) else X[which]
        self._by_column = sparse.csc_array(self._X) if sparse.issparse(X) else None
        self.shape = (X.shape[0] if which is None else len(which), X.shape[1])

    def some_rows(self, count, random_state):
        """At most ``count`` of the rows, drawn without replacement, float32."""
        n = self.shape[0]
        return self.rows(slice(None) if n <= count else sample_rows(n, count, random_state))

    def rows(self, part):
        """The rows of a slice or of row numbers, float32."""
        if sparse.issparse(self._X) or self.which is None:
            return dense_single(self._X[part])
        return dense_single(self._X[self.which[part]])

    def strip(self, columns, rotation, n_jobs=None):
        """The columns of a slice after the rotation (see :func:`rotated`), float32 and contiguous."""
        if rotation is not None and rotation.ndim == 2:
            return self._product(rotation[columns], n_jobs)
        chosen = columns if rotation is None else rotation[columns]
        if self._by_column is not None:
            return dense_single(self._by_column[:, chosen])
        out = np.empty((self.shape[0], columns.stop - columns.start), dtype=np.float32)
        # a few rows at a time: a mapped file brings the pages around a value with it, which are whole rows here
        for part in chunks(self.shape):
            if self.which is None:
                found = self._X[part, chosen]
            else:
                found = self._X[self.which[part] if rotation is None else self.which[part, None], chosen]
            out[part] = dense_single(found)
            release_pages(self._X)
        return out

    def _product(self, directions, n_jobs):
        out = np.empty((self.shape[0], len(directions)), dtype=np.float32)
        for part in chunks(self.shape):
            out[part] = rotated(self.rows(part), directions, n_jobs)
        return out


def rotated(rows, rotation, n_jobs=None):
    """The rows in the coordinates that are cut into blocks.

    Parameters
    ----------
    rows : float32 array
    rotation : None; integers, the column that stands at each place; or float32 (coordinates, columns), a product
    """
    if rotation is None:
        return rows
    if rotation.ndim == 1:
        return rows[:, rotation]
    out = np.empty((len(rows), len(rotation)), dtype=np.float32)
    run_row_blocks(lambda part: np.matmul(rows[part], rotation.T, out=out[part]), len(rows), PRODUCT_ROWS, n_jobs)
    return out


def dense_single(X):
    """A part of the rows as a C-contiguous float32 array."""
    X = X.toarray() if sparse.issparse(X) else X
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(X, dtype=np.float32)
    if X.dtype != np.float32 and not np.isfinite(single).all():
        raise InputError(
            f"ProductQuantizer computes in float32, whose largest number is {np.finfo(np.float32).max:.3g}, but X "
            f"contains {X[~np.isfinite(single)][0]:.6g}. Scale the data."
        )
    return single


def chunks(shape, width=0):
    """Slices of rows whose float32 copies, of the width of X or more, are small."""
    row_bytes = 4 * max(1, width, shape[1])
    most = max(PRODUCT_ROWS, CHUNK_BYTES // row_bytes)
    return row_chunks(shape[0], row_bytes, multiple_of=PRODUCT_ROWS, most=most)


def check_finite(X):
    """Refuse NaN and infinity in scikit-learn's words, a block of rows at a time."""
    if sparse.issparse(X):
        assert_all_finite(X.data, input_name="X", estimator_name="ProductQuantizer")
        return
    for part in chunks(X.shape):
        assert_all_finite(X[part], input_name="X", estimator_name="ProductQuantizer")
        release_pages(X)


def release_pages(X):
    """Let go of the memory of a file that is mapped for reading: its pages return when they are touched again.

    The system would take them back only when memory runs short, and until then they count as memory of the process.
    """
    while X is not None and not isinstance(X, np.memmap):
        X = getattr(X, "base", None)
    # pages of a map that can be written may hold changes that are nowhere else
    if X is not None and X.mode == "r" and hasattr(X._mmap, "madvise"):
        X._mmap.madvise(mmap.MADV_DONTNEED)
