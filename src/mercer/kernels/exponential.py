"""Kernels exp(-gamma D(x, y)) of a distance D.

RBF          D = sum_j (x_j - y_j)^2
Laplacian    D = sum_j |x_j - y_j|
ExpChi2      D = sum_j (x_j - y_j)^2 / (x_j + y_j)       (scikit-learn's chi2_kernel)
Exponential(kernel)    D = K(x, x) + K(y, y) - 2 K(x, y), the squared distance that a kernel induces

With ``gamma=None``, the default, ``fit`` of an estimator takes 1 over the mean D between its rows, see
`mercer.kernels.widths`; called directly, the kernel has gamma = 1.
"""

__all__ = ["RBF", "ExpChi2", "Exponential", "Laplacian"]

from dataclasses import replace

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, run_row_blocks
from mercer.kernels.additive import Chi2, JensenShannon, row_sums
from mercer.kernels.base import Kernel, kernel_class, require_non_negative
from mercer.kernels.engine import bin_sums, mirror, weigh
from mercer.kernels.gaussian import GaussianBlocks
from mercer.kernels.near import accuracy_of, difference_sums, gaussian_exponents, lost_digits

EXP_ROWS = 64  # rows per task of the final exponential
PRODUCT_VALUES, LEAST_ROWS, MOST_ROWS = 2**19, 64, 2048  # of a matrix product that should stay in the cache


class ExponentialKernel(Kernel):
    gamma: float | None
    unit_diagonal = True

    def __post_init__(self):
        if self.gamma is not None and not 0 < self.gamma < np.inf:
            raise InputError(f"{type(self).__name__} needs a finite gamma > 0 or None, got gamma={self.gamma!r}.")

    @property
    def rate(self):
        """gamma, or 1 where that is left open."""
        return 1.0 if self.gamma is None else self.gamma

    def with_widths(self, width_of):
        return self if self.gamma is not None else replace(self, gamma=width_of(self))

    def natural_width(self, X, n_jobs=None):
        """The gamma of rows: 1 over the mean of D between different ones, so that their scale does not matter."""
        total = replace(self, gamma=1.0).exponents(X, X, n_jobs).sum(dtype=np.float64)
        mean = total / max(1, X.shape[0] * (X.shape[0] - 1))
        return float(1 / mean) if np.finfo(np.float64).tiny < mean < np.inf else 1.0

    def exponents(self, X, Y, n_jobs, relative=False):
        """gamma D(x, y) for all pairs of rows; ``relative``: all digits also of small ones."""
        raise NotImplementedError

    def gram_block(self, X, Y, n_jobs):
        out = self.exponents(X, Y, n_jobs)

        def finish(rows):
            np.negative(out[rows], out=out[rows])
            np.exp(out[rows], out=out[rows])

        run_blocks(finish, [slice(i, i + EXP_ROWS) for i in range(0, len(out), EXP_ROWS)], n_jobs)
        if X is Y:
            np.fill_diagonal(out, 1)
        return out

    def pair_values(self, X, Y):
        return np.exp(-self._pair_exponents(X, Y, *_paired(X)))

    def _pair_exponents(self, X, Y, left, right):
        """gamma D(x, y) of float64 rows X[left[i]], Y[right[i]], a function of the two rows alone."""
        raise NotImplementedError

    def diagonal(self, X):
        return np.ones(X.shape[0], dtype=X.dtype)

    def squared_distances(self, X, Y, n_jobs, weight=None):
        # 2 - 2 exp(-t) without cancellation
        t = self.exponents(X, Y, n_jobs, relative=True)
        return (1 if weight is None else t.dtype.type(weight)) * (-2 * np.expm1(-t))

    has_differences = True

    def induced_distances(self, X, Y, left, right, weight=1.0):
        return weight * (-2 * np.expm1(-self._pair_exponents(X, Y, left, right)))


def _weighed(kernel, gamma, X, Y, n_jobs, relative):
    """gamma times the squared distances that a kernel induces."""
    if relative and kernel.has_differences:
        squared = kernel.squared_distances(X, Y, n_jobs)
        return weigh(squared, gamma, 1.0)
    return kernel.squared_distances(X, Y, n_jobs, gamma)


def _paired(X):
    """The positions of all rows, for both sides."""
    rows = np.arange(X.shape[0])
    return rows, rows


@kernel_class
class RBF(ExponentialKernel):
    """K(x, y) = exp(-gamma |x - y|^2), the Gaussian kernel.

    Examples
    --------
    >>> RBF(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).round(3).tolist()
    [[1.0, 0.368, 0.018]]
    """

    gamma: float | None = None
    name = "rbf"
    block_rows = LEAST_ROWS

    def gram_block(self, X, Y, n_jobs):
        if sparse.issparse(X) or sparse.issparse(Y) or not X.dtype == Y.dtype == np.float32:
            return super().gram_block(X, Y, n_jobs)
        out, blocks = np.empty((len(X), len(Y)), dtype=np.float32), self.against(Y)
        size = min(max(PRODUCT_VALUES // max(1, len(Y)), LEAST_ROWS), MOST_ROWS)
        run_row_blocks(lambda rows: blocks(X[rows], out[rows]), len(X), size, n_jobs)
        if X is Y:
            mirror(out)
            np.fill_diagonal(out, 1)
        return out

    def against(self, Y, dtype=np.float32):
        if sparse.issparse(Y) or dtype != np.float32:
            return super().against(Y, dtype)
        return GaussianBlocks(Y, np.sqrt(self.rate))

    def exponents(self, X, Y, n_jobs, relative=False):
        return gaussian_exponents(X, Y, np.sqrt(self.rate), n_jobs, relative)

    def _pair_exponents(self, X, Y, left, right):
        return difference_sums("squared", X, Y, left, right, param=np.sqrt(self.rate))


class _CommonPart(Kernel):
    """sum_j min(|x_j|, |y_j|) over columns where the signs agree, whose distance is sum_j |x_j - y_j|."""

    homogeneity = 1.0
    has_differences = True

    def gram_block(self, X, Y, n_jobs):
        return bin_sums("common-part", X, Y, n_jobs=n_jobs)

    def diagonal(self, X):
        return row_sums(abs(X))

    def induced_distances(self, X, Y, left, right, weight=1.0):
        return difference_sums("absolute", X, Y, left, right, weight=weight)


@kernel_class
class Laplacian(ExponentialKernel):
    """K(x, y) = exp(-gamma sum_j |x_j - y_j|).

    Examples
    --------
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).round(3).tolist()
    [[1.0, 0.368, 0.135]]
    """

    gamma: float | None = None
    name = "laplacian"

    def exponents(self, X, Y, n_jobs, relative=False):
        if not (sparse.issparse(X) or sparse.issparse(Y)):
            return bin_sums("difference", X, Y, keep_zeros=True, weight=self.rate, n_jobs=n_jobs)
        return _weighed(_CommonPart(), self.rate, X, Y, n_jobs, relative)

    def _pair_exponents(self, X, Y, left, right):
        return _CommonPart().induced_distances(X, Y, left, right, self.rate)


@kernel_class
class Exponential(ExponentialKernel):
    """K(x, y) = exp(-gamma D(x, y)), D the squared distance induced by another kernel.

    Examples
    --------
    >>> from mercer import Intersection
    >>> Exponential(Intersection(), gamma=0.5)([[1.0, 2.0]], [[2.0, 1.0]]).round(3).tolist()  # exp(-0.5 (3 + 3 - 4))
    [[0.368]]
    """

    kernel: Kernel = JensenShannon()
    gamma: float | None = None
    name = "exponential"

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"Exponential needs a kernel object, got {self.kernel!r}. Try Exponential(Chi2()).")

    def with_widths(self, width_of):
        inner = self.kernel.with_widths(width_of)
        found = self if inner == self.kernel else replace(self, kernel=inner)
        return super(Exponential, found).with_widths(width_of)

    @property
    def positive_definite_on(self):
        """Rows on which Gram matrices are positive semidefinite."""
        return self.kernel.positive_definite_on

    def check_values(self, X, name):
        self.kernel.check_values(X, name)

    def exponents(self, X, Y, n_jobs, relative=False):
        return _weighed(self.kernel, self.rate, X, Y, n_jobs, relative)

    @property
    def has_differences(self):
        return self.kernel.has_differences

    def _pair_exponents(self, X, Y, left, right):
        kernel = self.kernel
        if kernel.has_differences:
            return kernel.induced_distances(X, Y, left, right, self.rate)
        X, Y = X[left], Y[right]
        energies = self.rate * (kernel.diagonal(X) + kernel.diagonal(Y))
        exponents = np.maximum(energies - 2 * self.rate * kernel.pair_values(X, Y), 0)
        lost = lost_digits(exponents, energies, X.shape[1] + kernel.roundings, accuracy_of(np.float64, X.shape[1]))
        if lost.any():
            kernel.induced_distances(X, Y, left[lost], right[lost], self.rate)  # refuses
        return exponents


@kernel_class
class ExpChi2(ExponentialKernel):
    """K(x, y) = exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), as scikit-learn's ``chi2_kernel``.

    Examples
    --------
    >>> ExpChi2(gamma=2.0)([[0.25, 0.75]], [[0.25, 0.75], [0.75, 0.25]]).round(3).tolist()
    [[1.0, 0.368]]
    """

    gamma: float | None = None
    name = "exp-chi2"
    positive_definite_on = "non-negative"

    def check_values(self, X, name):
        require_non_negative(X, "ExpChi2", name, "Use Exponential(Chi2(signed=True)) for features with signs.")

    def exponents(self, X, Y, n_jobs, relative=False):
        return _weighed(Chi2(), self.rate, X, Y, n_jobs, relative)

    def _pair_exponents(self, X, Y, left, right):
        return Chi2().induced_distances(X, Y, left, right, self.rate)
