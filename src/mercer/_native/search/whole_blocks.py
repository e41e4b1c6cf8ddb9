"""Blocks of which a query touches many rows: nobody notes which, and all rows are looked at in the end.

Notes of the rows that are touched take longer than the sums themselves. Looking at all rows takes less, because stretches
of them are passed over by a comparison in single precision that errs on the safe side.
"""

from functools import cache

import numpy as np

from mercer._native.jit import inline, jit
from mercer._native.search.postings import COSINE, DICE, JACCARD, PAIRS, PLAIN, STRETCH, contribute, keep_row

CHUNK = 128  # rows that are passed over together
ROUNDING = 4e-6  # of the comparison, relative; weights are off by 2e-6 at most


@cache
def whole_sums(name, signed=False):
    """The loop ``add_to_all`` of a formula."""
    pair = PAIRS[name]

    @jit
    def add_to_all(first, last, begins, ends, x, logs, rows, values, param, contributions, sums):
        """sums[rows[p]] += k(x[i], values[p]) over the lists first to last - 1; see `postings.list_sums`"""
        for i in range(first, last):
            for start in range(begins[i], ends[i], STRETCH):
                stop = min(start + STRETCH, ends[i])
                contribute(pair, signed, x[i], logs[i], values[start:stop], param, contributions)
                stretch = rows[start:stop]
                for t in range(stretch.shape[0]):
                    sums[stretch[t]] += contributions[t]

    return add_to_all


@inline
def _comparison(form, limit, a, scale, most_total, share, extra, margin):
    """(c1, c2, c0): where a row reaches a limit, s weight >= c0 of a cosine, else c1 s - c2 weight >= c0"""
    c1, c2 = 1.0 + share, 0.0
    if form == COSINE:
        c0 = (limit - margin) / (scale * c1)
    elif form == PLAIN:
        c0 = limit - extra
    elif form == DICE:
        c1, c2 = 2.0 * c1, limit
        c0 = limit * a - 2.0 * extra
    elif form == JACCARD:
        c1, c2 = c1 * (1.0 + limit), limit
        c0 = limit * a - (1.0 + limit) * extra
    else:
        c1, c2 = 2.0 * c1, 1.0
        c0 = limit + a - 2.0 * extra
    return np.float32(c1), np.float32(c2), np.float32(c0 - ROUNDING * (abs(c0) + abs(c2) * (a + most_total)))


@inline
def _some_reach(form, sums, weights, c1, c2, c0):
    """Whether a row of a chunk may reach the limit"""
    hits = np.int32(0)
    if form == COSINE:
        for t in range(sums.shape[0]):
            hits += np.int32(sums[t] * weights[t] >= c0)
    else:
        for t in range(sums.shape[0]):
            hits += np.int32(c1 * sums[t] - c2 * weights[t] >= c0)
    return hits > 0


@jit
def keep_of_all(
    form, sums, weights, most_total, a, scale, totals, inverses, share, tiny, slack, margin, more, least, allowed, lows,
    size, kept, highs,
):  # fmt: skip
    """As `postings.keep_nearest`, of all rows of a block; returns (how many, the new size of the heap)

    weights     (n,)     float32  1 / sqrt(b) of a cosine, not smaller than it is; else the total b, not larger
    most_total           float64  the largest total
    """
    k, n = lows.shape[0], totals.shape[0]
    missing = 0.0 if more == 0 else min(more, most_total) if least else np.sqrt(more * most_total)
    extra = tiny + slack * (a + most_total) + missing
    count = 0
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        if size == k:
            c1, c2, c0 = _comparison(form, lows[0], a, scale, most_total, share, extra, margin)
            if not _some_reach(form, sums[start:stop], weights[start:stop], c1, c2, c0):
                continue
        for row in range(start, stop):
            count, size = keep_row(
                row, count, form, sums, a, scale, totals, inverses, share, tiny, slack, margin, more, least, allowed,
                lows, size, kept, highs,
            )  # fmt: skip
    return count, size
