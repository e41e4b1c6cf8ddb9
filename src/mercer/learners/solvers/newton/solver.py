"""Newton's method on the weights: for few factors, and for smooth losses.

    minimize    1/2 |u|^2 + C sum_i w_i L(y_i, f_i),      f = Phi F' u + intercept

One pass over the rows gives the scores of a direction, another the gradient u + p with p = F Phi' slopes, for all
columns together. The slopes are also a point of the dual problem, whose value lies exactly 1/2 |u + p|^2 below the
primal one: the certificate of a smooth loss costs nothing. Losses with corners are rounded (`smoothed`); what that
takes from the dual value is added to the gap, and while it is the larger part, the rounding is sharpened.

Where there are many more rows than factors, a sample of them is solved first and gives the start.
"""

__all__ = ["NewtonRun", "NewtonSolver", "solve_newton"]

import time
from dataclasses import replace

import numpy as np

from mercer._base.threads import single_threaded
from mercer.learners.solvers.newton.hessian import newton_directions
from mercer.learners.solvers.newton.smoothed import smoothed
from mercer.learners.solvers.rounds import Rounds, minimise
from mercer.learners.solvers.solver import Solver, are_many

MOST_FACTORS = 1000  # of a problem on which second derivatives may be quicker than anything else
SAMPLE_SHARE = 16  # one row in so many is solved first
SAMPLE_PER_FACTOR = 50  # if these are so many rows per factor
SAMPLE_TOL, MOST_SAMPLE_PASSES = 1e-2, 50
MOST_EVALUATIONS = 20
PRECISION = 0.1  # slope at the end of a line search, as a share of that at its start
BALANCE = 1e-9  # sum of slopes at an intercept that is not regularized, as a share of the largest sum
PROGRESS = 0.999  # a gap that does not fall to this share of itself
MOST_IDLE = 30  # in so many iterations is at the end of what the precision of the scores allows


class NewtonSolver(Solver):
    """As one of the solvers."""

    name, leaves = "newton", "deltas"

    def suits(self, rows, inner, loss, intercept):
        n, r = rows.shape[0], inner.n_factors
        return self.takes_over(inner, loss) and (are_many(n, r, loss) or (loss.is_smooth and n >= r))

    def takes_over(self, inner, loss):
        return inner.n_factors <= MOST_FACTORS and not loss.joint

    def solve(self, problem, tol, max_iter, random_state, start):
        return solve_newton(problem, tol, max_iter, start)


def solve_newton(problem, tol=1e-3, max_iter=1000, start=None):
    """Minimize until every relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : :class:`Problem` with a loss that is not joint
    tol : relative duality gap, (primal - dual) / primal
    max_iter : passes over the rows at most (a pass gives scores and a gradient)
    start : ``Solution.state`` of an earlier call on the same rows, with any C
    """
    with single_threaded():  # once for all products: switching BLAS's threads on and off costs more than some of them
        began, interrupted = time.perf_counter(), False
        if start is None and (sample := _sample(problem)) is not None:
            found = solve_newton(sample, SAMPLE_TOL, MOST_SAMPLE_PASSES)
            start, interrupted = found.state, found.interrupted
        return minimise(NewtonRun(problem, start, began), tol, 0 if interrupted else max_iter, interrupted)


def _sample(problem):
    """The problem on every sixteenth row, or None where these are few."""
    n, r = problem.design.shape
    n_sample = n // SAMPLE_SHARE
    if n_sample < SAMPLE_PER_FACTOR * (r + 1):
        return None
    chosen = np.linspace(0, n - 1, n_sample).astype(np.int64)
    return replace(
        problem,
        design=problem.design.take(chosen),
        targets=np.ascontiguousarray(problem.targets[chosen]),
        weights=problem.weights[chosen] * (n / n_sample),
    )


class NewtonRun(Rounds):
    """The state of one run. Arrays hold the columns ``open`` that are not solved; best, primal, dual and deltas all."""

    solver, title = "newton", "Newton steps"

    def __init__(self, problem, start, began=None):
        super().__init__(problem, began)
        self.design, self.loss = problem.design, smoothed(problem)
        n, self.r = problem.design.shape
        P = problem.n_columns
        self.scale = {"scaled": float(problem.intercept_scaling), "free": 1.0, "none": 0.0}[problem.intercept]
        self.is_free = problem.intercept == "free"
        self.ridge = np.ones((self.r + (problem.intercept != "none"), 1))
        self.ridge[self.r :] = 0.0 if self.is_free else 1.0
        self.open, self.idle = np.arange(P), np.zeros(P, dtype=np.int64)
        self.u = np.zeros((len(self.ridge), P))
        self.scores = np.zeros((n, P), dtype=problem.design.dtype)
        if start is not None:
            self.u[:], self.loss.deltas = start["u"], start["deltas"].copy()
            self.scores = self._scores(self.u)
        self.best, self.primal, self.dual = self.u.copy(), np.full(P, np.inf), np.zeros(P)  # no loss is negative
        self.deltas = self.loss.deltas.copy()
        self._evaluate()

    # ------------------------------------------------------------------------------------------- one iteration

    def _evaluate(self):
        """Everything at the present scores: gradient, second derivatives, primal and dual values."""
        self.n_iter += 1
        if self.is_free:
            self._balance()
        values, self.excess, slopes, self.bends = self.loss.evaluate(self.scores)
        tilts = slopes.sum(axis=0, dtype=np.float64)
        p = [self.design.accumulate(slopes), self.scale * tilts[None]]
        self.gradient = self.ridge * self.u + np.concatenate(p[: 1 + len(self.u) - self.r])
        self.distance = 0.5 * (self.ridge * self.gradient**2).sum(axis=0)
        primal = values + 0.5 * (self.ridge * self.u**2).sum(axis=0)
        dual = primal - self.distance - self.excess
        if self.is_free:  # slopes cancel up to rounding; what is left may count for as much as an intercept is large
            dual -= np.abs(tilts) * np.maximum(1.0, 2.0 * np.abs(self.u[self.r]))
        self._improve(primal, dual)

    def _improve(self, primal, dual):
        """Keep the better bounds, and count how long a column has gone without any worth mentioning."""
        open_ = self.open
        before = self.primal[open_] - self.dual[open_]
        better = primal < self.primal[open_]
        self.best[:, open_[better]] = self.u[:, better]
        self.primal[open_] = np.minimum(primal, self.primal[open_])
        self.dual[open_] = np.maximum(dual, self.dual[open_])
        progress = self.primal[open_] - self.dual[open_] < PROGRESS * before
        self.idle = np.where(progress, 0, self.idle + 1)

    def note(self, tol):
        """Record where the work stands; whether everything is done that can be done."""
        stay = (self.record()[self.open] > tol) & (self.idle < MOST_IDLE)
        if not stay.all():
            self._keep(stay)
        return not len(self.open)

    def step(self):
        """A Newton step on every open column, after sharpening those whose rounding is the larger part of the gap."""
        dull = self.distance < 0.5 * self.excess
        if dull.any():
            self.loss.sharpen(dull)
            self.deltas[self.open] = self.loss.deltas
            self._evaluate()
        direction, turn = self._direction()
        k = self._search(direction, turn)
        self.u += k * direction
        self.scores += (k * turn).astype(turn.dtype)
        self._evaluate()

    def _direction(self):
        """Where to go from here, (R, P), and what that adds to the scores."""
        direction, passes = newton_directions(self.design, self.scale, self.ridge[:, 0], self.bends, self.gradient)
        self.n_iter += passes
        return direction, self._scores(direction)

    def _search(self, direction, turn):
        """How far to go, (P,): to where the slope is a small share of what it is at the start."""
        linear = (self.ridge * self.u * direction).sum(axis=0)
        quadratic = (self.ridge * direction**2).sum(axis=0)
        first = (self.gradient * direction).sum(axis=0)
        return _zero(
            lambda k: linear + k * quadratic + self.loss.along(self.scores, turn, k), first, PRECISION * np.abs(first)
        )

    def _balance(self):
        """Move an intercept that is not regularized to where its slopes cancel: only then are they a dual point."""
        zeros = np.zeros(len(self.open))
        first = self.loss.along(self.scores, np.ones_like(self.scores), zeros)
        ahead = np.ones_like(self.scores) * -np.sign(first).astype(self.scores.dtype)
        enough = BALANCE * self.loss.caps.sum()
        k = _zero(lambda k: self.loss.along(self.scores, ahead, k), -np.abs(first), np.full_like(zeros, enough))
        self.u[self.r] -= np.sign(first) * k
        self.scores += (k * ahead).astype(self.scores.dtype)

    # ------------------------------------------------------------------------------------------------- helpers

    def _scores(self, u):
        scores = self.design.scores(u[: self.r])
        scores += (self.scale * u[self.r :].sum(axis=0)).astype(scores.dtype)
        return scores

    def _keep(self, stay):
        """Leave the other columns out of further passes."""
        self.loss.keep(stay)
        for name in ("u", "scores", "bends", "gradient"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, stay]))
        for name in ("open", "idle", "excess", "distance"):
            setattr(self, name, getattr(self, name)[stay])

    def state(self):
        """What a later run can start from."""
        return {"u": self.best.copy(), "deltas": self.deltas}

    def solution(self, tol, interrupted):
        u, intercept = self.best[: self.r].copy(), self.scale * self.best[self.r :].sum(axis=0)
        return self.ended(tol, interrupted, u, intercept, self.state())


def _zero(slope, first, precision):
    """k (P,) with |slope(k)| <= precision, for ascending functions with slope(0) = first < 0; 0 where that is not so.

    Doubles from 1 until the sign changes, then false position, halving a side that stays (Illinois).
    """
    low, low_slope = np.zeros_like(first), first.copy()
    high, high_slope = np.full_like(first, np.inf), np.full_like(first, np.nan)
    side = np.zeros_like(first)
    done = first >= 0
    k = np.where(done, 0.0, 1.0)
    for _ in range(MOST_EVALUATIONS):
        found = slope(k)
        done |= np.abs(found) <= precision
        if done.all():
            break
        right = found > 0
        low_slope = np.where(right, np.where(side > 0, 0.5 * low_slope, low_slope), found)
        high_slope = np.where(right, found, np.where(side < 0, 0.5 * high_slope, high_slope))
        low, high = np.where(right, low, k), np.where(right, k, high)
        side = np.where(right, 1.0, -1.0)
        with np.errstate(invalid="ignore"):  # where there is no right end yet
            inside = low + np.clip(-low_slope / (high_slope - low_slope), 0.02, 0.98) * (high - low)
        k = np.where(done, k, np.where(np.isinf(high), 2.0 * k, inside))
    return k
