"""Exact kernel machines: the dual of every column of scores on kernel values, not on features of a map.

    minimize over f    1/2 |f|^2 + C sum_i w_i L(y_i, f(x_i)),      f(x) = sum_i b_i K(x, x_i) + s^2 sum_i b_i

All columns go in step: in every round each says which rows it wants to move, rows of the matrix that any of them needs
are computed together, once, and then each moves its own. So the pairs of one-vs-one, which have the rows of two classes
each, share what they know of a row, and nothing depends on the number of threads.
"""

__all__ = ["LOSSES", "bytes_needed", "fit_exact", "plan_exact"]

from itertools import pairwise

import numpy as np

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import run_blocks, single_threaded
from mercer.learners.exact.column import Column
from mercer.learners.exact.rows import GramRows
from mercer.learners.fitting.encode import WORK_ARRAYS
from mercer.learners.fitting.plan import Plan
from mercer.learners.solvers.problem import Solution, relative_gaps

LOSSES = ("hinge", "squared_hinge", "huber_hinge", "epsilon_insensitive", "absolute")
GROUP = 8  # columns that one task moves


def bytes_needed(n_rows):
    """Memory of the kernel values at most."""
    return 4 * n_rows**2


def plan_exact(who, kernel, shape, columns, loss):
    """The Plan of a machine on the values of a kernel between n rows of d numbers, shape (n, d)."""
    n = shape[0]
    return Plan(
        estimator=who,
        kernel=repr(kernel),
        map="",
        rows="compared with each other by exact kernel values",
        inner="",
        n_rows=n,
        n_inputs=shape[1],
        n_features=n,
        n_factors=n,
        n_columns=columns.n_columns,
        problems=columns.title,
        loss=loss.name,
        solver="exact",
        storage="memory",
        rows_bytes=bytes_needed(n),
        work_bytes=WORK_ARRAYS * 8 * n * columns.n_columns,
        planes_bytes=0,
        tables_bytes=0,
    )


def fit_exact(kernel, X, loss, targets, weights, C, intercept=1.0, tol=1e-3, max_iter=1000, n_jobs=None):
    """The Solution whose relative duality gap is at most ``tol`` in every column; its ``u`` are coefficients of X.

    Nothing is random: the same rows give the same bits on any number of threads.

    Parameters
    ----------
    kernel : Kernel, positive semidefinite on these rows
    X : validated rows, dense or CSR (n, d); float32 rows are compared in float32
    loss : Loss, one of ``LOSSES``
    targets : int8 (n, P) of -1, 0, +1, or float64 (n, P)
    weights : float64 (n,), how much each row counts
    C : weight of the losses against the regularizer
    intercept : s of a scaled intercept, 0 for none
    tol : relative duality gap, (primal - dual) / primal
    max_iter : working sets of a column at most
    n_jobs : threads
    """
    if loss.name not in LOSSES:
        raise InputError(f"Exact machines support the losses {', '.join(LOSSES)}; got {loss.name!r}.")
    constant, caps = float(intercept) ** 2, float(C) * np.asarray(weights, dtype=np.float64)
    order = _together(targets) if loss.task == "classification" else np.arange(len(targets))
    caps = caps[order]
    columns = [_column(of_column, caps, loss.form, constant) for of_column in np.ascontiguousarray(targets[order].T)]
    interrupted = False
    with single_threaded():  # once for all: every block would switch BLAS's threads off and on
        try:
            _solve([column for column, _ in columns], GramRows(kernel, X[order], n_jobs), tol, max_iter)
        except KeyboardInterrupt:
            interrupted = True
    u = np.zeros(targets.shape)
    for p, (column, rows) in enumerate(columns):
        u[order[rows], p] = column.best
    primal, dual, floors = np.array([(one.primal, one.dual, one.floor) for one, _ in columns]).T
    return Solution(
        u=u,
        intercept=constant * u.sum(axis=0),
        objectives=primal,
        dual_objectives=dual,
        floors=floors,
        n_iter=max((one.rounds for one, _ in columns), default=0),
        converged=bool((relative_gaps(primal, dual, floors) <= tol).all()),
        interrupted=interrupted,
        solver="exact",
    )


def _together(targets):
    """An order of the rows in which those with equal targets are together, if some have no part in some columns."""
    if targets.all():
        return np.arange(len(targets))
    numbers = np.random.default_rng(0).integers(2**40, size=targets.shape[1]).astype(np.float64)  # sums are exact
    return np.argsort(targets @ numbers, kind="stable")


def _column(targets, caps, form, constant):
    """(Column of the rows with a part in it, their numbers)."""
    if form.two_sided:
        return Column([slice(0, len(targets))], targets, caps, form, constant), np.arange(len(targets))
    rows = np.flatnonzero(targets)
    ends = np.flatnonzero(np.diff(rows, prepend=-2, append=len(targets) + 1) > 1)
    parts = [slice(int(rows[a]), int(rows[b - 1]) + 1) for a, b in pairwise(ends)]
    return Column(parts, targets[rows], caps[rows], form, constant), rows


def _solve(columns, rows, tol, max_iter):
    """Rounds until the relative gap of every column is at most ``tol``, at most ``max_iter`` of them."""
    active = [one for one in columns if one.gap > tol]
    for _ in track(range(max_iter), "Exact machine"):
        wanted = [part for group in run_blocks(lambda group: [one.choose(rows.diagonal) for one in group],
                                               _groups(active), rows.n_jobs) for part in group]  # fmt: skip
        active = [one for one, part in zip(active, wanted, strict=True) if len(part)]
        if not active:
            return
        rows.compute(np.concatenate(wanted))
        run_blocks(lambda group: [one.descend(rows.values, rows.places) for one in group], _groups(active), rows.n_jobs)
        active = [one for one in active if one.gap > tol]


def _groups(columns):
    return [columns[at : at + GROUP] for at in range(0, len(columns), GROUP)]
