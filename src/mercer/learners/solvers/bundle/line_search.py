"""Exact line search between two points, all problems at once. [franc09optimized]

    minimize over k >= 0    1/2 |u + k d|^2 + C R(s + k e)

where e are the scores of d: a convex function of one number per problem, whose derivative needs one cheap pass over the
scores and none over the rows.
"""

__all__ = ["search_line"]

import numpy as np

MOST_ROUNDS = 24
# Steps asked for at once: most lie between the first and the last of these. The point ahead often has rows exactly at
# a corner of their loss, where rounding would choose between two slopes: the last step goes a little beyond it.
FIRST = np.array([0.0625, 0.125, 0.25, 0.5, 1 + 1e-6])
EVEN = np.arange(1, 10) / 10  # shares of an interval: two rounds bring a factor of 2 down to the precision
HALVES = 2.0 ** -np.arange(9, 0, -1)  # shares of an interval that begins at 0: a small step is known to a factor of 2
FLAT = 1e-9  # of the slope at the start: rounding, which must not decide where a search ends
NEAREST = 0.01  # share of the interval: from its ends to false position
PRECISION, LEAST = 1e-2, 1e-3  # of the step, or of this if the step is smaller, where the search may stop


def search_line(losses_along, linear, quadratic, C):
    """(k, loss sums at k) per problem.

    Parameters
    ----------
    losses_along : function of a list of k (Q,) -> list of (values, derivatives) of R at s + k e. Several are asked for
        at once: they share one reading of the scores, and where the rows are elsewhere, every question takes its time
    linear, quadratic : <u, d> and |d|^2 of each problem, (Q,)
    C : weight of the losses
    """

    def evaluate(ks):
        """(values, slopes), both (points, Q)"""
        found = losses_along(list(ks))
        slopes = [linear + k * quadratic + C * derivatives for k, (_, derivatives) in zip(ks, found, strict=True)]
        return np.stack([values for values, _ in found]), np.stack(slopes)

    points = np.repeat(np.append(0.0, FIRST)[:, None], len(linear), axis=1)
    values, slopes = evaluate(points)
    interval = _Interval(points[0], slopes[0], points[-1], slopes[-1], values[-1])
    flat = -FLAT * np.abs(slopes[0])  # where no corner lies between the two, the minimum is the other end exactly
    interval.narrow(points[1:-1], values[1:-1], slopes[1:-1], flat)
    interval.close(slopes[0] >= 0, values[0])  # already at the minimum
    for _ in range(MOST_ROUNDS):  # the minimum lies beyond `high` while the function descends there
        beyond = interval.high_slope < flat
        if not beyond.any():
            break
        further = np.where(beyond, 2 * interval.high, interval.high)
        values, slopes = evaluate(further[None])
        interval.widen(beyond, further, values[0], slopes[0])
    for _ in range(MOST_ROUNDS):
        if interval.is_short(flat).all():
            break
        points = interval.inner_points()
        interval.narrow(points, *evaluate(points), flat)
    return interval.high, interval.values


class _Interval:
    """Where the zero of an ascending function lies, per problem; ``values`` are those at ``high``."""

    def __init__(self, low, low_slope, high, high_slope, values):
        self.low, self.low_slope, self.high, self.high_slope, self.values = low, low_slope, high, high_slope, values

    def close(self, which, values):
        """The zero of these is at 0."""
        self.high = np.where(which, 0.0, self.high)
        self.high_slope = np.where(which, np.abs(self.low_slope), self.high_slope)
        self.low, self.values = np.where(which, 0.0, self.low), np.where(which, values, self.values)

    def widen(self, which, further, values, slopes):
        """The zero of these lies beyond ``high``, and ``further`` is the next point to be looked at."""
        self.low, self.low_slope = (
            np.where(which, self.high, self.low),
            np.where(which, self.high_slope, self.low_slope),
        )
        self.high, self.high_slope = further, np.where(which, slopes, self.high_slope)
        self.values = values

    def narrow(self, points, values, slopes, flat):
        """What points between the ends, in ascending order, say about the zero; ``flat`` is zero too."""
        right = slopes >= flat
        has_high, columns = right.any(axis=0), np.arange(points.shape[1])
        is_high = right.argmax(axis=0)  # ascending: the first of those on the right
        is_low = np.where(has_high, is_high, len(points)) - 1
        has_low = is_low >= 0
        self.low, self.low_slope = (
            np.where(has_low, a[is_low, columns], b) for a, b in ((points, self.low), (slopes, self.low_slope))
        )
        self.high, self.high_slope, self.values = (
            np.where(has_high, a[is_high, columns], b)
            for a, b in ((points, self.high), (slopes, self.high_slope), (values, self.values))
        )

    def is_short(self, flat):
        """Whether ``high`` is near enough to the zero."""
        return (self.high - self.low <= PRECISION * np.maximum(self.high, LEAST)) | (self.high_slope <= -flat)

    def inner_points(self):
        """Points at equal distances, or halves of halves from 0, and the one of false position, in ascending order.

        For losses with corners the function is a staircase, on which false position alone takes many rounds; the
        slowest of many problems decides how many.
        """
        difference = self.high_slope - self.low_slope
        share = np.divide(-self.low_slope, difference, out=np.full_like(self.low, 0.5), where=difference > 0)
        false_position = np.clip(share, NEAREST, 1 - NEAREST)[None]
        others = np.where(self.low == 0, HALVES[:, None], EVEN[:, None])
        return self.low + np.sort(np.concatenate([false_position, others]), axis=0) * (self.high - self.low)
