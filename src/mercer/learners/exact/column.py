"""One column of an exact machine: working sets of rows, each solved two rows at a time.

    maximise over b    sum_i t_i b_i - B_i b_i^2 / 2 - 1/2 b'(K + c) b       with lower_i <= b_i <= upper_i

the dual of 1/2 |w|^2 + sum_i l_i(f_i); the form of a loss gives t, B and the bounds as
`mercer._native.learners.descent.sweep` says. Every round takes the rows whose b should rise or fall most, as
many of both, and half of the rows of the round before, free ones first: either alone zigzags. It solves the problem of
these rows alone, then brings the scores of all rows up to date. So the long rows of the matrix are read once a round,
and only rows that were once taken are computed at all, as in [joachims99making]. A round also gives the primal and the
dual value, whose gap ends the work.
"""

__all__ = ["Column"]

import numpy as np

from mercer._native.learners.descent.dual import sum_objectives
from mercer._native.learners.descent.gram import descend_gram, gains_of
from mercer.learners.solvers.problem import FLOOR, relative_gaps

WORKING_ROWS = 768  # whose products stay in the cache
MOST_STEPS = 20  # of a round, times the number of its rows
SMALLER = 0.1  # a round ends when a step gains less than this share of what its rows could gain at first, on average
LEAST_CURVATURE = 1e-12  # of an empty row: only the bounds stop it


class Column:
    """One problem, solved as far as the rounds so far have brought it.

    Parameters
    ----------
    n : rows
    targets : int8 (n,), -1, 0 or +1
    caps : float64 (n,), C times the weights of the rows
    form : of the loss, with epsilon = 0
    constant : what is added to K for the intercept

    Attributes
    ----------
    best, primal, dual : dual variables (n,) of the smallest primal value so far, that value, the largest dual value
    floor : value below which a gap is not measured relative to it
    rounds : working sets so far
    """

    def __init__(self, targets, caps, form, constant):
        self.targets, self.caps, self.form, self.constant = targets, caps, form, float(constant)
        n = len(targets)
        has_part = caps > 0 if form.two_sided else (caps > 0) & (targets != 0)
        reach = np.where(has_part, form.reach * np.where(has_part, caps, 1.0), 0.0)
        self.upper = np.where(form.two_sided | (targets > 0), reach, 0.0)
        self.lower = np.where(form.two_sided | (targets < 0), -reach, 0.0)
        self.bends = np.divide(form.bend, caps, out=np.zeros(n), where=has_part)
        self.best, self.rounds, self.dual = np.zeros(n), 0, 0.0
        self.primal = sum_objectives(np.zeros(n), targets, caps, form, self.best)[0]
        self.floor = FLOOR * self.primal

    @property
    def gap(self):
        """(primal - dual) / primal, or / floor."""
        return float(relative_gaps(*(np.array([value]) for value in (self.primal, self.dual, self.floor)))[0])

    def solve(self, rows, tol, max_iter):
        """Rounds until the relative gap is at most ``tol``, at most ``max_iter`` of them; rows are GramRows."""
        b, scores, gains = np.zeros(len(rows)), np.zeros(len(rows)), np.empty(len(rows))
        h = np.maximum(rows.diagonal + self.constant + self.bends, LEAST_CURVATURE)
        working = np.empty(0, dtype=np.int64)
        while self.gap > tol and self.rounds < max_iter:
            g = scores - self.form.shift * self.targets + self.bends * b
            gains_of(g, h, self.lower, self.upper, b, gains)
            working = self._choose(gains, g, h, b, working)
            if not len(working):
                break
            self._descend(rows, working, h, b, g, scores)
            self.rounds += 1
            self._note(b, scores)

    def _choose(self, gains, g, h, b, before):
        """The rows of the next round, ascending.

        Where all rows that gain would move to one side, few steps satisfy them and the other side is wronged; so rows
        of the other side count as well, if their slope is no further from a gain than the largest one is beyond it.
        """
        movable = np.flatnonzero(gains > 0)
        if not len(movable):
            return movable
        if self.rounds == 0:  # all gain the same: as many of both sides
            sides = [np.flatnonzero(self.targets[movable] * side > 0) for side in (-1, 1)]
            return movable[np.sort(np.concatenate([_spread(rows, WORKING_ROWS // 2) for rows in sides]))]
        slopes = g / np.sqrt(h)
        rising, falling = np.flatnonzero(b < self.upper), np.flatnonzero(b > self.lower)
        largest = max((-slopes[rising]).max(initial=0.0), slopes[falling].max(initial=0.0))
        sides = [
            _largest(rows, values, WORKING_ROWS // 4, -largest)
            for rows, values in ((rising, -slopes[rising]), (falling, slopes[falling]))
        ]
        new = np.union1d(*sides)
        kept = np.setdiff1d(before, new)
        is_free = (b[kept] > self.lower[kept]) & (b[kept] < self.upper[kept])
        order = np.argsort(np.where(is_free, np.inf, -np.abs(slopes[kept])), kind="stable")[::-1]
        return np.union1d(new, kept[order[: WORKING_ROWS - len(new)]])

    def _descend(self, rows, working, h, b, g, scores):
        """Solve the problem of the working rows, the others fixed; b and scores are those after it."""
        own, gradient = b[working], g[working]
        bounds = self.lower[working], self.upper[working]
        gains = np.empty(len(working))
        gains_of(gradient, h[working], *bounds, own, gains)
        least, most = SMALLER * gains.mean(), MOST_STEPS * len(working)
        K = rows.between(working)
        descend_gram(K, self.constant, self.bends[working], h[working], *bounds, least, most, own, gradient, gains)
        steps = own - b[working]
        moved = steps != 0
        b[working] = own
        rows.add(working[moved], steps[moved], scores)
        scores += self.constant * steps.sum()

    def _note(self, b, scores):
        losses, worth = sum_objectives(scores, self.targets, self.caps, self.form, b)
        half = 0.5 * (b @ scores)
        self.dual = max(self.dual, worth - half)
        if losses + half < self.primal:
            self.primal, self.best = losses + half, b.copy()


def _spread(rows, count):
    """At most so many of the rows, evenly."""
    return rows if len(rows) <= count else rows[np.arange(count) * len(rows) // count]


def _largest(rows, values, count, least):
    """At most so many of the rows, those of the largest values, all of them at least so large."""
    enough = values >= least
    rows, values = rows[enough], values[enough]
    return rows if len(rows) <= count else rows[np.argpartition(-values, count)[:count]]
