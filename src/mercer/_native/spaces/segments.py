"""The intersection kernel on grids: running sums inside consecutive segments, one segment per dimension.

H[i, k] = min(points[i], points[k]) inside a segment, 0 across segments. Its factor F is a reverse cumulative sum times
the roots of the gaps, F' the roots of the gaps and then a cumulative sum.
"""

__all__ = ["add_cumulative_row", "prefix_sums", "square_cumulative_rows", "suffix_sums"]

import numpy as np

from mercer._native.jit import jit


@jit
def suffix_sums(a, starts, roots, out):
    """out[s:t] = roots[s:t, None] * a[s:t][::-1].cumsum(axis=0)[::-1] for each segment [s, t)

    a       (D, C)   float64
    starts  (d + 1,) int64     segment boundaries, the last one D
    roots   (D,)     float64   square roots of the gaps
    out     (D, C)   float64   written in place
    """
    C = a.shape[1]
    totals = np.empty(C)
    for j in range(starts.shape[0] - 1):
        totals[:] = 0.0
        for i in range(starts[j + 1] - 1, starts[j] - 1, -1):
            for c in range(C):
                totals[c] += a[i, c]
                out[i, c] = roots[i] * totals[c]


@jit
def prefix_sums(u, starts, roots, out):
    """out[s:t] = (roots[s:t, None] * u[s:t]).cumsum(axis=0) for each segment [s, t); arguments as in suffix_sums"""
    C = u.shape[1]
    totals = np.empty(C)
    for j in range(starts.shape[0] - 1):
        totals[:] = 0.0
        for i in range(starts[j], starts[j + 1]):
            for c in range(C):
                totals[c] += roots[i] * u[i, c]
                out[i, c] = totals[c]


@jit
def square_cumulative_rows(indptr, indices, data, owner, points, first, last, out):
    """out[first:last] = ((Phi @ H) * Phi).sum(axis=1)[first:last]

    indptr, indices, data   Phi as CSR with ascending columns, shape (n, D)
    owner   (D,)  int64     segment of each feature
    points  (D,)  float64   grid point of each feature
    out     (n,)  float64   written in place
    phi' H phi = sum_i gap_i (sum of phi_k over k >= i)^2, and the inner sum changes at the non-zeros only.
    """
    for i in range(first, last):
        total = 0.0
        suffix = 0.0
        for q in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            k = indices[q]
            suffix += np.float64(data[q])
            if q > indptr[i] and owner[indices[q - 1]] == owner[k]:
                total += (points[k] - points[indices[q - 1]]) * suffix * suffix
            else:
                total += points[k] * suffix * suffix
                suffix = 0.0
        out[i] = total


@jit
def add_cumulative_row(columns, values, owner, starts, points, delta, v):
    """v += np.outer(H @ phi, delta) for the sparse vector phi

    columns, values         non-zeros of phi, columns ascending
    owner   (D,)     int64     segment of each feature
    starts  (d + 1,) int64     segment boundaries
    points  (D,)     float64   grid point of each feature
    delta   (C,)     float64
    v       (D, C)   float     written in place
    (H phi)_i = sum_{k <= i} phi_k points_k + points_i sum_{k > i} phi_k, in the segments that phi touches.
    """
    q = 0
    while q < columns.shape[0]:
        j = owner[columns[q]]
        end = q
        above = 0.0
        while end < columns.shape[0] and owner[columns[end]] == j:
            above += values[end]
            end += 1
        below = 0.0
        for i in range(starts[j], starts[j + 1]):
            if q < end and columns[q] == i:
                below += values[q] * points[i]
                above -= values[q]
                q += 1
            change = below + points[i] * above
            for c in range(delta.shape[0]):
                v[i, c] += change * delta[c]
