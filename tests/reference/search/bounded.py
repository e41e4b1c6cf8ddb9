"""Twins of `mercer._native.search.bounded`: every bound of every pair, then the comparison."""

from itertools import pairwise

import numpy as np


def keep_candidates(
    queries, undone, strips, ends, wanted, first, last, slopes, intercepts, half, norms, thresholds, products, masks,
    left, found, bounds,
):  # fmt: skip
    side, n_rows = 32, len(norms)
    total, reached = np.zeros((len(queries), n_rows), dtype=np.int64), []
    for (start, stop), intercept in zip(pairwise([0, *ends]), intercepts, strict=True):
        level = strips[n_rows * start : n_rows * stop].reshape(n_rows // side, (stop - start) // 2, side, 2)
        rows = level.transpose(0, 2, 1, 3).reshape(n_rows, stop - start)
        products_of_bytes = queries[:, start:stop].astype(np.int64)[:, :, None] * rows.T.astype(np.int64)
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
