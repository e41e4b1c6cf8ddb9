"""Twins of `mercer._native.learners.descent.coded`: rows are decoded, then visited as dense ones."""

import numpy as np

from tests.reference.learners.descent.dual import Weights, descend


def descend_bits(rows, scale, *arguments):
    packed, _, value, n_bits = rows
    *rest, state = arguments

    def row_of(i):
        signs = 2.0 * np.unpackbits(packed[i], bitorder="little") - 1
        signs[n_bits:] = 0
        return value * signs

    return descend(Weights(row_of, scale, state), scale, *rest)


def descend_words(rows, scale, *arguments):
    codes, words, starts, sizes, _ = rows
    *rest, state = arguments

    def row_of(i):
        first = starts + codes[i].astype(np.int64) * sizes
        return np.concatenate([words[q : q + size] for q, size in zip(first, sizes, strict=True)]).astype(float)

    return descend(Weights(row_of, scale, state), scale, *rest)
