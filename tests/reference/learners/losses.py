"""Twins of `mercer._native.learners.losses`: the textbook formulas on arrays, summed plainly.

The formulas return (value, slope) or the second derivative, elementwise; joint ones take one row of scores.
"""

import numpy as np
from scipy.special import expit, logsumexp, softmax

HUBER_WIDTH = 0.5


def hinge(m, parameter=0.0):
    return np.maximum(0.0, 1.0 - m), np.where(m < 1, -1.0, 0.0)


def squared_hinge(m, parameter=0.0):
    return np.maximum(0.0, 1.0 - m) ** 2, -2.0 * np.maximum(0.0, 1.0 - m)


def squared_hinge_curvature(m, parameter=0.0):
    return np.where(m < 1, 2.0, 0.0)


def huber_hinge(m, parameter=0.0):
    h = HUBER_WIDTH
    cases = [m >= 1 + h, np.abs(1 - m) < h]
    return (
        np.select(cases, [np.zeros_like(m), (1 + h - m) ** 2 / (4 * h)], 1 - m),
        np.select(cases, [np.zeros_like(m), -(1 + h - m) / (2 * h)], -1.0),
    )


def huber_hinge_curvature(m, parameter=0.0):
    return np.where(np.abs(1 - m) < HUBER_WIDTH, 1 / (2 * HUBER_WIDTH), 0.0)


def logistic(m, parameter=0.0):
    return np.logaddexp(0.0, -m), -expit(-m)


def logistic_curvature(m, parameter=0.0):
    return expit(m) * expit(-m)


def squared(r, parameter=0.0):
    return r**2 / 2, r


def squared_curvature(r, parameter=0.0):
    return np.ones_like(r)


def epsilon_insensitive(r, epsilon):
    return np.maximum(0.0, np.abs(r) - epsilon), np.sign(r) * (np.abs(r) > epsilon)


def crammer_singer(points, target, slopes):
    costs = points + (np.arange(len(points)) != target) - points[target]
    rival = int(np.argmax(costs))
    rival = target if costs[rival] <= 0 else rival
    slopes[:] = 0.0
    slopes[rival] += 1.0
    slopes[target] -= 1.0
    return costs[rival]


def multinomial(points, target, slopes):
    slopes[:] = softmax(points)
    slopes[target] -= 1.0
    return logsumexp(points) - points[target]


def column_losses(formula, margin, scores, targets, parameter=0.0):
    """(values, slopes), both (n, P): each score by itself; a target of 0 takes the row out of a margin problem."""
    scores, targets = np.asarray(scores, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    if not margin:
        return formula(scores - targets, parameter)
    value, slope = formula(scores * targets, parameter)
    return np.where(targets == 0, 0.0, value), targets * slope


def row_losses(formula, scores, targets):
    """(values (n,), slopes (n, P)): all scores of a row together."""
    scores = np.asarray(scores, dtype=np.float64)
    slopes = np.empty(scores.shape)
    values = [formula(row, target, out) for row, target, out in zip(scores, targets, slopes, strict=True)]
    return np.array(values), slopes


def sums(values, slopes, scores, weights):
    """(values, offsets, slopes) that a loop returns: weighted, slopes rounded to the type of the scores."""
    joint = values.ndim == 1
    values = weights * values if joint else weights[:, None] * values
    slopes = (weights[:, None] * slopes).astype(scores.dtype)
    crosses = scores.astype(np.float64) * slopes
    offsets = values - (crosses.sum(axis=1) if joint else crosses)
    return np.atleast_1d(values.sum(axis=0)), np.atleast_1d(offsets.sum(axis=0)), slopes
