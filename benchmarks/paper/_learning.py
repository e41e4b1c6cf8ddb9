"""What the benchmarks of solvers share: problems, a rival of plain BLAS, and checks of solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.checks import WrongResult
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.problem import Problem
from mercer.spaces import Design, Identity


def one_vs_rest(design, y, C, loss="hinge"):
    """One problem per class, in the order of the classes."""
    targets = np.where(y[:, None] == np.unique(y), 1, -1).astype(np.int8)
    return Problem(design, get_loss(loss), targets, np.ones(len(y)), targets.shape[1], C=C)


class PlainBlas(Design):
    """Dense rows whose products go to BLAS in one call each, on all its threads."""

    def __init__(self, X):
        super().__init__(X, Identity(X.shape[1]))

    def scores(self, u):
        return self.rows.X @ self._operand(u, self.shape[1], "scores")

    def accumulate(self, slopes):
        return self.rows.X.T @ self._operand(slopes, self.shape[0], "accumulate")


@dataclass(frozen=True)
class Solved:
    """A check of solutions of one-vs-rest hinge problems: every gap is reached, by values computed here again.

    Parameters
    ----------
    blocks : called without arguments, gives pairs (array of rows, slice): the rows that u scores
    problem : what was solved
    tol : relative gap that was asked for
    """

    blocks: Any
    problem: Problem
    tol: float

    def __call__(self, solution) -> float:
        """The largest relative error of the objectives that the solver states."""
        objectives = self.objectives(solution)
        gaps = (objectives - solution.dual_objectives) / objectives
        error = float(np.abs(objectives / solution.objectives - 1).max())
        # rounding of float32 scores may move an objective a little; a solver that stops too early is far off
        if not gaps.max() <= 1.05 * self.tol or not error <= 0.05 * self.tol:
            raise WrongResult(f"The largest gap is {gaps.max():.3g}, the largest error of an objective {error:.3g}.")
        return error

    def objectives(self, solution):
        """1/2 |u|^2 + 1/2 b^2 + C sum of hinges, of each class, in float64."""
        losses = np.zeros(self.problem.n_columns)
        for rows, part in self.blocks():
            scores = rows.astype(np.float64) @ solution.u + solution.intercept
            losses += np.maximum(0, 1 - self.problem.targets[part] * scores).sum(axis=0)
        weights = (solution.u**2).sum(axis=0) + (solution.intercept / self.problem.intercept_scaling) ** 2
        return 0.5 * weights + self.problem.C * losses


def mean_average_precision(scores, y):
    """Mean over the classes of the area under precision against recall, in percent."""
    from sklearn.metrics import average_precision_score

    return 100 * float(np.mean([average_precision_score(y == c, scores[:, k]) for k, c in enumerate(np.unique(y))]))


def accuracy(scores, y):
    """Share of the rows whose best score is that of their class, in percent."""
    return 100 * float((np.unique(y)[scores.argmax(axis=1)] == y).mean())
