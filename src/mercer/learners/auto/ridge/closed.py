"""Squared loss with every row as a landmark: nothing of the kernel is approximated, and left-out scores are exact.

    minimize over f, b     sum_i w_i |y_i - f(x_i) - b|^2 + lambda |f|^2          f(x) = sum_i a_i K(x, x_i)

With A = (K + lambda W^-1)^-1, s = A 1 and a free intercept, [cawley06leave]

    b = s'y / s'1,     a = A y - b s,     B = A - s s' / s'1
    y_i - f_i without row i = a_i / B_ii           of a group g of rows: B_gg^-1 a_g

No difference of nearly equal numbers is taken, so that rows which decide their own score are judged like all others.
Of A only the diagonal is needed: squared norms of the columns of L^-1, with K + lambda W^-1 = L L'. So a penalty takes
n^3 / 3 operations for L and as many for its inverse: less than landmarks do when they are half of the rows.
"""

__all__ = ["FullRidge", "ridge_on"]

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, spotrf, strtri

from mercer._base.threads import run_blocks, single_threaded
from mercer.learners.auto.ridge.landmarks import LandmarkRidge, RidgeFit, row_blocks
from mercer.learners.exact.rows import full_gram

BLOCK_ROWS = 512  # columns of L^-1 whose norms one task computes
# Smallest penalty: below, rounding of the factorization is as large as the penalty.
LEAST_PENALTY = {"f": 1e-6, "d": 1e-13}
# B_ii over A_ii of a row that alone decides the intercept: below, B_ii is rounding, and the others know nothing of it.
LEAST_REST = {"f": 1e-5, "d": 1e-12}
GROWTH = 10.0  # of the penalty, where the factorization fails all the same


class FullRidge:
    """The kernel values of all pairs of rows, ready for any targets and penalties.

    Parameters
    ----------
    kernel : Kernel
    X : validated rows, dense or CSR; float32 rows are computed in float32
    weights : float64 (n,)
    groups : None, or numbers of groups, ascending (n,): a row is then left out with all others of its group
    """

    def __init__(self, kernel, X, weights, groups=None):
        self.n = self.M = X.shape[0]
        self.dtype = np.dtype(X.dtype)
        self.weights, self.total = weights, float(weights.sum())
        self.groups, self.blocks = groups, row_blocks(self.n, groups, BLOCK_ROWS)
        with single_threaded():
            self.gram = full_gram(kernel, X, None)
        self.size = float(np.trace(self.gram, dtype=np.float64)) / self.n or 1.0

    @property
    def least_penalty(self):
        """Below which rounding decides."""
        return LEAST_PENALTY[self.dtype.char]

    def penalty_of(self, C):
        """The penalty of C / 2 sum_i w_i |y_i - f_i|^2 + |f|^2 / 2."""
        return 1 / (C * self.total * self.size)

    def fit(self, targets, penalty):
        """The :class:`RidgeFit` for targets, float64 (n, P), and a penalty."""
        penalty = max(float(penalty), self.least_penalty)
        with single_threaded():
            inverse, penalty = self._inverse_factor(penalty)
            known = np.column_stack([np.ones(self.n), targets]).astype(self.dtype)
            solved = (inverse.T @ (inverse @ known)).astype(np.float64)
            s, total = solved[:, :1], float(solved[:, 0].sum())
            intercept = (s * targets).sum(axis=0) / total
            coefficients = solved[:, 1:] - s * intercept
            left_out = self._left_out(inverse, coefficients, targets, s / np.sqrt(total))
        return RidgeFit(penalty, left_out, coefficients, intercept)

    def _inverse_factor(self, penalty):
        """(L^-1, the penalty that it has), which is raised where rounding leaves no positive definite matrix."""
        factor, invert = (spotrf, strtri) if self.dtype == np.float32 else (dpotrf, dtrtri)
        while True:
            matrix = self.gram.copy()
            matrix.reshape(-1)[:: self.n + 1] += self._shift(penalty).astype(self.dtype)
            L, problem = factor(matrix.T, lower=1, clean=1, overwrite_a=1)
            if problem == 0 and np.isfinite(L[-1, -1]):
                return invert(L, lower=1, overwrite_c=1)[0], penalty
            if not penalty < 1:  # the kernel values hold what is no number
                raise np.linalg.LinAlgError("The kernel matrix is not positive semidefinite.")
            penalty *= GROWTH

    def _shift(self, penalty):
        """The diagonal of lambda W^-1."""
        return penalty * self.total * self.size / self.weights

    def _left_out(self, inverse, coefficients, targets, s):
        out = np.empty(targets.shape)
        center = self.weights @ targets / self.total

        def fill(rows):
            columns = inverse[rows.start :, rows]  # what is above is 0
            if self.groups is not None:
                self._leave_groups_out(columns, coefficients, targets, s, rows, center, out)
                return
            whole = np.einsum("mn,mn->n", columns, columns, dtype=np.float64)
            own = whole - s[rows, 0] ** 2
            known = own > LEAST_REST[self.dtype.char] * whole
            steps = coefficients[rows] / np.where(known, own, 1.0)[:, None]
            out[rows] = np.where(known[:, None], targets[rows] - steps, center)

        run_blocks(fill, self.blocks)
        return out

    def _leave_groups_out(self, columns, coefficients, targets, s, rows, center, out):
        ends = np.flatnonzero(np.diff(self.groups[rows])) + 1
        for start, stop in zip([0, *ends], [*ends, columns.shape[1]], strict=True):
            own, part = slice(rows.start + start, rows.start + stop), columns[:, start:stop].astype(np.float64)
            whole = part.T @ part
            values, vectors = np.linalg.eigh(whole - s[own] * s[own].T)
            if values[0] <= LEAST_REST[self.dtype.char] * np.trace(whole):
                out[own] = center
                continue
            out[own] = targets[own] - vectors @ ((vectors.T @ coefficients[own]) / values[:, None])


def ridge_on(kernel, X, landmarks, judge):
    """The ridge regression of rows X with those of the numbers ``landmarks`` as landmarks, or all of them."""
    if len(landmarks) == X.shape[0]:
        return FullRidge(kernel, X, judge.weights, judge.groups)
    return LandmarkRidge(kernel, X, X[landmarks], judge.weights, judge.groups)
