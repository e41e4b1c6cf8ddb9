"""Twins of `mercer._native.part_filters`: single lookups, and sums written out."""

import numpy as np


def sum_tables(codes, shifts, table, count, sums):
    entries = table.reshape(len(shifts), -1, 8).astype(np.float64)
    total = np.zeros((count, 8))
    for k, shift in enumerate(shifts):
        total += entries[k][codes[shift : shift + count]]
    sums[: 8 * count] = total.reshape(-1)


def fold_scores(sums, width, fold, out):
    lanes = sums.reshape(len(sums), -1, 8).transpose(1, 0, 2).reshape(sums.shape[1] // 8, -1)
    n_filters, rows, columns = out.shape
    for f in range(n_filters):
        for y in range(rows):
            for x in range(columns):
                out[f, y, x] = sum(float(lanes[(y + s) * width + x, s * n_filters + f]) for s in range(fold))


def add_shifted(products, out):
    _, rows, _ = out.shape
    total = sum(products[dy : dy + rows, :, dy].astype(np.float64) for dy in range(products.shape[2]))
    out[:] = total.transpose(2, 0, 1)
