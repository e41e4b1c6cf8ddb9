"""Kernels that divide a common part by a total: positive definite on non-negative rows, not additive.

    BrayCurtis    2 sum_j min(x_j, y_j) / (sum_j x_j + sum_j y_j)
    MinMax        sum_j min(x_j, y_j) / sum_j max(x_j, y_j)          (count Tanimoto, Ruzicka)

Two empty rows have similarity 1, an empty and a non-empty row 0.
"""

__all__ = ["BrayCurtis", "MinMax"]

from typing import ClassVar

import numpy as np

from mercer.kernels.additive import row_sums
from mercer.kernels.base import Kernel, kernel_class, require_non_negative
from mercer.kernels.engine import bin_sums, pair_sums, with_finite_sums
from mercer.kernels.near import difference_sums


class _SharedPart(Kernel):
    homogeneity = 0.0
    positive_definite_on = "non-negative"
    unit_diagonal = True
    _common_twice: ClassVar[bool]

    def check_values(self, X, name):
        hint = "The kernel has no signed form; shift or clip the features."
        require_non_negative(X, type(self).__name__, name, hint)

    def diagonal(self, X):
        return np.ones(X.shape[0], dtype=X.dtype)

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
        empty = total <= 0
        np.divide(common, total, out=common, where=~empty)
        common[empty] = 1
        # K(x, x) = 1: rounding of the sums must not push a similarity above it
        return np.minimum(common, 1, out=common)

    has_differences = True

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
    Of fragments that occur twice, once and never, against once, once and twice:

    >>> MinMax()([[2.0, 1.0, 0.0]], [[1.0, 1.0, 2.0]]).tolist()
    [[0.4]]
    """

    name = "min-max"
    _common_twice = False
