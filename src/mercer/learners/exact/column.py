"""One column of an exact machine: working sets of rows, each solved two rows at a time.

    maximize over b    sum_i t_i b_i - epsilon |b_i| - B_i b_i^2 / 2 - 1/2 b'(K + c) b,    lower_i <= b_i <= upper_i

the dual of 1/2 |w|^2 + sum_i l_i(f_i); the form of a loss gives t, B and the bounds as
`mercer._native.learners.descent.sweep` says. Every round takes the rows whose b should rise or fall most, as many of
both, and half of the rows of the round before: either alone zigzags. It solves the problem of these rows alone, then
brings the scores of all rows up to date. So the long rows of the matrix are read once a round, and only rows that were
once taken are computed at all, as in [joachims99making]. A round also gives the primal and the dual value, whose gap
ends the work.

With epsilon > 0 every row stands twice, once for b >= 0 and once for b <= 0: on either side |b| is linear.
"""

__all__ = ["Column"]

import numpy as np

from mercer._native.learners.descent.dual import sum_objectives
from mercer._native.learners.descent.gram import add_rows, choose_rows, descend_gram, gather, slopes_of
from mercer.learners.solvers.problem import FLOOR

LEAST_WORKING, MOST_WORKING, SHARE = 96, 768, 16  # rows of a round: one of so many, whose products stay in the cache
DOUBLED = 6  # rounds after which a round has twice as many: what is not solved soon has many rows that matter
MOST_STEPS = 20  # of a round, times the number of its rows
SMALLER = 0.1  # a round ends when a step gains less than this share of what its rows could gain at first, on average
LEAST_CURVATURE = 1e-12  # of an empty row: only the bounds stop it


class Column:
    """One problem, solved as far as the rounds so far have brought it.

    Parameters
    ----------
    parts : slices of the rows of the matrix that have a part in it
    targets : (n,), int8 of -1, 0 or +1, or numbers
    caps : float64 (n,), C times the weights of the rows
    form : of the loss
    constant : what is added to K for the intercept

    Attributes
    ----------
    best, primal, dual : dual variables (n,) of the smallest primal value so far, that value, the largest dual value
    floor : value below which a gap is not measured relative to it
    rounds : working sets so far
    working : rows of the next one, or of the last
    """

    def __init__(self, parts, targets, caps, form, constant):
        self.targets, self.caps, self.form, self.constant = targets, caps, form, float(constant)
        self.n, n_sides = len(targets), 2 if form.epsilon > 0 else 1
        self.parts = list(parts) * n_sides
        self.rows = np.concatenate([np.arange(part.start, part.stop) for part in self.parts] or [np.arange(0)])
        has_part = caps > 0 if form.two_sided else (caps > 0) & (targets != 0)
        reach = np.where(has_part, form.reach * np.where(has_part, caps, 1.0), 0.0)
        bends = np.divide(form.bend, caps, out=np.zeros(self.n), where=has_part)
        goals = form.shift * targets.astype(np.float64)
        if n_sides == 2:
            nothing = np.zeros(self.n)
            self.upper, self.lower = np.concatenate([reach, nothing]), np.concatenate([nothing, -reach])
            self.bends, self.goals = np.tile(bends, 2), np.concatenate([goals - form.epsilon, goals + form.epsilon])
        else:
            self.upper = np.where(form.two_sided | (targets > 0), reach, 0.0)
            self.lower = np.where(form.two_sided | (targets < 0), -reach, 0.0)
            self.bends, self.goals = bends, goals
        m = len(self.rows)
        self.b, self.scores, self.g, self.slopes = (np.zeros(m) for _ in range(4))
        self.h, self.working, self._room = None, np.empty(0, dtype=np.int64), np.empty(m, dtype=np.int64)
        self.best, self.rounds, self.dual = np.zeros(self.n), 0, 0.0
        self.primal = sum_objectives(np.zeros(self.n), targets, caps, form, self.best)[0]
        self.floor = FLOOR * self.primal

    @property
    def gap(self):
        """(primal - dual) / primal, or / floor."""
        size = max(self.primal, self.floor)
        return max(self.primal - self.dual, 0.0) / size if size > 0 else 0.0

    def choose(self, diagonal):
        """The rows of the matrix that the next round needs; none if there is nothing to gain."""
        if self.h is None:
            self.h = np.maximum(diagonal[self.rows] + self.constant + self.bends, LEAST_CURVATURE)
        slopes_of(self.scores, self.goals, self.bends, self.h, self.b, self.g, self.slopes)
        size = min(max(len(self.b) // SHARE, LEAST_WORKING) << min(self.rounds // DOUBLED, 8), MOST_WORKING)
        if self.rounds == 0:  # rows of a class gain the same: as many of both sides, evenly
            sides = (
                np.flatnonzero((self.slopes > 0) & (self.upper > 0)),
                np.flatnonzero((self.slopes < 0) & (self.lower < 0)),
            )
            self.working = np.union1d(*(_spread(side, size // 2) for side in sides))
        else:
            m = choose_rows(self.slopes, self.lower, self.upper, self.b, self.working, size, self._room)
            self.working = self._room[:m].copy()
        return self.rows[self.working]

    def descend(self, values, places):
        """Solve the problem of the working rows, the others fixed, and bring scores and the gap up to date.

        Parameters
        ----------
        values, places : of :class:`mercer.learners.exact.rows.GramRows`, the working rows being computed
        """
        working, q = self.working, len(self.working)
        rows = self.rows[working]
        K, own, gradient, gains = np.empty((q, q), dtype=np.float32), self.b[working], self.g[working], np.empty(q)
        gather(values, places[rows], rows, K)
        facts = (of_rows[working] for of_rows in (self.bends, self.h, self.lower, self.upper))
        descend_gram(K, self.constant, *facts, SMALLER, MOST_STEPS * q, own, gradient, gains)
        steps = own - self.b[working]
        moved = steps != 0
        self.b[working] = own
        used, steps, at = places[rows[moved]], steps[moved], 0
        for part in self.parts:
            size = part.stop - part.start
            add_rows(values, used, steps, part.start, self.scores[at : at + size])
            at += size
        self.scores += self.constant * steps.sum()
        self.rounds += 1
        self._note()

    def _note(self):
        b = self.b if len(self.b) == self.n else self.b[: self.n] + self.b[self.n :]
        scores = self.scores[: self.n]
        losses, worth = sum_objectives(scores, self.targets, self.caps, self.form, b)
        half = 0.5 * float(b @ scores)
        self.dual = max(self.dual, worth - half)
        if losses + half < self.primal:
            self.primal, self.best = losses + half, b.copy()


def _spread(rows, count):
    """At most so many of the rows, evenly."""
    return rows if len(rows) <= count else rows[np.arange(count) * len(rows) // count]
