"""Projected gradient on the dual, in passes over the rows: for more factors than rows. [birgin00nonmonotone]

    maximize over a    l'a - 1/2 a'D a - 1/2 |F Phi' a|^2        lower <= a <= upper,        u = F Phi' a

a holds a number per row and problem; l, the diagonal D and the box follow from the loss. The gradient is the score of
each row, so that one step costs one pass for a plane and one for scores, as an iteration of the bundle method does. But
nothing is kept besides numbers per row, and where rows are nearly orthogonal (Fisher vectors, text: more factors than
rows) the spectral step length of Barzilai and Borwein needs a few dozen steps, where cutting planes need hundreds: a
plane is a corner of the box, and the solution lies deep inside it. With many more rows than factors it is the reverse.

A regularized intercept is a constant feature, and rows with a common mean have one nearly: one direction in which the
dual bends as many times more strongly as there are rows. Step lengths leave it out and each projection accounts for it,
by one number found by Newton's method: without that, ten times as many steps are needed.

All problems take their steps side by side. Primal and dual values are those of the same point, so the gap is exact.
"""

__all__ = ["ProjectedSolver", "solve_projected"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import single_threaded
from mercer.learners.solvers.losses import LOSSES_WITH_BOX
from mercer.learners.solvers.rounds import Rounds, minimise
from mercer.learners.solvers.solver import Solver

REFRESH = 50  # steps after which scores are computed anew, which removes the rounding of their updates
LONGEST_STEP = 1e10
REST = 0.01  # share of the bend that is not common to all rows, at least: the common part is an estimate
MOST_NEWTON_STEPS, NEWTON_PRECISION = 40, 1e-10
WIDE_SPREAD, SAMPLE_ROWS = 0.25, 256  # Fisher vectors have 0.5; histograms of few bins, seen through any kernel, 0.1


class ProjectedSolver(Solver):
    """As one of the solvers."""

    name, leaves = "projected", "a"

    def suits(self, rows, inner, loss, intercept):
        return inner.n_factors >= rows.shape[0] and loss.has_box and intercept != "free"

    def suits_rows(self, design):
        return _spread(design) >= WIDE_SPREAD

    def solve(self, problem, tol, max_iter, random_state, start):
        return solve_projected(problem, tol, max_iter, start)


def solve_projected(problem, tol=1e-3, max_iter=1000, start=None):
    """Maximize the dual until every relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : :class:`Problem` with a loss that has a box, its intercept scaled or absent
    tol : relative duality gap
    max_iter : passes over the rows at most
    start : ``Solution.state`` of an earlier call on the same rows and targets, with any C
    """
    _check(problem)
    return minimise(_GradientRun(problem, start), tol, max_iter)


def _check(problem):
    if not problem.loss.has_box or problem.intercept == "free":
        raise InputError(
            f"solver='projected' needs a loss among {', '.join(LOSSES_WITH_BOX)} and an intercept that is regularized "
            f"or absent, got {problem.loss.name!r} with intercept {problem.intercept!r}. Use solver='bundle'."
        )


class _GradientRun(Rounds):
    """The state of one run; arrays hold the columns of the ``active`` problems, best values those of all."""

    solver, title, further = "projected", "Projected gradient", ("planes",)

    def __init__(self, problem, start):
        super().__init__(problem)
        self.problem, self.loss, self.C = problem, problem.loss, float(problem.C)
        self.n, self.r = problem.design.shape
        self.P, self.dtype = problem.n_columns, problem.design.dtype
        self.scaling = problem.intercept_scaling if problem.intercept == "scaled" else 0.0
        self.active, self.targets = np.arange(self.P), problem.targets
        self.box = _box(self.loss.form, problem.targets, self.C * problem.weights[:, None])
        shape = (self.n, self.P)
        self.a, self.scores = np.zeros(shape), np.zeros(shape)
        self.u, self.b = np.zeros((self.r, self.P)), np.zeros(self.P)  # b is the weight of the constant feature
        self.best_u, self.best_b = np.zeros((self.r, self.P)), np.zeros(self.P)
        self.primal, self.dual = np.full(self.P, np.inf), np.zeros(self.P)
        self.common, length = self._common_and_rest()
        self.length = np.full(self.P, length)
        self.final_a = np.zeros(shape)
        if start is not None:
            self.a[:] = np.clip(start["a"] * (self.C / start["C"]), *self.box[:2])
            self.u, self.b, self.scores = self._image(self.a)

    def _common_and_rest(self):
        """(root of the mean inner product of two rows, first step length from what is left of their norms)."""
        if self.n < 2:
            return self.scaling, 1.0
        design = self.problem.design
        norms = float(design.inner.row_norms(design.rows, design.n_jobs).sum())
        total = design.accumulate(np.ones(self.n)).astype(np.float64)
        common = max(0.0, (float(total @ total) - norms) / (self.n * (self.n - 1)))
        rest = norms / self.n - common
        return np.sqrt(common + self.scaling**2), 1.0 / rest if rest > 0 else 1.0

    # ------------------------------------------------------------------------------------------- one iteration

    def note(self, tol):
        """Values at the present point; whether everything is solved."""
        sq_norms = np.einsum("rp,rp->p", self.u, self.u) + self.b**2
        values, _ = self.loss.along(
            self.scores, self.scores, np.zeros(len(self.active)), self.targets, self.problem.weights
        )
        primal = 0.5 * sq_norms + self.C * values
        _, _, linear, curvature = self.box
        gain = linear * self.a - 0.5 * curvature * self.a**2
        dual = gain.sum(axis=0) - 0.5 * sq_norms
        better = primal < self.primal[self.active]
        improved = self.active[better]
        self.primal[improved] = primal[better]
        self.best_u[:, improved], self.best_b[improved] = self.u[:, better], self.b[better]
        self.dual[self.active] = np.maximum(self.dual[self.active], dual)
        stay = self.record(0)[self.active] > tol
        if not stay.all():
            self._retire(stay)
        return not len(self.active)

    def _retire(self, stay):
        """Leave the solved problems out of further passes."""
        self.final_a[:, self.active] = self.a
        self.active = self.active[stay]
        self.targets = np.ascontiguousarray(self.problem.targets[:, self.active])
        self.box = tuple(np.ascontiguousarray(part[:, stay]) for part in self.box)
        self.a, self.scores, self.u = (np.ascontiguousarray(part[:, stay]) for part in (self.a, self.scores, self.u))
        self.b, self.length = self.b[stay], self.length[stay]

    def step(self):
        """One projected step of every active problem, with an exact line search on the way to the projection."""
        self.n_iter += 1
        lower, upper, linear, curvature = self.box
        gradient = self.scores + curvature * self.a - linear
        d = _project(self.a, gradient, self.length, lower, upper, self.common)
        du, db, turn = self._image(d)
        bend = np.einsum("rp,rp->p", du, du) + db**2 + np.einsum("np,np->p", d, curvature * d)
        descent = -np.einsum("np,np->p", gradient, d)
        t = np.minimum(1.0, np.divide(descent, bend, out=np.ones_like(bend), where=bend > 0))
        self.a += t * d
        self.u += t * du
        self.b += t * db
        self.scores += t * turn
        common = self.common * d.sum(axis=0)
        self._choose_length(d, turn - self.common * common + curvature * d, np.maximum(bend - common**2, REST * bend))
        if self.n_iter % REFRESH == 0:
            self.u, self.b, self.scores = self._image(self.a)

    def _image(self, a):
        """(F Phi' a, weight of the constant feature, scores of both), float64."""
        design = self.problem.design
        u = design.accumulate(a).astype(np.float64)
        b = self.scaling * a.sum(axis=0)
        return u, b, design.scores(u).astype(np.float64) + self.scaling * b

    def _choose_length(self, d, image, bend):
        """The two step lengths of Barzilai and Borwein in turn, from what is not common to all rows."""
        if self.n_iter % 2:
            above, below = np.einsum("np,np->p", d, d), bend
        else:
            above, below = bend, np.einsum("np,np->p", image, image)
        length = np.divide(above, below, out=self.length.copy(), where=(below > 0) & (above > 0))
        self.length = np.clip(length, 1 / LONGEST_STEP, LONGEST_STEP)

    def solution(self, tol, interrupted):
        self.final_a[:, self.active] = self.a
        state = {"a": self.final_a, "C": self.C}
        return self.ended(tol, interrupted, self.best_u, self.scaling * self.best_b, state)


def _project(a, gradient, length, lower, upper, scaling):
    """The change d that minimizes gradient'd + |d|^2 / (2 length) + scaling^2 (sum d)^2 / 2 inside the box.

    d(x) = clip(a - length (gradient + scaling x)) - a for the one x that equals scaling * sum d(x), per column.
    """

    def change(x):
        return np.clip(a - length * (gradient + scaling * x), lower, upper) - a

    x = np.zeros(a.shape[1])
    d = change(x)
    if scaling == 0.0:
        return d
    low, high = np.full_like(x, -np.inf), np.full_like(x, np.inf)
    for _ in range(MOST_NEWTON_STEPS):
        excess = x - scaling * d.sum(axis=0)  # ascends in x
        if (np.abs(excess) <= NEWTON_PRECISION * (np.abs(x) + np.abs(x - excess))).all():
            break
        low, high = np.where(excess < 0, x, low), np.where(excess > 0, x, high)
        is_free = (a + d > lower) & (a + d < upper)
        step = x - excess / (1.0 + scaling**2 * length * is_free.sum(axis=0))
        inside = (step > low) & (step < high)
        bracketed = np.isfinite(low) & np.isfinite(high) & ~inside
        x = step
        x[bracketed] = 0.5 * (low[bracketed] + high[bracketed])
        d = change(x)
    return d


def _box(form, targets, Cw):
    """(lower, upper, l, D) from the conjugate of the loss, for targets (n, P) and C w as a column.

    Of a margin loss a = y alpha with 0 <= alpha <= upper end, so that a row with y = 0 stays at 0; of regression a lies
    between both ends. A row of weight 0 stays at 0 too.
    """
    y = targets.astype(np.float64)
    ends = form.reach * Cw if np.isfinite(form.reach) else np.where(Cw > 0, np.inf, 0.0)
    bend = np.divide(form.bend, Cw, out=np.zeros_like(Cw), where=Cw > 0)
    if form.two_sided:
        lower, upper = -ends + 0 * y, ends + 0 * y
    else:
        lower, upper = np.where(y < 0, -ends, 0.0), np.where(y > 0, ends, 0.0)
    return lower, upper, form.shift * y, bend + 0 * y


def _spread(design):
    """Number of directions of a sample of rows, as a share of its size: (sum of eigenvalues)^2 / sum of squares / m."""
    m = min(SAMPLE_ROWS, len(design))
    which = np.linspace(0, len(design) - 1, m).astype(np.int64)
    vectors = design.take(which).accumulate(np.eye(m)).astype(np.float64, copy=False)
    with single_threaded():
        vectors -= vectors.mean(axis=1, keepdims=True)
        gram = vectors.T @ vectors
    squares = float((gram**2).sum())
    return float(np.trace(gram)) ** 2 / squares / m if squares > 0 else 0.0
