"""Improved consistent weighted sampling: one (column, step) pair per row and hash, equal for two rows with probability
sum min(x, y) / sum max(x, y). [ioffe10improved]

Notation
    paper      code      meaning                                                 shape
    r_k        rate      Gamma(2, 1): how wide the steps of log x are            (columns, hashes)
    beta_k     shift     uniform on (0, 1): where they begin                     (columns, hashes)
    c_k        -         Gamma(2, 1)                                             (columns, hashes)
    t_k        step      floor(log x / rate + shift)                             (non-zeros, hashes)
    ln a_k     cost      ln c - rate (step - shift) - rate                       (non-zeros, hashes)
    k*         best      the non-zero of least cost                              (rows, hashes)
Deviation from the paper: none; ``offset`` = ln c + rate (shift - 1) is the part of the cost that does not depend on x.
"""

__all__ = ["fill_variates", "pick_columns", "reduce_to_words"]

import math

import numpy as np

from mercer._native.counter import bits_of, uniform_of
from mercer._native.jit import jit


@jit
def fill_variates(key, columns, first_hash, tables):
    """rate, shift, offset = gamma(2), uniform(), log(gamma(2)) + rate * (shift - 1)

    key         uint64
    columns     (m,)       int64     the columns whose variates are wanted
    tables      (m, 3, H)  float32   written: rate, shift, offset for the hashes first_hash, first_hash + 1, ...
    """
    H = tables.shape[2]
    streams = np.empty(H, dtype=np.uint64)
    for h in range(H):
        streams[h] = bits_of(key, first_hash + h)
    for k in range(columns.shape[0]):
        i = 5 * columns[k]
        for h in range(H):
            stream = streams[h]
            rate = -math.log(uniform_of(stream, i) * uniform_of(stream, i + 1))
            gamma = -math.log(uniform_of(stream, i + 2) * uniform_of(stream, i + 3))
            shift = uniform_of(stream, i + 4)
            tables[k, 0, h] = rate
            tables[k, 1, h] = shift
            tables[k, 2, h] = math.log(gamma) + rate * (shift - 1.0)


@jit
def pick_columns(indptr, places, logs, tables, costs, picks, best):
    """best[i] = argmin(offset - rate * floor(logs[q] / rate + shift)) over the non-zeros q of row i

    indptr  (n + 1,)   int64     rows as in CSR
    places  (nnz,)     int32     column of each non-zero, as a position in the tables
    logs    (nnz,)     float32   logarithm of each value; -inf, a stored zero, is never picked
    tables  (m, 3, H)  float32   see fill_variates
    costs   (2, H)     float32   scratch
    picks   (2, H)     int32     scratch
    best    (n, H)     int32     written: q - indptr[i], or -1 if the row has nothing to pick

    Two non-zeros are taken per pass, and the least costs go back and forth between two buffers: LLVM makes masked
    stores of a loop that replaces values in place, which cost three times as much.
    """
    H = tables.shape[2]
    for i in range(best.shape[0]):
        start, stop = indptr[i], indptr[i + 1]
        for h in range(H):
            costs[0, h] = np.float32(np.inf)
            picks[0, h] = -1
        now = 0
        q = start
        while q < stop:
            q1 = min(q + 1, stop - 1)  # the last one of an odd number is taken twice
            table, table1 = tables[places[q]], tables[places[q1]]
            rate, shift, offset = table[0], table[1], table[2]
            rate1, shift1, offset1 = table1[0], table1[1], table1[2]
            log, log1 = logs[q], logs[q1]
            j, j1 = np.int32(q - start), np.int32(q1 - start)
            least, pick, next_least, next_pick = costs[now], picks[now], costs[1 - now], picks[1 - now]
            for h in range(H):
                a = offset[h] - rate[h] * np.floor(log / rate[h] + shift[h])
                a1 = offset1[h] - rate1[h] * np.floor(log1 / rate1[h] + shift1[h])
                winner = j1 if a1 < a else j
                a = min(a, a1)
                next_pick[h] = winner if a < least[h] else pick[h]
                next_least[h] = min(a, least[h])
            now = 1 - now
            q += 2
        for h in range(H):
            best[i, h] = picks[now, h]


@jit
def reduce_to_words(key, first_hash, indptr, places, logs, columns, tables, best, n_buckets, words):
    """words[i, h] = bucket + (n_buckets + 1) * sign, both from a random hash of (h, column, step) of the pick

    columns    (m,)    int64             the columns that the tables are for
    best       (n, H)  int32             see pick_columns
    words      (n, H)  uint8 or uint16   written; n_buckets if the row has nothing to pick
    """
    for h in range(best.shape[1]):
        stream = bits_of(key, first_hash + h)
        for i in range(best.shape[0]):
            if best[i, h] < 0:
                words[i, h] = n_buckets
                continue
            q = indptr[i] + best[i, h]
            step = np.floor(logs[q] / tables[places[q], 0, h] + tables[places[q], 1, h])
            bits = bits_of(bits_of(stream, columns[places[q]]), np.int64(step))
            bucket = ((bits >> np.uint64(32)) * np.uint64(n_buckets)) >> np.uint64(32)
            words[i, h] = bucket + (bits & np.uint64(1)) * np.uint64(n_buckets + 1)
