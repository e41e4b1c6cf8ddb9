"""Twins of `mercer._native.bounded`: every bound of every pair, then the comparison."""

import numpy as np


def keep_candidates(scores, queries, rest, ends, tails, query_tails, offsets, thresholds, marks, found, bounds):
    count = 0
    for i, j in np.ndindex(scores.shape):
        if offsets[j] == -np.inf:
            continue
        reached = [
            scores[i, j] + partial_product(queries, i, rest, j, 0, end) + tails[level, j] * query_tails[level, i]
            for level, end in enumerate(ends)
        ]
        if min(reached) + offsets[j] >= thresholds[i]:
            found[count] = i, j
            bounds[count] = reached[-1] + offsets[j]
            count += 1
    return count


def partial_product(A, i, B, j, first, last):
    return A[i, first:last] @ B[j, first:last]
