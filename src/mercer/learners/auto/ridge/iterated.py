"""Squared loss with every row as a landmark, by conjugate gradients: for more rows than a factorization pays.

    (K + lambda W^-1) (s, A) = (1, Y),     b = s'Y / s'1,     a = A - s b,     f(x) = sum_i a_i K(x, x_i) + b

In z = W^-1/2 (s, A) the matrix is H = W^1/2 K W^1/2 + lambda I. The first M rows, which are in random order, give the
Nystroem approximation F F' of W^1/2 K W^1/2, and the preconditioner is the inverse of F F' + lambda I: [rudi17falkon]

    P^-1 r = (r - F (F'F + lambda I)^-1 F'r) / lambda,     F = W^1/2 K_nM L^-T,     K_MM = L L'

A step takes n^2 operations for each column, so that some twenty of them cost less than a tenth of the n^3 / 3 of a
factorization. They end when the residuals are small: predictions for the rows themselves are off by K H^-1 r, which is
no longer than r. A row of weight 0 takes no part, and its score is that of all the others: such rows are held out.
"""

__all__ = ["IteratedFit", "IteratedRidge"]

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer._base.cholesky import stable_cholesky
from mercer._base.threads import run_row_blocks, single_threaded
from mercer.learners.auto.ridge.closed import LEAST_PENALTY
from mercer.learners.exact.rows import full_gram

GUIDES = 1000  # rows of the preconditioner
JITTER = 1e-6  # of the diagonal of K_MM: below are roundings of float32
MOST_STEPS = 200
TASK_ROWS = 512  # of the kernel values, that one task multiplies
FEW_COLUMNS, STRIP_ROWS = 3, 32  # columns that are multiplied one by one, by as many rows as stay in the cache


@dataclass(frozen=True)
class IteratedFit:
    """The solution for one penalty.

    Parameters
    ----------
    penalty : lambda over the sum of the weights and the mean of K(x, x)
    coefficients : of the rows, float64 (n, P)
    intercept : float64 (P,)
    solved : (s, A), where the next solution may start, float32 (P + 1, n)
    steps : how many it took
    """

    penalty: float
    coefficients: np.ndarray
    intercept: np.ndarray
    solved: np.ndarray
    steps: int


class IteratedRidge:
    """The kernel values of all pairs of rows in float32, ready for any targets, penalties and weights.

    Parameters
    ----------
    kernel : Kernel
    X : validated float32 rows, dense or CSR, in random order
    """

    def __init__(self, kernel, X):
        self.n = X.shape[0]
        with single_threaded():
            self.gram = full_gram(kernel, X, None)
            self.size = float(np.trace(self.gram, dtype=np.float64)) / self.n or 1.0
            guides = self.gram[:GUIDES, :GUIDES].astype(np.float64)
            guides[np.diag_indices(len(guides))] += JITTER * self.size
            root = stable_cholesky(guides).astype(np.float32)
            self._features = linalg.solve_triangular(root, self.gram[:GUIDES], lower=True, check_finite=False)

    def penalty_of(self, C, weights):
        """The penalty of C / 2 sum_i w_i |y_i - f_i|^2 + |f|^2 / 2."""
        return 1 / (C * float(weights.sum()) * self.size)

    def C_of(self, penalty, weights):
        """The C of a penalty: see :meth:`penalty_of`."""
        return self.penalty_of(penalty, weights)

    def fit(self, targets, weights, penalty, tolerance, start=None):
        """The :class:`IteratedFit` for targets, float64 (n, P), and weights >= 0, float64 (n,).

        Parameters
        ----------
        tolerance : norm of the residuals over that of the targets around their mean
        start : an IteratedFit for other weights or another penalty
        """
        penalty, total = max(float(penalty), LEAST_PENALTY["f"]), float(weights.sum())
        center = weights @ targets / total
        known = np.vstack([np.ones(self.n), (targets - center).T])
        roots = np.sqrt(weights).astype(np.float32)
        system = _System(self, roots, np.float32(penalty * total * self.size))
        first = np.zeros(known.shape, dtype=np.float32)
        if start is not None:
            np.divide(start.solved, roots, out=first, where=roots > 0)
        scaled, steps = system.solve((known * roots).astype(np.float32), first, tolerance)
        solved = scaled * roots
        s, A = solved[0].astype(np.float64), solved[1:].T.astype(np.float64)
        sum_of_s = float(s.sum())
        b = A.sum(axis=0) / sum_of_s if sum_of_s > 0 else np.zeros(len(center))
        return IteratedFit(penalty, A - s[:, None] * b, center + b, solved, steps)

    def scores(self, fit, rows):
        """Scores of a slice of the rows, float64 (rows, P)."""
        return self.times(fit.coefficients.T.astype(np.float32), rows).T + fit.intercept

    def times(self, vectors, rows=slice(None)):
        """vectors K, for the columns of K of a slice of the rows: float32 (k, rows), of vectors (k, n)."""
        gram = self.gram[rows]
        out = np.empty((len(vectors), len(gram)), dtype=np.float32)

        def fill(part):
            if len(vectors) > FEW_COLUMNS:
                np.matmul(vectors, gram[part].T, out=out[:, part])
                return
            for at in range(part.start, part.stop, STRIP_ROWS):
                strip = slice(at, min(at + STRIP_ROWS, part.stop))
                for vector, own in zip(vectors, out, strict=True):
                    own[strip] = gram[strip] @ vector

        run_row_blocks(fill, len(gram), TASK_ROWS)
        return out


class _System:
    """H z = r for some weights and a penalty; vectors are rows here, of float32."""

    def __init__(self, ridge, roots, shift):
        self.ridge, self.roots, self.shift = ridge, roots, shift
        with single_threaded():
            self.features = ridge._features * roots
            own = (self.features @ self.features.T).astype(np.float64)
            own[np.diag_indices(len(own))] += float(shift)
            self.factor = stable_cholesky(own)

    def times(self, z):
        """H z."""
        return self.roots * self.ridge.times(z * self.roots) + self.shift * z

    def preconditioned(self, r):
        """P^-1 r."""
        with single_threaded():
            inner = linalg.cho_solve((self.factor, True), (self.features @ r.T).astype(np.float64), check_finite=False)
            return (r - inner.T.astype(np.float32) @ self.features) / self.shift

    def solve(self, known, z, tolerance):
        """(z with H z = known, steps): conjugate gradients for each row of known, until all of them are solved."""
        r = known - self.times(z) if z.any() else known.copy()
        enough = tolerance * np.sqrt(_dot(known, known))
        guided = self.preconditioned(r)
        direction, before = guided.copy(), _dot(r, guided)
        for step in range(MOST_STEPS):
            if (np.sqrt(_dot(r, r)) <= enough).all():
                return z, step
            image = self.times(direction)
            length = _ratio(before, _dot(direction, image))
            z += length * direction
            r -= length * image
            guided = self.preconditioned(r)
            after = _dot(r, guided)
            direction = guided + _ratio(after, before) * direction
            before = after
        return z, MOST_STEPS


def _dot(x, y):
    """Of each row, in float64."""
    return np.einsum("kn,kn->k", x, y, dtype=np.float64)


def _ratio(x, y):
    """x / y as a float32 column, 0 where y is not positive: what is solved stays as it is."""
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0)[:, None].astype(np.float32)
