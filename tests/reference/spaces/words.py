"""Nearest words and decoded rows, block by block, in float64."""

import numpy as np


def decode_words(codes, flat, sizes, offsets, starts, out):
    for m, (size, at, start) in enumerate(zip(sizes, offsets, starts, strict=True)):
        for i, word in enumerate(codes[:, m].astype(int)):
            out[i, start : start + size] = flat[at + word * size :][:size]


def nearest_words(X, flat, sizes, n_words, offsets, starts, first, last, table, distances, bits, codes):
    for m in range(first, last):
        words = flat[offsets[m] :][: n_words[m] * sizes[m]].reshape(n_words[m], sizes[m]).astype(np.float64)
        rows = X[:, starts[m] : starts[m] + sizes[m]].astype(np.float64)
        codes[:, m] = ((rows[:, None] - words) ** 2).sum(axis=2).argmin(axis=1)
