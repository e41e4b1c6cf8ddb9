"""Squared loss with every row as a landmark, by conjugate gradients: for more rows than a factorization pays.

    (K + lambda W^-1) (s, A) = (1, Y),     b = s'Y / s'1,     a = A - s b,     f(x) = sum_i a_i K(x, x_i) + b

In z = W^-1/2 (s, A) the matrix is H = W^1/2 K W^1/2 + lambda I. The first M rows, which are in random order, give the
Nystroem approximation F F' of W^1/2 K W^1/2, and the preconditioner is the inverse of F F' + lambda I: [rudi17falkon]

    P^-1 r = (r - F (F'F + lambda I)^-1 F'r) / lambda,     F = W^1/2 K_nM L^-T,     K_MM = L L'

A step takes n^2 operations for each column, so that some twenty of them cost less than a tenth of the n^3 / 3 of a
factorization. They end when the residuals r are small: the predictions for the rows themselves are off by K H^-1 r,
which is no longer than r. Left-out scores come from folds, whose rows have weight 0 in columns of their own: one pass
over K serves the columns of all folds, and takes little more time than for one of them.
"""

__all__ = ["IteratedRidge"]

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
class Solved:
    """What was found for a penalty.

    Parameters
    ----------
    penalty : lambda over the sum of the weights and the mean of K(x, x)
    columns : (s, A) of each problem, float32 (problems, P + 1, n)
    """

    penalty: float
    columns: np.ndarray


class IteratedRidge:
    """The kernel values of all pairs of rows in float32, ready for any targets and penalties.

    Parameters
    ----------
    kernel : Kernel
    X : validated float32 rows, dense or CSR, in random order
    weights : float64 (n,)
    folds : slices of the rows, each of which is held out once
    """

    least_penalty = LEAST_PENALTY["f"]

    def __init__(self, kernel, X, weights, folds):
        self.n, self.weights, self.total, self.folds = X.shape[0], weights, float(weights.sum()), folds
        self.roots = np.sqrt(weights).astype(np.float32)
        with single_threaded():
            self.gram = full_gram(kernel, X, None)
            self.size = float(np.trace(self.gram, dtype=np.float64)) / self.n or 1.0
            guides = self.gram[:GUIDES, :GUIDES].astype(np.float64)
            guides[np.diag_indices(len(guides))] += JITTER * self.size
            root = stable_cholesky(guides).astype(np.float32)
            self.features = linalg.solve_triangular(root, self.gram[:GUIDES], lower=True, check_finite=False)
            self.features *= self.roots
            # F'F of each fold
            self.squares = [(self.features[:, rows] @ self.features[:, rows].T).astype(np.float64) for rows in folds]

    def penalty_of(self, C):
        """The penalty of C / 2 sum_i w_i |y_i - f_i|^2 + |f|^2 / 2."""
        return 1 / (C * self.total * self.size)

    def held_out(self, targets, penalty, tolerance, start=None):
        """(Solved, scores of the rows of each fold by all others, float64 (n, P)).

        Parameters
        ----------
        targets : float64 (n, P)
        tolerance : of residuals, over the targets around their mean
        start : Solved for another penalty
        """
        kept = ~np.eye(len(self.folds), dtype=bool)
        solved = self._solve(targets, kept, penalty, tolerance, None if start is None else start.columns)
        scores = np.empty(targets.shape)
        for columns, rows in zip(solved.columns, self.folds, strict=True):
            coefficients, intercept = self._function(columns, targets)
            scores[rows] = self.times(coefficients.T.astype(np.float32), rows).T + intercept
        return solved, scores

    def fit(self, targets, penalty, tolerance, start):
        """(coefficients, intercept) of all rows, float64 (n, P) and (P,), from what was Solved for folds."""
        first = start.columns.sum(axis=0, keepdims=True) / max(1, len(start.columns) - 1)
        solved = self._solve(targets, np.ones((1, len(self.folds)), dtype=bool), penalty, tolerance, first)
        return self._function(solved.columns[0], targets)

    def _solve(self, targets, kept, penalty, tolerance, start):
        """The Solved of problems that have some of the folds each, ``kept`` being bool (problems, folds)."""
        penalty = max(float(penalty), self.least_penalty)
        known = np.vstack([np.ones(self.n), (targets - self._center(targets)).T]).astype(np.float32)
        roots = np.repeat(kept, [rows.stop - rows.start for rows in self.folds], axis=1) * self.roots
        system = _System(self, kept, roots, penalty * self.size)
        first = np.zeros((len(kept), *known.shape), dtype=np.float32)
        if start is not None:
            np.divide(start, roots[:, None], out=first, where=roots[:, None] > 0)
        z = system.solve(known * roots[:, None], first, tolerance)
        return Solved(penalty, z * roots[:, None])

    def _center(self, targets):
        return self.weights @ targets / self.total

    def _function(self, columns, targets):
        """(coefficients, intercept) of (s, A)."""
        s, A = columns[0].astype(np.float64), columns[1:].T.astype(np.float64)
        total = float(s.sum())
        b = A.sum(axis=0) / total if total > 0 else np.zeros(A.shape[1])
        return A - s[:, None] * b, self._center(targets) + b

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
    """H z = r of all problems, z being float32 (problems, P + 1, n).

    Parameters
    ----------
    ridge : IteratedRidge
    kept : the folds that each problem has, bool (problems, folds)
    roots : W^1/2 of each problem, float32 (problems, n)
    shift : lambda per unit of weight
    """

    def __init__(self, ridge, kept, roots, shift):
        self.ridge, self.roots = ridge, roots[:, None]
        self.shifts = (shift * np.square(roots, dtype=np.float64).sum(axis=1)).astype(np.float32)
        self.factors = []
        with single_threaded():
            for own, shift in zip(kept, self.shifts, strict=True):
                square = sum(one for one, is_kept in zip(ridge.squares, own, strict=True) if is_kept)
                square[np.diag_indices(len(square))] += float(shift)
                self.factors.append(stable_cholesky(square))

    def times(self, z):
        """H z."""
        columns = (z * self.roots).reshape(-1, self.ridge.n)
        return self.roots * self.ridge.times(columns).reshape(z.shape) + self.shifts[:, None, None] * z

    def preconditioned(self, r):
        """P^-1 r, where F is that of all rows, of which each problem has its part."""
        features, out = self.ridge.features, np.empty_like(r)
        with single_threaded():
            inner = (r.reshape(-1, self.ridge.n) @ features.T).reshape(*r.shape[:2], -1)
            for one, factor in zip(inner, self.factors, strict=True):
                one[:] = linalg.cho_solve((factor, True), one.T.astype(np.float64), check_finite=False).T
            np.matmul(inner.reshape(-1, len(features)), features, out=out.reshape(-1, self.ridge.n))
        np.subtract(r, out, out=out, where=self.roots > 0)
        out *= (self.roots > 0) / self.shifts[:, None, None]
        return out

    def solve(self, known, z, tolerance):
        """z with H z = known: conjugate gradients for each column, until all of them are solved."""
        r = known - self.times(z) if z.any() else known.copy()
        enough = tolerance * np.sqrt(_dot(known, known))
        guided = self.preconditioned(r)
        direction, before = guided.copy(), _dot(r, guided)
        for _ in range(MOST_STEPS):
            if (np.sqrt(_dot(r, r)) <= enough).all():
                break
            image = self.times(direction)
            length = _ratio(before, _dot(direction, image))
            z += length * direction
            r -= length * image
            guided = self.preconditioned(r)
            after = _dot(r, guided)
            direction = guided + _ratio(after, before) * direction
            before = after
        return z


def _dot(x, y):
    """Of each column, in float64."""
    return np.einsum("jkn,jkn->jk", x, y, dtype=np.float64)


def _ratio(x, y):
    """x / y in float32, 0 where y is not positive: what is solved stays as it is."""
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0)[..., None].astype(np.float32)
