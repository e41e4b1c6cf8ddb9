"""Products with code rows, by numpy's fancy indexing."""

import numpy as np


def score_codes_vector(codes, starts, v, first, last, out):
    out[first:last] = v[starts + codes[first:last]].sum(axis=1, dtype=np.float64)


score_codes_matrix = score_codes_vector


def accumulate_codes_vector(codes, starts, r, first, last, total):
    np.add.at(total, starts + codes[first:last], r[first:last, None].astype(np.float64))


accumulate_codes_matrix = accumulate_codes_vector


def fill_byte_tables(v, tables):
    signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little") - 1.0
    for m in range(len(v) // 8):
        tables[256 * m : 256 * (m + 1)] = signs @ v[8 * m : 8 * m + 8]
