"""(P) of :mod:`mercer.maps.reduction.nonnegative` for more columns than all can be compared with each other.

Of D columns few get a weight, so few rows of G matter. Columns that might get one, the candidates, have their block of
G in memory, in which (P) is solved. A pass over all pairs then tells the slopes q - Gc of every column: a column whose
slope is above half the penalty belongs to the solution, and is taken in with those whose slopes come next. Without such
a column the solution of the candidates is that of all columns, exactly.

A pass needs no D x D matrix. Pairs that were drawn are gone through in blocks: with the residuals r = values - design c
it sums design' r. Over all pairs of n rows of a kernel k(x, y) = f(x) f(y), with F = f(X) and R the n x n matrix
F diag(1 - c) F' without its diagonal, the slope of column i is f_i' R f_i / (n (n - 1)).
"""

__all__ = ["ScreenedMoments", "screened_moments"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_row_blocks
from mercer.maps.reduction.nonnegative import SLACK, solve_nonnegative
from mercer.maps.reduction.pair_moments import (
    all_pairs,
    design_moments,
    draw_pairs,
    draws_all,
    factor,
    moment_error,
    pair_designs,
    pair_values,
    spread_pairs,
)

GROWTH, LEAST = 1.5, 256  # candidates after a pass that found more of them, over those before; so many at first
MOST = 2**14  # candidates: a matrix of that many by that many takes 2 GiB
FEW_ROWS = 2**12  # up to here a pass over all pairs of dense rows is less work than one over drawn pairs
ROWS, PAIRS = 256, 1024  # rows and pairs of a partial sum
KEPT_VALUES = 2**26  # values of a sparse design that are kept between passes


def screened_moments(kernel, X, which, n_pairs, random_state, n_jobs=None):
    """As ``kernel_moments``, for many columns."""
    few = not sparse.issparse(X) and X.shape[0] <= FEW_ROWS
    if draws_all(kernel, X.shape[0], which, n_pairs) and (few or which == "all"):
        return ScreenedMoments(_AllPairs(kernel, X, n_jobs))
    if which == "informative":
        pairs = spread_pairs(kernel, X, n_pairs, random_state, n_jobs)
    else:
        pairs = draw_pairs(X.shape[0], n_pairs, random_state)
    return ScreenedMoments(_DrawnPairs(kernel, X, pairs, n_jobs))


class ScreenedMoments:
    """Moments of which only those of candidate columns are in memory; see the head of this file.

    Parameters
    ----------
    pairs : _AllPairs or _DrawnPairs

    Attributes
    ----------
    q, square, mean
        As in ``Moments``.
    passes : int
        How often all pairs were gone through.
    """

    def __init__(self, pairs):
        self._pairs = pairs
        self.square, self.mean = pairs.square, pairs.mean
        self.q = pairs.slopes(np.zeros(pairs.n_columns))
        self.passes = 1
        self._at, self._G = np.empty(0, dtype=np.int64), np.empty((0, 0))
        self._take(self.q)

    def minimizer(self, penalty=0.0, start=None):
        """The optimum c of (P) among all columns."""
        slack = SLACK * float(np.abs(self.q).max(initial=0.0))
        while True:
            at = self._at
            c = np.zeros(len(self.q))
            c[at] = solve_nonnegative(self._G, self.q[at], penalty, None if start is None else start[at])
            slopes = self._pairs.slopes(c)
            self.passes += 1
            slopes[at] = -np.inf
            if not (slopes > penalty / 2 + slack).any():
                return c
            self._take(slopes)
            start = c

    def refitted(self, at, start):
        """Weights of these columns alone, without a penalty."""
        G, q = self._block(at), self.q[at]
        return solve_nonnegative(G, q, start=start)

    def error(self, c):
        """(7), as ``Moments`` has it; c is 0 but for candidates."""
        at = np.flatnonzero(c)
        return moment_error(self._block(at), self.q[at], self.square, self.mean, c[at])

    def _block(self, at):
        where = np.searchsorted(self._at, at)
        return self._G[np.ix_(where, where)]

    def _take(self, slopes):
        """More candidates: the columns with the largest slopes."""
        size = min(max(LEAST, int(GROWTH * len(self._at))), len(self.q))
        if size > MOST:
            raise InputError(
                f"ConvexReduction(method='convex') must select so many of {len(self.q)} columns that more than "
                f"{MOST} would have to be compared with each other. Lower n_dims, or use method='energy'."
            )
        ranks = np.argsort(-slopes, kind="stable")
        self._at = np.sort(np.concatenate([self._at, ranks[: size - len(self._at)]]))
        self._G = self._pairs.block(self._at)


class _AllPairs:
    """All pairs of different rows, for k(x, y) = f(x) f(y)."""

    def __init__(self, kernel, X, n_jobs):
        self._kernel, self._X, self._n_jobs = kernel, X, n_jobs
        self._F = factor(kernel, X)
        self._count = X.shape[0] * (X.shape[0] - 1)
        self.n_columns = X.shape[1]
        found = self._over_rows(lambda part, R: (float(np.vdot(R, R)), float(R.sum())), np.ones(self.n_columns))
        self.square, self.mean = (sum(column) / self._count for column in zip(*found, strict=True))

    def slopes(self, c):
        F = self._F

        def partial(part, R):
            if sparse.issparse(F):
                return F[part].multiply((F.T @ R.T).T).sum(axis=0)
            return np.einsum("ri,ri->i", F[part], R @ F)

        return sum(self._over_rows(partial, 1.0 - c)) / self._count

    def block(self, at):
        return all_pairs(self._kernel, self._X[:, at], self._n_jobs).G

    def _over_rows(self, function, weights):
        """function(part, R[part]) of parts of the rows, R as in the head of this file for 1 - c = weights."""
        F = self._F

        def partial(part):
            if sparse.issparse(F):
                R = (F[part].multiply(weights[None]) @ F.T).toarray()
            else:
                R = (F[part] * weights) @ F.T
            R[np.arange(R.shape[0]), np.arange(part.start, part.stop)] = 0.0
            return function(part, R)

        return run_row_blocks(partial, F.shape[0], ROWS, self._n_jobs)


class _DrawnPairs:
    """Pairs that were drawn, of any additive kernel; one-dimensional kernels of sparse rows are sparse and kept."""

    def __init__(self, kernel, X, pairs, n_jobs):
        self._kernel, self._X, self._numbers, self._n_jobs = kernel, X, pairs, n_jobs
        self.n_columns = X.shape[1]
        self._values = pair_values(kernel, X, pairs, n_jobs)
        self.square = float(self._values @ self._values) / len(self._values)
        self.mean = float(self._values.mean())
        self._design = _sparse_design(kernel, X, pairs) if sparse.issparse(X) else None

    def slopes(self, c):
        if self._design is not None:
            return self._design.T @ (self._values - self._design @ c) / len(self._values)

        def partial(part):
            out = np.zeros(self.n_columns)
            for block, design in pair_designs(self._kernel, self._X, self._numbers, part):
                out += (self._values[block] - design @ c) @ design
            return out

        parts = run_row_blocks(partial, len(self._values), PAIRS, self._n_jobs)
        return sum(parts) / len(self._values)

    def block(self, at):
        if self._design is not None:
            inside = self._design[:, at]
            return (inside.T @ inside).toarray() / len(self._values)
        return design_moments(self._kernel, self._X[:, at], self._numbers, self._values, self._n_jobs).G


def _sparse_design(kernel, X, pairs):
    """One-dimensional kernels of pairs of CSR rows, CSR; None if they are many, or not 0 where a value is."""
    if kernel.scalar(np.ones(1), np.zeros(1))[0] != 0:
        return None
    blocks, count = [], 0
    for start in range(0, pairs.shape[1], PAIRS):
        left, right = (sparse.csr_array(X[side[start : start + PAIRS]], dtype=np.float64) for side in pairs)
        both = (left != 0).multiply(right != 0)
        left, right = (sparse.csr_array(both.multiply(rows)) for rows in (left, right))
        for rows in (left, right):
            rows.sort_indices()
        blocks.append(sparse.csr_array((kernel.scalar(left.data, right.data), left.indices, left.indptr), left.shape))
        count += left.nnz
        if count > KEPT_VALUES:
            return None
    return sparse.csr_array(sparse.vstack(blocks))
