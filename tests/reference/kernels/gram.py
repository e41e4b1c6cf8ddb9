"""Twins of `mercer._native.kernels.gram`: plain loops over rows and bins."""

import numpy as np

GROUP = 8


def bin_sums(pair, X, Y, param=0.0, signed=False):
    """out[i, j] = sum_k pair(X[i, k], Y[j, k]) in float64: what the tile and list loops compute together."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    x, y = X[:, None, :], Y[None, :, :]
    if signed:
        return (np.sign(x) * np.sign(y) * pair(np.abs(x), None, np.abs(y), None, param)).sum(axis=-1)
    return pair(x, None, y, None, param).sum(axis=-1)


def accumulate_minimum(X, tile, tile_logs, one, out, row0, col0):
    d = X.shape[1]
    out[row0 : row0 + len(X), col0 : col0 + tile.shape[1]] += np.minimum(X[:, :, None], tile[None, :d]).sum(axis=1)


def pack_dense_rows(X, band, keep_zeros, starts, bins, values):
    entries = []
    for b in range(starts.shape[0]):
        for i, row in enumerate(X):
            starts[b, i] = len(entries)
            for k in range(b * band, min(X.shape[1], (b + 1) * band)):
                if keep_zeros or row[k] != 0:
                    entries.append((k + b, row[k]))
            while len(entries) % GROUP:
                entries.append((b * (band + 1) + band, 0 if keep_zeros else 1))
        starts[b, len(X)] = len(entries)
    for q, (position, value) in enumerate(entries):
        bins[q], values[q] = position, value
    return len(entries)


def pack_sparse_rows(indptr, indices, data, band, cursor, starts, bins, values):
    X = np.zeros((len(indptr) - 1, starts.shape[0] * band), dtype=data.dtype)
    for i in range(len(X)):
        X[i, indices[indptr[i] : indptr[i + 1]]] = data[indptr[i] : indptr[i + 1]]
    return pack_dense_rows(X, band, False, starts, bins, values)


def magnitude_range(bits):
    floats = np.abs(bits.view(f"f{bits.dtype.itemsize}"))
    nonzero = floats[floats != 0]
    low = nonzero.min() if len(nonzero) else floats.dtype.type(0)
    found = np.array([low, floats.max(initial=0)], dtype=floats.dtype).view(bits.dtype)
    return tuple(found.tolist())
