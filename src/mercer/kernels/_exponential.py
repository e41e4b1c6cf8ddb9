"""Kernels exp(-gamma D(x, y)) of a distance D.

RBF          D = sum_j (x_j - y_j)^2
Laplacian    D = sum_j |x_j - y_j|
ExpChi2      D = sum_j (x_j - y_j)^2 / (x_j + y_j)       (scikit-learn's chi2_kernel)
Exponential(kernel)    D = K(x, x) + K(y, y) - 2 K(x, y), the squared distance that a kernel induces
"""

__all__ = ["RBF", "ExpChi2", "Exponential", "Laplacian"]

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, run_row_blocks
from mercer._native.pair_sums import sparse_squared_differences, squared_differences
from mercer.kernels._additive import Chi2, JensenShannon, _row_sums
from mercer.kernels._base import Kernel, kernel_class, require_non_negative
from mercer.kernels._engine import bin_sums, mirror, pair_sums

EXP_ROWS = 64  # rows per task of the final exponential
DISTANCE_ROWS = 512  # rows per block of Euclidean distances


class _ExponentialKernel(Kernel):
    _unit_diagonal = True

    def __post_init__(self):
        if not 0 < self.gamma < np.inf:
            raise InputError(f"{type(self).__name__} needs a finite gamma > 0, got gamma={self.gamma!r}.")

    def _distances(self, X, Y, n_jobs):
        raise NotImplementedError

    def _gram(self, X, Y, n_jobs):
        out = self._distances(X, Y, n_jobs)
        factor = out.dtype.type(-self.gamma)

        def finish(rows):
            np.multiply(out[rows], factor, out=out[rows])
            np.exp(out[rows], out=out[rows])

        run_blocks(finish, [slice(i, i + EXP_ROWS) for i in range(0, len(out), EXP_ROWS)], n_jobs)
        if X is Y:
            np.fill_diagonal(out, 1)
        return out

    def _pairs(self, X, Y):
        return np.exp(-self.gamma * self._pair_distances(X, Y))

    def _pair_distances(self, X, Y):
        """D(x_i, y_i) for float64 rows, a function of the two rows alone."""
        raise NotImplementedError

    def _diag(self, X):
        return np.ones(X.shape[0], dtype=X.dtype)

    def _sq_distance(self, X, Y, n_jobs):
        # 2 - 2 exp(-t) without cancellation
        t = self._distances(X, Y, n_jobs)
        return -2 * np.expm1(t.dtype.type(-self.gamma) * t)


@kernel_class
class RBF(_ExponentialKernel):
    """K(x, y) = exp(-gamma |x - y|^2), the Gaussian kernel.

    Examples
    --------
    >>> RBF(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).round(3).tolist()
    [[1.0, 0.368, 0.018]]
    """

    gamma: float = 1.0
    name = "rbf"

    def _distances(self, X, Y, n_jobs):
        out = np.empty((X.shape[0], Y.shape[0]), dtype=np.result_type(X.dtype, Y.dtype))
        norms = row_norms(Y, squared=True)[None, :] if Y.dtype == np.float64 else None  # float32 is widened inside

        def fill(rows):
            out[rows] = euclidean_distances(X[rows], Y, Y_norm_squared=norms, squared=True)

        run_row_blocks(fill, X.shape[0], DISTANCE_ROWS, n_jobs)
        if X is Y:
            mirror(out)
        return out

    def _pair_distances(self, X, Y):
        out = np.empty(X.shape[0])
        if sparse.issparse(X):
            sparse_squared_differences(X.indptr, X.indices, X.data, Y.indptr, Y.indices, Y.data, out)
        else:
            squared_differences(X, Y, out)
        return out


@kernel_class
class Laplacian(_ExponentialKernel):
    """K(x, y) = exp(-gamma sum_j |x_j - y_j|).

    Examples
    --------
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).round(3).tolist()
    [[1.0, 0.368, 0.135]]
    """

    gamma: float = 1.0
    name = "laplacian"

    def _distances(self, X, Y, n_jobs):
        if not (sparse.issparse(X) or sparse.issparse(Y)):
            return bin_sums("difference", X, Y, keep_zeros=True, n_jobs=n_jobs)
        # |x - y| = |x| + |y| - 2 common part, summed in float64 because it cancels
        dtype = np.result_type(X.dtype, Y.dtype)
        left, right = X.astype(np.float64), Y.astype(np.float64)
        common = bin_sums("common-part", left, left if X is Y else right, n_jobs=n_jobs)
        total = _row_sums(abs(left))[:, None] + _row_sums(abs(right))
        return np.maximum(total - 2 * common, 0).astype(dtype)

    def _pair_distances(self, X, Y):
        total = _row_sums(abs(X)) + _row_sums(abs(Y))
        return np.maximum(total - 2 * pair_sums("common-part", X, Y), 0)


def _induced_distances(kernel, X, Y):
    return np.maximum(kernel._diag(X) + kernel._diag(Y) - 2 * kernel._pairs(X, Y), 0)


@kernel_class
class Exponential(_ExponentialKernel):
    """K(x, y) = exp(-gamma D(x, y)), D the squared distance induced by another kernel.

    Examples
    --------
    >>> from mercer import Intersection
    >>> Exponential(Intersection(), gamma=0.5)([[1.0, 2.0]], [[2.0, 1.0]]).round(3).tolist()  # exp(-0.5 (3 + 3 - 4))
    [[0.368]]
    """

    kernel: Kernel = JensenShannon()
    gamma: float = 1.0
    name = "exponential"

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"Exponential needs a kernel object, got {self.kernel!r}. Try Exponential(Chi2()).")

    @property
    def positive_definite_on(self):
        """Rows on which Gram matrices are positive semidefinite."""
        return self.kernel.positive_definite_on

    def _check_values(self, X, name):
        self.kernel._check_values(X, name)

    def _distances(self, X, Y, n_jobs):
        return self.kernel._sq_distance(X, Y, n_jobs)

    def _pair_distances(self, X, Y):
        return _induced_distances(self.kernel, X, Y)


@kernel_class
class ExpChi2(_ExponentialKernel):
    """K(x, y) = exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), as scikit-learn's ``chi2_kernel``.

    Examples
    --------
    >>> ExpChi2(gamma=2.0)([[0.25, 0.75]], [[0.25, 0.75], [0.75, 0.25]]).round(3).tolist()
    [[1.0, 0.368]]
    """

    gamma: float = 1.0
    name = "exp-chi2"
    positive_definite_on = "non-negative"

    def _check_values(self, X, name):
        require_non_negative(X, "ExpChi2", name, "Exponential(Chi2(signed=True)) takes features with signs.")

    def _distances(self, X, Y, n_jobs):
        return Chi2()._sq_distance(X, Y, n_jobs)

    def _pair_distances(self, X, Y):
        return _induced_distances(Chi2(), X, Y)
