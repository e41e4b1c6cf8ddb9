"""Dual coordinate descent for the Crammer-Singer loss: one problem, whose rows move all their classes at once.

The loop is in `mercer._native.learners.descent.joint`, [keerthi08sequential]; on rows of levels this is the
multi-class form of ICD [wu10fast] Sec. 3.4.
"""

__all__ = ["solve_joint_dual"]

import itertools
import math
import time

import numpy as np
from sklearn.utils import check_random_state

from mercer._base.progress import track
from mercer._base.threads import single_threaded
from mercer._native.learners.descent.joint import keep_movable_joint, sum_objectives_joint
from mercer.learners.solvers.dual.solver import check_intercept, row_coordinates
from mercer.learners.solvers.problem import Solution, relative_gaps

MOST_VISITS = 10  # between two looks at all rows, as a multiple of their number: Ctrl-C takes effect at a look


def solve_joint_dual(problem, tol=1e-3, max_iter=1000, random_state=0, start=None):
    """Minimise until the relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : :class:`Problem` with the Crammer-Singer loss, and rows and intercept as in :func:`solve_dual`
    tol, max_iter, random_state, start : as in :func:`solve_dual`
    """
    check_intercept(problem)
    coordinates = row_coordinates(problem, tol)
    with single_threaded():
        work = _JointRun(problem, coordinates, random_state, start)
        interrupted = False
        try:
            for _ in track(itertools.count(), "Dual coordinate descent"):
                if work.is_done(tol, max_iter):
                    break
                work.descend()
        except KeyboardInterrupt:
            interrupted = True
    return work.solution(tol, interrupted)


class _JointRun:
    """The run: dual variables, the states of the classes, and the best weights so far.

    Attributes
    ----------
    a : dual variables, (n, K)
    state : tables (K, D) and sums (K, S)
    order, n_active : the rows to visit are order[:n_active]
    """

    def __init__(self, problem, coordinates, random_state, start):
        self.problem, self.coordinates = problem, coordinates
        self.n_jobs, self.floors = problem.design.n_jobs, problem.floors()
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
        self.primal, self.dual = math.inf, 0.0  # no loss is negative
        self.began = time.perf_counter()
        self.history = {"objective": [], "dual_objective": [], "gap": [], "seconds": [], "active": []}
        self._look()

    def descend(self):
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
        self.dual = max(self.dual, gains - 0.5 * sq_norm)
        if losses + 0.5 * sq_norm < self.primal:
            self.best, self.best_constants, self.primal = u, constants, losses + 0.5 * sq_norm
        self.n_active = keep_movable_joint(scores, self.labels, self.caps, self.a, self.order)

    def is_done(self, tol, max_iter):
        """Record where the work stands; whether it is done."""
        gap = float(self._gaps()[0])
        values = (self.primal, self.dual, gap, time.perf_counter() - self.began, self.n_active)
        for name, value in zip(self.history, values, strict=True):
            self.history[name].append(value)
        return gap <= tol or not self.n_active or self.visits >= max_iter * len(self.a)

    def _gaps(self):
        return relative_gaps(np.array([self.primal]), np.array([self.dual]), self.floors)

    def solution(self, tol, interrupted):
        return Solution(
            u=np.ascontiguousarray(self.best),
            intercept=self.scale * self.best_constants,
            objectives=np.array([self.primal]),
            dual_objectives=np.array([self.dual]),
            floors=self.floors,
            n_iter=math.ceil(self.visits / max(1, len(self.a))),
            converged=bool((self._gaps() <= tol).all()),
            interrupted=interrupted,
            solver="dual",
            history=self.history,
            state={"b": self.a, "C": float(self.problem.C)},
        )
