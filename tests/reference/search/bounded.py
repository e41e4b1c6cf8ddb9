"""Twins of `mercer._native.search.bounded`: every bound of every pair, then the comparison."""

from itertools import pairwise

import numpy as np


def keep_candidates(
    queries, strips, first, last, query_rest, rest, ends, tails, query_tails, offsets, thresholds, products,
    marked, scores, found, bounds,
):  # fmt: skip
    n_strips, n_components, side = strips.shape
    n_rows = n_strips * side
    rows = strips.transpose(0, 2, 1).reshape(n_rows, n_components)
    levels = [rest[n_rows * start : n_rows * stop].reshape(n_rows, stop - start) for start, stop in pairwise(ends)]
    rows = np.concatenate([rows, *levels], axis=1)
    queries = np.concatenate([queries, query_rest], axis=1)
    reached = np.stack([
        queries[:, : n_components + end] @ rows[:, : n_components + end].T + np.outer(query_tails[level], tails[level])
        for level, end in enumerate(ends)
    ])  # fmt: skip
    kept = (reached.min(axis=0) + offsets >= thresholds[:, None]) & np.isfinite(offsets)
    kept[:, : first * side] = kept[:, last * side :] = False
    pairs = np.argwhere(kept)
    found[: len(pairs)] = pairs
    bounds[: len(pairs)] = reached[-1][kept] + offsets[pairs[:, 1]]
    return len(pairs)
