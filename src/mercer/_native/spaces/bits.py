"""Products of packed rows of -1 and +1 with weights, for the rows `first` to `last`: few rows, and many.

A byte scores minus its eight weights, plus twice the weight of each bit that is set, from the lowest. For few rows
these are added bit by bit; for many, each byte looks its score up in a table. Both add the same numbers in the same
order, so that a row has the same scores, in every bit, whichever way they are found.

Tables take a cache line of classes at a time: those of four bytes then lie in the nearest caches while all rows of a
block look them up, and are made anew for each block of rows, which costs less than fetching them from memory.
"""

__all__ = ["score_bits_matrix", "score_bits_vector", "score_bytes_matrix"]

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from mercer._native.jit import jit
from mercer._native.lanes import Vectors

LINE = 64  # bytes of a cache line
BYTES = 4  # that are added together
ENTRIES = 256  # of the table of a byte
ONE, TWO, THREE = (np.uint64(n) for n in (1, 2, 3))


@jit
def score_bits_vector(packed, v, first, last, out):
    """out[first:last] = (2 * np.unpackbits(packed[first:last], axis=1, bitorder="little") - 1) @ v

    packed  (n, M)  uint8     bit b of a row is bit b % 8 of byte b // 8
    v       (8 M,)  float64   0 for bits that do not count
    out     (n,)    float     written in place
    In the order of a sum of `fill_byte_tables` entries.
    """
    M = packed.shape[1]
    zeros = np.empty(M)  # what a byte without bits scores
    for m in range(M):
        entry = 0.0
        for k in range(8 * m, 8 * m + 8):
            entry -= v[k]
        zeros[m] = entry
    for i in range(first, last):
        total = 0.0
        for m in range(M):
            byte, entry = np.int64(packed[i, m]), zeros[m]
            for position in range(8):
                # a choice, not a product with the bit: a weight that is infinite must not spoil rows without its bit
                entry += 2.0 * v[8 * m + position] if (byte >> position) & 1 else 0.0
            total += entry
        out[i] = total


@jit
def score_bits_matrix(packed, v, first, last, out):
    """out[first:last] = (2 * np.unpackbits(packed[first:last], axis=1, bitorder="little") - 1) @ v

    v    (8 M, C)  float   0 for bits that do not count
    out  (n, C)    float   of the same type, written in place
    Four bytes are added together, as `score_bytes_matrix` does.
    """
    M, C, two = packed.shape[1], v.shape[1], v.dtype.type(2)
    zeros = np.zeros((M, C), dtype=v.dtype)
    for m in range(M):
        for k in range(8 * m, 8 * m + 8):
            for c in range(C):
                zeros[m, c] -= v[k, c]
    entries = np.empty((BYTES, C), dtype=v.dtype)
    for i in range(first, last):
        for c in range(C):
            out[i, c] = 0
        m = 0
        while m < M:
            together = BYTES if m + BYTES <= M else 1
            for t in range(together):
                byte = np.int64(packed[i, m + t])
                for c in range(C):
                    entries[t, c] = zeros[m + t, c]
                for position in range(8):
                    if (byte >> position) & 1:
                        k = 8 * (m + t) + position
                        for c in range(C):
                            entries[t, c] += two * v[k, c]
            if together == BYTES:
                for c in range(C):
                    out[i, c] += (entries[0, c] + entries[1, c]) + (entries[2, c] + entries[3, c])
            else:
                for c in range(C):
                    out[i, c] += entries[0, c]
            m += together


@jit
def score_bytes_matrix(packed, v, twice, first, last, tables, totals, out):
    """out[first:last] = (2 * np.unpackbits(packed[first:last], axis=1, bitorder="little") - 1) @ v[:, :C]

    packed    (n, M)          uint8   C-contiguous
    v, twice  (8 M, W)        float   and 2 v; W is C rounded up to whole cache lines of numbers, of L each
    tables    (4 * 256 * L,)  float   work space, best at the start of a cache line
    totals    (rows * L,)     float   the same
    out       (n, C)          float   of the same type, written in place
    """
    M, W, C = packed.shape[1], v.shape[1], out.shape[1]
    lanes = tables.shape[0] // (BYTES * ENTRIES)
    rows, weights, doubled = packed.reshape(-1), v.reshape(-1), twice.reshape(-1)
    L, step, size = np.uint64(lanes), np.uint64(M), np.uint64(ENTRIES * lanes)
    for c in range(0, W, lanes):
        totals[: (last - first) * lanes] = 0
        m = 0
        while m < M:
            together = BYTES if m + BYTES <= M else 1
            for t in range(together):
                _fill_table(weights, doubled, 8 * (m + t) * W + c, W, tables, t * ENTRIES * lanes, lanes)
            # positions are unsigned: numba looks at a signed one for a negative one
            at, p, end = np.uint64(0), np.uint64(first * M + m), np.uint64(last * M)
            if together == BYTES:
                while p < end:
                    k0, k1 = np.uint64(rows[p]) * L, np.uint64(rows[p + ONE]) * L + size
                    k2, k3 = np.uint64(rows[p + TWO]) * L + TWO * size, np.uint64(rows[p + THREE]) * L + THREE * size
                    add_four_lines(totals, at, tables, k0, k1, k2, k3)
                    at += L
                    p += step
            else:
                while p < end:
                    add_line(totals, at, tables, np.uint64(rows[p]) * L)
                    at += L
                    p += step
            m += together
        for i in range(first, last):
            for j in range(min(lanes, C - c)):
                out[i, c + j] = totals[(i - first) * lanes + j]


@jit
def _fill_table(weights, doubled, k, width, tables, start, lanes):
    """The scores of all bytes, each a line at `start`; the weights of bit b are a line at k + b * width.

    A byte with its highest bit taken away differs by twice one weight.
    """
    tables[start : start + ENTRIES * lanes] = 0
    for b in range(8):
        for j in range(lanes):
            tables[start + j] -= weights[k + b * width + j]
    L, zero = np.uint64(lanes), np.uint64(start)
    for b in range(8):
        size, weight = np.uint64(lanes << b), np.uint64(k + b * width)
        entry = zero
        while entry < zero + size:
            add_line(tables, entry + size, tables, entry)  # to zero, so that it is a copy
            add_line(tables, entry + size, doubled, weight)
            entry += L


# ----------------------------------------------------------------------------------------------------- instructions


def add_line(target, i, source, j):
    """target[i : i + L] += source[j : j + L], L numbers being a cache line"""
    L = LINE // target.itemsize
    target[i : i + L] += source[j : j + L]


def add_four_lines(target, i, tables, k0, k1, k2, k3):
    """target[i : i + L] += (tables[k0 : k0 + L] + tables[k1 : k1 + L]) + (tables[k2 : k2 + L] + tables[k3 : k3 + L])"""
    L = LINE // target.itemsize
    first, second = (tables[k : k + L] + tables[q : q + L] for k, q in ((k0, k1), (k2, k3)))
    target[i : i + L] += first + second


def _line(context, builder, signature, arguments):
    return Vectors(context, builder, signature, arguments, LINE * 8 // signature.args[0].dtype.bitwidth)


@intrinsic
def _add_line(typing_context, target, i, source, j):
    def generate(context, builder, signature, arguments):
        vectors = _line(context, builder, signature, arguments)
        at = vectors.at(0, arguments[1])
        vectors.store(builder.fadd(vectors.load(at), vectors.load(vectors.at(2, arguments[3]))), at)
        return context.get_dummy_value()

    return types.void(target, types.uintp, source, types.uintp), generate


@intrinsic
def _add_four_lines(typing_context, target, i, tables, k0, k1, k2, k3):
    def generate(context, builder, signature, arguments):
        vectors = _line(context, builder, signature, arguments)
        at = vectors.at(0, arguments[1])
        w0, w1, w2, w3 = (vectors.load(vectors.at(2, position)) for position in arguments[3:])
        total = builder.fadd(builder.fadd(w0, w1), builder.fadd(w2, w3))
        vectors.store(builder.fadd(vectors.load(at), total), at)
        return context.get_dummy_value()

    return types.void(target, types.uintp, tables, *[types.uintp] * 4), generate


@overload(add_line, inline="always")
def _compiled_line(target, i, source, j):
    return lambda target, i, source, j: _add_line(target, i, source, j)


@overload(add_four_lines, inline="always")
def _compiled_lines(target, i, tables, k0, k1, k2, k3):
    return lambda target, i, tables, k0, k1, k2, k3: _add_four_lines(target, i, tables, k0, k1, k2, k3)
