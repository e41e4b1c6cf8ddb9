"""Block diagonal inner products given by a factor per block: H = diag(F_b' F_b), the blocks repeating periodically.

Layout of the factors: `flat` holds them one after the other, each with its columns contiguous. Block b of a period has
the features starts[b] .. starts[b + 1], its factor has ranks[b] rows and begins at flat[offsets[b]], so column k of it
is flat[offsets[b] + k * ranks[b] :][: ranks[b]].
"""

__all__ = ["add_factor_row", "square_factor_rows"]

import numpy as np

from mercer._native.jit import jit


@jit
def square_factor_rows(indptr, indices, data, flat, starts, ranks, offsets, first, last, out):
    """out[first:last] = ((Phi @ H) * Phi).sum(axis=1)[first:last]

    indptr, indices, data   Phi as CSR with ascending columns, shape (n, D)
    flat (entries,) float64, starts (B + 1,), ranks (B,), offsets (B,) int64   the factors, as described above
    out  (n,) float64   written in place
    """
    period = starts[-1]
    u = np.empty(ranks.max() if ranks.shape[0] > 0 else 0)
    for i in range(first, last):
        total = 0.0
        q, end = indptr[i], indptr[i + 1]
        while q < end:
            origin = indices[q] - indices[q] % period
            b = np.searchsorted(starts, indices[q] - origin, side="right") - 1
            rank, stop = ranks[b], origin + starts[b + 1]
            u[:rank] = 0.0
            while q < end and indices[q] < stop:
                x, at = np.float64(data[q]), offsets[b] + (indices[q] - origin - starts[b]) * rank
                for s in range(rank):
                    u[s] += x * flat[at + s]
                q += 1
            for s in range(rank):
                total += u[s] * u[s]
        out[i] = total


@jit
def add_factor_row(columns, values, flat, starts, ranks, offsets, delta, v):
    """v += np.outer(H @ phi, delta) for the sparse vector phi

    columns, values   non-zeros of phi, columns ascending
    flat, starts, ranks, offsets   the factors, as described above
    delta  (C,)    float64
    v      (D, C)  float     written in place
    """
    period = starts[-1]
    u = np.empty(ranks.max() if ranks.shape[0] > 0 else 0)
    q = 0
    while q < columns.shape[0]:
        origin = columns[q] - columns[q] % period
        b = np.searchsorted(starts, columns[q] - origin, side="right") - 1
        rank, start, stop = ranks[b], origin + starts[b], origin + starts[b + 1]
        u[:rank] = 0.0
        while q < columns.shape[0] and columns[q] < stop:
            at = offsets[b] + (columns[q] - start) * rank
            for s in range(rank):
                u[s] += values[q] * flat[at + s]
            q += 1
        for k in range(start, stop):
            at = offsets[b] + (k - start) * rank
            change = 0.0
            for s in range(rank):
                change += flat[at + s] * u[s]
            for c in range(delta.shape[0]):
                v[k, c] += change * delta[c]
