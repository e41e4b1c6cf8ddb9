"""What iterative solvers share: rounds until the gap is small enough or Ctrl-C ends them, and the record of each."""

__all__ = ["Rounds", "minimise"]

import itertools
import time

from mercer._base.progress import track
from mercer.learners.solvers.problem import Solution, relative_gaps


class Rounds:
    """One run of a solver.

    A subclass has ``note(tol)``, which says whether everything is done, and ``step()``.

    Attributes
    ----------
    solver, title : its name, and what a display of the progress calls it
    further : what its history holds besides values, gap and seconds
    primal, dual : best values of all problems, float64 (Q,)
    n_iter : passes so far
    history : as that of a Solution
    """

    solver = title = ""
    further: tuple[str, ...] = ()

    def __init__(self, problem, began=None):
        self.floors = problem.floors()
        self.n_iter, self.began = 0, time.perf_counter() if began is None else began
        self.history = {name: [] for name in ("objective", "dual_objective", "gap", "seconds", *self.further)}

    def record(self, *further):
        """Write down where the work stands; the relative gaps of all problems."""
        gaps = relative_gaps(self.primal, self.dual, self.floors)
        values = float(self.primal.sum()), float(self.dual.sum()), float(gaps.max(initial=0.0))
        entry = *values, time.perf_counter() - self.began, *further
        for column, value in zip(self.history.values(), entry, strict=True):
            column.append(value)
        return gaps

    def ended(self, tol, interrupted, u, intercept, state):
        """The Solution, of the best weights."""
        return Solution(
            u=u,
            intercept=intercept,
            objectives=self.primal.copy(),
            dual_objectives=self.dual.copy(),
            floors=self.floors,
            n_iter=self.n_iter,
            converged=bool((relative_gaps(self.primal, self.dual, self.floors) <= tol).all()),
            interrupted=interrupted,
            solver=self.solver,
            history=self.history,
            state=state,
        )


def minimise(work, tol, max_iter=None, interrupted=False):
    """The Solution that rounds lead to; without ``max_iter``, ``note`` alone says when they end."""
    rounds = itertools.count() if max_iter is None else range(max_iter)
    try:
        for _ in track(rounds, work.title, total=max_iter):
            if work.note(tol) or (max_iter is not None and work.n_iter >= max_iter):
                break
            work.step()
    except KeyboardInterrupt:
        interrupted = True
    return work.solution(tol, interrupted)
