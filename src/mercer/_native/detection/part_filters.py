"""Scores of filters at all places of a grid of cells: by tables of words, and by adding up products of rows.

    score[f, y, x] = sum over offsets (dy, dx) of  filter_f[dy, dx]' cell(y + dy, x + dx)

With one word per cell a term is an entry of a table [offset, word, filter], all filters at once. Sixteen numbers are
added at a time: those of sixteen filters, or of few filters in several rows (`fold_scores`), so that a tall filter
takes fewer lookups. [vedaldi12sparse] Sec. 5.2
"""

__all__ = ["TOGETHER", "add_shifted", "fold_scores", "sum_tables"]

import numpy as np

from mercer._native.jit import jit
from mercer._native.lanes import LANES, LONG, add_lanes, add_long_words, turn_eight

WIDTH = np.uint64(LONG)
TOGETHER = 6  # offsets that share one read and write of the sums; numbers of offsets are multiples of it


@jit
def sum_tables(codes, shifts, tables, count, sums):
    """sums[:, 16 g : 16 g + 16] = tables[g, np.arange(K), codes[np.arange(count)[:, None] + shifts]].sum(axis=1)

    codes   (n,)              uint8 or uint16   a grid row by row; n >= count + max(shifts)
    shifts  (K,)              int64             where the cells of the offsets are; K is a multiple of 6
    tables  (G, K * D * 16)   float32           [group, offset, word, lane]
    sums    (places * G * 16,)  float32         [place, lane], written in place for the first ``count`` places
    """
    n_groups, n_offsets = tables.shape[0], shifts.shape[0]
    size = np.uint64(tables.shape[1] // n_offsets)
    stride = np.uint64(n_groups) * WIDTH
    sums[: count * n_groups * LONG] = np.float32(0)
    for g in range(n_groups):
        table = tables[g]
        for k in range(0, n_offsets, TOGETHER):
            b0 = np.uint64(k) * size
            b1, b2, b3 = b0 + size, b0 + np.uint64(2) * size, b0 + np.uint64(3) * size
            b4, b5 = b0 + np.uint64(4) * size, b0 + np.uint64(5) * size
            c0, c1, c2 = codes[shifts[k] :], codes[shifts[k + 1] :], codes[shifts[k + 2] :]
            c3, c4, c5 = codes[shifts[k + 3] :], codes[shifts[k + 4] :], codes[shifts[k + 5] :]
            at = np.uint64(g) * WIDTH
            for p in range(np.uint64(count)):  # unsigned: numba looks at a signed position for a negative one
                k0, k1 = b0 + np.uint64(c0[p]) * WIDTH, b1 + np.uint64(c1[p]) * WIDTH
                k2, k3 = b2 + np.uint64(c2[p]) * WIDTH, b3 + np.uint64(c3[p]) * WIDTH
                k4, k5 = b4 + np.uint64(c4[p]) * WIDTH, b5 + np.uint64(c5[p]) * WIDTH
                add_long_words(sums, at, table, k0, k1, k2, k3, k4, k5)
                at += stride


@jit
def fold_scores(sums, stride, width, fold, square, out, first, last):
    """out[f, y, x] = sum over s < fold of lane s * F + f of place (y - first + s) * width + x, for first <= y < last

    sums    ((last - first + fold - 1) * width * stride + 7,)  float32   [place, lane]; what the last 7 are is the same
    stride                 lanes of a place
    width                  columns of the grid
    fold                   rows whose sums one lane each holds
    square  (64,)          float32   scratch
    out     (F, rows, columns)  float32, written in place
    """
    n_filters, n_rows, n_columns = out.shape
    flat = out.reshape(-1)
    step = np.uint64(n_rows * n_columns)
    for y in range(first, last):
        for f in range(0, n_filters, LANES):
            count = min(LANES, n_filters - f)
            for start in range(0, n_columns, LANES):
                x = min(start, n_columns - LANES)  # the last eight columns may have been written already
                at = ((y - first) * width + x) * stride + f
                to = (f * n_rows + y) * n_columns + x
                if x < 0:
                    at, to = at - x * stride, to - x
                    _fold_few(sums, at, stride, width, fold, n_filters, count, n_columns, flat, to, step)
                elif fold == 1:
                    turn_eight(flat, np.uint64(to), step, np.uint64(count), sums, np.uint64(at), np.uint64(stride))
                else:
                    square[:] = np.float32(0)
                    for s in range(fold):
                        place = at + s * (width * stride + n_filters)
                        for t in range(LANES):
                            add_lanes(square, np.uint64(t * LANES), sums, np.uint64(place + t * stride))
                    turn_eight(flat, np.uint64(to), step, np.uint64(count), square, np.uint64(0), np.uint64(LANES))


@jit
def _fold_few(sums, at, stride, width, fold, n_filters, count, n_columns, flat, to, step):
    """The same for less than eight columns."""
    for b in range(count):
        for x in range(n_columns):
            total = np.float32(0)
            for s in range(fold):
                total += sums[at + s * (width * stride + n_filters) + x * stride + b]
            flat[to + b * np.int64(step) + x] = total


@jit
def add_shifted(products, out):
    """out[f, y, x] = sum over dy of products[y + dy, x, dy, f]

    products  (Y, columns, height, F)  float32
    out       (F, rows, columns)       float32, written in place; rows <= Y - height + 1
    """
    n_filters, rows, columns = out.shape
    height = products.shape[2]
    for y in range(rows):
        for x in range(columns):
            for f in range(n_filters):
                total = products[y, x, 0, f]
                for dy in range(1, height):
                    total += products[y + dy, x, dy, f]
                out[f, y, x] = total
