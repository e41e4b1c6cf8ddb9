"""Twins of `mercer._native.detection.part_filters`: single lookups, and sums written out."""

import numpy as np


def sum_tables(codes, shifts, tables, count, sums):
    entries = tables.reshape(len(tables), len(shifts), -1, 16).astype(np.float64)
    total = np.zeros((count, len(tables), 16))
    for k, shift in enumerate(shifts):
        total += entries[:, k, codes[shift : shift + count]].transpose(1, 0, 2)
    sums[: total.size] = total.reshape(-1)


def fold_scores(sums, stride, width, fold, square, out, first, last):
    lanes = sums[: len(sums) // stride * stride].reshape(-1, stride)
    n_filters, _, columns = out.shape
    for f in range(n_filters):
        for y in range(first, last):
            for x in range(columns):
                places = [(y - first + s) * width + x for s in range(fold)]
                out[f, y, x] = sum(float(lanes[place, s * n_filters + f]) for s, place in enumerate(places))


def add_shifted(products, out):
    _, rows, _ = out.shape
    total = sum(products[dy : dy + rows, :, dy].astype(np.float64) for dy in range(products.shape[2]))
    out[:] = total.transpose(2, 0, 1)
