"""Piecewise linear functions of single values: several functions per column, one value at a time, in constant time.

The points of a column are 0 and then a geometric sequence, so that the logarithm of a value gives its interval without
a search. Functions are 0 at 0, which keeps zeros out of sparse results.
"""

__all__ = ["interpolate_dense", "interpolate_sparse", "sum_interpolated"]

import math

from mercer._native.jit import inline, jit


@inline
def _interval(x, first_log, inverse_step, points):
    """Index c with points[c] <= x < points[c + 1] (up to rounding at the ends), the last interval for larger x.

    Inside the table whatever the logarithms say: rounding can make them fall, or differ by no number at all.
    """
    if x < points[1]:
        return 0
    last = points.shape[0] - 2
    steps = (math.log(x) - first_log) * inverse_step
    if not steps > 0:
        return min(1, last)
    return min(1 + int(steps), last) if steps < last else last


@inline
def _place(x, first_log, inverse_step, points):
    """(interval, position in it from 0 to 1) of x > 0; beyond the last point, of the last point."""
    x = min(x, points[points.shape[0] - 1])
    c = _interval(x, first_log, inverse_step, points)
    return c, (x - points[c]) / (points[c + 1] - points[c])


@inline
def _interpolate(x, first_log, inverse_step, points, tables, out):
    """Fill out with the functions at x > 0; returns whether x lies beyond the last point, whose values it then has."""
    c, weight = _place(x, first_log, inverse_step, points)
    for e in range(out.shape[0]):
        out[e] = tables[c, e] + weight * (tables[c + 1, e] - tables[c, e])
    return x > points[points.shape[0] - 1]


@jit
def interpolate_dense(X, first_logs, inverse_steps, points, tables, out):
    """out[i, j, e] = np.interp(abs(X[i, j]), points[j], tables[side of X[i, j], j, :, e])

    X              (n, d)           float   any sign
    first_logs     (d,)             float   log(points[:, 1])
    inverse_steps  (d,)             float   1 / step of the logarithms of points[:, 1:]
    points         (d, T)           float   0, then a geometric sequence
    tables         (sides, d, T, E) float   values at the points; side 1, if there is one, for negative X
    out            (n, d, E)        float   written in place
    Returns how many values lie beyond the last point of their column; they get its values.
    """
    negative = tables.shape[0] - 1
    beyond = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            if x == 0:
                for e in range(out.shape[2]):
                    out[i, j, e] = 0
                continue
            side = negative if x < 0 else 0
            beyond += _interpolate(abs(x), first_logs[j], inverse_steps[j], points[j], tables[side, j], out[i, j])
    return beyond


@jit
def interpolate_sparse(columns, values, first_logs, inverse_steps, points, tables, out):
    """out[q, e] = np.interp(abs(values[q]), points[columns[q]], tables[side of values[q], columns[q], :, e])

    columns, values  (k,)    int and float, the entries of a sparse matrix
    out              (k, E)  float   written in place; the other arguments and the result as in interpolate_dense
    """
    negative = tables.shape[0] - 1
    beyond = 0
    for q in range(values.shape[0]):
        x, j = values[q], columns[q]
        if x == 0:
            for e in range(out.shape[1]):
                out[q, e] = 0
            continue
        side = negative if x < 0 else 0
        beyond += _interpolate(abs(x), first_logs[j], inverse_steps[j], points[j], tables[side, j], out[q])
    return beyond


@jit
def sum_interpolated(starts, columns, values, first_logs, inverse_steps, points, tables, out):
    """out[i] = the sum, over the entries q of row i, of what interpolate_sparse gives for q

    starts           (n + 1,)  int     first entry of each row, counted from the first row's
    columns, values  (k,)      int and float, the entries
    out              (n, C)    float   written in place; the other arguments and the result as in interpolate_dense
    """
    negative = tables.shape[0] - 1
    beyond = 0
    for i in range(out.shape[0]):
        for e in range(out.shape[1]):
            out[i, e] = 0
        for q in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            x, j = values[q], columns[q]
            if x == 0:
                continue
            table = tables[negative if x < 0 else 0, j]
            x = abs(x)
            c, weight = _place(x, first_logs[j], inverse_steps[j], points[j])
            for e in range(out.shape[1]):
                out[i, e] += table[c, e] + weight * (table[c + 1, e] - table[c, e])
            beyond += x > points[j, points.shape[1] - 1]
    return beyond
