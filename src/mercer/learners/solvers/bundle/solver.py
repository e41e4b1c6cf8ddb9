"""The bundle solver: cutting planes in the factor space of any inner product. [vedaldi12sparse] Sec. 4

    minimize   1/2 |u|^2 + C R(u),        R(u) = sum_i w_i L(y_i, f_i),        f = Phi F' u + intercept

R is convex, so a subgradient at any point gives a plane below it: R(u) >= <p, u> + offset, with p = F Phi' slopes. The
planes so far make a small problem over their simplex, whose value bounds the optimum from below and whose solution is
the next point. One iteration is one pass over the rows for scores and one for a plane, for all classes together.

Beyond the paper: an exact line search between the best point and the solution of the small problem, and the next plane
taken near the best point ([franc09optimized]), for smooth losses no further from it than the step was; planes in factor
space (with codes: words / block size times smaller than in feature space); a bounded number of planes; a stop on the
relative duality gap of every problem; weights v in the range of H by construction, where the paper's (11) has a
spurious minimum outside it.
"""

__all__ = ["BundleSolver", "solve_bundle"]

from dataclasses import dataclass

import numpy as np

from mercer._base.threads import run_blocks
from mercer.learners.solvers.bundle.line_search import search_line
from mercer.learners.solvers.bundle.planes import Planes
from mercer.learners.solvers.bundle.simplex import solve_simplex
from mercer.learners.solvers.rounds import Rounds, minimise
from mercer.learners.solvers.solver import Solver

FEWEST_COORDINATES = 4096  # of a problem whose planes are worth a thread
NEAR_BEST = 0.1  # where the next plane is taken: so far, at most, from the best point to the small problem's solution


class BundleSolver(Solver):
    """As one of the solvers: what there is for every problem."""

    name, leaves = "bundle", "planes"

    def suits(self, rows, inner, loss, intercept):
        return True

    def takes_over(self, inner, loss):
        return True

    def start_at(self, u, intercept):
        return {"u": u, "intercept": intercept}

    def solve(self, problem, tol, max_iter, random_state, start):
        return solve_bundle(problem, tol, max_iter, start=start)


def solve_bundle(problem, tol=1e-3, max_iter=1000, max_planes=100, start=None):
    """Minimize until every relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : :class:`Problem`
    tol : relative duality gap, (primal - dual) / primal
    max_iter : passes over the rows at most
    max_planes : planes kept per problem at most, at least 3
    start : ``Solution.state`` of an earlier call on the same rows and targets, with any C, whose planes are used up; or
        weights to start from, as a dict of "u" and "intercept"
    """
    return minimise(_BundleRun(problem, max_planes, start), tol, max_iter)


@dataclass
class _Point:
    """Weights of all problems, (Q, width) float64, and their free intercepts."""

    u: np.ndarray
    b: np.ndarray


class _BundleRun(Rounds):
    """The state of one run: planes, best point, bounds. ``active`` are the problems that are not solved yet."""

    solver, title, further = "bundle", "Cutting planes", ("planes",)

    def __init__(self, problem, max_planes, start):
        super().__init__(problem)
        self.problem, self.loss, self.C = problem, problem.loss, float(problem.C)
        self.r = problem.design.shape[1]
        self.Q, self.P = problem.n_problems, problem.n_columns
        self.per = self.P // self.Q  # columns of one problem
        self.scaling = problem.intercept_scaling if problem.intercept == "scaled" else 0.0
        self.is_free = problem.intercept == "free"
        # only differences of a row's scores matter to a joint loss: the intercept of the last column stays 0
        self.n_free = (self.per - self.loss.joint) if self.is_free else 0
        self.width = self.per * (self.r + (problem.intercept == "scaled"))
        self.dtype = problem.design.dtype
        # starting threads costs more than the planes of a narrow problem
        self.problem_jobs = problem.design.n_jobs if self.width >= FEWEST_COORDINATES else 1
        self.active = np.arange(self.Q)
        self.side = problem.row_side()
        self.best = _Point(np.zeros((self.Q, self.width)), np.zeros((self.Q, self.per)))
        self.dual = np.zeros(self.Q)  # no loss is negative
        largest = 1.0 if self.loss.task == "classification" else np.abs(problem.targets).max(initial=1.0)
        self.bound = np.full(self.Q, largest)  # of intercepts that no plane limits yet; doubles while that lasts
        self.small = None
        start = start or {}
        self.planes = start.get("planes") or self._no_planes(max_planes)
        if start:
            self._begin_at(start["u"], start["intercept"])
        values = self._cut(np.zeros(self.P))
        self.primal = 0.5 * (self.best.u**2).sum(axis=1) + self.C * values

    def _no_planes(self, most):
        return [Planes(self.width, self.dtype, max(3, most), self.n_free) for _ in range(self.Q)]

    def _begin_at(self, u, intercept):
        """Make these weights the best point."""
        self.best.u[:, : self.per * self.r] = u.T.reshape(self.Q, self.per * self.r)
        intercept = intercept.reshape(self.Q, self.per)
        if self.scaling:
            self.best.u[:, self.per * self.r :] = intercept / self.scaling
        elif self.is_free:
            self.best.b[:] = intercept
        self.side.begin(*self._weights(self.best.u, self.best.b))

    # ------------------------------------------------------------------------------------------- one iteration

    def _solve_small_problems(self):
        """Weights of the planes of each active problem, and with them the next points and lower bounds."""
        self.small = _Point(np.empty((len(self.active), self.width)), np.zeros((len(self.active), self.per)))

        def solve(k):
            q = self.active[k]
            planes = self.planes[q]
            start = planes.alpha if planes.alpha.sum() > 0 else None
            alpha, value, b = solve_simplex(planes.gram, planes.offsets, self.C, planes.tilts, self.bound[q], start)
            if self.is_free:
                self.small.b[k, : self.n_free] = b
                self.bound[q] *= 1.0 if np.isfinite(value) else 2.0
            planes.alpha = alpha
            self.small.u[k] = -self.C * planes.combine()
            self.dual[q] = max(self.dual[q], value)

        run_blocks(solve, range(len(self.active)), self.problem_jobs)

    def note(self, tol):
        """Record where the work stands, with the lower bounds of the planes; whether everything is solved."""
        self._solve_small_problems()
        open_problems = self.record(sum(planes.count for planes in self.planes))[self.active] > tol
        if not open_problems.all():
            self._retire(open_problems)
        return not len(self.active)

    def _retire(self, stay):
        """Leave the solved problems out of further passes."""
        self.small = _Point(self.small.u[stay], self.small.b[stay])
        self.active = self.active[stay]
        if len(self.active) and not self.loss.joint:
            self.side.keep(np.flatnonzero(stay))

    def step(self):
        """Scores of the small problems' solutions, line search, and a plane near the new best point."""
        self.n_iter += 1
        active, best, small = self.active, self.best, self.small
        u, b = best.u[active], best.b[active]
        self.side.turn(*self._weights(small.u, small.b))
        direction = small.u - u
        linear, quadratic = np.einsum("qw,qw->q", u, direction), np.einsum("qw,qw->q", direction, direction)
        k, values = search_line(self.side.along, linear, quadratic, self.C)
        reached = 0.5 * np.einsum("qw,qw->q", u, u) + k * linear + 0.5 * k * k * quadratic + self.C * values
        k = np.where(reached < self.primal[active], k, 0.0)
        self.primal[active] = np.minimum(reached, self.primal[active])
        best.u[active] = u + k[:, None] * direction
        best.b[active] = b + k[:, None] * (small.b - b)
        self.side.advance(np.repeat(k, self.per))
        # A plane of a smooth loss says little about a best point that is far nearer than it, and one at the best point
        # itself makes the next direction one of descent. At a corner the plane there may be the same again and again.
        near = np.minimum(NEAR_BEST, k) if self.loss.is_smooth else np.full_like(k, NEAR_BEST)
        self._cut(np.repeat(near, self.per))

    # ------------------------------------------------------------------------------------------------- helpers

    def _cut(self, share):
        """Add the planes that touch R so far from the best point, (columns,); returns the sums of the losses there."""
        found, active = self.side.cut(share), self.active

        def add(k):
            own = slice(k * self.per, (k + 1) * self.per)
            parts = [found.p[:, own].T.reshape(-1)]
            if self.scaling:
                parts.append(self.scaling * found.tilts[own])
            self.planes[active[k]].add(np.concatenate(parts), found.offsets[k], found.tilts[own][: self.n_free])

        run_blocks(add, range(len(active)), self.problem_jobs)
        return found.values

    def _weights(self, u, b):
        """Points (q, width) as (weights (r, columns), what is added to the scores (columns,))."""
        weights = u[:, : self.per * self.r].reshape(len(u) * self.per, self.r).T
        return weights, self._intercepts(u, b).reshape(-1)

    def _intercepts(self, u, b):
        """What is added to the scores, (q, columns of one problem)."""
        return self.scaling * u[:, self.per * self.r :] if self.scaling else b

    def solution(self, tol, interrupted):
        u, b = self.best.u, self.best.b
        weights = np.ascontiguousarray(u[:, : self.per * self.r].reshape(self.P, self.r).T)
        intercept = np.broadcast_to(self._intercepts(u, b), (self.Q, self.per)).reshape(-1).copy()
        state = {"planes": self.planes, "u": weights, "intercept": intercept}
        return self.ended(tol, interrupted, weights, intercept, state)
