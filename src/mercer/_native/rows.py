"""Products of CSR rows with weights and residuals, for the rows `first` to `last`.

Sums run in float64 whatever the storage, and are rounded once where they leave: a float32 row of ten thousand entries,
or a sum over ten million rows, loses nothing. Weights and residuals lie with the classes last, so that the innermost
loop over classes reads and writes consecutive numbers; the case of one class has a loop of its own. The order of a sum
depends on its row alone.
"""

__all__ = [
    "accumulate_csr_matrix",
    "accumulate_csr_vector",
    "score_csr_matrix",
    "score_csr_vector",
    "sum_csr_squares",
]

import numpy as np

from mercer._native._jit import jit


@jit
def score_csr_vector(indptr, indices, data, v, first, last, out):
    """out[first:last] = (Phi @ v)[first:last]

    indptr, indices, data   Phi as CSR, shape (n, D)
    v    (D,)  float
    out  (n,)  float   written in place
    """
    for i in range(first, last):
        total = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[q]) * np.float64(v[indices[q]])
        out[i] = total


@jit
def score_csr_matrix(indptr, indices, data, v, first, last, out):
    """out[first:last] = (Phi @ v)[first:last]

    v    (D, C)  float
    out  (n, C)  float   written in place
    Four entries are added per pass over the classes, which share its loads and stores.
    """
    C = v.shape[1]
    totals = np.empty(C)
    for i in range(first, last):
        totals[:] = 0.0
        q, end = indptr[i], indptr[i + 1]
        while q + 4 <= end:
            k0, k1, k2, k3 = indices[q], indices[q + 1], indices[q + 2], indices[q + 3]
            x0, x1 = np.float64(data[q]), np.float64(data[q + 1])
            x2, x3 = np.float64(data[q + 2]), np.float64(data[q + 3])
            for c in range(C):
                totals[c] += (x0 * v[k0, c] + x1 * v[k1, c]) + (x2 * v[k2, c] + x3 * v[k3, c])
            q += 4
        while q < end:
            k0, x0 = indices[q], np.float64(data[q])
            for c in range(C):
                totals[c] += x0 * v[k0, c]
            q += 1
        for c in range(C):
            out[i, c] = totals[c]


@jit
def accumulate_csr_vector(indptr, indices, data, r, first, last, total):
    """total += Phi[first:last].T @ r[first:last]

    indptr, indices, data   Phi as CSR, shape (n, D)
    r      (n,)  float
    total  (D,)  float64   written in place
    """
    for i in range(first, last):
        residual = np.float64(r[i])
        for q in range(indptr[i], indptr[i + 1]):
            total[indices[q]] += residual * np.float64(data[q])


@jit
def accumulate_csr_matrix(indptr, indices, data, r, first, last, total):
    """total += Phi[first:last].T @ r[first:last], with r (n, C) and total (D, C) float64"""
    C = r.shape[1]
    for i in range(first, last):
        for q in range(indptr[i], indptr[i + 1]):
            k, x = indices[q], np.float64(data[q])
            for c in range(C):
                total[k, c] += x * r[i, c]


@jit
def sum_csr_squares(indptr, data, first, last, out):
    """out[first:last] = (Phi * Phi).sum(axis=1)[first:last], with out (n,) float64"""
    for i in range(first, last):
        total = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[q]) * np.float64(data[q])
        out[i] = total
