"""Exact line search between two points, all problems at once. [franc09optimized]

    minimise over k >= 0    1/2 |u + k d|^2 + C R(s + k e)

where e are the scores of d: a convex function of one number per problem, whose derivative needs one cheap pass over the
scores and none over the rows.
"""

__all__ = ["search_line"]

import numpy as np

MOST_ROUNDS = 24
EVEN = np.arange(1, 7) / 7  # shares of the interval
FLAT = 1e-9  # of the slope at the start: rounding, which must not decide where a search ends
NEAREST = 0.01  # share of the interval: from its ends to false position
PRECISION, LEAST = 1e-2, 0.1  # of the step, or of this if the step is smaller, where the search may stop


def search_line(losses_along, linear, quadratic, C):
    """(k, loss sums at k) per problem.

    Parameters
    ----------
    losses_along : function of a list of k (Q,) -> list of (values, derivatives) of R at s + k e. Several are asked for
        at once: where the rows are elsewhere, every question takes its time
    linear, quadratic : <u, d> and |d|^2 of each problem, (Q,)
    C : weight of the losses
    """

    def evaluate(*ks):
        return [
            (values, linear + k * quadratic + C * derivatives)
            for k, (values, derivatives) in zip(ks, losses_along(list(ks)), strict=True)
        ]

    low, high = np.zeros_like(linear), np.ones_like(linear)
    (start_values, low_slope), (values, high_slope) = evaluate(low, high)
    flat = -FLAT * np.abs(low_slope)  # where no corner lies between the two, the minimum is the other end exactly
    is_ascending = low_slope >= 0  # already at the minimum
    high, high_slope = np.where(is_ascending, 0.0, high), np.where(is_ascending, np.abs(low_slope), high_slope)
    values = np.where(is_ascending, start_values, values)
    for _ in range(MOST_ROUNDS):  # the minimum lies beyond `high` while the function descends there
        beyond = high_slope < flat
        if not beyond.any():
            break
        low, low_slope = np.where(beyond, high, low), np.where(beyond, high_slope, low_slope)
        high = np.where(beyond, 2 * high, high)
        ((values, slope),) = evaluate(high)
        high_slope = np.where(beyond, slope, high_slope)
    return _narrow(evaluate, low, low_slope, high, high_slope, values, flat)


def _narrow(evaluate, low, low_slope, high, high_slope, values, flat):
    """The zero of an ascending function between low and high; ``values`` are those at ``high``, ``flat`` is zero too.

    A round asks for points at equal distances and the one of false position. For losses with corners the function is
    a staircase, on which false position alone takes many rounds; the slowest of many problems decides how many.
    """
    k = high.copy()
    for _ in range(MOST_ROUNDS):
        if ((high - low <= PRECISION * np.maximum(high, LEAST)) | (high_slope <= -flat)).all():
            break
        difference = high_slope - low_slope
        share = np.divide(-low_slope, difference, out=np.full_like(low, 0.5), where=difference > 0)
        false_position = np.clip(share, NEAREST, 1 - NEAREST)[None]
        shares = np.sort(np.concatenate([false_position, np.repeat(EVEN[:, None], len(low), axis=1)]), axis=0)
        points = low + shares * (high - low)
        found = evaluate(*points)
        slopes = np.stack([slope for _, slope in found])
        right = slopes >= flat
        has_high, columns = right.any(axis=0), np.arange(len(low))
        is_high = right.argmax(axis=0)  # ascending: the first of those on the right
        is_low = np.where(has_high, is_high, len(points)) - 1
        has_low = is_low >= 0
        low, low_slope = (np.where(has_low, a[is_low, columns], b) for a, b in ((points, low), (slopes, low_slope)))
        high, high_slope = (
            np.where(has_high, a[is_high, columns], b) for a, b in ((points, high), (slopes, high_slope))
        )
        every = np.stack([each for each, _ in found])
        values, k = np.where(has_high, every[is_high, columns], values), high
    return k, values
