"""Sums over bins for single pairs of rows, in one fixed order: the values that decide between neighbours.

The loops of `mercer._native.kernels.gram` are faster, but in which order they add depends on the rows around. Here a
value depends on its two rows alone: bins in ascending order, one at a time, in float64. Bins that are zero on either
side add nothing, so dense and sparse rows give the same bits.
"""

import math
from functools import cache

import numpy as np

from mercer._native.jit import inline, jit
from mercer._native.kernels import pairs


@inline
def product_pair(x, log_x, y, log_y, p):
    """x y"""
    return x * y


# In the forms that neither overflow nor underflow: which one a block of rows would allow must not matter here.
PAIRS = {
    "product": product_pair,
    "minimum": pairs.minimum_pair,
    "chi2": pairs.chi2_pair,
    "jensen-shannon": pairs.jensen_shannon_wide_pair,
    "power-mean": pairs.power_mean_double_pair,
    "common-part": pairs.common_part_pair,
}


@cache
def dense_pair_sums(name, signed=False):
    """The loop ``sum_pairs(X, X_logs, Y, Y_logs, param, out)`` of a formula: out[i] = sum_k pair(X[i, k], Y[i, k])"""
    pair = PAIRS[name]

    @jit
    def sum_pairs(X, X_logs, Y, Y_logs, param, out):
        """X, Y and their base-2 logarithms (n, d) float64; out (n,) float64, written"""
        n, d = X.shape
        for i in range(n):
            total = 0.0
            for k in range(d):
                x, y = X[i, k], Y[i, k]
                if x != 0 and y != 0:
                    if signed:
                        value = pair(abs(x), X_logs[i, k], abs(y), Y_logs[i, k], param)
                        total += math.copysign(value, x) * math.copysign(1.0, y)
                    else:
                        total += pair(x, X_logs[i, k], y, Y_logs[i, k], param)
            out[i] = total

    return sum_pairs


@cache
def sparse_pair_sums(name, signed=False):
    """As `dense_pair_sums`, ``sum_pairs(X's pointers, columns, values, logarithms, the same of Y, param, out)``"""
    pair = PAIRS[name]

    @jit
    def sum_pairs(p_x, k_x, X, X_logs, p_y, k_y, Y, Y_logs, param, out):
        """Rows as CSR with ascending columns; values and logarithms float64; out (n,) float64, written"""
        for i in range(out.shape[0]):
            q, r = p_x[i], p_y[i]
            total = 0.0
            while q < p_x[i + 1] and r < p_y[i + 1]:
                if k_x[q] < k_y[r]:
                    q += 1
                elif k_x[q] > k_y[r]:
                    r += 1
                else:
                    x, y = X[q], Y[r]
                    if x != 0 and y != 0:
                        if signed:
                            value = pair(abs(x), X_logs[q], abs(y), Y_logs[r], param)
                            total += math.copysign(value, x) * math.copysign(1.0, y)
                        else:
                            total += pair(x, X_logs[q], y, Y_logs[r], param)
                    q += 1
                    r += 1
            out[i] = total

    return sum_pairs


@jit
def shared_entries(columns, row_columns, row_values, begins, ends, places, entries, stops):
    """Which entries of some rows are in columns that one row has; returns how many

    columns      (m,)      int32   of the one row, ascending, whose values are not zero
    row_columns  (E,)      int32   of the other rows, ascending in each
    row_values   (E,)      float32
    begins, ends (n,)      int64   where the entries of each row lie
    places       (n * m,)  int32   written: numbers of the columns, row after row, ascending in each
    entries      (n * m,)  int64   written: numbers of the entries with the same columns whose values are not zero
    stops        (n,)      int64   written: where those of each row end
    """
    n = 0
    for i in range(begins.shape[0]):
        q, r = 0, begins[i]
        while q < columns.shape[0] and r < ends[i]:
            if columns[q] < row_columns[r]:
                q += 1
            elif columns[q] > row_columns[r]:
                r += 1
            else:
                places[n], entries[n] = q, r
                n += row_values[r] != 0
                q += 1
                r += 1
        stops[i] = n
    return n


@cache
def shared_sums(name, signed=False):
    """As `sparse_pair_sums` of one row and others, whose shared entries are known."""
    pair = PAIRS[name]

    @jit
    def sum_shared(X, X_logs, places, Y, Y_logs, stops, param, out):
        """X, X_logs (m,); Y, Y_logs float64, of the entries; places and stops as `shared_entries` writes them"""
        r = 0
        for i in range(out.shape[0]):
            total = 0.0
            while r < stops[i]:
                x, y, log_x = X[places[r]], Y[r], X_logs[places[r]]
                if signed:
                    value = pair(abs(x), log_x, abs(y), Y_logs[r], param)
                    total += math.copysign(value, x) * math.copysign(1.0, y)
                else:
                    total += pair(x, log_x, y, Y_logs[r], param)
                r += 1
            out[i] = total

    return sum_shared


def logarithms(values):
    """Base-2 logarithms of magnitudes, 0 where the value is 0."""
    return np.log2(np.where(values != 0, np.abs(values), 1.0))
