"""Dual coordinate descent: rows with the usual inner product [hsieh08dual], and rows of levels, ICD [wu10fast].

Each column of scores is a problem of its own and a task of its own, so that classes run side by side. A column descends
for a while, then scores all rows: that gives the relative duality gap, on which it stops, and the rows worth visiting
next. A small problem is at its end before the loop returns. The loops, and the form in which they see a loss, are in
`mercer._native.learners.descent.sweep`; what they keep for each kind of rows is in
`mercer.learners.solvers.dual.coordinates`.
"""

__all__ = ["JOINT_LOSS", "check_intercept", "row_coordinates", "solve_dual"]

import math

import numpy as np
from sklearn.utils import check_random_state

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, single_threaded
from mercer._native.learners.descent.dual import keep_movable, sum_objectives
from mercer.learners.solvers.dual.coordinates import coordinates_of
from mercer.learners.solvers.losses import LOSSES_WITH_FORM
from mercer.learners.solvers.problem import FLOOR, relative_gaps
from mercer.learners.solvers.rounds import Rounds, minimise

# Ctrl-C takes effect when a loop returns: after visits to this many times the rows, or to rows of so many entries, a
# fraction of a second, but not before all rows were visited so many times
MOST_VISITS, MOST_ENTRIES, LEAST_VISITS = 200, 2**27, 10
SMALL = 2**23  # entries of the rows times columns, below which threads take longer to start than to work
LEAST_SINGLE = 1e-5  # gap down to which tables of float32 are good enough

JOINT_LOSS = "crammer_singer"  # the one joint loss with such a dual: see `mercer.learners.solvers.dual.joint`


def solve_dual(problem, tol=1e-3, max_iter=1000, random_state=0, start=None):
    """Minimize until every relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : :class:`Problem` with dense or CSR rows and the identity as inner product, or words of columns such as
        those of a LevelQuantizer; a loss that has a form; an intercept that is ``"scaled"`` or ``"none"``
    tol : relative duality gap, (primal - dual) / primal
    max_iter : passes over the rows at most, as visits of single rows divided by their number
    random_state : int, RandomState or None, for the order of visits
    start : ``Solution.state`` of an earlier call on the same rows and targets, with any C
    """
    _check(problem)
    coordinates = row_coordinates(problem, tol)
    with single_threaded():  # once for all columns: each would switch BLAS's threads off and on
        return minimise(_DescentRun(problem, coordinates, tol, max_iter, random_state, start), tol)


def row_coordinates(problem, tol):
    """The rows of the problem one at a time, with tables as exact as a gap of ``tol`` needs."""
    design = problem.design
    found = coordinates_of(design, np.float32 if tol >= LEAST_SINGLE else np.float64, problem.loss.joint)
    if found is None:
        raise InputError(
            "Dual coordinate descent supports dense rows, CSR rows or bits with the identity as inner product, or "
            f"the codes of ProductQuantizer, LevelQuantizer and SparseAdditiveMap; got {design!r}. Use "
            "solver='bundle'."
        )
    return found


def _check(problem):
    if problem.loss.form is None:
        known = ", ".join([*LOSSES_WITH_FORM, JOINT_LOSS])
        raise InputError(
            f"Dual coordinate descent does not support the loss {problem.loss.name!r}. Use {known}, or another solver."
        )
    check_intercept(problem)


def check_intercept(problem):
    """Raise unless rows can move one at a time."""
    if problem.intercept == "free":
        raise InputError(
            "Dual coordinate descent does not support an unregularized intercept. Use intercept_scaling=1 or "
            "solver='bundle'."
        )


class _DescentRun(Rounds):
    """All columns of a run, and what is known of each: best weights, primal and dual value."""

    solver, title, further = "dual", "Dual coordinate descent", ("active",)

    def __init__(self, problem, coordinates, tol, max_iter, random_state, start):
        super().__init__(problem)
        self.problem, self.tol, self.max_iter = problem, tol, max_iter
        rows = problem.design.rows
        is_small = rows.nbytes // rows.dtype.itemsize * problem.n_columns <= SMALL
        self.n_jobs = 1 if is_small else problem.design.n_jobs
        rng = check_random_state(random_state)
        keys = rng.randint(2**32, size=(problem.n_columns, 2), dtype=np.uint64)
        caps = float(problem.C) * np.ascontiguousarray(problem.weights, dtype=np.float64)
        norms = problem.design.inner.row_norms(problem.design.rows, self.n_jobs)
        shared = coordinates, norms, caps, self._most_visits(), self.n_jobs
        self.columns = [
            _Column(problem, p, (key[0] << np.uint64(32)) | key[1], self.floors[p], *shared)
            for p, key in enumerate(keys)
        ]
        b = None if start is None else start["b"] * (problem.C / start["C"])
        self.open = self.columns
        if b is not None:
            self._run(lambda column: column.begin(b))

    def _most_visits(self):
        """After which a loop returns."""
        rows = self.problem.design.rows
        n = max(1, rows.shape[0])
        entries = max(1, rows.nbytes // rows.dtype.itemsize // n)
        return n * min(MOST_VISITS, max(LEAST_VISITS, MOST_ENTRIES // (n * entries)))

    def step(self):
        """Visit movable rows of every open column for as long as that is worth it."""
        self._run(lambda column: column.descend(self.tol, self.max_iter))

    def _run(self, step):
        run_blocks(
            step, self.open, self.n_jobs, "Training columns of scores"
        )  # of thousands of classes a step takes minutes

    def note(self, tol):
        """Record where the work stands; whether everything is done."""
        self._collect()
        self._settle(self.record(sum(column.n_active for column in self.open)) <= tol)
        gaps = relative_gaps(self.primal, self.dual, self.floors)
        most = self.max_iter * self.problem.design.shape[0]
        self.open = [
            column
            for column, gap in zip(self.columns, gaps, strict=True)
            if gap > tol and column.n_active and (not column.visits or column.visits + column.n_active <= most)
        ]
        return not self.open

    def _settle(self, which):
        """Have those columns certify what they found."""
        done = [column for column, is_one in zip(self.columns, which, strict=True) if is_one and column.weights is None]
        if done:
            run_blocks(_Column.certify, done, self.n_jobs, "Weights")
        self._collect()

    def _collect(self):
        """Make the values those that the columns know."""
        self.primal, self.dual = (
            np.array([getattr(column, name) for column in self.columns]) for name in ("primal", "dual")
        )

    def solution(self, tol, interrupted):
        self._settle([True] * len(self.columns))
        r = self.problem.design.inner.n_factors
        u = np.array([column.weights for column in self.columns]).reshape(len(self.columns), r).T
        n = max(1, self.problem.design.shape[0])
        scale = self.columns[0].scale if self.columns else 0.0
        self.n_iter = math.ceil(max((column.visits for column in self.columns), default=0) / n)
        intercept = scale * np.array([column.constant for column in self.columns])
        b = np.array([column.b for column in self.columns]).reshape(len(self.columns), -1).T
        return self.ended(tol, interrupted, np.ascontiguousarray(u), intercept, {"b": b, "C": float(self.problem.C)})


class _Column:
    """One problem.

    Attributes
    ----------
    b, state : dual variables (n,), and the weights they stand for
    order, n_active : the rows to visit are order[:n_active]
    visits : rows visited so far
    values, best : the smallest primal value so far and the largest dual value, and the b of the former
    weights, constant : of ``best``, once they are certified, else None
    """

    def __init__(self, problem, p, key, floor, coordinates, norms, caps, most_visits, n_jobs):
        self.coordinates, self.n_jobs, self.most_visits = coordinates, n_jobs, most_visits
        self.scale = float(problem.intercept_scaling) if problem.intercept == "scaled" else 0.0
        self.p, self.norms, self.caps, self.key, self.floor = p, norms, caps, key, float(floor)
        self.targets = np.ascontiguousarray(problem.targets[:, p])
        self.form = problem.loss.form
        n = len(problem.design)
        self.b, self.best, self.state = np.zeros(n), np.zeros(n), coordinates.new_state()
        self.order, self.n_active = np.arange(n, dtype=np.int32), n
        self.visits, self.n_sweeps = 0, 0
        self.values = np.array([floor / FLOOR, 0.0])  # of weights 0; no loss is negative
        self.weights, self.constant = None, 0.0

    @property
    def primal(self):
        """The smallest value of the primal problem."""
        return self.values[0]

    @property
    def dual(self):
        """The largest value of the dual problem."""
        return self.values[1]

    def begin(self, start):
        """Go on from dual variables of all columns."""
        self.b[:] = start[:, self.p]
        self.coordinates.write(self.state, self.coordinates.fresh(self.b, self.n_jobs)[1])
        self.state[1][0] = self.scale * self.b.sum()
        scores = self.coordinates.scores(self.state, self.n_jobs) + self.scale * self.state[1][0]
        self.values[:], self.best[:] = self._objectives(scores, self.b), self.b
        self.n_active = keep_movable(scores, self.targets, self.caps, self.form, self.b, self.order)

    def descend(self, tol, max_iter):
        """Visit movable rows for as long as that is worth it, look at all rows, and so on."""
        self.weights = None
        most = min(self.most_visits, max_iter * len(self.b) - self.visits)
        visits, sweeps, self.n_active = self.coordinates.loop(
            self.coordinates.arrays,
            self.scale,
            self.norms,
            self.targets,
            self.caps,
            self.form,
            self.order,
            self.n_active,
            self.key,
            self.n_sweeps,
            (most, float(tol), self.floor),
            self.b,
            self.best,
            self.values,
            self.state,
        )
        self.visits += visits
        self.n_sweeps += sweeps

    def _objectives(self, scores, b):
        """(primal, dual) values; |w|^2 is sum_i b_i f_i."""
        losses, gains = sum_objectives(scores, self.targets, self.caps, self.form, b)
        sq_norm = b @ scores
        return losses + 0.5 * sq_norm, gains - 0.5 * sq_norm

    def certify(self):
        """Both values again from b alone: the state may have drifted, and is then put right."""
        scores = self._renew()
        self.values[1] = max(self._objectives(scores, self.b)[1], 0.0)
        if not np.array_equal(self.best, self.b):
            scores = self._renew(self.best)
        self.values[0] = self._objectives(scores, self.best)[0]

    def _renew(self, b=None):
        """Scores of dual variables from scratch. Of those of now, the state is made again; weights are kept."""
        own = self.b if b is None else b
        u, v = self.coordinates.fresh(own, self.n_jobs)
        if b is None:
            self.coordinates.write(self.state, v)
        self.weights, self.constant = u, self.scale * own.sum()
        return self.coordinates.scores_of(v, self.n_jobs) + self.scale * self.constant
