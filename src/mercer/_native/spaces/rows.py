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

from mercer._native.jit import inline, jit
from mercer._native.lanes import add_eight, add_four, fetch

WIDENED_ROWS = 64  # rows whose residuals are made float64 at once
AHEAD = np.uintp(16)  # entries between asking for the sums of a column and adding to them
CACHED = 2**15  # numbers that the first two caches hold, so that asking for them only costs time
# numba asks of every signed index whether it counts from the end, which doubles the time of these loops
ONE, TWO, THREE, FOUR, EIGHT = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4), np.uintp(8)


@jit
def score_csr_vector(indptr, indices, data, v, first, last, out):
    """out[first:last] = (Phi @ v)[first:last]

    indptr, indices, data   Phi as CSR, shape (n, D)
    v    (D,)  float
    out  (n,)  float   written in place
    """
    for i in range(np.uintp(first), np.uintp(last)):
        total = 0.0
        q, end = np.uintp(indptr[i]), np.uintp(indptr[i + ONE])
        while q + FOUR <= end:  # four at a time: one long chain of additions would wait for each of them
            x0 = np.float64(data[q]) * np.float64(v[np.uintp(indices[q])])
            x1 = np.float64(data[q + ONE]) * np.float64(v[np.uintp(indices[q + ONE])])
            x2 = np.float64(data[q + TWO]) * np.float64(v[np.uintp(indices[q + TWO])])
            x3 = np.float64(data[q + THREE]) * np.float64(v[np.uintp(indices[q + THREE])])
            total += (x0 + x1) + (x2 + x3)
            q += FOUR
        while q < end:
            total += np.float64(data[q]) * np.float64(v[np.uintp(indices[q])])
            q += ONE
        out[i] = total


@jit
def score_csr_matrix(indptr, indices, data, v, first, last, out):
    """out[first:last] = (Phi @ v)[first:last]

    v    (D, C)  float
    out  (n, C)  float   written in place
    Four entries are added per pass over the classes, which share its loads and stores.
    """
    C = np.uintp(v.shape[1])
    totals = np.empty(C)
    for i in range(np.uintp(first), np.uintp(last)):
        totals[:] = 0.0
        q, end = np.uintp(indptr[i]), np.uintp(indptr[i + ONE])
        while q + FOUR <= end:
            k0, k1 = np.uintp(indices[q]), np.uintp(indices[q + ONE])
            k2, k3 = np.uintp(indices[q + TWO]), np.uintp(indices[q + THREE])
            x0, x1 = np.float64(data[q]), np.float64(data[q + ONE])
            x2, x3 = np.float64(data[q + TWO]), np.float64(data[q + THREE])
            for c in range(C):
                totals[c] += (x0 * v[k0, c] + x1 * v[k1, c]) + (x2 * v[k2, c] + x3 * v[k3, c])
            q += FOUR
        while q < end:
            k0, x0 = np.uintp(indices[q]), np.float64(data[q])
            for c in range(C):
                totals[c] += x0 * v[k0, c]
            q += ONE
        for c in range(C):
            out[i, c] = totals[c]


@jit
def accumulate_csr_vector(indptr, indices, data, r, first, last, total):
    """total += Phi[first:last].T @ r[first:last]

    indptr, indices, data   Phi as CSR, shape (n, D), no column twice in a row
    r      (n,)  float
    total  (D,)  float64   written in place
    """
    is_far, final = total.size > 16 * CACHED, np.uintp(max(0, indptr[last] - 1))
    for i in range(np.uintp(first), np.uintp(last)):
        residual = np.float64(r[i])
        q, end = np.uintp(indptr[i]), np.uintp(indptr[i + ONE])
        while q + TWO <= end:  # two columns of a row differ, so neither sum waits for the other
            if is_far:
                fetch(total, np.uintp(indices[min(q + AHEAD, final)]))
                fetch(total, np.uintp(indices[min(q + AHEAD + ONE, final)]))
            k0, k1 = np.uintp(indices[q]), np.uintp(indices[q + ONE])
            sum0 = total[k0] + residual * np.float64(data[q])
            sum1 = total[k1] + residual * np.float64(data[q + ONE])
            total[k0], total[k1] = sum0, sum1
            q += TWO
        if q < end:
            total[np.uintp(indices[q])] += residual * np.float64(data[q])


@inline
def _add_classes(sums, k, x, residuals, start, W):
    c = np.uintp(0)
    while c + EIGHT <= W:
        add_eight(sums, k + c, x, residuals, start + c)
        c += EIGHT
    if c < W:
        add_four(sums, k + c, x, residuals, start + c)


@inline
def _add_classes_fetching(sums, k, x, residuals, start, W, ahead):
    c = np.uintp(0)
    while c + EIGHT <= W:
        fetch(sums, ahead + c)
        add_eight(sums, k + c, x, residuals, start + c)
        c += EIGHT
    if c < W:
        fetch(sums, ahead + c)
        add_four(sums, k + c, x, residuals, start + c)


@jit
def accumulate_csr_matrix(indptr, indices, data, r, first, last, total):
    """total[:, :C] += Phi[first:last].T @ r[first:last]

    r      (n, C)  float
    total  (D, W)  float64, C-contiguous, W >= C   written in place; columns from C on gain zeros
    Rows of ``total`` that start at multiples of 32 bytes are fastest. Residuals are widened for many rows at once:
    what has just been written number by number cannot be read as a vector without waiting.
    """
    C, W, sums = r.shape[1], np.uintp(total.shape[1]), total.reshape(-1)
    widened = np.zeros((WIDENED_ROWS, total.shape[1]))
    residuals = widened.reshape(-1)
    is_far, final = total.size > CACHED, np.uintp(max(0, indptr[last] - 1))
    for start in range(first, last, WIDENED_ROWS):
        stop = min(start + WIDENED_ROWS, last)
        for i in range(start, stop):
            for c in range(C):
                widened[i - start, c] = r[i, c]
        for i in range(np.uintp(start), np.uintp(stop)):
            entries = range(np.uintp(indptr[i]), np.uintp(indptr[i + ONE]))
            from_row = (i - np.uintp(start)) * W
            if W % FOUR == 0:
                for q in entries:
                    x, k = np.float64(data[q]), np.uintp(indices[q]) * W
                    if is_far:
                        ahead = np.uintp(indices[min(q + AHEAD, final)]) * W
                        _add_classes_fetching(sums, k, x, residuals, from_row, W, ahead)
                    else:
                        _add_classes(sums, k, x, residuals, from_row, W)
            else:
                for q in entries:
                    x, k = np.float64(data[q]), np.uintp(indices[q]) * W
                    for c in range(W):
                        sums[k + c] += x * residuals[from_row + c]


@jit
def sum_csr_squares(indptr, data, first, last, out):
    """out[first:last] = (Phi * Phi).sum(axis=1)[first:last], with out (n,) float64"""
    for i in range(np.uintp(first), np.uintp(last)):
        total = 0.0
        for q in range(np.uintp(indptr[i]), np.uintp(indptr[i + ONE])):
            total += np.float64(data[q]) * np.float64(data[q])
        out[i] = total
