"""Falkon: many landmarks for many rows, by Newton steps and preconditioned conjugate gradients. [rudi17falkon]

    minimize    1/2 |u|^2 + C sum_i w_i L(y_i, f_i),      f = K_nM L'^-1 u + intercept,      K_MM + jitter I = L L'

A step of conjugate gradients is one pass over the rows, in which every block of kernel values is computed once and used
twice: for the scores of a direction, and for what they give back. With the landmarks' preconditioner a few dozen passes
do, whatever the number of rows. Scores of the whole step come along, so that it takes no further pass; the gradient at
its end takes one, and with it comes the certificate, the duality gap of `mercer.learners.solvers.newton.solver`. The
squared loss is a single step, whose conjugate gradients run until the gap is what was asked for; other losses take a
few, from rough to fine ([marteau-ferey19globally] lower the penalty on the way instead).

While n M^2 is small, the Hessian of the squared loss is written out, and factored once for all columns.
"""

__all__ = ["FalkonSolver", "solve_falkon"]


import numpy as np
from scipy.linalg import cho_solve

from mercer._base.cholesky import stable_cholesky
from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import single_threaded
from mercer.learners.solvers.falkon.preconditioner import Preconditioner
from mercer.learners.solvers.newton.hessian import hessians
from mercer.learners.solvers.newton.solver import NewtonRun
from mercer.learners.solvers.rounds import minimise
from mercer.learners.solvers.solver import Solver

FORMED_WORK = 2**36  # n M^2 up to which the Hessian of the squared loss is written out
FORCING = 0.1  # residual of a rough step, as a share of the gradient
GAP_SHARE = 0.25  # of the gap that is asked for, which the residual of a fine step may cause
MOST_STEPS = 200  # passes of one direction


class FalkonSolver(Solver):
    """As one of the solvers."""

    name, leaves = "falkon", "falkon_u"

    def suits(self, rows, inner, loss, intercept):
        return rows.kind == "landmarks" and not loss.joint

    def is_last(self, inner):
        return True

    def solve(self, problem, tol, max_iter, random_state, start):
        return solve_falkon(problem, tol, max_iter, start)


def solve_falkon(problem, tol=1e-3, max_iter=1000, start=None):
    """Minimize until every relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : Problem on rows that are compared with landmarks, with a loss that is not joint
    tol : relative duality gap, (primal - dual) / primal
    max_iter : passes over the rows at most
    start : ``Solution.state`` of an earlier call on the same rows, with any C
    """
    if problem.design.rows.kind != "landmarks":
        raise InputError(
            "solver='falkon' works only with NystroemMap(n_landmarks=...) and more than 2,048 landmarks. Use "
            "solver='auto' otherwise."
        )
    with single_threaded():
        return minimise(FalkonRun(problem, start, tol, max_iter), tol, max_iter)


class FalkonRun(NewtonRun):
    """The state of one run."""

    solver = "falkon"

    def __init__(self, problem, start, tol, max_iter):
        self.tol, self.max_iter = tol, max_iter
        self.is_quadratic, self.C = problem.loss.is_quadratic, float(problem.C)
        kept = start or {"preconditioner": None, "hessian": None}
        self.preconditioner, self.hessian = kept["preconditioner"], kept["hessian"]
        super().__init__(problem, start and {"u": start["falkon_u"], "deltas": start["widths"]})

    def state(self):
        return {
            "falkon_u": self.best.copy(),
            "widths": self.deltas,
            "preconditioner": self.preconditioner,
            "hessian": self.hessian,
        }

    def _direction(self):
        n, M = self.design.shape
        if self.is_quadratic and n * M * M <= FORMED_WORK and not self.design.is_spread:
            return self._exact_direction()
        solve = self._preconditioned()
        found = conjugate_gradients(self._apply, solve, -self.gradient, self._enough(), self._steps_left(), n)
        self.n_iter += found.steps
        if found.interrupted:
            self._stop(found.x, found.z)
        return found.x, found.z

    def _exact_direction(self):
        """By the Hessian itself, which is the same for all columns and, but for C, for all penalties."""
        ridge = np.diag(self.ridge[:, 0])
        if self.hessian is None:
            plain = hessians(self.design, self.scale, self.ridge[:, 0], np.ascontiguousarray(self.bends[:, :1]), 1.0)
            self.hessian = (plain[0] - ridge) / self.C
        factor = stable_cholesky(self.C * self.hessian + ridge)  # singular without ridge, on rows without weight
        direction = -cho_solve((factor, True), self.gradient)
        self.n_iter += 1
        return direction, self._scores(direction)

    def _preconditioned(self):
        M = self.design.shape[1]
        curvature = float(self.bends.sum(dtype=np.float64)) / (self.bends.shape[1] * M)
        if self.preconditioner is None or not self.preconditioner.suits(curvature):
            self.preconditioner = None  # the old one goes before the new one comes
            arguments = curvature, self.scale, self.ridge[:, 0], self.design.n_jobs
            self.preconditioner = Preconditioner(self.design.inner, *arguments)
        return self.preconditioner

    def _apply(self, v):
        """(H v, scores of v)"""
        z, through = self.design.through(v[: self.r], self.scale * v[self.r :].sum(axis=0), self.bends)
        image = self.ridge * v
        image[: self.r] += through
        image[self.r :] += self.scale * (z * self.bends).sum(axis=0, dtype=np.float64)
        return image, z

    def _enough(self):
        """(P,), residuals at which a direction is good enough: 1/2 |residual|^2 is what it leaves of the gap."""
        size = np.maximum(self.primal[self.open], self.floors[self.open])
        fine = np.sqrt(2 * GAP_SHARE * self.tol * size)
        return fine if self.is_quadratic else np.maximum(fine, FORCING * np.linalg.norm(self.gradient, axis=0))

    def _steps_left(self):
        return max(1, min(MOST_STEPS, self.max_iter - self.n_iter - 1))

    def _stop(self, direction, turn):
        """Ctrl-C: go as far as the direction is known, without a further pass, and end."""
        k = self._search(direction, turn)
        self.u += k * direction
        values = self.loss.evaluate(self.scores + (k * turn).astype(turn.dtype))[0]
        primal = values + 0.5 * (self.ridge * self.u**2).sum(axis=0)
        self._improve(primal, np.zeros_like(primal))  # no loss is negative
        self.note(self.tol)
        raise KeyboardInterrupt


class Direction:
    """Where conjugate gradients stand.

    Attributes
    ----------
    x : solution so far, (R, P)
    z : its scores, (n, P)
    steps : passes over the rows
    interrupted : whether Ctrl-C ended them
    """

    def __init__(self, target, n):
        self.x, self.z = np.zeros_like(target), np.zeros((n, target.shape[1]), dtype=np.float32)
        self.steps, self.interrupted = 0, False


def conjugate_gradients(apply, solve, target, enough, most, n):
    """The Direction with apply(x) near ``target`` in every column.

    Parameters
    ----------
    apply : function of v (R, P) that gives (H v, scores of v)
    solve : preconditioner
    target : (R, P)
    enough : (P,), norms of residuals at which columns are solved
    most : steps at most
    n : rows
    """
    found, residual = Direction(target, n), target.copy()
    ahead = preconditioned = solve(residual)
    product = (residual * preconditioned).sum(axis=0)
    try:
        for _ in track(range(most), "Conjugate gradients"):
            image, scores = apply(ahead)
            found.steps += 1
            k = _ratio(product, (ahead * image).sum(axis=0))
            k[np.linalg.norm(residual, axis=0) <= enough] = 0.0  # a solved column stays where it is
            found.x += k * ahead
            found.z += scores * k.astype(scores.dtype)
            residual -= k * image
            if (np.linalg.norm(residual, axis=0) <= enough).all():
                break
            preconditioned = solve(residual)
            product, before = (residual * preconditioned).sum(axis=0), product
            ahead = preconditioned + _ratio(product, before) * ahead
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
