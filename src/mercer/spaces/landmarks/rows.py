"""Rows whose features are kernel values with M landmarks Z: Phi = K(X, Z), computed anew in every pass.

The n x M matrix is never there as a whole: a pass makes it block by block, a few megabytes at a time, and does all that
it wants with a block while that is in the cache. The first rows are kept as long as memory for them was granted; kept
and computed values have the same bits.
"""

__all__ = ["LandmarkRows"]

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._base.memory import available_memory
from mercer._base.threads import run_blocks, single_threaded
from mercer.spaces.rows import Rows

BLOCK_VALUES = 2**20  # kernel values of a block, where the kernel does not ask for more rows
MOST_BLOCK_ROWS = 1024
MOST_PARTS, PART_ROWS = 16, 2**15  # partial sums over rows; rows of each at most
KEPT_BYTES, KEPT_SHARE = 2**31, 0.125  # of values that are kept, at most: in all, and of the available memory


@dataclass(frozen=True)
class Landmarks:
    """Landmarks and the kernel that compares rows with them.

    Parameters
    ----------
    kernel : Kernel
    Z : landmarks, validated rows of shape (M, d)
    dtype : float32 or float64
    compare : the function X -> K(X, Z) in this type
    """

    kernel: Any
    Z: Any
    dtype: Any
    compare: Any

    @classmethod
    def of(cls, kernel, Z, dtype=np.float32):
        """With what the kernel can prepare for these landmarks."""
        return cls(kernel, Z, dtype, kernel.against(Z, dtype))

    def __len__(self):
        return self.Z.shape[0]

    def __reduce__(self):
        return Landmarks.of, (self.kernel, self.Z, self.dtype)

    @property
    def block_rows(self):
        """Rows of a block."""
        return min(max(BLOCK_VALUES // max(1, len(self)), self.kernel.block_rows), MOST_BLOCK_ROWS)


class LandmarkRows(Rows):
    """n raw rows X seen through M landmarks: Phi = K(X, Z) in float32, never stored as a whole.

    Parameters
    ----------
    X : validated raw rows of shape (n, d), dense or CSR, in memory or mapped
    landmarks : Landmarks
    parts : None, or slices of the rows, one after the other, whose sums are added up in this order; None cuts them by
        number
    kept_bytes : memory for kernel values that are kept; None for as much as seems right

    Examples
    --------
    >>> from mercer import Linear
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> rows = LandmarkRows(X, Landmarks.of(Linear(), np.array([[1.0, 0.0]])))
    >>> rows.scores([10.0]).tolist(), rows.accumulate([1.0, 1.0]).tolist()
    ([10.0, 30.0], [4.0])
    """

    kind = "landmarks"

    def __init__(self, X, landmarks, parts=None, kept_bytes=None):
        self.X, self.landmarks = X, landmarks
        self.shape, self.dtype = (X.shape[0], len(landmarks)), np.dtype(np.float32)
        self.nbytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
        self.parts = _even_parts(len(self)) if parts is None else list(parts)
        if kept_bytes is None:
            kept_bytes = min(KEPT_BYTES, int(KEPT_SHARE * available_memory()))
        self._kept_bytes, self._kept = kept_bytes, None

    def __reduce__(self):
        return LandmarkRows, (self.X, self.landmarks, self.parts, self._kept_bytes)

    def take(self, which):
        return LandmarkRows(self.X[which], self.landmarks, None, self._kept_bytes)

    def followed_by(self, others):
        stack = sparse.vstack if sparse.issparse(self.X) else np.concatenate
        X = stack([part.X for part in (self, *others)])
        return LandmarkRows(sparse.csr_array(X) if sparse.issparse(X) else X, self.landmarks, None, self._kept_bytes)

    def with_parts(self, parts):
        """The same rows, whose sums are added up by other parts."""
        return LandmarkRows(self.X, self.landmarks, parts, self._kept_bytes)

    def entries(self, i):
        i = range(len(self))[i]  # -1 is the last row, and what does not exist raises
        values = self.landmarks.compare(self.X[i : i + 1])[0]
        columns = np.flatnonzero(values)
        return columns, values[columns]

    def toarray(self):
        out = np.empty(self.shape, dtype=self.dtype)

        def fill(part):
            for rows, values in self._values(part):
                out[rows] = values

        self._each_part(fill, None)
        return out

    def squared_norms(self, n_jobs):
        out = np.empty(len(self))

        def fill(part):
            for rows, values in self._values(part):
                np.einsum("nm,nm->n", values, values, out=out[rows], dtype=np.float64)

        self._each_part(fill, n_jobs)
        return out

    def through(self, v, constants, weights, n_jobs=None):
        """As of other rows, with kernel values that are computed once for both products."""
        v = np.ascontiguousarray(v, dtype=self.dtype)
        scores = np.empty((len(self), v.shape[1]), dtype=self.dtype)

        def add(part):
            total = np.zeros(v.shape)
            for rows, values in self._values(part):
                np.matmul(values, v, out=scores[rows])
                scores[rows] += constants
                total += values.T @ np.multiply(scores[rows], weights[rows], dtype=self.dtype)
            return total

        return scores, _ordered_sum(self._each_part(add, n_jobs), v.shape)

    def _score(self, v, out, n_jobs):
        v = v.astype(self.dtype, copy=False)

        def fill(part):
            for rows, values in self._values(part):
                out[rows] = values @ v

        self._each_part(fill, n_jobs)

    def add_up(self, r, n_jobs):
        def add(part):
            total = np.zeros((self.shape[1], *r.shape[1:]))
            for rows, values in self._values(part):
                total += values.T @ r[rows].astype(self.dtype, copy=False)
            return total

        return _ordered_sum(self._each_part(add, n_jobs), (self.shape[1], *r.shape[1:]))

    # ------------------------------------------------------------------------------------------------------- blocks

    def _each_part(self, function, n_jobs):
        if self._kept is None:
            n_kept = min(len(self), self._kept_bytes // max(1, 4 * self.shape[1]))
            self._kept = np.empty((n_kept, self.shape[1]), dtype=self.dtype)
            self._is_kept = np.zeros(len(self), dtype=bool)
        with single_threaded():  # BLAS gives other bits on other numbers of threads
            return run_blocks(function, self.parts, n_jobs)

    def _values(self, part):
        """(rows, K(X[rows], Z)) of consecutive blocks of a part, valid until the next."""
        size = self.landmarks.block_rows
        for start in range(part.start, part.stop, size):
            rows = slice(start, min(start + size, part.stop))
            if self._is_kept[start]:
                yield rows, self._kept[rows]
                continue
            values = self.landmarks.compare(self.X[rows])
            if rows.stop <= len(self._kept):
                self._kept[rows] = values
                self._is_kept[start] = True
            yield rows, values


def _even_parts(n):
    """Slices of equally many rows."""
    size = max(1, min(PART_ROWS, -(-n // MOST_PARTS)))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _ordered_sum(parts, shape):
    total = np.zeros(shape)
    for part in parts:
        total += part
    return total
