"""Dropping rows that cannot be among the nearest, by bounds that tighten component by component."""

import numpy as np

from mercer._native._jit import jit

WORD = 8  # rows per look at the marks


@jit
def keep_candidates(scores, queries, rest, ends, tails, query_tails, offsets, thresholds, marks, found, bounds):
    """The pairs (query, row) of a block whose bound reaches the threshold at every level; returns their number.

    scores       (Q, J)    float32   partial inner products over the components of the first level
    queries      (Q, E')   float32   the components after the first level, of the queries
    rest         (J, E')   float32   and of the rows
    ends         (L,)      int64     components of `rest` used up to each level; ends[0] = 0
    tails        (L, J)    float32   norm of what the components up to a level lose of a row
    query_tails  (L, Q)    float32   and of a query
    offsets      (J,)      float32   added to the score of a row; -inf for rows that are not looked for
    thresholds   (Q,)      float32   a pair is dropped as soon as its bound is below
    marks        (J,)      uint8     scratch, J a multiple of 8
    found        (Q J, 2)  int32     written: query, row of the block
    bounds       (Q J,)    float32   written: their last bound

    The bound at level l: |<x, q>_H - partial product| <= tail of x times tail of q. [bourrier15explicit] (25)
    """
    n_queries, n_rows = scores.shape
    n_levels = ends.shape[0]
    words = marks.view(np.uint64)
    count = 0
    for i in range(n_queries):
        row, first_tails, q_tail, threshold = scores[i], tails[0], query_tails[0, i], thresholds[i]
        for j in range(n_rows):  # a loop without branches: it vectorises
            marks[j] = row[j] + first_tails[j] * q_tail + offsets[j] >= threshold
        for w in range(n_rows // WORD):
            if words[w] == 0:
                continue
            for j in range(w * WORD, (w + 1) * WORD):
                if marks[j] == 0:
                    continue
                score = row[j]
                bound = score + first_tails[j] * q_tail + offsets[j]
                for level in range(1, n_levels):
                    score += partial_product(queries, i, rest, j, ends[level - 1], ends[level])
                    bound = score + tails[level, j] * query_tails[level, i] + offsets[j]
                    if not bound >= threshold:
                        break
                if bound >= threshold:
                    found[count, 0] = i
                    found[count, 1] = j
                    bounds[count] = bound
                    count += 1
    return count


@jit
def partial_product(A, i, B, j, first, last):
    """sum_k A[i, k] B[j, k] for first <= k < last, eight sums side by side

    A, B  (rows, columns)  float32
    """
    a, b = A[i], B[j]
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0)
    k = first
    while k + 8 <= last:
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
        s4 += a[k + 4] * b[k + 4]
        s5 += a[k + 5] * b[k + 5]
        s6 += a[k + 6] * b[k + 6]
        s7 += a[k + 7] * b[k + 7]
        k += 8
    while k < last:
        s0 += a[k] * b[k]
        k += 1
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
