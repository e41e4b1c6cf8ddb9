"""Squared loss on landmarks, with the scores that every row would get from all the others, in closed form.

    minimize over u, b     sum_i w_i |y_i - F_i u - b|^2 + lambda |u|^2        F = K(X, Z) L^-T,   K_ZZ = L L'

The landmarks Z span the functions; F holds the rows in an orthonormal basis of them. The intercept b is free, so rows
and targets are centered on their weighted means m and c. With A = sum_i w_i (F_i - m)(F_i - m)' + lambda I = C C',

    h_i = w_i (1 / sum w + |C^-1 (F_i - m)|^2)               what row i adds to its own score, per unit of y_i
    f_i without row i = (f_i - h_i y_i) / (1 - h_i)          exactly, for given landmarks       [cawley06leave]

One factorization serves all columns of y, and another one each further lambda.

Notation
    symbol   code       meaning                                          shape
    n, M     n, M       rows, landmarks
    F        features   rows in the orthonormal basis                    (n, M)
    L, C     root, own  Cholesky factors of K_ZZ and of A                (M, M)
    Y        targets    a column per class or target                     (n, P)
"""

__all__ = ["LEAST_ROOM", "LandmarkRidge", "RidgeFit", "row_blocks"]

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk, dtrsm, ssyrk, strsm

from mercer._base.cholesky import stable_cholesky
from mercer._base.threads import run_blocks, single_threaded

BLOCK_ROWS = 2048  # rows per task: a fixed number, so that sums do not depend on the number of threads
# Added to the diagonal of K_ZZ, relative to its mean: directions below it hold more rounding than signal.
JITTER = {"f": 1e-6, "d": 1e-11}
# 1 - h of a row that decides its own score: below, what is left of f - h y is rounding, which looks like y itself. Such
# a row counts as one of which the others know nothing.
LEAST_ROOM = {"f": 1e-3, "d": 1e-7}


@dataclass(frozen=True)
class RidgeFit:
    """The solution for one penalty.

    Parameters
    ----------
    penalty : lambda over the sum of the weights and the mean of K(x, x)
    left_out : scores of the rows by all the others, float64 (n, P)
    coefficients : of the landmarks, float64 (M, P)
    intercept : float64 (P,)
    """

    penalty: float
    left_out: np.ndarray
    coefficients: np.ndarray
    intercept: np.ndarray


class LandmarkRidge:
    """Rows in the basis of their landmarks, ready for any targets and penalties.

    Parameters
    ----------
    kernel : Kernel
    X : validated rows, dense or CSR; float32 rows are computed in float32
    landmarks : rows of the same kind
    weights : float64 (n,)
    groups : None, or numbers of groups, ascending (n,): a row is then left out with all others of its group
    """

    def __init__(self, kernel, X, landmarks, weights, groups=None):
        self.n, self.M = X.shape[0], landmarks.shape[0]
        self.dtype = np.dtype(X.dtype)
        self.weights, self.total = weights, float(weights.sum())
        self.groups, self.blocks = groups, row_blocks(self.n, groups, BLOCK_ROWS)
        self.root, self.size = _root_of(kernel, landmarks, self.dtype)
        self.features = np.empty((self.n, self.M), dtype=self.dtype)
        self._trsm, self._syrk = (strsm, ssyrk) if self.dtype == np.float32 else (dtrsm, dsyrk)
        root = np.asfortranarray(self.root, dtype=self.dtype)

        def fill(rows):
            block = np.ascontiguousarray(kernel.gram_block(X[rows], landmarks, None), dtype=self.dtype)
            self.features[rows] = self._trsm(1.0, root, block.T, lower=1, overwrite_b=1).T

        with single_threaded():
            run_blocks(fill, self.blocks)
            self.mean, self.gram = self._moments()

    def _moments(self):
        """Weighted mean of the features, and their weighted second moments around it, in float64."""
        mean = np.zeros(self.M)
        gram = np.zeros((self.M, self.M))

        def moments(rows):
            weighted = self.features[rows] * np.sqrt(self.weights[rows, None]).astype(self.dtype)
            return self.weights[rows] @ self.features[rows].astype(np.float64), self._syrk(1.0, weighted.T, lower=1)

        for one, second in _in_order(moments, self.blocks):
            mean += one
            gram += second
        mean /= self.total
        gram -= self.total * np.outer(mean, mean)
        return mean, gram

    @property
    def least_penalty(self):
        """Below which rounding decides."""
        return JITTER[self.dtype.char]

    def penalty_of(self, C):
        """The penalty of C / 2 sum_i w_i |y_i - f_i|^2 + |u|^2 / 2."""
        return 1 / (C * self.total * self.size)

    def fit(self, targets, penalty):
        """The :class:`RidgeFit` for targets, float64 (n, P), and a penalty."""
        center = self.weights @ targets / self.total
        moments = self._against(targets - center)
        matrix = self.gram.copy()
        matrix[np.diag_indices(self.M)] += penalty * self.total * self.size
        with single_threaded():
            own = stable_cholesky(matrix)
            half = linalg.solve_triangular(own, moments, lower=True, check_finite=False)
            left_out = self._left_out(own, half, targets, center)
            u = linalg.solve_triangular(own, half, lower=True, trans=1, check_finite=False)
            coefficients = linalg.solve_triangular(self.root, u, lower=True, trans=1, check_finite=False)
        return RidgeFit(float(penalty), left_out, coefficients, center - self.mean @ u)

    def _against(self, targets):
        """sum_i w_i (F_i - m) y_i' for centered targets, float64 (M, P)."""
        weighted = (self.weights[:, None] * targets).astype(self.dtype)
        with single_threaded():
            parts = run_blocks(lambda rows: self.features[rows].T @ weighted[rows], self.blocks)
        return sum(part.astype(np.float64) for part in parts)

    def _left_out(self, own, half, targets, center):
        out = np.empty(targets.shape)
        own, mean = np.asfortranarray(own, dtype=self.dtype), self.mean.astype(self.dtype)
        half = half.astype(self.dtype)

        def fill(rows):
            block = self._trsm(1.0, own, (self.features[rows] - mean).T, lower=1, overwrite_b=1)
            leverage = np.einsum("mn,mn->n", block, block, dtype=np.float64) + 1 / self.total
            h = (self.weights[rows] * leverage)[:, None]
            scores, room = block.T @ half + center, 1 - h
            known = room > LEAST_ROOM[self.dtype.char]
            out[rows] = np.where(known, (scores - h * targets[rows]) / np.where(known, room, 1.0), center)
            if self.groups is not None:
                self._leave_groups_out(block, scores, targets[rows], center, rows, out[rows])

        run_blocks(fill, self.blocks)
        return out

    def _leave_groups_out(self, block, scores, targets, center, rows, out):
        """y - (I - H)^-1 (y - f) for the rows of each group together, H being their part of the hat matrix."""
        ends = np.flatnonzero(np.diff(self.groups[rows])) + 1
        for start, stop in zip([0, *ends], [*ends, len(scores)], strict=True):
            if stop - start == 1:
                continue
            part = slice(start, stop)
            own, roots = block[:, part].astype(np.float64), np.sqrt(self.weights[rows][part])[:, None]
            values, vectors = np.linalg.eigh(np.eye(stop - start) - roots * (own.T @ own + 1 / self.total) * roots.T)
            if values[0] <= LEAST_ROOM[self.dtype.char]:
                out[part] = center
                continue
            residuals = vectors.T @ (roots * (targets[part] - scores[part]))
            out[part] = targets[part] - vectors @ (residuals / values[:, None]) / roots


def row_blocks(n, groups, size):
    """Slices of about ``size`` rows, none of which cuts a group."""
    if groups is None:
        return [slice(at, min(at + size, n)) for at in range(0, n, size)]
    ends = np.append(np.flatnonzero(np.diff(groups)) + 1, n)
    cuts = [0]
    for end in ends:
        if end - cuts[-1] >= size or end == n:
            cuts.append(int(end))
    return [slice(a, b) for a, b in pairwise(cuts)]


def _root_of(kernel, landmarks, dtype):
    """(L of K_ZZ with a little on its diagonal, mean of K(z, z))."""
    with single_threaded():
        gram = kernel.gram_block(landmarks, landmarks, None).astype(np.float64)
        size = float(np.trace(gram)) / len(gram)
        gram[np.diag_indices(len(gram))] += JITTER[dtype.char] * (size or 1.0)
        return stable_cholesky(gram), size or 1.0


def _in_order(function, blocks):
    """Results of the blocks in order, a few at a time: each takes as much memory as the sum of all."""
    for start in range(0, len(blocks), 4):
        yield from run_blocks(function, blocks[start : start + 4])
