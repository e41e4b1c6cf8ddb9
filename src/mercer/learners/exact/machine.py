"""Exact kernel machines: the dual of every column of scores on kernel values, not on features of a map.

    minimise over f    1/2 |f|^2 + C sum_i w_i L(y_i, f(x_i)),      f(x) = sum_i b_i K(x, x_i) + s^2 sum_i b_i

One-vs-one has a small problem for each pair of classes: K_aa, K_ab and K_bb are computed once each and all pairs share
the blocks of single classes. A single column computes rows of the matrix when they are first needed; several columns of
all rows share the whole matrix.
"""

__all__ = ["ExactSolution", "bytes_needed", "fit_exact"]

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, single_threaded
from mercer.learners.exact.column import Column
from mercer.learners.exact.rows import GramRows, full_gram
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.problem import relative_gaps

LOSSES = ("hinge", "squared_hinge", "huber_hinge")
MOST_WHOLE = 4096  # rows of a pair whose matrix is made at once; larger ones compute rows when they are needed


@dataclass
class ExactSolution:
    """Coefficients of rows, and how good they are.

    Parameters
    ----------
    support : int64 (S,), ascending: rows with a coefficient other than 0 in some column
    coefficients : float64 (S, P): f(x) = sum_i coefficients_i K(x, x_i) + intercept
    intercept : float64 (P,)
    objectives, dual_objectives : primal and dual value of each column, float64 (P,)
    floors : values below which a gap is not measured relative to them, float64 (P,)
    n_iter : working sets of the column that took most
    converged : whether every relative gap is at most tol
    interrupted : whether Ctrl-C ended the work; the coefficients are the best so far
    """

    support: np.ndarray
    coefficients: np.ndarray
    intercept: np.ndarray
    objectives: np.ndarray
    dual_objectives: np.ndarray
    floors: np.ndarray
    n_iter: int
    converged: bool
    interrupted: bool = False

    @property
    def gaps(self) -> np.ndarray:
        """Relative duality gap of each column, float64 (P,)."""
        return relative_gaps(self.objectives, self.dual_objectives, self.floors)


def bytes_needed(n_rows, counts=None):
    """Memory of the kernel values at most: of the matrix of all rows, or with ``counts`` (rows per class) of pairs."""
    if counts is None:
        return 4 * n_rows**2
    largest = np.sort(np.asarray(counts, dtype=np.float64))[-2:].sum()
    return int(4 * (np.square(np.asarray(counts, dtype=np.float64)).sum() + largest**2))


def fit_exact(
    kernel,
    X,
    codes,
    columns,
    weights,
    C,
    *,
    loss="hinge",
    intercept="scaled",
    intercept_scaling=1.0,
    tol=1e-3,
    max_iter=1000,
    n_jobs=None,
):
    """Minimise until the relative duality gap of every column is at most ``tol``.

    Nothing is random: the same rows give the same bits on any number of threads.

    Parameters
    ----------
    kernel : Kernel, positive semidefinite on these rows
    X : validated rows, dense or CSR (n, d)
    codes : class numbers, int64 (n,), or the indicator matrix of labels (n, P)
    columns : :class:`mercer.learners.fitting.targets.ClassColumns` that are not joint
    weights : float64 (n,), how much each row counts
    C : weight of the losses against the regulariser
    loss : one of ``"hinge"``, ``"squared_hinge"``, ``"huber_hinge"``
    intercept : ``"scaled"`` or ``"none"``
    intercept_scaling : s of a scaled intercept
    tol : relative duality gap, (primal - dual) / primal
    max_iter : working sets of a column at most
    n_jobs : threads

    Returns
    -------
    ExactSolution
    """
    _check(loss, intercept)
    form, constant = get_loss(loss).form, intercept_scaling**2 if intercept == "scaled" else 0.0
    caps = float(C) * np.asarray(weights, dtype=np.float64)
    X = X.astype(np.float32, copy=False)  # kernel values are kept in float32
    parts = _Pairs(kernel, X, codes, columns) if columns.name == "ovo" else _AllRows(kernel, X, codes, columns)
    problems = [Column(parts.targets(p), caps[parts.rows(p)], form, constant) for p in range(columns.n_columns)]
    interrupted = False
    with single_threaded():  # once for all columns: each would switch BLAS's threads off and on
        try:
            parts.solve(problems, tol, max_iter, n_jobs)
        except KeyboardInterrupt:
            interrupted = True
    return _solution(problems, parts, X.shape[0], constant, tol, interrupted)


def _check(loss, intercept):
    if loss not in LOSSES:
        raise InputError(f"Exact machines know the losses {', '.join(LOSSES)}; got {loss!r}.")
    if intercept == "free":
        raise InputError(
            "Exact machines cannot keep the equality of an unregularised intercept. Use intercept_scaling=1."
        )


class _AllRows:
    """Columns that see all rows: one-vs-rest, two classes, labels."""

    def __init__(self, kernel, X, codes, columns):
        self.kernel, self.X = kernel, X
        self.signs = columns.signs(codes)

    def rows(self, p):
        """The rows of column p."""
        return np.arange(self.X.shape[0])

    def targets(self, p):
        """-1 and +1 of the rows of column p, int8."""
        return np.ascontiguousarray(self.signs[:, p])

    def solve(self, problems, tol, max_iter, n_jobs):
        if len(problems) == 1:
            rows = GramRows.of_kernel(self.kernel, self.X, n_jobs)
        else:
            rows = GramRows.of_matrix(full_gram(self.kernel, self.X, n_jobs))
        run_blocks(lambda problem: problem.solve(rows, tol, max_iter), problems, n_jobs, "Exact machine")


class _Pairs:
    """One-vs-one: the rows of a, then those of b, for each pair of classes."""

    def __init__(self, kernel, X, codes, columns):
        self.kernel, self.columns = kernel, columns
        self.members = [np.flatnonzero(codes == k) for k in range(columns.n_classes)]
        self.X = [X[members] for members in self.members]

    def rows(self, p):
        return np.concatenate([self.members[k] for k in self._pair(p)])

    def targets(self, p):
        a, b = (len(self.members[k]) for k in self._pair(p))
        return np.repeat(np.array([-1, 1], dtype=np.int8), [a, b])

    def _pair(self, p):
        return self.columns.first[p], self.columns.second[p]

    def solve(self, problems, tol, max_iter, n_jobs):
        sizes = [len(members) for members in self.members]
        small = [k for k in range(len(sizes)) if sizes[k] + min(sizes) <= MOST_WHOLE]  # in a pair that is made at once
        own = dict(zip(small, run_blocks(self._own, small, n_jobs), strict=True))

        def solve(p):
            a, b = self._pair(p)
            if sizes[a] + sizes[b] <= MOST_WHOLE:
                rows = GramRows.of_matrix(_joined(own[a], self.kernel.gram_block(self.X[a], self.X[b], 1), own[b]))
            else:
                rows = GramRows.of_kernel(self.kernel, _stacked(self.X[a], self.X[b]), 1)
            problems[p].solve(rows, tol, max_iter)

        run_blocks(solve, range(len(problems)), n_jobs, "Exact machine")

    def _own(self, k):
        return self.kernel.gram_block(self.X[k], self.X[k], 1)


def _joined(aa, ab, bb):
    """The matrix of the rows of two classes."""
    n = len(aa)
    out = np.empty((n + len(bb), n + len(bb)), dtype=np.float32)
    out[:n, :n], out[:n, n:], out[n:, :n], out[n:, n:] = aa, ab, ab.T, bb
    return out


def _stacked(X, Y):
    return sparse.vstack([X, Y], format="csr") if sparse.issparse(X) else np.concatenate([X, Y])


def _solution(problems, parts, n, constant, tol, interrupted):
    used = np.zeros(n, dtype=bool)
    for p, problem in enumerate(problems):
        used[parts.rows(p)[problem.best != 0]] = True
    support = np.flatnonzero(used)
    place = np.cumsum(used) - 1
    coefficients = np.zeros((len(support), len(problems)))
    for p, problem in enumerate(problems):
        has_part = problem.best != 0
        coefficients[place[parts.rows(p)[has_part]], p] = problem.best[has_part]
    primal, dual, floors = (
        np.array([getattr(problem, name) for problem in problems]) for name in ("primal", "dual", "floor")
    )
    return ExactSolution(
        support=support,
        coefficients=coefficients,
        intercept=constant * coefficients.sum(axis=0),
        objectives=primal,
        dual_objectives=dual,
        floors=floors,
        n_iter=max((problem.rounds for problem in problems), default=0),
        converged=bool((relative_gaps(primal, dual, floors) <= tol).all()),
        interrupted=interrupted,
    )
