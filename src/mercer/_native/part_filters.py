"""Scores of filters at all places of a grid of cells: by tables of words, and by adding up products of rows.

    score[f, y, x] = sum over offsets (dy, dx) of  filter_f[dy, dx]' cell(y + dy, x + dx)

With one word per cell a term is an entry of a table [offset, word, filter], all filters at once. Eight numbers are
added at a time: those of eight filters, or of few filters in several rows (`fold_scores`), so that a tall filter takes
fewer lookups. [vedaldi12sparse] Sec. 5.2
"""

__all__ = ["add_shifted", "fold_scores", "sum_tables"]

import numpy as np

from mercer._native._jit import jit
from mercer._native._lanes import LANES, add_lanes, add_words

EIGHT = np.uint64(LANES)


@jit
def sum_tables(codes, shifts, table, count, sums):
    """sums = table[np.arange(K), codes[np.arange(count)[:, None] + shifts]].sum(axis=1)

    codes   (n,)          uint8 or uint16   a grid row by row; n >= count + max(shifts)
    shifts  (K,)          int64             where the cells of the offsets are
    table   (K * D * 8,)  float32           [offset, word, lane]
    sums    (count * 8,)  float32           written in place
    """
    n_offsets = shifts.shape[0]
    size = np.uint64(table.shape[0] // n_offsets)
    sums[: count * LANES] = np.float32(0)
    whole = n_offsets - n_offsets % 4
    for k in range(0, whole, 4):
        base = np.uint64(k) * size
        c0, c1, c2, c3 = codes[shifts[k] :], codes[shifts[k + 1] :], codes[shifts[k + 2] :], codes[shifts[k + 3] :]
        at = np.uint64(0)
        for p in range(np.uint64(count)):  # unsigned: numba looks at a signed position for a negative one
            k0 = base + np.uint64(c0[p]) * EIGHT
            k1 = base + size + np.uint64(c1[p]) * EIGHT
            k2 = base + size + size + np.uint64(c2[p]) * EIGHT
            k3 = base + size + size + size + np.uint64(c3[p]) * EIGHT
            add_words(sums, at, table, k0, k1, k2, k3)
            at += EIGHT
    for k in range(whole, n_offsets):
        base, shifted = np.uint64(k) * size, codes[shifts[k] :]
        at = np.uint64(0)
        for p in range(np.uint64(count)):
            add_lanes(sums, at, table, base + np.uint64(shifted[p]) * EIGHT)
            at += EIGHT


@jit
def fold_scores(sums, width, fold, out):
    """out[f, y, x] = sum over s < fold of lane s * F + f of place (y + s) * width + x

    sums   (groups, places * 8)  float32   lane l is number l % 8 of group l // 8
    width                  columns of the grid
    fold                   rows whose sums one lane each holds
    out    (F, rows, columns)  float32, written in place
    """
    n_filters = out.shape[0]
    for y in range(out.shape[1]):
        for f in range(n_filters):
            row = out[f, y]
            for s in range(fold):
                lane = s * n_filters + f
                own = sums[lane // LANES]
                start = (y + s) * width * LANES + lane % LANES
                if s == 0:
                    for x in range(row.shape[0]):
                        row[x] = own[start + x * LANES]
                else:
                    for x in range(row.shape[0]):
                        row[x] += own[start + x * LANES]


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
