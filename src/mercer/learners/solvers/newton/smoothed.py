"""Losses as Newton's method sees them: with a derivative everywhere, C and the weights of the rows included.

    evaluate(scores)  -> values (P,), excess (P,), slopes (n, P), bends (n, P)     bends: second derivatives
    along(start, step, k) -> derivatives (P,) at start + k step

``values`` are those of the loss itself. ``excess`` is by how much the slopes, as a point of the dual problem, fall
short of them: 0 for smooth losses.
"""

__all__ = ["ProximalLoss", "SmoothLoss", "smoothed"]

import math

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer._native.learners.newton import along_proximal, evaluate_proximal

BLOCK_NUMBERS = 2**17  # scores that a thread takes at a time
SHARPEN = 0.2  # delta of the next round
FIRST_MARGIN = 4.0  # delta of the first round: all rows are curved at scores of 0
FIRST_SPREAD = 2.0  # of regression, in units of the mean distance of targets from their median


def smoothed(problem):
    """The loss of a problem in this form."""
    loss = problem.loss
    if loss.form is not None and math.isfinite(loss.form.reach):
        return ProximalLoss(problem)
    if loss.is_smooth and not loss.joint:
        return SmoothLoss(problem)
    raise InputError(
        f"Newton's method does not support the joint loss {loss.name!r}. Use solver='bundle' or another loss."
    )


class SmoothLoss:
    """A loss that is smooth by itself."""

    def __init__(self, problem):
        self.loss, self.targets, self.n_jobs = problem.loss, problem.targets, problem.design.n_jobs
        self.caps, self.deltas = float(problem.C) * problem.weights, np.zeros(problem.n_columns)

    def evaluate(self, scores):
        values, _, slopes = self.loss.evaluate(scores, self.targets, self.caps, self.n_jobs)
        bends = self.loss.curvature(scores, self.targets, self.caps, self.n_jobs)
        return values, np.zeros_like(values), slopes, bends

    def along(self, start, step, k):
        return self.loss.along(start, step, k, self.targets, self.caps, self.n_jobs)[1]

    def sharpen(self, columns):
        """Nothing to do."""

    def keep(self, columns):
        """Leave the other columns out from now on."""
        self.targets, self.deltas = np.ascontiguousarray(self.targets[:, columns]), self.deltas[columns]


class ProximalLoss:
    """A loss whose slope is bounded, rounded on a width delta around the shares of the last round.

    Without that, a row far from its corner has no second derivative, and a step that leaves it out may go anywhere.
    """

    def __init__(self, problem):
        self.targets, self.n_jobs = np.ascontiguousarray(problem.targets), problem.design.n_jobs
        self.caps = float(problem.C) * problem.weights
        self.form = problem.loss.form
        dtype = problem.design.dtype
        if self.form.two_sided:
            self.centres = np.zeros(self.targets.shape, dtype)
            spread = np.abs(self.targets - np.median(self.targets, axis=0)).mean(axis=0)
            self.deltas = FIRST_SPREAD * np.where(spread > 0, spread, 1.0)
        else:
            self.centres = self.targets.astype(dtype) / 2
            self.deltas = np.full(problem.n_columns, FIRST_MARGIN)
        self.shares = self.centres

    def evaluate(self, scores):
        self.shares, bends = np.empty_like(scores), np.empty_like(scores)
        flat = (scores.reshape(-1), self.targets.reshape(-1))
        outs = (self.shares.reshape(-1), bends.reshape(-1))

        def add(first, last, sums):
            evaluate_proximal(*flat, *self._around, first, last, *outs, sums)

        values, excess = self._sums(add)
        return values, excess, (-self.caps[:, None] * self.shares).astype(scores.dtype), bends

    def along(self, start, step, k):
        start, step = start.reshape(-1), step.reshape(-1)

        def add(first, last, sums):
            along_proximal(start, step, k, self.targets.reshape(-1), *self._around, first, last, sums)

        return self._sums(add)[1]

    def sharpen(self, columns):
        """Go on around the present shares, with a smaller delta."""
        self.centres = np.where(columns, self.shares, self.centres)
        self.deltas = np.where(columns, SHARPEN * self.deltas, self.deltas)

    def keep(self, columns):
        """Leave the other columns out from now on."""
        for name in ("targets", "centres", "shares"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, columns]))
        self.deltas = self.deltas[columns]

    @property
    def _around(self):
        return self.caps, self.form, self.deltas, self.centres.reshape(-1)

    def _sums(self, add):
        n, P = self.targets.shape
        size = max(1, BLOCK_NUMBERS // max(1, P))

        def sums_of(first):
            sums = np.zeros((2, P))
            add(first, min(first + size, n), sums)
            return sums

        return sum(run_blocks(sums_of, range(0, n, size), self.n_jobs), start=np.zeros((2, P)))
