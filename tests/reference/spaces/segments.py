"""The intersection kernel on grids, with H = min(z_i, z_k) written out."""

from itertools import pairwise

import numpy as np
from scipy import sparse


def intersection_matrix(owner, points):
    same_segment = owner[:, None] == owner
    return np.where(same_segment, np.minimum(points[:, None], points), 0.0)


def suffix_sums(a, starts, roots, out):
    for s, t in pairwise(starts):
        out[s:t] = roots[s:t, None] * a[s:t][::-1].cumsum(axis=0)[::-1]


def prefix_sums(u, starts, roots, out):
    for s, t in pairwise(starts):
        out[s:t] = (roots[s:t, None] * u[s:t]).cumsum(axis=0)


def square_cumulative_rows(indptr, indices, data, owner, points, first, last, out):
    Phi = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(points))).toarray().astype(np.float64)
    out[first:last] = ((Phi @ intersection_matrix(owner, points)) * Phi).sum(axis=1)[first:last]


def add_cumulative_row(columns, values, owner, starts, points, delta, v):
    v += np.outer(intersection_matrix(owner, points)[:, columns] @ values, delta)
