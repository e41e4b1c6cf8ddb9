"""Scanning codes: for eight queries at a time, the rows whose table entries add up to most."""

import numpy as np

from mercer._native.jit import jit
from mercer._native.lanes import LANES, add_words

EIGHT = np.uint64(LANES)
CHUNK = 1024  # rows whose sums are compared with the thresholds at once
LIMITS = 64  # thresholds of the eight queries, repeated: a loop long enough to vectorise


@jit
def scan_codes(codes, tables, allowed, first, sums, marks, limits, best_scores, best_rows, sizes):
    """Push every row into the heaps of the eight queries whose k best it belongs to.

    codes        (n, M)         uint8     one word per block, or one of two blocks that share a byte
    tables       (M', 256, 8)   float32   score of each word, a column per query; M' is M rounded up to a multiple of
                                          4, the tables beyond M are zero
    allowed      (n,) or (0,)   bool      rows that are looked for; none given: all
    first                       int64     number of the first row
    sums, marks  (CHUNK * 8,)             float32 and uint8 scratch
    limits       (64,)          float32   scratch
    best_scores  (8, k)         float32   heaps, the worst of the best on top; written
    best_rows    (8, k)         int64     numbers of their rows
    sizes        (8,)           int64     rows in each heap
    Rows come in ascending order: of equal scores those with smaller numbers stay.
    """
    n, n_blocks = codes.shape
    entries = tables.reshape(-1)
    words = marks.view(np.uint64)
    last = n_blocks - 1
    k = best_scores.shape[1]
    _set_limits(best_scores, sizes, limits)
    for start in range(0, n, CHUNK):
        rows = min(CHUNK, n - start)
        sums[: rows * LANES] = 0
        for m in range(0, n_blocks, 4):
            # beyond the last block the tables are zero, and any word will do
            m1, m2, m3 = min(m + 1, last), min(m + 2, last), min(m + 3, last)
            base = np.uint64(m * 256 * LANES)
            step = np.uint64(256 * LANES)
            at = np.uint64(0)
            for i in range(start, start + rows):
                k0 = base + np.uint64(codes[i, m]) * EIGHT
                k1 = base + step + np.uint64(codes[i, m1]) * EIGHT
                k2 = base + step + step + np.uint64(codes[i, m2]) * EIGHT
                k3 = base + step + step + step + np.uint64(codes[i, m3]) * EIGHT
                add_words(sums, at, entries, k0, k1, k2, k3)
                at += EIGHT
        n_sums = rows * LANES
        whole = n_sums - n_sums % LIMITS
        for p in range(0, whole, LIMITS):
            for t in range(LIMITS):
                marks[p + t] = sums[p + t] > limits[t]
        for p in range(whole, n_sums):
            marks[p] = sums[p] > limits[p % LIMITS]
        for r in range(rows):
            if words[r] == 0 or (allowed.shape[0] > 0 and not allowed[start + r]):
                continue
            for c in range(LANES):
                score = sums[r * LANES + c]
                if marks[r * LANES + c] and (sizes[c] < k or score > best_scores[c, 0]):
                    sizes[c] = push(best_scores[c], best_rows[c], sizes[c], score, first + start + r)
                    if sizes[c] == k:
                        for t in range(c, LIMITS, LANES):
                            limits[t] = best_scores[c, 0]


@jit
def _set_limits(best_scores, sizes, limits):
    """limits[t] = worst score of query t % 8 that is still among its k best"""
    for t in range(limits.shape[0]):
        c = t % LANES
        limits[t] = best_scores[c, 0] if sizes[c] == best_scores.shape[1] else -np.inf


@jit
def push(scores, rows, size, score, row):
    """Put (score, row) into a heap of at most len(scores) entries, dropping the worst; returns the new size.

    scores  (k,)  float32   a heap with the smallest score on top; of equal scores the larger row is smaller
    rows    (k,)  int64
    A full heap must be given something better than its top.
    """
    k = scores.shape[0]
    if size < k:
        place = size
        size += 1
        while place > 0:  # up
            parent = (place - 1) // 2
            if scores[parent] < score or (scores[parent] == score and rows[parent] > row):
                break
            scores[place] = scores[parent]
            rows[place] = rows[parent]
            place = parent
    else:
        place = 0
        while True:  # down
            child = 2 * place + 1
            if child >= k:
                break
            other = child + 1
            if other < k and (
                scores[other] < scores[child] or (scores[other] == scores[child] and rows[other] > rows[child])
            ):
                child = other
            if score < scores[child] or (score == scores[child] and row > rows[child]):
                break
            scores[place] = scores[child]
            rows[place] = rows[child]
            place = child
    scores[place] = score
    rows[place] = row
    return size
