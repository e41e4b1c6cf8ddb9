"""Values on grid points, value by value: (5) by the pseudo-inverse, nothing in closed form."""

import numpy as np


def compress_rows(X, starts, columns, values):
    rows, found = X.nonzero()
    starts[:] = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    columns[: len(found)], values[: len(found)] = found, X[rows, found]


def find_intervals(values, grid, intervals):
    intervals[:] = np.searchsorted(grid, np.abs(values).astype(np.float64), side="right")
    return np.sum(np.abs(values) > grid[-1])


def window(interval, half, n_points):
    return np.arange(max(0, interval - half), min(n_points, interval + half))


def coefficients_by_pseudo_inverse(k, values, grid, half, coefficients):
    """(5) on the window of each value, for a kernel k of two numbers."""
    for q, x in enumerate(np.abs(values).astype(np.float64)):
        points = grid[window(np.searchsorted(grid, x, side="right"), half, len(grid))]
        gram = k(points[:, None], points)
        coefficients[q] = 0.0
        coefficients[q, : len(points)] = np.linalg.pinv(gram, hermitian=True) @ k(points, x)


def intersection_coefficients(values, intervals, grid, coefficients):
    coefficients_by_pseudo_inverse(np.minimum, values, grid, 1, coefficients)


def chi2_coefficients(values, intervals, grid, coefficients):
    coefficients_by_pseudo_inverse(lambda x, y: 2 * x * y / (x + y), values, grid, 1, coefficients)


def solve_windows(kernel_values, intervals, inverses, coefficients):
    coefficients[:] = np.einsum("kpr,kr->kp", inverses[intervals], kernel_values)


def scatter_coefficients(starts, columns, values, odd, intervals, coefficients, half, n_points, indptr, indices, data):
    entries = []
    indptr[0] = 0
    for i in range(len(starts) - 1):
        for q in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            sign = -1 if odd and values[q] < 0 else 1
            points = max(0, intervals[q] - half) + np.arange(2 * half)
            stored = zip(columns[q] * n_points + points, sign * coefficients[q].astype(data.dtype), strict=True)
            entries += [entry for entry in stored if entry[1] != 0]
        indptr[i + 1] = len(entries)
    for place, (index, value) in enumerate(entries):
        indices[place], data[place] = index, value
    return len(entries)


def interval_residuals(gram, cross, diagonal, weights, intervals, costs):
    Q = len(gram)
    for i in range(Q + 1):
        for j in range(i, Q):
            points = [j] if i == 0 else [i - 1, j]
            inverse = np.linalg.pinv(gram[np.ix_(points, points)], hermitian=True)
            between = (intervals >= i) & (intervals <= j)
            k = cross[np.ix_(points, between)]
            residuals = diagonal[between] - np.einsum("pk,pr,rk->k", k, inverse, k)
            costs[i, j] = weights[between] @ np.where(residuals > 1e-13 * diagonal[between], residuals, 0)
