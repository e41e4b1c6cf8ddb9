"""Additive kernels: K(x, y) = sum_j k(x_j, y_j). Most live on histograms (values >= 0).

    name             k(x, y)                                          g (homogeneity)
    Linear           x y                                              2
    Hellinger        sqrt(x y)                                        1
    Chi2             2 x y / (x + y)                                  1
    Intersection     min(x, y)                                        1
    JensenShannon    x/2 log2((x + y)/x) + y/2 log2((x + y)/y)        1
    PowerMean(p)     ((x^p + y^p) / 2)^(1/p), -inf <= p <= 0          1
    GeneralizedIntersection(beta)    min(|x|^beta, |y|^beta)          beta

``signed=True`` is the odd extension sign(x) sign(y) k(|x|, |y|), positive definite on all reals: for principal
components, Fisher vectors and other features with signs. [vedaldi12efficient]
"""

__all__ = [
    "Chi2",
    "GeneralizedIntersection",
    "Hellinger",
    "Intersection",
    "JensenShannon",
    "Linear",
    "PowerMean",
]

from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.kernels.base import Kernel, kernel_class, require_non_negative
from mercer.kernels.engine import FixedTiles, bin_sums, pair_sums, product, refuse_overflow
from mercer.kernels.near import difference_sums, gaussian_exponents

SHARP_POWER = -2  # power means below it bend nearly as sharply as the intersection


class AdditiveKernel(Kernel):
    """Shared by all kernels that are sums over columns."""

    additive = True

    def scalar(self, x, y):
        """k(x, y) on arrays of numbers, elementwise with broadcasting: the one-dimensional kernel."""
        raise NotImplementedError


class HistogramKernel(AdditiveKernel):
    """An additive kernel of homogeneity 1 with k(x, x) = x, k(x, 0) = 0, computed by the compiled loops."""

    homogeneity = 1.0
    has_spectrum = True
    signed: bool = False
    _loop: ClassVar[str]
    _difference: ClassVar[str]
    has_differences = True

    @property
    def parity(self):
        """Whether values have signs."""
        return "odd" if self.signed else "none"

    def signed_form(self):
        return replace(self, signed=True)

    def _parameter(self):
        return 0.0

    def gram_block(self, X, Y, n_jobs):
        who = type(self).__name__
        return bin_sums(self._loop, X, Y, param=self._parameter(), signed=self.signed, who=who, n_jobs=n_jobs)

    def against(self, Y, dtype=np.float32):
        usual = super().against(Y, dtype)
        if sparse.issparse(Y) or Y.dtype != dtype:
            return usual
        tiles = FixedTiles(self._loop, Y, param=self._parameter(), signed=self.signed)
        return lambda X, out=None: (tiles if tiles.take(X) else usual)(X, out)

    def pair_values(self, X, Y):
        sums = pair_sums(self._loop, X, Y, param=self._parameter(), signed=self.signed)
        return refuse_overflow(sums, type(self).__name__)

    def diagonal(self, X):
        return refuse_overflow(row_sums(abs(X) if self.signed else X), type(self).__name__)

    def induced_distances(self, X, Y, left, right, weight=1.0):
        how = {"param": self._parameter(), "signed": self.signed, "weight": weight}
        return difference_sums(self._difference, X, Y, left, right, **how)

    def check_values(self, X, name):
        if not self.signed:
            who = type(self).__name__
            require_non_negative(X, who, name, f"Use {who}(signed=True) for features with signs.")

    @property
    def positive_definite_on(self):
        """Rows on which Gram matrices are positive semidefinite."""
        return "real" if self.signed else "non-negative"

    def scalar(self, x, y):
        x, y = np.asarray(x), np.asarray(y)
        value = self.magnitude(np.abs(x), np.abs(y)) if self.signed else self.magnitude(x, y)
        return value * np.sign(x) * np.sign(y) if self.signed else value

    def magnitude(self, x, y):
        """k(x, y) for x, y >= 0."""
        raise NotImplementedError


def row_sums(X):
    """Row sums accumulated in float64, in the dtype of X; infinite beyond its largest number."""
    with np.errstate(over="ignore"):
        return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel().astype(X.dtype)


def _ratio(x, y):
    """(smaller, larger, smaller / larger), the ratio 0 where both are 0."""
    low, high = np.minimum(x, y), np.maximum(x, y)
    return (
        low,
        high,
        np.divide(low, high, out=np.zeros_like(low, dtype=np.result_type(low, np.float32)), where=high > 0),
    )


@kernel_class
class Linear(AdditiveKernel):
    """K(x, y) = sum_j x_j y_j, by BLAS.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    name = "linear"
    homogeneity = 2.0
    has_spectrum = True
    parity = "odd"
    has_differences = True

    def signed_form(self):
        return self  # odd already

    def gram_block(self, X, Y, n_jobs):
        return product(X, Y, n_jobs, who="Linear")

    def pair_values(self, X, Y):
        return refuse_overflow(pair_sums("product", X, Y), "Linear")

    def diagonal(self, X):
        with np.errstate(over="ignore"):
            squares = X.multiply(X) if sparse.issparse(X) else X * X
        return refuse_overflow(row_sums(squares), "Linear")

    def squared_distances(self, X, Y, n_jobs, weight=None):
        root = 1.0 if weight is None else np.sqrt(weight)
        return gaussian_exponents(X, Y, root, n_jobs, relative=weight is None)

    def induced_distances(self, X, Y, left, right, weight=1.0):
        return difference_sums("squared", X, Y, left, right, param=np.sqrt(weight))

    def scalar(self, x, y):
        return np.asarray(x) * np.asarray(y)


@kernel_class
class Hellinger(HistogramKernel):
    """K(x, y) = sum_j sqrt(x_j y_j), the Bhattacharyya coefficient: linear after square roots.

    Examples
    --------
    >>> Hellinger()([[1.0, 4.0]], [[9.0, 16.0]]).tolist()
    [[11.0]]
    """

    signed: bool = False
    name = "hellinger"
    _difference = "hellinger"

    def gram_block(self, X, Y, n_jobs):
        left = _signed_power(X, 0.5)
        return product(left, left if X is Y else _signed_power(Y, 0.5), n_jobs, who="Hellinger")

    def against(self, Y, dtype=np.float32):
        return Kernel.against(self, Y, dtype)  # products, whose rows need no preparation

    def pair_values(self, X, Y):
        return refuse_overflow(pair_sums("product", _signed_power(X, 0.5), _signed_power(Y, 0.5)), "Hellinger")

    def magnitude(self, x, y):
        return np.sqrt(x) * np.sqrt(y)


def _signed_power(X, exponent):
    """sign(x) |x|**exponent, elementwise."""
    if sparse.issparse(X):
        X = X.copy()
        X.data = _signed_power(X.data, exponent)
        return X
    return np.copysign(np.abs(X) ** X.dtype.type(exponent), X)


@kernel_class
class Chi2(HistogramKernel):
    """K(x, y) = sum_j 2 x_j y_j / (x_j + y_j), the additive chi-squared kernel; 1 on equal rows that sum to 1.

    >>> Chi2()([[0.2, 0.8]], [[0.6, 0.4]]).round(4)
    array([[0.8333]])
    """

    signed: bool = False
    name = "chi2"
    _loop = _difference = "chi2"

    def squared_distances(self, X, Y, n_jobs, weight=None):
        # sum (x - y)^2 / (x + y): no cancellation, so float32 will do. Not for signs, nor for sparse rows.
        if self.signed or sparse.issparse(X) or sparse.issparse(Y):
            return super().squared_distances(X, Y, n_jobs, weight)
        tiny = np.finfo(np.result_type(X.dtype, Y.dtype)).smallest_subnormal
        scale = 1.0 if weight is None else weight
        return bin_sums("chi2-distance", X, Y, param=tiny, keep_zeros=True, weight=scale, n_jobs=n_jobs)

    def magnitude(self, x, y):
        low, _, ratio = _ratio(x, y)
        return 2 * low / (1 + ratio)


@kernel_class
class Intersection(HistogramKernel):
    """K(x, y) = sum_j min(x_j, y_j), the histogram intersection.

    Examples
    --------
    >>> Intersection()([[2.0, 0.0, 5.0]], [[1.0, 3.0, 4.0]]).tolist()
    [[5.0]]
    """

    signed: bool = False
    has_kink = True
    name = "intersection"
    _loop, _difference = "minimum", "absolute"

    def squared_distances(self, X, Y, n_jobs, weight=None):
        if self.signed or sparse.issparse(X) or sparse.issparse(Y):
            return super().squared_distances(X, Y, n_jobs, weight)
        scale = 1.0 if weight is None else weight
        return bin_sums("difference", X, Y, keep_zeros=True, weight=scale, n_jobs=n_jobs)

    def magnitude(self, x, y):
        return np.minimum(x, y)


@kernel_class
class JensenShannon(HistogramKernel):
    """K(x, y) = sum_j x_j/2 log2((x_j + y_j)/x_j) + y_j/2 log2((x_j + y_j)/y_j), in bits.

    On rows that sum to 1 this is 1 minus the Jensen-Shannon divergence, and the unweighted spectral entropy similarity.

    Examples
    --------
    Equal histograms, histograms that share half, and such that share nothing:

    >>> JensenShannon()([[1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).round(3).tolist()
    [[1.0, 0.689, 0.0]]
    """

    signed: bool = False
    name = "jensen-shannon"
    _loop = _difference = "jensen-shannon"
    roundings = 512  # logarithms of values far from 1

    def magnitude(self, x, y):
        low, high, ratio = _ratio(x, y)
        # (h + l) log2(1 + r) - l log2(r), with r log2(r) = 0 at 0
        log_ratio = np.log2(ratio, out=np.zeros_like(ratio), where=ratio > 0)
        return 0.5 * ((high + low) * np.log1p(ratio) / np.log(2) - low * log_ratio)


@kernel_class
class PowerMean(HistogramKernel):
    """K(x, y) = sum_j ((x_j^p + y_j^p) / 2)^(1/p) for p in [-inf, 0]. [wu12power]

    p = -1 is chi2, p = 0 Hellinger, p = -inf the intersection. For p > 0 the function is not positive definite.

    Examples
    --------
    Between chi2 (p = -1) and the intersection (p = -inf):

    >>> [round(PowerMean(p)([[2.0]], [[6.0]]).item(), 3) for p in (-1.0, -2.0, -8.0, float("-inf"))]
    [3.0, 2.683, 2.181, 2.0]
    """

    p: float = -2.0
    signed: bool = False
    name = "power-mean"
    _loop = _difference = "power-mean"
    roundings = 512  # logarithms of values far from 1
    _may_be_infinite = ("p",)

    def __post_init__(self):
        if not self.p <= 0:
            raise InputError(
                f"PowerMean(p={self.p!r}) is not positive definite. Use p <= 0: "
                "-inf is the intersection, -1 chi2, 0 the Hellinger kernel."
            )

    @property
    def has_kink(self):
        """Whether it is near to the intersection."""
        return self.p < SHARP_POWER

    def special_case(self):
        """The kernel that this one equals exactly, or None."""
        kernel = {0.0: Hellinger, -1.0: Chi2, -np.inf: Intersection}.get(float(self.p))
        return kernel and kernel(signed=self.signed)

    def _parameter(self):
        return -float(self.p)

    def gram_block(self, X, Y, n_jobs):
        special = self.special_case()
        return special.gram_block(X, Y, n_jobs) if special else super().gram_block(X, Y, n_jobs)

    def against(self, Y, dtype=np.float32):
        special = self.special_case()
        return special.against(Y, dtype) if special else super().against(Y, dtype)

    def pair_values(self, X, Y):
        special = self.special_case()
        return special.pair_values(X, Y) if special else super().pair_values(X, Y)

    def squared_distances(self, X, Y, n_jobs, weight=None):
        special = self.special_case()
        return (
            special.squared_distances(X, Y, n_jobs, weight)
            if special
            else super().squared_distances(X, Y, n_jobs, weight)
        )

    def induced_distances(self, X, Y, left, right, weight=1.0):
        special = self.special_case()
        how = special.induced_distances if special else super().induced_distances
        return how(X, Y, left, right, weight)

    def magnitude(self, x, y):
        special = self.special_case()
        if special:
            return special.magnitude(x, y)
        low, _, ratio = _ratio(x, y)
        q = -float(self.p)
        return low * ((1 + ratio**q) / 2) ** (-1 / q)


@kernel_class
class GeneralizedIntersection(AdditiveKernel):
    """K(x, y) = sum_j min(|x_j|^beta, |y_j|^beta), positive definite on all reals for any beta > 0.

    Examples
    --------
    >>> GeneralizedIntersection(beta=0.5)([[4.0, -9.0]], [[16.0, 1.0]]).tolist()
    [[3.0]]
    """

    beta: float = 1.0
    name = "generalized-intersection"
    has_differences = has_spectrum = has_kink = True
    parity = "even"

    def __post_init__(self):
        if not 0 < self.beta < np.inf:
            raise InputError(f"GeneralizedIntersection needs a finite beta > 0, got beta={self.beta!r}.")

    @property
    def homogeneity(self):
        """The g with K(c x, c y) = c**g K(x, y), or None."""
        return float(self.beta)

    def gram_block(self, X, Y, n_jobs):
        left = self._power(X)
        right = left if X is Y else self._power(Y)
        return bin_sums("minimum", left, right, who=type(self).__name__, n_jobs=n_jobs)

    def pair_values(self, X, Y):
        return refuse_overflow(pair_sums("minimum", self._power(X), self._power(Y)), type(self).__name__)

    def _power(self, X):
        if self.beta == 1:
            return abs(X)
        with np.errstate(over="ignore"):
            powers = _signed_power(abs(X), self.beta)
        if not np.isfinite(powers.data if sparse.issparse(powers) else powers).all():
            raise InputError(
                f"{self!r}: values raised to the power {self.beta:g} exceed the largest {X.dtype.name} number. Scale "
                "the rows down, for instance by the largest absolute value."
            )
        return powers

    def diagonal(self, X):
        return refuse_overflow(row_sums(self._power(X)), type(self).__name__)

    def induced_distances(self, X, Y, left, right, weight=1.0):
        sums = difference_sums("power", abs(X), abs(Y), left, right, param=self.beta)
        return sums * weight

    def scalar(self, x, y):
        return np.minimum(np.abs(x), np.abs(y)) ** self.beta
