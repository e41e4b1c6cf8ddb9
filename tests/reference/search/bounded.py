"""Twins of `mercer._native.search.bounded`: every bound of every pair, then the comparison."""

from itertools import pairwise

import numpy as np


def keep_candidates(
    queries, strips, wanted, first, last, query_rest, rest, ends, slopes, intercepts, half, norms, thresholds, products,
    marked, sums, found, bounds,
):  # fmt: skip
    n_strips, pairs, side, _ = strips.shape
    n_rows = n_strips * side
    levels = [strips.transpose(0, 2, 1, 3).reshape(n_rows, 2 * pairs)]
    levels += [rest[n_rows * start : n_rows * stop].reshape(n_rows, stop - start) for start, stop in pairwise(ends)]
    factors = [queries] + [query_rest[:, start:stop] for start, stop in pairwise(ends)]
    total, reached = np.zeros((len(queries), n_rows), dtype=np.int64), []
    for factor, level, intercept in zip(factors, levels, intercepts, strict=True):
        products_of_bytes = factor.astype(np.int64)[:, :, None] * level.T.astype(np.int64)
        with_tail = (total + products_of_bytes.sum(axis=1)).astype(np.float32)
        reached.append((with_tail * slopes[:, None] + intercept[:, None] - half * norms) * norms)
        total += products_of_bytes[:, :-1].sum(axis=1)
    bits = np.unpackbits(wanted.astype("<u4").view(np.uint8), bitorder="little").astype(bool)
    kept = (np.min(reached, axis=0) >= thresholds[:, None]) & bits
    kept[:, : first * side] = kept[:, last * side :] = False
    pairs = np.argwhere(kept)
    found[: len(pairs)] = pairs
    bounds[: len(pairs)] = reached[-1][kept]
    return len(pairs)
