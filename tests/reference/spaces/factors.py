"""Block diagonal inner products, with H written out."""

import numpy as np
from scipy import linalg, sparse


def block_matrix(flat, starts, ranks, offsets, n_features):
    blocks = []
    for b, (rank, offset) in enumerate(zip(ranks, offsets, strict=True)):
        width = starts[b + 1] - starts[b]
        columns = flat[offset : offset + rank * width].reshape(width, rank)
        blocks.append(columns @ columns.T)
    return linalg.block_diag(*blocks * (n_features // starts[-1]))


def square_factor_rows(indptr, indices, data, flat, starts, ranks, offsets, first, last, out):
    # as many repetitions as the rows can reach
    n_features = starts[-1] * (1 + indices.max(initial=0) // starts[-1])
    Phi = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features)).toarray().astype(np.float64)
    H = block_matrix(flat, starts, ranks, offsets, n_features)
    out[first:last] = ((Phi @ H) * Phi).sum(axis=1)[first:last]


def add_factor_row(columns, values, flat, starts, ranks, offsets, delta, v):
    v += np.outer(block_matrix(flat, starts, ranks, offsets, len(v))[:, columns] @ values, delta)
