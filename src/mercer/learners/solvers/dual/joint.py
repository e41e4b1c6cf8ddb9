"""Dual coordinate descent for the Crammer-Singer loss: one problem, whose rows move all their classes at once.

The loop is in `mercer._native.learners.descent.joint`, [keerthi08sequential]; on rows of levels this is the
multi-class form of ICD [wu10fast] Sec. 3.4.
"""

__all__ = ["solve_joint_dual"]

import math

import numpy as np
from sklearn.utils import check_random_state

from mercer._base.threads import single_threaded
from mercer._native.learners.descent.joint import keep_movable_joint, sum_objectives_joint
from mercer.learners.solvers.dual.solver import check_intercept, row_coordinates
from mercer.learners.solvers.rounds import Rounds, minimise

MOST_VISITS = 10  # between two looks at all rows, as a multiple of their number: Ctrl-C takes effect at a look


def solve_joint_dual(problem, tol=1e-3, max_iter=1000, random_state=0, start=None):
    """Minimize until the relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : :class:`Problem` with the Crammer-Singer loss, and rows and intercept as in :func:`solve_dual`
    tol, max_iter, random_state, start : as in :func:`solve_dual`
    """
    check_intercept(problem)
    coordinates = row_coordinates(problem, tol)
    with single_threaded():
        return minimise(_JointRun(problem, coordinates, max_iter, random_state, start), tol)


class _JointRun(Rounds):
    """The run: dual variables, the states of the classes, and the best weights so far.

    Attributes
    ----------
    a : dual variables, (n, K)
    state : tables (K, D) and sums (K, S)
    order, n_active : the rows to visit are order[:n_active]
    """

    solver, title, further = "dual", "Dual coordinate descent", ("active",)

    def __init__(self, problem, coordinates, max_iter, random_state, start):
        super().__init__(problem)
        self.problem, self.coordinates, self.max_iter = problem, coordinates, max_iter
        self.n_jobs = problem.design.n_jobs
        n, K = len(problem.design), problem.n_columns
        self.labels = np.ascontiguousarray(problem.targets, dtype=np.int64)
        self.caps = float(problem.C) * np.ascontiguousarray(problem.weights, dtype=np.float64)
        self.scale = float(problem.intercept_scaling) if problem.intercept == "scaled" else 0.0
        self.norms = problem.design.inner.row_norms(problem.design.rows, self.n_jobs)
        self.key = check_random_state(random_state).randint(2**32, size=2, dtype=np.uint64) @ np.array(
            [2**32, 1], dtype=np.uint64
        )
        self.a = np.zeros((n, K)) if start is None else start["b"] * (problem.C / start["C"])
        table, sums = coordinates.new_state()
        self.state = np.zeros((K, *table.shape), dtype=table.dtype), np.zeros((K, *sums.shape))
        self.state[1][:, 0] = self.scale * self.a.sum(axis=0)
        self.order, self.n_active = np.empty(n, dtype=np.int32), 0
        self.visits, self.n_sweeps = 0, 0
        self.primal, self.dual = np.full(1, np.inf), np.zeros(1)  # no loss is negative
        self._look()

    def step(self):
        """Visit movable rows for as long as that is worth it, then look at all rows."""
        visits, sweeps = self.coordinates.joint_loop(
            self.coordinates.arrays,
            self.scale,
            self.norms,
            self.labels,
            self.caps,
            self.order,
            self.n_active,
            self.key,
            self.n_sweeps,
            MOST_VISITS * len(self.a),
            self.a,
            self.state,
        )
        self.visits += visits
        self.n_sweeps += sweeps
        self._look()

    def _look(self):
        """Score all rows: the primal and the dual value, and the rows that can move."""
        u, v = self.coordinates.fresh(self.a, self.n_jobs)
        tables, sums = self.state
        for c in range(len(tables)):
            self.coordinates.write((tables[c], sums[c]), np.ascontiguousarray(v[:, c]))
        constants = sums[:, 0].copy()
        scores = self.problem.design.rows.scores(v, self.n_jobs).astype(np.float64, copy=False)
        scores += self.scale * constants
        losses, gains = sum_objectives_joint(scores, self.labels, self.caps, self.a)
        sq_norm = float((u * u).sum() + constants @ constants)
        self.dual[0] = max(self.dual[0], gains - 0.5 * sq_norm)
        if losses + 0.5 * sq_norm < self.primal[0]:
            self.best, self.best_constants, self.primal[0] = u, constants, losses + 0.5 * sq_norm
        self.n_active = keep_movable_joint(scores, self.labels, self.caps, self.a, self.order)

    def note(self, tol):
        """Record where the work stands; whether it is done."""
        gap = self.record(self.n_active)[0]
        return gap <= tol or not self.n_active or self.visits >= self.max_iter * len(self.a)

    def solution(self, tol, interrupted):
        self.n_iter = math.ceil(self.visits / max(1, len(self.a)))
        state = {"b": self.a, "C": float(self.problem.C)}
        return self.ended(tol, interrupted, np.ascontiguousarray(self.best), self.scale * self.best_constants, state)
