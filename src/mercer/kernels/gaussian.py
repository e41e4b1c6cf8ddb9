"""Blocks of the Gaussian kernel in float32, against rows that stay the same: one matrix product and one further pass.

Rows are moved to the middle of the right-hand ones and scaled in float64, and only then rounded. What single precision
loses is bounded pair by pair (`mercer._native.kernels.gaussian`); the few values that may be off by more than half of
what docs/kernels.md promises are computed again from the differences of the rows. Where they are not few, as of rows
far apart from each other under a narrow kernel, the block is computed in float64.
"""

__all__ = ["GaussianBlocks"]

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from mercer._native.kernels.gaussian import find_uncertain, finish_gaussian
from mercer.kernels.near import CENTRE_ROWS, difference_sums, gaussian_exponents

ACCURACY = 5e-5  # of a value
ROUNDING = np.finfo(np.float32).eps / 2
DEVIATIONS = 6  # rounding errors of a sum of d products add up as a random walk: this many of its standard deviations
FEW = 0.02  # share of a block whose values are computed one by one


class GaussianBlocks:
    """K(x, y) = exp(-(root |x - y|)^2) for rows x as they come and fixed dense rows Y.

    Parameters
    ----------
    Y : array of shape (m, d), float32 or float64
    root : square root of gamma
    """

    def __init__(self, Y, root):
        self._Y, self._root = Y, root
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is uncertain, and computed again
            centre = np.median(Y[:: max(1, len(Y) // CENTRE_ROWS)].astype(np.float64), axis=0)
            self._centre = np.where(np.isfinite(centre), centre, 0.0)
            right = self._moved(Y)
            self._right, self._norms = np.ascontiguousarray(right.T), row_norms(right, squared=True)
        d = Y.shape[1]
        self._slack = np.float32((min(d, DEVIATIONS * np.sqrt(d)) + 8) * ROUNDING)

    def __call__(self, X, out=None):
        """K of the rows X, float32 (n, m)."""
        if out is None:
            out = np.empty((X.shape[0], len(self._Y)), dtype=np.float32)
        X = X.toarray() if sparse.issparse(X) else X
        bounds = self._slack, np.float32(ACCURACY)
        with np.errstate(over="ignore", invalid="ignore"):
            left = self._moved(X)
            sides = row_norms(left, squared=True), self._norms
            np.matmul(left * np.float32(-2), self._right, out=out)
        n_uncertain = finish_gaussian(out, *sides, *bounds)
        if n_uncertain > FEW * out.size:
            out[...] = np.exp(-gaussian_exponents(X.astype(np.float64), self._double(), self._root))
        elif n_uncertain:
            rows, columns = np.empty(n_uncertain, dtype=np.int64), np.empty(n_uncertain, dtype=np.int64)
            find_uncertain(out, *sides, *bounds, rows, columns)
            again = difference_sums("squared", X.astype(np.float64), self._double(), rows, columns, param=self._root)
            out[rows, columns] = np.exp(-again)
        return out

    def _moved(self, X):
        return ((X - self._centre) * self._root).astype(np.float32)

    def _double(self):
        return self._Y.astype(np.float64, copy=False)
