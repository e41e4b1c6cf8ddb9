"""Dropping rows that cannot be among the nearest, by bounds of one-byte components that tighten level by level.

Products are made 32 rows at a time, at every level: a row that is left by itself costs a miss of the cache and a sum
across a register, which is as much as multiplying with the 31 beside it. At the first level two queries share the
bytes, and nearly all rows end there. Which strips go on is noted without a branch, so that no step waits for another.
"""

import numpy as np

from mercer._native.byte_lanes import add_bytes, multiply_bytes, reaching
from mercer._native.jit import jit
from mercer._native.lanes import ROWS, STRIDE, lowest_bit


@jit
def keep_candidates(
    queries, undone, strips, ends, wanted, first, last, slopes, intercepts, half, norms, thresholds, products, masks,
    left, found, bounds,
):  # fmt: skip
    """The pairs (query, row) of some strips whose bound reaches the threshold at every level; returns their number.

    queries      (Q, W)         int16    components and, last, the tail of each level; Q a multiple of 2
    undone       (Q, 2 L)       int16    0 and the negative of each tail, which the next level replaces
    strips       (32 S W,)      int8     components and tails of the rows: level after level, in each of them strip
                                         after strip of 32 rows side by side, two bytes of each together
    ends         (L,)           int64    bytes of a row up to each level, even numbers
    wanted       (S,)           uint32   bit t: whether row t of the strip is looked for
    first, last                 int64    the strips looked at are first, ..., last - 1
    slopes       (Q,)           float32  what a sum of products is multiplied with
    intercepts   (L, Q)         float32  and what is added to that
    half                        float32  the share of its squared norm that a row loses: one half for distances
    norms        (32 S,)        float32  of the rows
    thresholds   (Q,)           float32  a pair is dropped as soon as its bound is below
    products     (32 G Q,)      int32    scratch: of G strips at a time
    masks        (G Q,)         uint32   scratch: which of their rows are left
    left         (G Q, 2)       int32    scratch: strips and queries with rows that are left
    found        (P, 2)         int32    written: query, row; P = 32 (last - first) Q
    bounds       (P,)           float32  written: their last bound

    The bound at a level: norm ((products of components up to it + product of its tail) slope + intercept - half norm).
    """
    n_queries, n_rows, n_levels = queries.shape[0], norms.shape[0], ends.shape[0]
    width, step = np.uint64(queries.shape[1]), np.uint64(undone.shape[1])
    # flat here: in an inner loop a view costs more than a strip
    factors, tails, together = queries.reshape(-1), undone.reshape(-1), masks.shape[0] // n_queries
    count = 0
    for begin in range(first, last, together):
        n_left = 0
        size = np.uint64(ends[0])
        for strip in range(begin, min(begin + together, last)):
            some = wanted[strip]
            if some == 0:
                continue
            j, slot = np.uint64(strip * STRIDE), (strip - begin) * n_queries
            for i in range(0, n_queries, ROWS):
                at = np.uint64((slot + i) * STRIDE)
                multiply_bytes(products, at, factors, np.uint64(i) * width, width, size, strips, j * size)
                for q in range(i, i + ROWS):
                    mask = some & reaching(
                        products, np.uint64((slot + q) * STRIDE), norms, j, slopes[q], intercepts[0, q], half,
                        thresholds[q],
                    )  # fmt: skip
                    masks[slot + q] = mask
                    left[n_left, 0] = strip
                    left[n_left, 1] = q
                    n_left += np.int64(mask != 0)
        before, start = np.int64(0), ends[0]
        for level in range(1, n_levels):
            stop, n_before = ends[level], n_left
            n_left = 0
            for p in range(n_before):
                strip, q = np.int64(left[p, 0]), np.int64(left[p, 1])
                slot = (strip - begin) * n_queries + q
                at, pair = np.uint64(slot * STRIDE), n_rows * before + STRIDE * ((strip + 1) * (start - before) - 2)
                i = np.uint64(q) * step + np.uint64(2 * (level - 1))
                add_bytes(products, at, tails, i, np.uint64(2), strips, np.uint64(pair))
                i, j = np.uint64(q) * width + np.uint64(start), n_rows * start + STRIDE * strip * (stop - start)
                add_bytes(products, at, factors, i, np.uint64(stop - start), strips, np.uint64(j))
                mask = masks[slot] & reaching(
                    products, at, norms, np.uint64(strip * STRIDE), slopes[q], intercepts[level, q], half,
                    thresholds[q],
                )  # fmt: skip
                masks[slot] = mask
                left[n_left, 0] = strip
                left[n_left, 1] = q
                n_left += np.int64(mask != 0)
            before, start = start, stop
        for p in range(n_left):
            strip, q = np.int64(left[p, 0]), np.int64(left[p, 1])
            slot = (strip - begin) * n_queries + q
            mask = masks[slot]
            while mask != 0:
                t = np.int64(lowest_bit(mask))
                mask &= mask - np.uint32(1)
                row = strip * STRIDE + t
                score = np.float32(products[slot * STRIDE + t]) * slopes[q] + intercepts[n_levels - 1, q]
                found[count, 0] = q
                found[count, 1] = row
                bounds[count] = (score - half * norms[row]) * norms[row]
                count += 1
    return count
