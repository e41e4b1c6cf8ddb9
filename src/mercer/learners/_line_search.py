"""Exact line search between two points, all problems at once. [franc09optimized]

    minimise over k >= 0    1/2 |u + k d|^2 + C R(s + k e)

where e are the scores of d: a convex function of one number per problem, whose derivative needs one cheap pass over the
scores and none over the rows.
"""

__all__ = ["search_line"]

import numpy as np

MOST_EVALUATIONS = 24
PRECISION = 1e-3  # of the step, where the search may stop


def search_line(loss_along, linear, quadratic, C):
    """(k, loss sums at k) per problem.

    Parameters
    ----------
    loss_along : function k (Q,) -> (values, derivatives) of R at s + k e
    linear, quadratic : <u, d> and |d|^2 of each problem, (Q,)
    C : weight of the losses
    """

    def evaluate(k):
        values, derivatives = loss_along(k)
        return values, linear + k * quadratic + C * derivatives

    low, high = np.zeros_like(linear), np.ones_like(linear)
    _, low_slope = evaluate(low)
    _, high_slope = evaluate(high)
    is_ascending = low_slope >= 0  # already at the minimum
    high, high_slope = np.where(is_ascending, 0.0, high), np.where(is_ascending, np.abs(low_slope), high_slope)
    for _ in range(MOST_EVALUATIONS):  # the minimum lies beyond `high` while the function descends there
        beyond = high_slope < 0
        if not beyond.any():
            break
        low, low_slope = np.where(beyond, high, low), np.where(beyond, high_slope, low_slope)
        high = np.where(beyond, 2 * high, high)
        _, slope = evaluate(high)
        high_slope = np.where(beyond, slope, high_slope)
    return _narrow(evaluate, low, low_slope, high, high_slope)


def _narrow(evaluate, low, low_slope, high, high_slope):
    """The zero of an ascending function between low and high: false position, halving a side that stays (Illinois)."""
    side = np.zeros(len(low))
    k = high.copy()
    values, _ = evaluate(k)
    for _ in range(MOST_EVALUATIONS):
        if (high - low <= PRECISION * high).all():
            break
        difference = high_slope - low_slope
        share = np.divide(-low_slope, difference, out=np.full_like(low, 0.5), where=difference > 0)
        k = low + np.clip(share, 0.02, 0.98) * (high - low)
        values, slope = evaluate(k)
        right = slope >= 0
        low_slope = np.where(right, np.where(side > 0, 0.5 * low_slope, low_slope), slope)
        high_slope = np.where(right, slope, np.where(side < 0, 0.5 * high_slope, high_slope))
        low, high = np.where(right, low, k), np.where(right, k, high)
        side = np.where(right, 1.0, -1.0)
    return k, values
