"""Kernels that divide a common part by a total: positive definite on non-negative rows, not additive.

    BrayCurtis    2 sum_j min(x_j, y_j) / (sum_j x_j + sum_j y_j)
    MinMax        sum_j min(x_j, y_j) / sum_j max(x_j, y_j)          (count Tanimoto, Ruzicka)
    DotTanimoto   <x, y> / (<x, x> + <y, y> - <x, y>)

Two empty rows have similarity 1, an empty and a non-empty row 0.
"""

__all__ = ["BrayCurtis", "DotTanimoto", "MinMax"]

from typing import ClassVar

import numpy as np
from scipy import sparse

from mercer.kernels.additive import Linear, row_sums
from mercer.kernels.base import Kernel, kernel_class, require_non_negative
from mercer.kernels.engine import (
    bin_sums,
    magnitude_bounds,
    pair_sums,
    per_side,
    product,
    unit_rows,
    with_finite_sums,
)
from mercer.kernels.near import difference_sums


class _Share(Kernel):
    """What they have in common: all values are from 0 to 1."""

    homogeneity = 0.0
    positive_definite_on = "non-negative"
    unit_diagonal = True
    has_differences = True

    def check_values(self, X, name):
        hint = "The kernel has no signed form; shift or clip the features."
        require_non_negative(X, type(self).__name__, name, hint)

    def diagonal(self, X):
        return np.ones(X.shape[0], dtype=X.dtype)


class _SharedPart(_Share):
    _common_twice: ClassVar[bool]

    def gram_block(self, X, Y, n_jobs):
        def shares(X, Y):
            left = row_sums(X)
            common = bin_sums("minimum", X, Y, n_jobs=n_jobs)
            total = left[:, None] + (left if X is Y else row_sums(Y)).astype(common.dtype)
            return self._share(common, total.copy()), total

        return with_finite_sums(shares, X, Y).astype(np.result_type(X.dtype, Y.dtype), copy=False)

    def pair_values(self, X, Y):
        def shares(X, Y):
            total = row_sums(X) + row_sums(Y)
            return self._share(pair_sums("minimum", X, Y), total.copy()), total

        return with_finite_sums(shares, X, Y)

    def _share(self, common, total):
        """The kernel from sums of minima, which are overwritten, and sums of both rows."""
        if self._common_twice:
            common *= 2
        else:  # sum max = sum x + sum y - sum min
            total -= common
        return _divided(common, total)

    def induced_distances(self, X, Y, left, right, weight=1.0):
        # 1 - K = sum |x - y| / (sum x + sum y), or over sum max = (sum x + sum y + sum |x - y|) / 2
        def shares(X, Y):
            apart = difference_sums("absolute", X, Y, left, right)
            total = row_sums(X)[left] + row_sums(Y)[right]
            over = total if self._common_twice else (total + apart) / 2
            return np.divide(apart, over, out=np.zeros_like(apart), where=over > 0), total

        return 2 * weight * with_finite_sums(shares, X, Y)


@kernel_class
class BrayCurtis(_SharedPart):
    """K(x, y) = 2 sum min(x, y) / (sum x + sum y): 1 minus the Bray-Curtis dissimilarity of ecology.

    Positive definite on raw counts; on rows that sum to 1 it equals the intersection.

    Examples
    --------
    Two of five and six animals are the same:

    >>> BrayCurtis()([[2.0, 3.0, 0.0]], [[2.0, 0.0, 4.0]]).round(3).tolist()
    [[0.364]]
    """

    name = "bray-curtis"
    _common_twice = True


@kernel_class
class MinMax(_SharedPart):
    """K(x, y) = sum min(x, y) / sum max(x, y): the Tanimoto (Jaccard, Ruzicka) similarity of counts.

    Examples
    --------
    Compare fragments that occur twice, once and never with once, once and twice:

    >>> MinMax()([[2.0, 1.0, 0.0]], [[1.0, 1.0, 2.0]]).tolist()
    [[0.4]]
    """

    name = "min-max"
    _common_twice = False


@kernel_class
class DotTanimoto(_Share):
    """K(x, y) = <x, y> / (<x, x> + <y, y> - <x, y>): the Tanimoto similarity by products [ralaivola05graph].

    Of 0 and 1 it is the Jaccard index, as is :class:`MinMax`; of counts the two differ.

    Examples
    --------
    Compare fragments that occur twice, once and never with once, once and twice:

    >>> DotTanimoto()([[2.0, 1.0, 0.0]], [[1.0, 1.0, 2.0]]).round(3).tolist()
    [[0.375]]
    """

    name = "dot-tanimoto"

    def gram_block(self, X, Y, n_jobs):
        # in float64: a float32 product and norms that are summed in another order would differ where x = y
        left, right = per_side(lambda side: side.astype(np.float64), X, Y)
        apart = None
        if not _squares_fit(left, right):
            apart = _tops(left)[:, None] - _tops(right)
            left, right = per_side(unit_rows, left, right)
        norms = Linear().diagonal(left)
        others = norms if X is Y else Linear().diagonal(right)
        values = _tanimoto(product(left, right, n_jobs), norms[:, None], others, apart)
        return values.astype(np.result_type(X.dtype, Y.dtype), copy=False)

    def pair_values(self, X, Y):
        apart = None
        if not _squares_fit(X, Y):
            apart = _tops(X) - _tops(Y)
            X, Y = unit_rows(X), unit_rows(Y)
        return _tanimoto(pair_sums("product", X, Y), Linear().diagonal(X), Linear().diagonal(Y), apart)

    def induced_distances(self, X, Y, left, right, weight=1.0):
        # 1 - K = |x - y|^2 / (<x, x> + <y, y> - <x, y>), whose last is (<x, x> + <y, y> + |x - y|^2) / 2
        X, Y = X[left], Y[right]
        shift = np.maximum(_tops(X), _tops(Y))  # of both rows of a pair, which changes no ratio
        X, Y = (_lowered(side, shift) for side in (X, Y))
        rows = np.arange(X.shape[0])
        apart = difference_sums("squared", X, Y, rows, rows, param=1.0)
        over = (Linear().diagonal(X) + Linear().diagonal(Y) + apart) / 2
        return 2 * weight * np.divide(apart, over, out=np.zeros_like(apart), where=over > 0)


def _divided(common, total):
    """common / total in place, 1 where both rows are empty."""
    empty = total <= 0
    np.divide(common, total, out=common, where=~empty)
    common[empty] = 1
    # K(x, x) = 1: rounding of the sums must not push a similarity above it
    return np.minimum(common, 1, out=common)


SAFE = 2.0**-400, 2.0**400  # magnitudes whose squares and their sums are in the range of float64
NOTHING = -(2**20)  # the exponent of an empty row: below all others


def _squares_fit(X, Y):
    """Whether squares of the rows are in range as they are."""
    lows, highs = zip(*(magnitude_bounds(side.data if sparse.issparse(side) else side.ravel()) for side in (X, Y)),
                      strict=True)  # fmt: skip
    return min(lows) >= SAFE[0] and max(highs) <= SAFE[1]


def _tops(X):
    """The binary exponent of the largest value of each row."""
    top = X.max(axis=1)
    top = top.toarray().ravel() if sparse.issparse(top) else top
    return np.where(top > 0, np.frexp(top)[1], NOTHING).astype(np.int64)


def _lowered(X, exponents):
    """Rows divided by 2**exponents."""
    if sparse.issparse(X):
        X = X.copy()
        X.data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)))
        return X
    return np.ldexp(X, -exponents[:, None])


def _tanimoto(common, left, right, apart):
    """<x, y> / (<x, x> + <y, y> - <x, y>) of 2**p x and 2**q y, where apart = p - q or None; overwrites common."""
    if apart is not None:  # divided by the square of the larger power, so that nothing overflows
        common = np.ldexp(common, -np.abs(apart))
        left, right = np.ldexp(left, 2 * np.minimum(apart, 0)), np.ldexp(right, -2 * np.maximum(apart, 0))
    return _divided(common, left + right - common)
