"""Additive functions on a grid, value by value."""

import numpy as np


def score_windows(starts, columns, values, odd, intervals, coefficients, half, n_points, v, out):
    tables = v.reshape(-1, n_points, v.shape[1]).astype(np.float64)
    for i in range(len(out)):
        out[i] = 0.0
        for q in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            first = max(0, intervals[q] - half)
            window = tables[columns[q], first : first + 2 * half]
            sign = -1.0 if odd and values[q] < 0 else 1.0
            out[i] += sign * coefficients[q, : len(window)] @ window
