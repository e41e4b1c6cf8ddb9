"""Sums of table entries at the points next to each value: additive functions on a grid."""

__all__ = ["score_windows"]

from mercer._native.jit import jit


@jit
def score_windows(starts, columns, values, odd, intervals, coefficients, half, n_points, v, out):
    """out[i] = sum over the values of row i and the points p of their window of coefficient * v[column * n_points + p]

    starts, columns, values   (n + 1,), (k,), (k,)   a block of rows, entries starts[i] - starts[0] onwards of row i
    odd           bool                negative values count with the opposite sign
    intervals     (k,)  int32         number of points <= |value|; the window begins at point max(0, interval - half)
    coefficients  (k, P)     float64  of the points of the window, zero for those beyond the end of the grid
    v             (d * n_points, C)   float
    out           (n, C)     float64  written in place
    """
    P, C = coefficients.shape[1], v.shape[1]
    for i in range(out.shape[0]):
        for c in range(C):
            out[i, c] = 0.0
        for q in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            first = max(0, intervals[q] - half)
            at = columns[q] * n_points + first
            for p in range(min(P, n_points - first)):
                x = -coefficients[q, p] if odd and values[q] < 0 else coefficients[q, p]
                for c in range(C):
                    out[i, c] += x * v[at + p, c]
