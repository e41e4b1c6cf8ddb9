"""Dropping rows that cannot be among the nearest, by bounds of one-byte components that tighten level by level.

The products of the first level are made 32 rows by two queries at a time and compared with the thresholds while they
are in registers: rows that are dropped there, nearly all, cost their first bytes and nothing else.
"""

import numpy as np

from mercer._native.byte_lanes import inner_bytes, multiply_bytes, reaching
from mercer._native.jit import jit
from mercer._native.lanes import ROWS, STRIDE, fetch, lowest_bit


@jit
def keep_candidates(
    queries, strips, wanted, first, last, query_rest, rest, ends, slopes, intercepts, half, norms, thresholds, products,
    marked, sums, found, bounds,
):  # fmt: skip
    """The pairs (query, row) of some strips whose bound reaches the threshold at every level; returns their number.

    queries      (Q, W)         int16    components of the first level and, last, its tail; Q a multiple of 2
    strips       (S, W/2, 32, 2) int8    and of the rows, 32 side by side, two components of each together
    wanted       (S,)           uint32   bit t: whether row t of the strip is looked for
    first, last                 int64    the strips looked at are first, ..., last - 1
    query_rest   (Q, W')        int16    components and tail of each level after the first, in multiples of 32
    rest         (32 S W',)     int8     and of the rows: level after level, in each of them row after row
    ends         (L,)           int64    bytes of `rest` used up to each level, multiples of 32; ends[0] = 0
    slopes       (Q,)           float32  what a sum of products is multiplied with
    intercepts   (L, Q)         float32  and what is added to that
    half                        float32  the share of its squared norm that a row loses: one half for distances
    norms        (32 S,)        float32  of the rows
    thresholds   (Q,)           float32  a pair is dropped as soon as its bound is below
    products     (64,)          int32    scratch: two queries by a strip
    marked       (32 G Q, 2)    int32    scratch: query and row of pairs that the levels so far keep, of G strips at a
                                         time: their next bytes arrive while other strips are looked at
    sums         (32 G Q,)      int32    scratch: their products, without those of tails that are replaced
    found        (P, 2)         int32    written: query, row; P = 32 (last - first) Q
    bounds       (P,)           float32  written: their last bound

    The bound at a level: norm ((products of components up to it + product of its tail) slope + intercept - half norm).
    """
    together = marked.shape[0] // (STRIDE * queries.shape[0])
    count = 0
    for start in range(first, last, together):
        n_marked = _mark(
            queries, strips, wanted, start, min(start + together, last), rest, ends, slopes, intercepts[0], half, norms,
            thresholds, products, marked, sums,
        )  # fmt: skip
        for level in range(1, ends.shape[0]):
            n_marked = _refine(
                marked, sums, n_marked, level, query_rest, rest, ends, slopes, intercepts[level], half, norms,
                thresholds,
            )  # fmt: skip
        level = ends.shape[0] - 1
        for pair in range(n_marked):
            i, j = marked[pair, 0], marked[pair, 1]
            found[count, 0] = i
            found[count, 1] = j
            bounds[count] = (np.float32(sums[pair]) * slopes[i] + intercepts[level, i] - half * norms[j]) * norms[j]
            count += 1
    return count


@jit
def _mark(
    queries, strips, wanted, first, last, rest, ends, slopes, intercepts, half, norms, thresholds, products, marked,
    sums,
):  # fmt: skip
    """Note the pairs of some strips that the first level keeps; returns their number.

    Their next bytes are asked for meanwhile: memory is what takes time here.
    """
    n_queries, width = queries.shape
    left, right = queries.reshape(-1), strips.reshape(-1)
    size = np.uint64(width)
    following = ends[1] if ends.shape[0] > 1 else 0
    count = 0
    for strip in range(first, last):
        if wanted[strip] == 0:
            continue
        j = np.uint64(strip * STRIDE)
        for i in range(0, n_queries, ROWS):
            multiply_bytes(products, left, np.uint64(i) * size, size, right, j * size)
            for r in range(ROWS):
                q, place = i + r, np.uint64(r * STRIDE)
                mask = wanted[strip] & reaching(
                    products, place, norms, j, slopes[q], intercepts[q], half, thresholds[q]
                )
                while mask != 0:
                    t = lowest_bit(mask)
                    mask &= mask - np.uint32(1)
                    marked[count, 0] = q
                    marked[count, 1] = strip * STRIDE + t
                    sums[count] = products[r * STRIDE + t]
                    if following:
                        tail = np.int32(queries[q, width - 1]) * np.int32(strips[strip, width // 2 - 1, t, 1])
                        sums[count] -= tail
                        fetch(rest, np.uint64((strip * STRIDE + t) * following))
                    count += 1
    return count


@jit
def _refine(
    marked, sums, n_marked, level, query_rest, rest, ends, slopes, intercepts, half, norms, thresholds
):  # fmt: skip
    """Put the marked pairs that a further level keeps in front; returns their number."""
    n_rows, width, n_levels = norms.shape[0], query_rest.shape[1], ends.shape[0]
    components, start, stop = query_rest.reshape(-1), ends[level - 1], ends[level]
    count = 0
    for pair in range(n_marked):
        i, j = np.int64(marked[pair, 0]), np.int64(marked[pair, 1])
        at = n_rows * start + j * (stop - start)
        total = np.int64(sums[pair])
        for k in range(start, stop, STRIDE):
            total += inner_bytes(components, np.uint64(i * width + k), rest, np.uint64(at + k - start))
        if (np.float32(total) * slopes[i] + intercepts[i] - half * norms[j]) * norms[j] >= thresholds[i]:
            if level + 1 < n_levels:
                total -= np.int64(components[i * width + stop - 1]) * np.int64(rest[at + stop - start - 1])
                fetch(rest, np.uint64(n_rows * stop + j * (ends[level + 1] - stop)))
            marked[count, 0] = i
            marked[count, 1] = j
            sums[count] = total
            count += 1
    return count
