"""Dropping rows that cannot be among the nearest, by bounds that tighten component by component.

The products of the first level are made here and not by BLAS: 32 rows by two queries at a time they are compared with
the thresholds while they are in registers, and never written out (measured: two thirds of the time of a product of
matrices and a pass over it).
"""

import numpy as np

from mercer._native.jit import jit
from mercer._native.lanes import ROWS, STRIDE, fetch, inner_stride, lowest_bit, multiply_strip, reaching

LINE = 16  # numbers of a line of the cache
TOGETHER = 16  # strips whose pairs go on together: their components arrive meanwhile


@jit
def keep_candidates(
    queries, strips, first, last, query_rest, rest, ends, tails, query_tails, offsets, thresholds, products,
    marked, scores, found, bounds,
):  # fmt: skip
    """The pairs (query, row) of some strips whose bound reaches the threshold at every level; returns their number.

    queries      (Q, E)      float32   components of the first level; Q a multiple of 2
    strips       (S, E, 32)  float32   and of the rows, 32 side by side
    first, last              int64     the strips looked at are first, ..., last - 1
    query_rest   (Q, E')     float32   the components after the first level, a multiple of 32
    rest         (32 S E',)  float32   and of the rows: level after level, in each of them row after row
    ends         (L,)        int64     components of `rest` used up to each level, multiples of 32; ends[0] = 0
    tails        (L, 32 S)   float32   norm of what the components up to a level lose of a row
    query_tails  (L, Q)      float32   and of a query
    offsets      (32 S,)     float32   added to the score of a row; -inf for rows that are not looked for
    thresholds   (Q,)        float32   a pair is dropped as soon as its bound is below
    products     (64,)       float32   scratch: two queries by a strip
    marked       (512 Q, 2)  int32     scratch: query and row of pairs that the first level keeps
    scores       (512 Q,)    float32   scratch: their products
    found        (P, 2)      int32     written: query, row; P = 32 (last - first) Q
    bounds       (P,)        float32   written: their last bound

    The bound at level l: |<x, q>_H - partial product| <= tail of x times tail of q. [bourrier15explicit] (25)
    """
    width = ends[1] if ends.shape[0] > 1 else 0
    count = 0
    for start in range(first, last, TOGETHER):
        n_marked = 0
        for strip in range(start, min(start + TOGETHER, last)):
            n_marked = _mark(
                queries, strips, strip, tails[0], query_tails[0], offsets, thresholds, rest, width, products, marked,
                scores, n_marked,
            )  # fmt: skip
        count = _refine(
            marked[:n_marked], scores, query_rest, rest, ends, tails, query_tails, offsets, thresholds, found, bounds,
            count,
        )  # fmt: skip
    return count


@jit
def _mark(
    queries, strips, strip, tails, query_tails, offsets, thresholds, rest, width, products, marked, scores, count
):
    """Add the pairs of a strip that the first level keeps to the `count` marked ones; returns their number.

    Their next components, `width` of `rest` for each row, are asked for meanwhile: memory is what takes time here.
    """
    n_queries, n_components = queries.shape
    left, right = queries.reshape(-1), strips.reshape(-1)
    size, j = np.uint64(n_components), np.uint64(strip * STRIDE)
    for i in range(0, n_queries, ROWS):
        multiply_strip(products, left, np.uint64(i) * size, size, right, j * size)
        for r in range(ROWS):
            place = np.uint64(r * STRIDE)
            mask = reaching(products, place, tails, offsets, j, query_tails[i + r], thresholds[i + r])
            while mask != 0:
                t = lowest_bit(mask)
                mask &= mask - np.uint32(1)
                row = strip * STRIDE + t
                marked[count, 0] = i + r
                marked[count, 1] = row
                scores[count] = products[r * STRIDE + t]
                for k in range(0, width, LINE):
                    fetch(rest, np.uint64(row * width + k))
                count += 1
    return count


@jit
def _refine(marked, scores, query_rest, rest, ends, tails, query_tails, offsets, thresholds, found, bounds, count):
    """The marked pairs that further levels keep, written from place `count` on; returns the place after them."""
    n_rows, width = tails.shape[1], query_rest.shape[1]
    components = query_rest.reshape(-1)
    for pair in range(marked.shape[0]):
        i, j, score = marked[pair, 0], marked[pair, 1], scores[pair]
        threshold = thresholds[i]
        bound = score + tails[0, j] * query_tails[0, i] + offsets[j]
        for level in range(1, ends.shape[0]):
            start, stop = ends[level - 1], ends[level]
            at = n_rows * start + j * (stop - start)
            for k in range(start, stop, STRIDE):
                score += inner_stride(components, np.uint64(i * width + k), rest, np.uint64(at + k - start))
            bound = score + tails[level, j] * query_tails[level, i] + offsets[j]
            if not bound >= threshold:
                break
        if bound >= threshold:
            found[count, 0] = i
            found[count, 1] = j
            bounds[count] = bound
            count += 1
    return count
