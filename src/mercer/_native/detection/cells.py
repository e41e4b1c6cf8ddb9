"""Cells of oriented gradients to words of a codebook that is closed under mirroring, and back.

A mirror permutes the channels of a cell x: pairs (a, b) change places, the others stay. With

    even = (x_a + x_b, channels that stay)        odd = x_a - x_b

a cell and a word have the product x'w = E + O, and x has with the mirrored word E - O, where E and O are products of
the even and of the odd parts. One pass over half of the words thus finds the nearest of all of them:

    best pair      argmax of  E - |w|^2 / 2 + |O|          word, or its mirror image if O < 0

A mirrored cell has the same E and the opposite O, bit for bit, so that its word is the mirrored word.
"""

__all__ = ["encode_cells"]

import numpy as np

from mercer._native.jit import jit
from mercer._native.lanes import ROWS, STRIDE, largest_sum, multiply_strip


@jit
def encode_cells(features, swapped, kept, even, odd, x, products, first, last, codes):
    """codes[n] = 2 p + (O[n, p] < 0), p = argmax(E[n] + abs(O[n]));  1 where O[n, p] is 0

    features  (n, channels)   float32
    swapped   (s, 2)          int64     channels that a mirror exchanges
    kept      (k,)            int64     channels that it leaves
    even      (S, s + k + 1, 32)  float32   strips of 32 pairs of words: even parts / 2, channels that stay, -|w|^2 / 2
    odd       (S, s, 32)          float32   odd parts / 2
    x         (2, 2, s + k + 1)   float32   scratch
    products  (2, 64)         float32   scratch: E and O of two cells with 32 pairs
    codes     (n,)            uint8 or uint16   written from first to last
    Pair 0 is a word that is its own mirror image, number 1; number 0 is never given. Of equal pairs the first counts.
    """
    n_swapped, n_even = swapped.shape[0], even.shape[1]
    x_even, x_odd = x[0].reshape(-1), x[1].reshape(-1)
    flat_even, flat_odd = even.reshape(-1), odd.reshape(-1)
    evens, odds = products[0], products[1]
    best = np.empty(ROWS, dtype=np.float32)
    words = np.empty(ROWS, dtype=np.int64)
    x_even[:] = np.float32(0)
    x_odd[:] = np.float32(0)
    for start in range(first, last, ROWS):
        count = min(ROWS, last - start)
        for r in range(count):
            for s in range(n_swapped):
                left, right = features[start + r, swapped[s, 0]], features[start + r, swapped[s, 1]]
                x_even[r * n_even + s] = left + right
                x_odd[r * n_swapped + s] = left - right
            for k in range(kept.shape[0]):
                x_even[r * n_even + n_swapped + k] = features[start + r, kept[k]]
            x_even[r * n_even + n_even - 1] = np.float32(1)
        best[:] = np.float32(-np.inf)
        for strip in range(even.shape[0]):
            multiply_strip(evens, x_even, 0, n_even, flat_even, strip * n_even * STRIDE)
            multiply_strip(odds, x_odd, 0, n_swapped, flat_odd, strip * n_swapped * STRIDE)
            for r in range(ROWS):
                found = largest_sum(evens, odds, r * STRIDE)
                if found > best[r]:  # seldom after the first strips
                    best[r] = found
                    words[r] = _word(evens, odds, r * STRIDE, strip * STRIDE, found)
        for r in range(count):
            codes[start + r] = words[r]


@jit
def _word(evens, odds, at, pair, value):
    """The word of the first of 32 pairs with this value."""
    t = 0
    while t < STRIDE - 1 and evens[at + t] + abs(odds[at + t]) != value:
        t += 1
    turn = odds[at + t]
    return 2 * (pair + t) + (turn < 0) if turn != 0 else 1
