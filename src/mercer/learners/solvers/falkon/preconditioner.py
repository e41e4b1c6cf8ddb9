"""The Hessian of all rows, guessed from the landmarks. [rudi17falkon]

    H = diag(ridge) + Z' diag(c) Z,     Z = (K_nM L'^-1, s)

If the landmarks are a sample of the rows, the mean over the M landmarks stands for the mean over the n rows, and with
K_MM = L L' the kernel drops out:

    H ~ diag(ridge) + a (L, s)' (L, s),     a = sum(c) / M

One Cholesky factor serves all columns: a is that of the mean column. [marteau-ferey19globally] weigh the landmarks by
their own second derivatives, which would take a factorization for every column and Newton step; for losses whose second
derivatives differ from row to row, conjugate gradients take more steps here instead.
"""

__all__ = ["Preconditioner"]

import numpy as np

from mercer._base.cholesky import factor_gram, multiply_lower_transposed, solve_lower, solve_lower_transposed

NEAR = 4.0  # times more or less curvature, up to which a factor is kept
LEAST_SHARE = 1e-6  # of the intercept's own curvature, that is left when the factors have explained the rest


class Preconditioner:
    """The function g -> H^-1 g on columns, about.

    Parameters
    ----------
    inner : LandmarkProduct
    curvature : a
    scale : s, the value of the intercept's feature
    ridge : (R,), with R = M, or M + 1 where there is an intercept
    n_jobs : threads
    """

    def __init__(self, inner, curvature, scale, ridge, n_jobs=None):
        self.curvature, M = curvature, inner.n_features

        def make():
            A = inner.squared_factor(n_jobs)
            A *= A.dtype.type(curvature)
            A.reshape(-1)[:: M + 1] += A.dtype.type(1)
            return A

        self._factor, _ = factor_gram(make, n_jobs)
        self._border = None
        if len(ridge) > M:
            column = curvature * scale * multiply_lower_transposed(inner.factor, np.ones((M, 1)))
            own = float(ridge[M]) + curvature * M * scale**2
            through = self._solve(column)
            # the part of the intercept that the factors do not explain
            rest = max(own - float((column * through).sum()), LEAST_SHARE * own, np.finfo(np.float64).tiny)
            self._border = through, rest

    def suits(self, curvature):
        """Whether the factor will do for this a as well."""
        return self.curvature / NEAR <= curvature <= self.curvature * NEAR

    def __call__(self, g):
        """H^-1 g of shape (R, P), by elimination of the intercept."""
        if self._border is None:
            return self._solve(g)
        through, rest = self._border
        M = len(through)
        last = (g[M:] - through.T @ g[:M]) / rest
        return np.concatenate([self._solve(g[:M]) - through @ last, last])

    def _solve(self, g):
        return solve_lower_transposed(self._factor, solve_lower(self._factor, g)).astype(np.float64, copy=False)
