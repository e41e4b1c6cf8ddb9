"""Dual coordinate descent on rows that stay coded: packed bits, and words that stand for numbers.

The loop, the losses and the notation are in `_descent`. A visit costs as much as one to a dense row of as many columns,
and reads an eighth or less of the memory. [hsieh08dual] Alg. 3
"""

__all__ = ["descend_bits", "descend_words"]

import numpy as np

from mercer._native.jit import inline
from mercer._native.learners.descent.sweep import FOUR, ONE, THREE, TWO, build_descent

EIGHT = np.uint64(8)
FIVE, SIX, SEVEN = (np.uint64(k) for k in range(5, 8))


@inline
def _dot_bits(rows, i, state):
    """value times the sum of +w or -w: a byte picks eight signs. Weights behind the last bit are 0."""
    packed, signs, value, _ = rows
    x, w = packed[i], state[0]
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    at = np.uint64(0)
    for m in range(x.shape[0]):
        q = np.uint64(x[m]) * EIGHT
        s0 += signs[q] * w[at]
        s1 += signs[q + ONE] * w[at + ONE]
        s2 += signs[q + TWO] * w[at + TWO]
        s3 += signs[q + THREE] * w[at + THREE]
        s4 += signs[q + FOUR] * w[at + FOUR]
        s5 += signs[q + FIVE] * w[at + FIVE]
        s6 += signs[q + SIX] * w[at + SIX]
        s7 += signs[q + SEVEN] * w[at + SEVEN]
        at += EIGHT
    return value * (((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)))


@inline
def _add_bits(rows, i, step, state):
    packed, signs, value, n_bits = rows
    x, w = packed[i], state[0]
    change = step * value
    whole = n_bits // 8
    for m in range(whole):
        q, at = np.uint64(x[m]) * EIGHT, np.uint64(m) * EIGHT
        for t in range(8):
            w[at + np.uint64(t)] += change * signs[q + np.uint64(t)]
    for t in range(n_bits - 8 * whole):
        w[8 * whole + t] += change * signs[np.uint64(x[whole]) * EIGHT + np.uint64(t)]


@inline
def _dot_words(rows, i, state):
    """The sum over blocks of the word of the row times the weights of the block."""
    codes, words, starts, sizes, places = rows
    w = state[0]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for m in range(codes.shape[1]):
        size = np.uint64(sizes[m])
        q, at = np.uint64(starts[m]) + np.uint64(codes[i, m]) * size, np.uint64(places[m])
        j = np.uint64(0)
        while j + FOUR <= size:
            s0 += np.float64(words[q + j]) * w[at + j]
            s1 += np.float64(words[q + j + ONE]) * w[at + j + ONE]
            s2 += np.float64(words[q + j + TWO]) * w[at + j + TWO]
            s3 += np.float64(words[q + j + THREE]) * w[at + j + THREE]
            j += FOUR
        while j < size:
            s0 += np.float64(words[q + j]) * w[at + j]
            j += ONE
    return (s0 + s1) + (s2 + s3)


@inline
def _add_words(rows, i, step, state):
    codes, words, starts, sizes, places = rows
    w = state[0]
    for m in range(codes.shape[1]):
        size = np.uint64(sizes[m])
        q, at = np.uint64(starts[m]) + np.uint64(codes[i, m]) * size, np.uint64(places[m])
        for j in range(size):
            w[at + j] += step * np.float64(words[q + j])


# rows: packed (n, bytes) uint8, signs (2048,) float64 of the bits of every byte, lowest first, value of a bit that is
# set, number of bits; w (8 * bytes,)
descend_bits = build_descent(_dot_bits, _add_bits)

# rows: codes (n, M) uint8 or uint16; words float32 or float64, those of a block one after the other from starts[m] on,
# each of sizes[m] numbers; places[m], where the weights of block m begin
descend_words = build_descent(_dot_words, _add_words)
