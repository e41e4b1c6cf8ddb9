"""Random half-words from counters, equal in every language: Threefry-2x32 with 20 rounds. [salmon11parallel]

Half-word e of stream s is a function of (key, s, e), see docs/wire-format.md: additions modulo 2^32, rotations and
exclusive ors, which any language has. (`mercer._native.counter` is faster, but needs 64-bit products.)
"""

__all__ = ["fill_halfwords"]

import numpy as np

from mercer._native.jit import inline, jit

PARITY = np.uint32(0x1BD11BDA)


@inline
def _rotate(x, n):
    """x, 32 bits, rotated left by n"""
    return np.uint32(x << np.uint32(n)) | np.uint32(x >> np.uint32(32 - n))


@inline
def _four_rounds(x0, x1, r0, r1, r2, r3):
    """Four rounds with these rotations."""
    x0 = np.uint32(x0 + x1)
    x1 = _rotate(x1, r0) ^ x0
    x0 = np.uint32(x0 + x1)
    x1 = _rotate(x1, r1) ^ x0
    x0 = np.uint32(x0 + x1)
    x1 = _rotate(x1, r2) ^ x0
    x0 = np.uint32(x0 + x1)
    x1 = _rotate(x1, r3) ^ x0
    return x0, x1


@inline
def threefry(k0, k1, c0, c1):
    """Two words of a key and a counter, all uint32."""
    k2 = PARITY ^ k0 ^ k1
    x0, x1 = np.uint32(c0 + k0), np.uint32(c1 + k1)
    x0, x1 = _four_rounds(x0, x1, 13, 15, 26, 6)
    x0, x1 = np.uint32(x0 + k1), np.uint32(x1 + k2 + np.uint32(1))
    x0, x1 = _four_rounds(x0, x1, 17, 29, 16, 24)
    x0, x1 = np.uint32(x0 + k2), np.uint32(x1 + k0 + np.uint32(2))
    x0, x1 = _four_rounds(x0, x1, 13, 15, 26, 6)
    x0, x1 = np.uint32(x0 + k0), np.uint32(x1 + k1 + np.uint32(3))
    x0, x1 = _four_rounds(x0, x1, 17, 29, 16, 24)
    x0, x1 = np.uint32(x0 + k1), np.uint32(x1 + k2 + np.uint32(4))
    x0, x1 = _four_rounds(x0, x1, 13, 15, 26, 6)
    return np.uint32(x0 + k2), np.uint32(x1 + k0 + np.uint32(5))


@inline
def halfword(x0, x1, place):
    """Half-word 0, 1, 2 or 3 of two words, as uint32."""
    word = x0 if place < 2 else x1
    return (word >> np.uint32(16)) if place % 2 else (word & np.uint32(0xFFFF))


@jit
def fill_halfwords(k0, k1, stream, first, out):
    """out[i] = h(stream, first + i)

    k0, k1, stream  uint32
    first           int64, 0 or more
    out             (n,) uint16, written
    """
    x0, x1 = np.uint32(0), np.uint32(0)
    for i in range(out.shape[0]):
        e = first + i
        if i == 0 or e % 4 == 0:
            x0, x1 = threefry(k0, k1, np.uint32(e // 4), stream)
        out[i] = halfword(x0, x1, e % 4)
