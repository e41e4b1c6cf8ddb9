"""Rows and words: the nearest word of every block of a row, and the row that its words stand for.

Layout of the codebooks: `flat` holds them one after the other. Block m has n_words[m] words of sizes[m] numbers, word k
at flat[offsets[m] + k * sizes[m] :][: sizes[m]], and stands for the columns starts[m] .. starts[m] + sizes[m] of a row.
"""

__all__ = ["decode_words", "nearest_words"]

import math

import numpy as np

from mercer._native.jit import inline, jit

BLOCKS_AT_ONCE = 8  # blocks decoded for all rows before the next ones, so that their words stay in the cache
LARGEST_SHIFT = 126  # 2 ** +-126 are the outermost powers of two that are normal numbers in float32


@jit
def decode_words(codes, flat, sizes, offsets, starts, out):
    """out[:, starts[m] : starts[m] + sizes[m]] = codebook[m][codes[:, m]] for every block m

    codes                   (n, M)  uint8 or uint16
    flat                            the codebooks, as described above
    sizes, offsets, starts  (M,)    int64
    out                     (n, d)  float   written in place
    """
    M = codes.shape[1]
    for first in range(0, M, BLOCKS_AT_ONCE):
        for i in range(codes.shape[0]):
            for m in range(first, min(first + BLOCKS_AT_ONCE, M)):
                _copy_word(flat, offsets[m] + codes[i, m] * sizes[m], sizes[m], out, i, starts[m])


@inline
def _copy_word(flat, source, size, out, i, target):
    g = 0
    while g + 4 <= size:  # through registers: words are too short for a loop that vectorises itself
        at = source + g
        x0, x1, x2, x3 = flat[at], flat[at + 1], flat[at + 2], flat[at + 3]
        at = target + g
        out[i, at], out[i, at + 1], out[i, at + 2], out[i, at + 3] = x0, x1, x2, x3
        g += 4
    while g < size:
        out[i, target + g] = flat[source + g]
        g += 1


@jit
def nearest_words(X, flat, sizes, n_words, offsets, starts, first, last, table, distances, bits, codes):
    """codes[:, m] = ((X[:, None, block m] - codebook[m]) ** 2).sum(axis=2).argmin(axis=1) for first <= m < last

    X          (n, d)                    float   finite
    flat       of the same type                  the codebooks, as described above
    sizes, n_words, offsets, starts  (M,)  int64
    table      (largest size, most words)  float   work space
    distances  (most words,)               float   work space
    bits       the memory of ``distances`` as integers of the same width
    codes      (n, M)  uint8 or uint16   written in place
    Of equally near words the first is taken. Distances are sums of squared differences of numbers scaled by a power of
    two to the size of the codebook, so neither tiny nor huge data loses them; a word's distance to itself is 0.
    """
    for m in range(first, last):
        size, K, at = sizes[m], n_words[m], offsets[m]
        scale = flat.dtype.type(_scale(flat, at, at + K * size))
        for k in range(K):
            for g in range(size):
                table[g, k] = flat[at + k * size + g] * scale
        for i in range(X.shape[0]):
            _fill_distances(X, i, starts[m], size, scale, table, K, distances)
            codes[i, m] = _first_smallest(bits, K)


@inline
def _scale(flat, start, stop):
    """The power of two that brings the largest number below 1."""
    largest = flat.dtype.type(0)
    for q in range(start, stop):
        largest = max(largest, abs(flat[q]))
    exponent = math.frexp(largest)[1]
    return math.ldexp(1.0, -max(-LARGEST_SHIFT, min(LARGEST_SHIFT, exponent)))


@inline
def _fill_distances(X, i, start, size, scale, table, K, distances):
    """distances[k] = |x - word k|^2, eight columns per pass over the words where there are as many, or four."""
    for k in range(K):
        distances[k] = 0
    g = 0
    while g + 8 <= size:
        x0, x1, x2, x3 = _four(X, i, start + g, scale)
        x4, x5, x6, x7 = _four(X, i, start + g + 4, scale)
        for k in range(K):
            low = _four_squares(x0, x1, x2, x3, table, g, k)
            distances[k] += low + _four_squares(x4, x5, x6, x7, table, g + 4, k)
        g += 8
    while g + 4 <= size:
        x0, x1, x2, x3 = _four(X, i, start + g, scale)
        for k in range(K):
            distances[k] += _four_squares(x0, x1, x2, x3, table, g, k)
        g += 4
    while g < size:
        x0 = X[i, start + g] * scale
        for k in range(K):
            difference = x0 - table[g, k]
            distances[k] += difference * difference
        g += 1


@inline
def _four(X, i, j, scale):
    return X[i, j] * scale, X[i, j + 1] * scale, X[i, j + 2] * scale, X[i, j + 3] * scale


@inline
def _four_squares(x0, x1, x2, x3, table, g, k):
    d0, d1, d2, d3 = x0 - table[g, k], x1 - table[g + 1, k], x2 - table[g + 2, k], x3 - table[g + 3, k]
    return (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)


@inline
def _first_smallest(bits, K):
    # floats >= 0 have the order of their bits, and a minimum of integers vectorises where one of floats does not
    smallest = bits[0]
    for k in range(K):
        smallest = min(smallest, bits[k])
    found = np.int32(K)
    for k in range(K):
        found = min(found, np.int32(k) if bits[k] == smallest else np.int32(K))
    return found
