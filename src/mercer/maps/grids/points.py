"""Grids for sparse additive maps: where to put m positive points on the line, given the values of the data.

    rule         points                                                      good for
    uniform      equal steps from 0 to the largest value, [vedaldi12sparse]  values spread evenly over their range
    quantile     equally many values between neighbors                      intersection-like kernels
    geometric    equal ratios                                                chi2-like kernels, heavy tails
    optimal      least expected squared residual, by dynamic programming     any

All rules look at the magnitudes of the non-zero values of all columns together, and one grid serves every column: grids
of their own for each column were no better on dense data and far worse on sparse data, where a rare column has too few
values to place points by and new values lie beyond them. The last point is the largest value, so that no training value
lies above the grid. A point at zero would be of no use: k(0, x) = 0.
"""

__all__ = ["GRID_RULES", "given_points", "grid_points", "sample_magnitudes"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._native.spaces.grid import interval_residuals
from mercer.kernels.engine import magnitude_bounds

SAMPLE_VALUES = 2**20  # non-zero values that a grid is made from
NEGLIGIBLE_SHARE = 1e-4  # the geometric rule leaves out the smallest values that make up this share of the sum
CANDIDATES = 256  # points among which the optimal rule chooses
REPRESENTATIVES = 1024  # values that stand for all of them in the optimal rule


def sample_magnitudes(X, random_state):
    """Absolute values of the non-zeros of X, or of a uniform sample of its rows, ascending, float64.

    The smallest and the largest value of all rows are always among them.
    """
    flat = X.data if sparse.issparse(X) else X.ravel()
    low, high = magnitude_bounds(flat)
    if high == 0:
        return np.empty(0)
    per_row = max(1.0, len(flat) / X.shape[0])
    size = max(1, int(SAMPLE_VALUES / per_row))
    if size < X.shape[0]:
        rows = X[np.sort(random_state.permutation(X.shape[0])[:size])]
        flat = rows.data if sparse.issparse(rows) else rows.ravel()
    magnitudes = np.abs(flat[flat != 0]).astype(np.float64)
    return np.sort(np.concatenate([magnitudes, [low, high]]))


def grid_points(rule, kernel, magnitudes, n_points):
    """At most ``n_points`` ascending positive points for these sorted magnitudes, the last one the largest of them."""
    if not len(magnitudes):
        return np.ones(1)
    if rule == "optimal":
        return _optimal(kernel, magnitudes, n_points)
    points = RANGE_RULES[rule](magnitudes, n_points)
    points[-1] = magnitudes[-1]  # against rounding
    return np.unique(points[points > 0])


def given_points(grid, who):
    """The points of a grid given by the user, checked."""
    points = np.array(grid, dtype=np.float64)
    if points.ndim != 1 or not len(points):
        raise InputError(f"{who} needs a grid to be a rule or a 1-d array of points; got shape {points.shape}.")
    if not np.isfinite(points).all() or points[0] <= 0 or (np.diff(points) <= 0).any():
        raise InputError(f"{who} needs finite ascending grid points > 0 (a point at 0 has no effect), got {points}.")
    return points


# ------------------------------------------------------------------------------------------------------- the rules


def _uniform(magnitudes, n_points):
    return np.linspace(0.0, magnitudes[-1], n_points + 1)[1:]


def _quantile(magnitudes, n_points):
    distinct = np.unique(magnitudes)
    if len(distinct) <= n_points:
        return distinct
    return np.quantile(magnitudes, np.arange(1, n_points + 1) / n_points)


def _geometric(magnitudes, n_points):
    share = np.cumsum(magnitudes / magnitudes[-1])
    low = magnitudes[np.searchsorted(share, NEGLIGIBLE_SHARE * share[-1])]
    return np.geomspace(low, magnitudes[-1], n_points) if n_points > 1 else magnitudes[-1:].copy()


# name -> function(sorted magnitudes, n_points) that returns points
RANGE_RULES = {"uniform": _uniform, "quantile": _quantile, "geometric": _geometric}
GRID_RULES = (*RANGE_RULES, "optimal")


def _optimal(kernel, magnitudes, n_points):
    """The points, out of many candidates, that minimize the sum over values of min_phi |Psi(x) - phi_a Psi(a) - phi_b
    Psi(b)|^2, a and b the neighbors of x: the objective (4) of [vedaldi12sparse], summed over the data.

    The sum falls into one term for each pair of neighbors, so the best set follows from the best sets with one point
    less: best(p, j) = min over i < j of best(p - 1, i) + cost(i, j).
    """
    candidates = _candidates(magnitudes, max(CANDIDATES, 4 * n_points))
    Q = len(candidates)
    if n_points >= Q:
        return candidates
    values, weights = _representatives(magnitudes)
    # Where the size of the values does not matter, squares of kernel values are kept inside the range of numbers.
    scale = candidates[-1] if kernel.homogeneity else 1.0
    z, x = candidates / scale, values / scale
    costs = np.full((Q + 1, Q), np.inf)
    interval_residuals(
        np.ascontiguousarray(kernel.scalar(z[:, None], z), dtype=np.float64),
        np.ascontiguousarray(kernel.scalar(z[:, None], x), dtype=np.float64),
        np.ascontiguousarray(kernel.scalar(x, x), dtype=np.float64),
        weights,
        np.searchsorted(candidates, values, side="right"),
        costs,
    )
    best, choices = costs[0], []
    for _ in range(n_points - 1):
        totals = best[:, None] + costs[1:]
        choices.append(totals.argmin(axis=0))
        best = totals.min(axis=0)
    chosen = [Q - 1]
    for choice in reversed(choices):
        chosen.append(choice[chosen[-1]])
    return candidates[np.unique(chosen)]


def _candidates(magnitudes, size):
    """Up to ``size`` points that are dense wherever one of the other rules is."""
    distinct = np.unique(magnitudes)
    if len(distinct) <= size:
        return distinct
    each = [rule(magnitudes, size // len(RANGE_RULES)) for rule in RANGE_RULES.values()]
    candidates = np.concatenate([*each, distinct[[0, -1]]])
    return np.unique(np.clip(candidates, distinct[0], distinct[-1]))


def _representatives(magnitudes):
    """(values, weights): a few values that stand for all, with at least half of them where the sum comes from."""
    values, counts = np.unique(magnitudes, return_counts=True)
    if len(values) <= REPRESENTATIVES:
        return values, counts.astype(np.float64)
    density = 1.0 + values / (counts @ values / counts.sum())
    mass = np.cumsum(counts * density)
    steps = (np.arange(REPRESENTATIVES) + 0.5) / REPRESENTATIVES * mass[-1]
    chosen = np.searchsorted(mass, steps)
    return values[chosen], 1.0 / density[chosen]
