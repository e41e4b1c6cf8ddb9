"""Twins of `mercer._native.kernels.pairs`: the textbook formulas on float64 arrays; logarithms come from the values."""

import numpy as np


def _xlog2(x, ratio):
    """x * log2(ratio), 0 where x is 0."""
    return np.where(x > 0, x * np.log2(np.where(x > 0, ratio, 1)), 0.0)


def minimum_pair(x, log_x, y, log_y, p):
    return np.minimum(x, y)


def chi2_pair(x, log_x, y, log_y, p):
    return 2 * x * y / np.where(x + y > 0, x + y, 1)


def chi2_two(x0, a0, y0, b0, x1, a1, y1, b1, p):
    return chi2_pair(x0, a0, y0, b0, p) + chi2_pair(x1, a1, y1, b1, p)


def jensen_shannon_double_pair(x, log_x, y, log_y, p):
    total = x + y
    safe_x, safe_y = np.where(x > 0, x, 1), np.where(y > 0, y, 1)
    return (_xlog2(x, total / safe_x) + _xlog2(y, total / safe_y)) / 2


def power_mean_double_pair(x, log_x, y, log_y, p):
    positive = (x > 0) & (y > 0)
    x, y = np.where(positive, x, 1.0), np.where(positive, y, 1.0)
    return np.where(positive, ((x**-p + y**-p) / 2) ** (-1 / p), 0.0)


def common_part_pair(x, log_x, y, log_y, p):
    return np.where(x * y > 0, np.minimum(np.abs(x), np.abs(y)), 0.0)


def difference_pair(x, log_x, y, log_y, p):
    return np.abs(x - y)


def chi2_distance_pair(x, log_x, y, log_y, p):
    return (x - y) ** 2 / np.where(x + y > 0, x + y, 1)


jensen_shannon_single_pair = jensen_shannon_wide_pair = jensen_shannon_double_pair
power_mean_single_pair = power_mean_double_pair
