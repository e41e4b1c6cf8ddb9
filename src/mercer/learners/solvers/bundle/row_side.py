"""What a bundle needs of the rows: scores at two points, losses between them, and planes.

Everything of the size of the rows is behind these few calls; what passes through them has the size of the weights. So
the same solver runs on rows in this process (:class:`RowSide`) and on rows that lie elsewhere.
"""

__all__ = ["Plane", "RowSide"]

from dataclasses import dataclass
from typing import Any

import numpy as np

FAR = 1e30  # in place of scores that overflow


@dataclass
class Plane:
    """Sums over rows at one point: what touches the sum of losses there.

    values, offsets : float64 (Q,)
    p : (r, P), F Phi' slopes
    tilts : float64 (P,), sums of the slopes
    """

    values: np.ndarray
    offsets: np.ndarray
    p: np.ndarray
    tilts: np.ndarray


@dataclass
class RowSide:
    """Rows in this process. ``which`` numbers the columns of scores that are still worked on, None for all.

    Parameters
    ----------
    design, loss, targets, weights : as of a Problem
    best : scores at the best point, (n, all columns)
    step : what is missing to the point that a line search goes toward, (n, columns worked on)
    """

    design: Any
    loss: Any
    targets: np.ndarray
    weights: np.ndarray
    best: np.ndarray
    step: np.ndarray | None = None
    which: np.ndarray | None = None

    @classmethod
    def of(cls, problem):
        """The rows of a problem, with scores of zero weights."""
        best = np.zeros((len(problem.design), problem.n_columns), dtype=problem.design.dtype)
        return cls(problem.design, problem.loss, problem.targets, problem.weights, best)

    def begin(self, u, constants):
        """Make the point of weights u (r, P) the best one; ``constants`` are added to the scores."""
        self.best = self._scores(u, constants)

    def keep(self, which):
        """Work on these columns only, of those that were worked on so far."""
        self.targets = np.ascontiguousarray(self.targets[:, which])
        self.which = which if self.which is None else self.which[which]

    def turn(self, u, constants):
        """Set out for the point of weights u (r, columns worked on)."""
        self.resume(self._scores(u, constants))
        self.step -= self._start

    def resume(self, step):
        """Go on from the best point toward one that is so far away."""
        self._start, self.step, self._rest = self._worked_on(), step, 1.0

    def along(self, ks):
        """[(losses, derivatives by k)] at best + k step, per problem, for each k."""
        facts = self.targets, self.weights, self.design.n_jobs
        return list(zip(*self.loss.along(self._start, self.step, np.stack(ks), *facts), strict=True))

    def advance(self, k):
        """Make best + k step the best point, k (columns worked on,); the point ahead stays where it is."""
        k = k.astype(self.step.dtype)
        moved = k * self.step
        moved += self._start
        self._start, self._rest = moved, 1 - k
        if self.which is None:
            self.best = self._start
        else:
            self.best[:, self.which] = self._start

    def cut(self, share):
        """The plane so far from the best point to the one ahead, share (columns worked on,)."""
        if share.any():
            scores = share.astype(self.step.dtype) * self._rest * self.step
            scores += self._start
        else:
            scores = self._worked_on()
        values, offsets, slopes = self.loss.evaluate(scores, self.targets, self.weights, self.design.n_jobs)
        return Plane(values, offsets, self.design.accumulate(slopes), slopes.sum(axis=0, dtype=np.float64))

    def _worked_on(self):
        return self.best if self.which is None else np.ascontiguousarray(self.best[:, self.which])

    def _scores(self, u, constants):
        scores = self.design.scores(u)
        scores += constants.astype(scores.dtype)
        # A first step may be so far too long that scores overflow; it needs finite numbers to be shortened.
        return np.nan_to_num(scores, copy=False, nan=0.0, posinf=FAR, neginf=-FAR)
