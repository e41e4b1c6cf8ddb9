"""Losses of scores against targets, their slopes and their second derivatives, for the rows `first` to `last`.

A *formula* gives (value, slope) of one number, or the second derivative of one number. Margin losses look at the margin
m = target * score, with targets -1 and +1; a target of 0 takes the row out of the column's problem. Regression losses
look at the residual r = score - target. The loops around a formula are built by a factory. Numbers are computed and
summed in float64 whatever the type of the scores, and rounded once where they leave.

Arrays of (n, P) numbers come flat, classes last, with their width P. Several rows of few columns are treated as one
row of many: the sums then run in as many lanes, and vectorise without being reordered. A loop is cut in stages that
write at most two arrays each, since the compiler gives up on vectorising where more arrays might overlap.
"""

from functools import cache
from math import log, log1p

import numpy as np

from mercer._native.elementary import exp2_double, log2_ratio_double
from mercer._native.jit import inline, jit

LANES = 256  # numbers that go through the stages of a loop together, at least
LOG2_E = 1 / log(2)
LOG_2 = log(2)
HUBER_WIDTH = 0.5  # h: the quadratic part of the Huber hinge lies at |1 - m| < h


# ------------------------------------------------------------------------------------------------- formulas: margin


@inline
def hinge(m, parameter):
    """max(0, 1 - m)"""
    return max(0.0, 1.0 - m), -1.0 if m < 1.0 else 0.0


@inline
def squared_hinge(m, parameter):
    """max(0, 1 - m)^2"""
    d = max(0.0, 1.0 - m)
    return d * d, -2.0 * d


@inline
def squared_hinge_curvature(m, parameter):
    return 2.0 if m < 1.0 else 0.0


@inline
def huber_hinge(m, parameter):
    """0 for m >= 1 + h, (1 + h - m)^2 / (4 h) for |1 - m| < h, 1 - m below"""
    d = min(max(0.0, 1.0 + HUBER_WIDTH - m), 2.0 * HUBER_WIDTH)
    return d * d / (4.0 * HUBER_WIDTH) + max(0.0, 1.0 - HUBER_WIDTH - m), -d / (2.0 * HUBER_WIDTH)


@inline
def huber_hinge_curvature(m, parameter):
    return 1.0 / (2.0 * HUBER_WIDTH) if abs(1.0 - m) < HUBER_WIDTH else 0.0


@inline
def logistic(m, parameter):
    """log(1 + exp(-m)) = max(0, -m) + log((1 + z) / (1 - z)), where z = 1 / (2 exp|m| + 1)"""
    E = exp2_double(abs(m) * LOG2_E)
    q = 1.0 / (1.0 + E)
    value = max(0.0, -m) + LOG_2 * log2_ratio_double(1.0 / (2.0 * E + 1.0))
    return value, -q if m >= 0.0 else q - 1.0


@inline
def logistic_curvature(m, parameter):
    q = 1.0 / (1.0 + exp2_double(abs(m) * LOG2_E))
    return q * (1.0 - q)


# --------------------------------------------------------------------------------------------- formulas: regression


@inline
def squared(r, parameter):
    """r^2 / 2"""
    return 0.5 * r * r, r


@inline
def squared_curvature(r, parameter):
    return 1.0


@inline
def epsilon_insensitive(r, epsilon):
    """max(0, |r| - epsilon), which is the absolute loss where epsilon = 0"""
    slope = 1.0 if r > epsilon else 0.0
    return max(0.0, abs(r) - epsilon), -1.0 if r < -epsilon else slope


# -------------------------------------------------------------------------------------------------- formulas: joint


@inline
def crammer_singer(points, target, slopes):
    """max over c of (c != target) + points[c] - points[target]; slopes written. The first of equal columns counts."""
    rival, best = target, points[target]  # the target's own column stands for the value 0
    for c in range(points.shape[0]):
        slopes[c] = 0.0
        if c != target and points[c] + 1.0 > best:
            rival, best = c, points[c] + 1.0
    if rival != target:
        slopes[rival], slopes[target] = 1.0, -1.0
    return best - points[target]


@inline
def multinomial(points, target, slopes):
    """log(sum(exp(points))) - points[target]; slopes written

    Sums leave out their largest term, which is 1, and the slope of the target is minus the sum of the others: small
    losses keep their digits.
    """
    top = 0
    for c in range(points.shape[0]):
        if points[c] > points[top]:
            top = c
    highest = points[top]
    for c in range(points.shape[0]):
        slopes[c] = 1.0 / exp2_double((highest - points[c]) * LOG2_E)
    others = 0.0
    for c in range(points.shape[0]):
        others += slopes[c] if c != top else 0.0
    scale, misses = 1.0 / (1.0 + others), 0.0
    for c in range(points.shape[0]):
        slopes[c] *= scale
        misses += slopes[c] if c != target else 0.0
    slopes[target] = -misses
    return highest - points[target] + log1p(others)


# ------------------------------------------------------------------------------------------------ stages of the loops


@inline
def _spread_weights(weights, first, n_rows, width, out):
    if width == 1:  # a copy, which an inner loop over one column would hide from the compiler
        for i in range(n_rows):
            out[i] = weights[first + i]
    else:
        for i in range(n_rows):
            for p in range(width):
                out[i * width + p] = weights[first + i]


@inline
def _fill_losses(formula, margin, points, targets, parameter, weights, losses, slopes):
    for e in range(points.shape[0]):
        point, target = np.float64(points[e]), np.float64(targets[e])
        if margin:
            value, slope = formula(point * target, parameter)
            value, slope = value * target * target, slope * target
        else:
            value, slope = formula(point - target, parameter)
        losses[e] = weights[e] * value
        slopes[e] = weights[e] * slope


@inline
def _fill_lines(margin, scores, steps, targets, origins, ways):
    """What a formula looks at, as origins + k * ways: the margin or the residual."""
    for e in range(scores.shape[0]):
        target = np.float64(targets[e])
        if margin:
            origins[e] = np.float64(scores[e]) * target
            ways[e] = np.float64(steps[e]) * target
        else:
            origins[e] = np.float64(scores[e]) - target
            ways[e] = np.float64(steps[e])


@inline
def _leave_out(targets, weights):
    """No weight for targets of 0."""
    for e in range(targets.shape[0]):
        weights[e] *= np.float64(targets[e]) * np.float64(targets[e])


@inline
def _add_losses(formula, origins, ways, factors, parameter, weights, values, derivatives):
    for e in range(origins.shape[0]):
        value, slope = formula(origins[e] + factors[e] * ways[e], parameter)
        values[e] += weights[e] * value
        derivatives[e] += weights[e] * slope * ways[e]


@inline
def _add_lanes(lanes, out):
    for e in range(lanes.shape[0]):
        out[e % out.shape[0]] += lanes[e]


# --------------------------------------------------------------------------------------------------------- factories


def _build_evaluate_columns(formula, margin):
    @jit
    def evaluate_columns(scores, targets, parameter, weights, first, last, slopes, values, offsets):
        """slopes, values, offsets = w * L', (w * L).sum(axis=0), (w * (L - scores * L')).sum(axis=0)

        scores           (n * P,) float      targets  (n * P,) int8 or float64      weights  (n,) float64
        slopes           (n * P,) float      rows first to last are written in place
        values, offsets  (P,)     float64    added to in place
        Offsets are those of the slopes as they are stored, rounded to the type of the scores.
        """
        width = values.shape[0]
        step = max(1, LANES // width)
        row_weights, losses = np.empty(step * width), np.empty(step * width)
        lane_values, lane_offsets = np.zeros(step * width), np.zeros(step * width)
        for i in range(first, last, step):
            n_rows = min(step, last - i)
            _spread_weights(weights, i, n_rows, width, row_weights)
            start, stop = i * width, (i + n_rows) * width
            s, g = scores[start:stop], slopes[start:stop]
            _fill_losses(formula, margin, s, targets[start:stop], parameter, row_weights, losses, g)
            for e in range(stop - start):
                lane_values[e] += losses[e]
                lane_offsets[e] += losses[e] - np.float64(s[e]) * np.float64(g[e])
        _add_lanes(lane_values, values)
        _add_lanes(lane_offsets, offsets)

    return evaluate_columns


def _build_along_columns(formula, margin):
    @jit
    def along_columns(scores, steps, ks, targets, parameter, weights, first, last, values, derivatives):
        """values[j], derivatives[j] = (w * L).sum(axis=0), (w * L' * steps).sum(axis=0), both at scores + ks[j] * steps

        scores, steps        (n * P,) float      targets  (n * P,) int8 or float64      weights  (n,) float64
        ks                   (K, P)   float64    how far each column goes, K times
        values, derivatives  (K, P)   float64    added to in place
        What formulas look at is a straight line in k, so all K points share one reading of the arrays.
        """
        n_points, width = values.shape
        step = max(1, LANES // width)
        size = step * width
        row_weights, origins, ways = np.empty(size), np.empty(size), np.empty(size)
        factors, lane_values, lane_derivatives = (
            np.empty((n_points, size)),
            np.zeros((n_points, size)),
            np.zeros((n_points, size)),
        )
        for j in range(n_points):
            for e in range(size):
                factors[j, e] = ks[j, e % width]
        for i in range(first, last, step):
            n_rows = min(step, last - i)
            start, stop = i * width, (i + n_rows) * width
            n = stop - start
            _spread_weights(weights, i, n_rows, width, row_weights)
            _fill_lines(margin, scores[start:stop], steps[start:stop], targets[start:stop], origins, ways)
            if margin:
                _leave_out(targets[start:stop], row_weights)
            for j in range(n_points):
                sums = lane_values[j], lane_derivatives[j]
                _add_losses(formula, origins[:n], ways, factors[j], parameter, row_weights, *sums)
        for j in range(n_points):
            _add_lanes(lane_values[j], values[j])
            _add_lanes(lane_derivatives[j], derivatives[j])

    return along_columns


def _build_curvature_columns(formula, margin):
    @jit
    def curvature_columns(scores, targets, parameter, weights, width, first, last, out):
        """out = w * L''

        scores, out  (n * P,) float      targets  (n * P,) int8 or float64      weights  (n,) float64
        """
        for i in range(first, last):
            weight = weights[i]
            start, stop = i * width, (i + 1) * width
            s, t, o = scores[start:stop], targets[start:stop], out[start:stop]
            for p in range(width):
                point, target = np.float64(s[p]), np.float64(t[p])
                if margin:
                    o[p] = weight * target * target * formula(point * target, parameter)
                else:
                    o[p] = weight * formula(point - target, parameter)

    return curvature_columns


def _build_evaluate_rows(formula):
    @jit
    def evaluate_rows(scores, targets, weights, first, last, slopes, values, offsets):
        """slopes, values[0], offsets[0] = w * L', (w * L).sum(), (w * (L - (scores * L').sum(axis=1))).sum()

        scores           (n, P) float      targets  (n,) int64, a column each      weights  (n,) float64
        slopes           (n, P) float      rows first to last are written in place
        values, offsets  (1,)   float64    added to in place
        """
        points, row_slopes = np.empty(scores.shape[1]), np.empty(scores.shape[1])
        for i in range(first, last):
            for c in range(scores.shape[1]):
                points[c] = scores[i, c]
            value, weight, cross = formula(points, targets[i], row_slopes), weights[i], 0.0
            for c in range(scores.shape[1]):
                slopes[i, c] = weight * row_slopes[c]
            for c in range(scores.shape[1]):
                cross += points[c] * np.float64(slopes[i, c])
            values[0] += weight * value
            offsets[0] += weight * value - cross

    return evaluate_rows


def _build_along_rows(formula):
    @jit
    def along_rows(scores, steps, ks, targets, weights, first, last, values, derivatives):
        """values[j, 0], derivatives[j, 0] = (w * L).sum(), (w * L' * steps).sum(), both at scores + ks[j, 0] * steps

        scores, steps        (n, P) float      targets  (n,) int64, a column each      weights  (n,) float64
        ks                   (K, 1) float64    how far the scores go, K times
        values, derivatives  (K, 1) float64    added to in place
        """
        points, slopes = np.empty(scores.shape[1]), np.empty(scores.shape[1])
        for i in range(first, last):
            for j in range(ks.shape[0]):
                for c in range(scores.shape[1]):
                    points[c] = np.float64(scores[i, c]) + ks[j, 0] * np.float64(steps[i, c])
                value, change = formula(points, targets[i], slopes), 0.0
                for c in range(scores.shape[1]):
                    change += slopes[c] * np.float64(steps[i, c])
                values[j, 0] += weights[i] * value
                derivatives[j, 0] += weights[i] * change

    return along_rows


class ColumnLoops:
    """The compiled loops of a loss that looks at each score by itself, built on first use."""

    def __init__(self, formula, curvature=None, margin=True):
        self._formula, self._curvature, self._margin = formula, curvature, margin

    @cache  # noqa: B019 (the few instances live as long as the module)
    def evaluate(self):
        return _build_evaluate_columns(self._formula, self._margin)

    @cache  # noqa: B019
    def along(self):
        return _build_along_columns(self._formula, self._margin)

    @cache  # noqa: B019
    def curvature(self):
        return _build_curvature_columns(self._curvature, self._margin)


class RowLoops:
    """The compiled loops of a loss that looks at all scores of a row together, built on first use."""

    def __init__(self, formula):
        self._formula = formula

    @cache  # noqa: B019
    def evaluate(self):
        return _build_evaluate_rows(self._formula)

    @cache  # noqa: B019
    def along(self):
        return _build_along_rows(self._formula)


COLUMN_LOOPS = {
    "hinge": ColumnLoops(hinge),
    "squared_hinge": ColumnLoops(squared_hinge, squared_hinge_curvature),
    "logistic": ColumnLoops(logistic, logistic_curvature),
    "huber_hinge": ColumnLoops(huber_hinge, huber_hinge_curvature),
    "squared": ColumnLoops(squared, squared_curvature, margin=False),
    "epsilon_insensitive": ColumnLoops(epsilon_insensitive, margin=False),
}
ROW_LOOPS = {"crammer_singer": RowLoops(crammer_singer), "multinomial": RowLoops(multinomial)}
