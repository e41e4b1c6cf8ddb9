"""Rows of words with one number for each word of each block, and back: sums of entries, and histograms.

    score[i] = sum over blocks m of  table_m[codes[m, i]]       histogram_m[k] = sum of slopes[i] where codes[m, i] = k

Codes lie block by block, (M, n), so that the tables and histograms of a few blocks stay in the first-level cache while
all rows look them up. Eight blocks share one read and write of a score; four are counted side by side, because equal
words follow each other and an addition has to wait for the one before.
"""

__all__ = ["count_words", "score_words"]

import numpy as np

from mercer._native.jit import jit

BLOCKS = 8


@jit
def score_words(codes, tables, first, last, out):
    """out[first:last] = tables[np.arange(M)[:, None], codes[:, first:last]].sum(axis=0)

    codes   (M, n)   uint8 or uint16
    tables  (M, D)   float32
    out     (n,)     float64, written in place
    """
    M = codes.shape[0]
    out[first:last] = 0.0
    whole = M - M % BLOCKS
    a, b = np.uint64(first), np.uint64(last)  # unsigned: numba looks at a signed position for a negative one
    for m in range(0, whole, BLOCKS):
        c0, c1, c2, c3 = codes[m], codes[m + 1], codes[m + 2], codes[m + 3]
        c4, c5, c6, c7 = codes[m + 4], codes[m + 5], codes[m + 6], codes[m + 7]
        t0, t1, t2, t3 = tables[m], tables[m + 1], tables[m + 2], tables[m + 3]
        t4, t5, t6, t7 = tables[m + 4], tables[m + 5], tables[m + 6], tables[m + 7]
        for i in range(a, b):
            left = (t0[c0[i]] + t1[c1[i]]) + (t2[c2[i]] + t3[c3[i]])
            right = (t4[c4[i]] + t5[c5[i]]) + (t6[c6[i]] + t7[c7[i]])
            out[i] += np.float64(left + right)
    for m in range(whole, M):
        c0, t0 = codes[m], tables[m]
        for i in range(a, b):
            out[i] += np.float64(t0[c0[i]])


@jit
def count_words(codes, which, slopes, first, last, out):
    """np.add.at(out[m], codes[m, which], slopes) for first <= m < last

    codes   (M, n)   uint8 or uint16
    which   (k,)     int64     rows that count
    slopes  (k,)     float32   what each of them adds
    out     (M, D)   float32, written in place
    """
    whole = last - (last - first) % 4
    n = np.uint64(which.shape[0])
    for m in range(first, whole, 4):
        c0, c1, c2, c3 = codes[m], codes[m + 1], codes[m + 2], codes[m + 3]
        h0, h1, h2, h3 = out[m], out[m + 1], out[m + 2], out[m + 3]
        for k in range(n):
            i, slope = np.uint64(which[k]), slopes[k]
            h0[c0[i]] += slope
            h1[c1[i]] += slope
            h2[c2[i]] += slope
            h3[c3[i]] += slope
    for m in range(whole, last):
        c0, h0 = codes[m], out[m]
        for k in range(n):
            h0[c0[np.uint64(which[k])]] += slopes[k]
