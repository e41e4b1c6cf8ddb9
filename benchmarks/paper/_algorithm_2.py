"""Algorithm 2 of [wu10fast] as it is written, and what separates it from the library's ICD, one change at a time.

    for i = 1, ..., n, again and again:
        G = y_i sum_j T_j(x_ij) - 1 + alpha_i / (2 C)                                                        line 4'
        alpha_i <- max(alpha_i - G / Q_ii, 0)          unless alpha_i = 0 and G >= 0                       lines 5, 8
        T_j(k) <- T_j(k) + (change of alpha_i) y_i min(x_ij, k)    for all j and k                           line 9'

with Q_ii = sum_j x_ij + 1 / (2 C): the L2 loss, without an intercept. The loops are compiled like those of the library,
and look levels up by the same function. The variants differ in how the tables are kept (:class:`Full`, :class:`Below`)
and in the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.checks import WrongResult
from mercer._native.jit import inline, jit
from mercer._native.learners.descent.level import _add_intersection_dense, _dot_intersection_dense, _look_up_dense
from mercer.learners.solvers.dual.coordinates import coordinates_of

ROUNDING = 1e-3  # of the dual value, after as many sweeps in float32 as in float64: the steps differ, and add up


# ------------------------------------------------------------------------------------------------------------ sweeps


def _build_sweep(dot, add):
    """One visit of every row; dot and add as in `mercer._native.learners.descent.sweep.build_descent`."""

    @jit
    def sweep(rows, order, y, Q, D, alpha, state):
        for k in range(order.shape[0]):
            i = order[k]
            G = y[i] * dot(rows, i, state) - 1.0 + D * alpha[i]
            if alpha[i] == 0.0:
                G = min(G, 0.0)
            if G != 0.0:
                old = alpha[i]
                alpha[i] = max(old - G / Q[i], 0.0)
                add(rows, i, (alpha[i] - old) * y[i], state)

    return sweep


@inline
def _dot_full(rows, i, state):
    return _look_up_dense(rows[0], rows[1], i, state[0])


@inline
def _add_full(rows, i, step, state):
    (codes, starts, heights, ramp), table = rows, state[0]
    small = table.dtype.type(step)
    for j in range(np.uint64(codes.shape[1])):
        first, x = np.uint64(starts[j]), ramp[np.uint64(codes[i, j])]
        for k in range(np.uint64(heights[j])):
            table[first + k] += small * min(x, ramp[k])


sweep_full = _build_sweep(_dot_full, _add_full)
sweep_below = _build_sweep(_dot_intersection_dense, _add_intersection_dense)


class Full:
    """Tables T_j(k) for k from 0 to heights_j - 1, one behind the other; every entry changes at every step."""

    sweep = staticmethod(sweep_full)

    def __init__(self, codes, heights, dtype):
        self._size = int(heights.sum())
        # levels as numbers: converted in the loop, they would take most of its time
        self.rows = codes, np.cumsum(heights) - heights, heights, np.arange(heights.max(), dtype=dtype)
        self._dtype = dtype

    def new_state(self):
        return (np.zeros(self._size, dtype=self._dtype),)


class Below:
    """The library's tables, of which a step changes the levels below x_ij."""

    sweep = staticmethod(sweep_below)

    def __init__(self, design, dtype):
        coordinates = coordinates_of(design, dtype)
        self.rows, self.new_state = coordinates.arrays, coordinates.new_state


# ---------------------------------------------------------------------------------------------------------- problems


@dataclass
class Task:
    """Two classes, L2 loss, no intercept.

    Parameters
    ----------
    design : `mercer.spaces.Design` of a LevelQuantizer's dense rows; its `rows.codes` are the levels
    y : float64 (n,) of -1 and 1
    C : weight of the losses
    """

    design: Any
    y: np.ndarray
    C: float

    @property
    def levels(self):
        return self.design.rows.codes

    def objectives(self, alpha):
        """(primal, dual) value of dual variables, in float64 and from them alone, whatever tables they came with."""
        u = self.design.inner.project(self.design.rows.accumulate(alpha * self.y).astype(np.float64))
        scores = self.design.rows.scores(self.design.inner.lift(u))
        half = 0.5 * (u @ u)
        losses = self.C * (np.maximum(0.0, 1.0 - self.y * scores) ** 2).sum()
        return half + losses, alpha.sum() - (alpha @ alpha) / (4 * self.C) - half


class Run:
    """Sweeps of one variant from the beginning.

    Parameters
    ----------
    task : :class:`Task`
    tables : :class:`Full` or :class:`Below`
    seed : None for the rows in their order, a number for another random order in every sweep
    """

    def __init__(self, task, tables, seed=None):
        self.task, self._tables, self._state = task, tables, tables.new_state()
        n = len(task.y)
        self.alpha, self._order = np.zeros(n), np.arange(n)
        self._Q = task.levels.sum(axis=1, dtype=np.int64) + 0.5 / task.C
        self._rng = None if seed is None else np.random.default_rng(seed)

    def sweep(self):
        if self._rng is not None:
            self._rng.shuffle(self._order)
        D = 0.5 / self.task.C
        self._tables.sweep(self._tables.rows, self._order, self.task.y, self._Q, D, self.alpha, self._state)

    def sweeps(self, count):
        """The dual variables after so many sweeps."""
        for _ in range(count):
            self.sweep()
        return self.alpha


@dataclass(frozen=True)
class Course:
    """How the sweeps go in one order of the rows, whatever the tables.

    Parameters
    ----------
    sweeps : after how many the relative duality gap is at most ``tol``, or how many were made
    gap : the gap then, of the smallest primal and the last dual value
    duals : dual values after each sweep
    """

    sweeps: int
    gap: float
    duals: list[float]


def follow(task, seed, tol, most):
    """The :class:`Course` in float64, by the cheapest tables; ``most`` sweeps at most."""
    run, least, duals = Run(task, Below(task.design, np.float64), seed), np.inf, []
    while len(duals) < most:
        run.sweep()
        primal, dual = task.objectives(run.alpha)
        least = min(least, primal)
        duals.append(dual)
        if least - dual <= tol * least:
            break
    return Course(len(duals), float(1 - dual / least), duals)


@dataclass(frozen=True)
class OnCourse:
    """A check of dual variables: their value is that of the :class:`Course` after as many sweeps."""

    task: Task
    dual: float

    def __call__(self, alpha):
        error = abs(self.task.objectives(alpha)[1] / self.dual - 1)
        if not error <= ROUNDING:
            raise WrongResult(f"The dual value is {error:.2g} from the one that as many sweeps in float64 reach.")
        return error
