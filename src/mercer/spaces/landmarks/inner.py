"""The inner product of features K(x, Z): H = K_ZZ^-1, through a triangular factor of the landmarks' Gram matrix.

    K_ZZ + jitter I = L L',     F = L^-1,     phi(x)' H phi(y) = K(x, Z) (K_ZZ + jitter I)^-1 K(Z, y)

Weights u in factor space are the coefficients v = L'^-1 u of landmarks, and |u|^2 = v' (K_ZZ + jitter I) v is the norm
of the function, with a little ridge that keeps landmarks apart which are equal up to rounding.
"""

__all__ = ["LandmarkProduct"]

from functools import cached_property
from typing import Any

import numpy as np

from mercer._base.cholesky import factor_gram, solve_lower, solve_lower_transposed, transposed_square
from mercer._base.threads import run_blocks, single_threaded
from mercer.spaces.inner import InnerProduct, inner_class

MOST_DOUBLE = 4096  # landmarks up to which the factor is kept in float64
GRAM_ROWS = 512  # of K_ZZ that are computed at a time


@inner_class
class LandmarkProduct(InnerProduct):
    """H = K_ZZ^-1 of landmarks Z. The factor is made when it is first asked for, and is no part of a model file.

    Parameters
    ----------
    kernel : Kernel
    landmarks : validated rows of shape (M, d)

    Examples
    --------
    With a unit of landmarks that are orthogonal to each other, H is the identity:

    >>> from mercer import Linear
    >>> LandmarkProduct(Linear(), np.eye(2)).project([1.0, 2.0]).round(6).tolist()
    [1.0, 2.0]
    """

    kernel: Any
    landmarks: Any

    @property
    def n_features(self):
        return self.landmarks.shape[0]

    @property
    def nbytes(self):
        """Memory that the factor takes, and another matrix of its size that a solver makes of it."""
        return 2 * self.n_features**2 * self._dtype.itemsize

    @property
    def _dtype(self):
        return np.dtype(np.float64 if self.n_features <= MOST_DOUBLE else np.float32)

    @cached_property
    def _factored(self):
        return factor_gram(self._gram)

    @property
    def factor(self):
        """L, of which the lower triangle counts."""
        return self._factored[0]

    @property
    def jitter(self):
        """What was added to the diagonal of K_ZZ."""
        return self._factored[1]

    def _gram(self):
        """K_ZZ; computed from float64 rows, whatever it is kept as."""
        Z, M = self.landmarks, self.n_features
        rows, out = Z.astype(np.float64), np.empty((M, M), dtype=self._dtype)

        def fill(start):
            part = slice(start, min(start + GRAM_ROWS, M))
            out[part, : part.stop] = self.kernel.gram_block(rows[part], rows[: part.stop], 1)

        with single_threaded():
            run_blocks(fill, range(0, M, GRAM_ROWS))
        return out

    def squared_factor(self, n_jobs=None):
        """L'L, whose eigenvalues are those of K_ZZ; only the lower triangle counts."""
        return transposed_square(self.factor, n_jobs)

    def project_checked(self, a):
        return solve_lower(self.factor, a).astype(np.float64, copy=False)

    def lift_checked(self, u):
        return solve_lower_transposed(self.factor, u).astype(np.float64, copy=False)

    def add_entries(self, v, columns, values, delta):
        phi = np.zeros((self.n_features, 1))
        phi[columns, 0] = values
        v += self.lift_checked(self.project_checked(phi)) * delta
