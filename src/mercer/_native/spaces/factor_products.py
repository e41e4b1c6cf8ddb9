"""Products of code rows with factor-space weights, Phi F' u and F Phi' r, block by block, without a table of all words.

    phi(x)   one word per block          F = diag(Z_1, Z_2, ...)      u, r with the classes in groups of eight

The table of one block, Z_m' u_m for its words, lies in the first-level cache while all rows look it up; so does the
histogram of one block while all rows add to it. Codes are read block by block, so they lie transposed, (M, n).
Layout of the factors: see :mod:`mercer._native.spaces.factors`. Sums over blocks (scores) and over rows (accumulate)
run in the type of the arguments; callers cut long ones and add the parts in float64.
"""

__all__ = ["accumulate_coded", "score_coded"]

import numpy as np

from mercer._native.jit import jit
from mercer._native.lanes import LANES, add_lanes, add_products, add_words

EIGHT = np.uint64(LANES)


@jit
def score_coded(codes, words, flat, ranks, offsets, rank_starts, u, first, last, tables, out):
    """out[g] += sum over blocks first <= m < last of (Z_m.T @ u[g, block m])[codes[m]]

    codes        (M, n)      uint8 or uint16
    words        (M,)        int64    number of words of each block
    flat, ranks, offsets              the factors Z_m, as described in mercer._native.spaces.factors
    rank_starts  (M + 1,)    int64    first factor of each block
    u            (g, r, 8)   float    weights of eight classes per group
    tables       (4, most words, 8)   work space
    out          (g, n, 8)   float    written in place
    Four blocks share one read and write of ``out``.
    """
    n, size = codes.shape[1], tables.shape[1] * LANES
    weights, total, entries = u.reshape(-1), out.reshape(-1), tables.reshape(-1)
    for g in range(u.shape[0]):
        for m in range(first, last, 4):
            for b in range(4):
                tables[b] = 0
                if m + b < last:
                    first_weight = (g * u.shape[1] + rank_starts[m + b]) * LANES
                    _fill_table(
                        flat, offsets[m + b], ranks[m + b], words[m + b], weights, first_weight, entries, b * size
                    )
            # beyond the last block the tables are zero, and any word will do
            m1, m2, m3 = min(m + 1, last - 1), min(m + 2, last - 1), min(m + 3, last - 1)
            c0, c1, c2, c3 = codes[m], codes[m1], codes[m2], codes[m3]
            at = np.uint64(g * n * LANES)
            for i in range(np.uint64(n)):  # unsigned: numba looks at a signed position for a negative one
                k0 = np.uint64(c0[i]) * EIGHT
                k1 = np.uint64(c1[i]) * EIGHT + np.uint64(size)
                k2 = np.uint64(c2[i]) * EIGHT + np.uint64(2 * size)
                k3 = np.uint64(c3[i]) * EIGHT + np.uint64(3 * size)
                add_words(total, at, entries, k0, k1, k2, k3)
                at += EIGHT


@jit
def _fill_table(flat, at, rank, n_words, weights, start, table, base):
    """table[k] += sum_s Z[s, k] u[s]"""
    whole = rank - rank % 4
    for s in range(0, whole, 4):
        for k in range(n_words):
            add_products(table, base + k * LANES, flat, at + k * rank + s, 1, weights, start + s * LANES)
    for s in range(whole, rank):
        for k in range(n_words):
            for c in range(LANES):
                table[base + k * LANES + c] += flat[at + k * rank + s] * weights[start + s * LANES + c]


@jit
def accumulate_coded(codes, words, flat, ranks, offsets, rank_starts, r, first, last, histograms, out):
    """out[g, block m] += Z_m @ (histogram of r[g] over the words codes[m]), for blocks first <= m < last

    r            (g, n, 8)   float    a number per row and class
    histograms   (2, most words rounded up to a multiple of 4, 8)   work space
    out          (g, R, 8)   float    written in place; its first factor is that of block ``first``
    Two blocks share one read of r.
    """
    n, size = codes.shape[1], histograms.shape[1] * LANES
    residuals, sums, target = r.reshape(-1), histograms.reshape(-1), out.reshape(-1)
    for g in range(r.shape[0]):
        for m in range(first, last, 2):
            sums[:] = 0
            other = min(m + 1, last - 1)
            own, next_one, at = codes[m], codes[other], np.uint64(g * n * LANES)
            for i in range(np.uint64(n)):
                add_lanes(sums, np.uint64(own[i]) * EIGHT, residuals, at)
                add_lanes(sums, np.uint64(size) + np.uint64(next_one[i]) * EIGHT, residuals, at)
                at += EIGHT
            for b in range(min(2, last - m)):
                place = (g * out.shape[1] + rank_starts[m + b] - rank_starts[first]) * LANES
                _project_histogram(flat, offsets[m + b], ranks[m + b], words[m + b], sums, b * size, target, place)


@jit
def _project_histogram(flat, start, rank, n_words, sums, base, target, at):
    """target[s] += sum_k Z[s, k] sums[k]"""
    whole = n_words - n_words % 4
    for k in range(0, whole, 4):
        for s in range(rank):
            add_products(target, at + s * LANES, flat, start + k * rank + s, rank, sums, base + k * LANES)
    for k in range(whole, n_words):
        for s in range(rank):
            for c in range(LANES):
                target[at + s * LANES + c] += flat[start + k * rank + s] * sums[base + k * LANES + c]
