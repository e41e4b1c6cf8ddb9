"""Values on the points of a grid: which points, with which coefficients, and what is lost.

A grid z_1 < z_2 < ... < z_m of positive points serves every column. A value x is written on the points of its *window*,
the ``half`` nearest points below or at x and the ``half`` nearest above (fewer at the ends of the grid), numbered by
the *interval* c, the number of points <= |x|: the window is the points max(0, c - half) <= p < min(m, c + half).
Non-zeros of a block of rows lie in flat arrays (``values``), their coefficients in rows of ``coefficients``, in the
order of the window and filled up with zeros.
"""

__all__ = [
    "chi2_coefficients",
    "compress_rows",
    "find_intervals",
    "intersection_coefficients",
    "interval_residuals",
    "scatter_coefficients",
    "solve_windows",
]

import numpy as np

from mercer._native.jit import jit


@jit
def compress_rows(X, starts, columns, values):
    """rows, columns = X.nonzero(); values = X[rows, columns]

    X        (n, d)      float
    starts   (n + 1,)    int64   written: first entry of each row, then the number of entries
    columns  (n * d,)    int32   written, as is values, of the type of X
    """
    n, d = X.shape
    q = 0
    for i in range(n):
        starts[i] = q
        for j in range(d):
            x = X[i, j]
            if x != 0:
                columns[q] = j
                values[q] = x
                q += 1
    starts[n] = q


@jit
def find_intervals(values, grid, intervals):
    """intervals[:] = np.searchsorted(grid, np.abs(values), side="right"); returns np.sum(np.abs(values) > grid[-1])

    values     (k,)  float
    grid       (m,)  float64   ascending
    intervals  (k,)  int32     written
    """
    m = grid.shape[0]
    above = 0
    for q in range(values.shape[0]):
        x = abs(np.float64(values[q]))
        # All points are compared, eight at a time: up to 256 points that is faster than a binary search, whose branches
        # are guessed wrong half of the time (measured: 5 ns against 25 ns for 32 points).
        count = 0
        for p in range(m):
            count += np.int64(grid[p] <= x)
        intervals[q] = count
        above += 1 if x > grid[m - 1] else 0
    return above


@jit
def intersection_coefficients(values, intervals, grid, coefficients):
    """((b - x), (x - a)) / (b - a) between points a <= x < b; (x / b, 0) below the first, (1, 0) from the last on.

    values        (k,)    float, their signs do not matter
    intervals     (k,)    int32
    coefficients  (k, 2)  float64  written
    """
    m = grid.shape[0]
    for q in range(values.shape[0]):
        x = abs(np.float64(values[q]))
        c = intervals[q]
        if c == 0:
            coefficients[q, 0] = x / grid[0]
            coefficients[q, 1] = 0.0
        elif c == m:
            coefficients[q, 0] = 1.0
            coefficients[q, 1] = 0.0
        else:
            a, b = grid[c - 1], grid[c]
            coefficients[q, 0] = (b - x) / (b - a)
            coefficients[q, 1] = (x - a) / (b - a)


@jit
def chi2_coefficients(values, intervals, grid, coefficients):
    """2 (a + b) x / ((a + x) (b + x)) times the coefficients of the intersection; (2 x / (z + x), 0) beyond the ends.

    Arguments as for intersection_coefficients. Quotients come first, so that no product leaves the range of numbers.
    """
    m = grid.shape[0]
    for q in range(values.shape[0]):
        x = abs(np.float64(values[q]))
        c = intervals[q]
        if c == 0 or c == m:
            z = grid[0] if c == 0 else grid[m - 1]
            coefficients[q, 0] = 2.0 * (x / (z + x))
            coefficients[q, 1] = 0.0
        else:
            a, b = grid[c - 1], grid[c]
            factor = 2.0 * (x / (a + x)) * ((a + b) / (b + x))
            coefficients[q, 0] = factor * ((b - x) / (b - a))
            coefficients[q, 1] = factor * ((x - a) / (b - a))


@jit
def solve_windows(kernel_values, intervals, inverses, coefficients):
    """coefficients[q] = inverses[intervals[q]] @ kernel_values[q]

    kernel_values  (k, P)         float64   k(z, x) for the points z of the window of x
    intervals      (k,)           int32
    inverses       (m + 1, P, P)  float64   pseudo-inverse of the Gram matrix of each window, filled up with zeros
    coefficients   (k, P)         float64   written
    """
    P = kernel_values.shape[1]
    for q in range(kernel_values.shape[0]):
        inverse = inverses[intervals[q]]
        for p in range(P):
            total = 0.0
            for r in range(P):
                total += inverse[p, r] * kernel_values[q, r]
            coefficients[q, p] = total


@jit
def scatter_coefficients(starts, columns, values, odd, intervals, coefficients, half, n_points, indptr, indices, data):
    """Rows of features as CSR, point p of column j at j * n_points + p; returns the number of entries.

    starts, columns, values   (n + 1,), (k,), (k,)   a block of rows, entries starts[i] - starts[0] onwards of row i
    odd           bool          negative values have negative coefficients
    intervals     (k,)   int32  coefficients (k, 2 * half) float64
    indptr        (n + 1,) int64, indices (k * 2 * half,) int32 or int64, data like indices, float: written
    Coefficients that are zero in the type of ``data`` are left out.
    """
    P = coefficients.shape[1]
    zero = data.dtype.type(0)
    used = 0
    indptr[0] = 0
    for i in range(indptr.shape[0] - 1):
        for q in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            negate = odd and values[q] < 0
            first = np.int64(columns[q]) * n_points + max(0, intervals[q] - half)
            for p in range(P):
                coefficient = data.dtype.type(coefficients[q, p])
                if coefficient != zero:
                    indices[used] = first + p
                    data[used] = -coefficient if negate else coefficient
                    used += 1
        indptr[i + 1] = used
    return used


@jit
def interval_residuals(gram, cross, diagonal, weights, intervals, costs):
    """Weighted sum of squared residuals of the values between two points, for every pair of candidate points.

    gram       (Q, Q)      float64   k(z, z') of the candidates, in ascending order
    cross      (Q, R)      float64   k(z, x) of candidates and values, the values ascending
    diagonal   (R,)        float64   k(x, x)
    weights    (R,)        float64
    intervals  (R,)        int64     number of candidates <= x
    costs      (Q + 1, Q)  float64   written: costs[i, j] for the neighbours z_i-1 and z_j, no point in between; i = 0
                                     means no point below z_j. Only i <= j is written.
    The residual of x is k(x, x) - k_xS K_SS^-1 k_Sx, S the two points; where K_SS is singular, the upper point alone.
    At the level of rounding it counts as zero.
    """
    Q, R = cross.shape
    for i in range(Q + 1):
        begin = np.searchsorted(intervals, i)
        for j in range(i, Q):
            total = 0.0
            k_bb = gram[j, j]
            k_ab = gram[i - 1, j] if i > 0 else 0.0
            # what point a adds to point b: the Schur complement, zero when a says nothing new
            left = gram[i - 1, i - 1] - k_ab * (k_ab / k_bb) if i > 0 else 0.0
            useful = i > 0 and left > 1e-12 * gram[i - 1, i - 1]
            q = begin
            while q < R and intervals[q] <= j:
                residual = diagonal[q] - cross[j, q] * (cross[j, q] / k_bb)
                if useful:
                    k_ax = cross[i - 1, q] - k_ab * (cross[j, q] / k_bb)
                    residual -= k_ax * (k_ax / left)
                total += weights[q] * residual if residual > 1e-13 * diagonal[q] else 0.0
                q += 1
            costs[i, j] = total
