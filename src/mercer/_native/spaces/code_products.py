"""Products of code rows (one word per block, one-hot) with weights and residuals, for the rows `first` to `last`.

A weight vector on one-hot features is a table: block m of a row picks the entry ``starts[m] + codes[i, m]``. Packed
bits are codes too, eight features to the byte: their table has an entry for each of the 256 bytes. Sums run in float64
and are rounded once where they leave; classes lie last.
"""

__all__ = [
    "accumulate_codes_matrix",
    "accumulate_codes_vector",
    "fill_byte_tables",
    "score_codes_matrix",
    "score_codes_vector",
]

import numpy as np

from mercer._native.jit import jit


@jit
def score_codes_vector(codes, starts, v, first, last, out):
    """out[first:last] = v[starts + codes[first:last]].sum(axis=1)

    codes   (n, M)  uint8 or uint16   word of each block
    starts  (M,)    int64             first feature of each block
    v       (D,)    float             one weight per word of every block
    out     (n,)    float             written in place
    """
    for i in range(first, last):
        total = 0.0
        for m in range(codes.shape[1]):
            total += np.float64(v[starts[m] + codes[i, m]])
        out[i] = total


@jit
def score_codes_matrix(codes, starts, v, first, last, out):
    """out[first:last] = v[starts + codes[first:last]].sum(axis=1)

    v    (D, C)  float
    out  (n, C)  float   written in place
    Four blocks are added per pass over the classes, which share its loads and stores.
    """
    M, C = codes.shape[1], v.shape[1]
    totals = np.empty(C)
    for i in range(first, last):
        totals[:] = 0.0
        m = 0
        while m + 4 <= M:
            k0, k1 = starts[m] + codes[i, m], starts[m + 1] + codes[i, m + 1]
            k2, k3 = starts[m + 2] + codes[i, m + 2], starts[m + 3] + codes[i, m + 3]
            for c in range(C):
                totals[c] += (np.float64(v[k0, c]) + v[k1, c]) + (np.float64(v[k2, c]) + v[k3, c])
            m += 4
        while m < M:
            k0 = starts[m] + codes[i, m]
            for c in range(C):
                totals[c] += v[k0, c]
            m += 1
        for c in range(C):
            out[i, c] = totals[c]


@jit
def accumulate_codes_vector(codes, starts, r, first, last, total):
    """np.add.at(total, starts + codes[first:last], r[first:last, None]): a histogram of r in every block

    codes   (n, M)  uint8 or uint16   word of each block
    starts  (M,)    int64             first feature of each block
    r       (n,)    float
    total   (D,)    float64           written in place
    """
    for i in range(first, last):
        residual = np.float64(r[i])
        for m in range(codes.shape[1]):
            total[starts[m] + codes[i, m]] += residual


@jit
def accumulate_codes_matrix(codes, starts, r, first, last, total):
    """np.add.at(total, starts + codes[first:last], r[first:last, None]), with r (n, C) and total (D, C) float64"""
    C = r.shape[1]
    for i in range(first, last):
        for m in range(codes.shape[1]):
            k = starts[m] + codes[i, m]
            for c in range(C):
                total[k, c] += r[i, c]


@jit
def fill_byte_tables(v, tables):
    """tables[256 * m + byte] = (2 * np.unpackbits(byte, bitorder="little") - 1) @ v[8 * m : 8 * m + 8]

    v       (8 M, C)    float64
    tables  (256 M, C)  float64   written in place
    A byte with its highest set bit taken away differs by twice one weight: one addition per entry.
    """
    C = v.shape[1]
    for m in range(v.shape[0] // 8):
        zero = 256 * m
        for c in range(C):
            tables[zero, c] = 0.0
        for k in range(8 * m, 8 * m + 8):
            for c in range(C):
                tables[zero, c] -= v[k, c]
        for position in range(8):  # the entries below 2**position are done
            k = 8 * m + position
            for byte in range(1 << position):
                for c in range(C):
                    tables[zero + byte + (1 << position), c] = tables[zero + byte, c] + 2.0 * v[k, c]
