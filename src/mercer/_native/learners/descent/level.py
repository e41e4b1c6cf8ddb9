"""Intersection coordinate descent (ICD): dual coordinate descent on rows of levels. [wu10fast] Alg. 2

A row has a level in every column; k is an additive kernel of levels, the intersection or another one. What stands for
the weights is Wu's table, one function of the level per column,

    T_j(z) = sum_i b_i k(x_ij, z)          f_i = sum_j T_j(x_ij)                                       (6), (12)

so that a score is one look-up per column, and a step changes the tables of the row's columns.

Deviation from the paper: for the intersection the tables are kept as what they fall short of their ends,

    T_j(z) = sum_i b_i x_ij - S_j(z),      S_j(z) = sum_i b_i max(x_ij - z, 0)

The first part is a number (per column, or in one sum for all columns), and S_j(z) changes only at levels z below x_ij:
a step costs as many entries as the row has counts, not the height of every table. Tables are as tall as each column
needs (footnote 1), begin at multiples of eight, and may be float32.

Loops and losses are those of `_descent`, with these rows and states:

    intersection_dense   rows   codes (n, d) uint8 or uint16, levels; starts (d,) int64, of the tables, which have room
                                for a multiple of eight levels each
                         state  table (D,) float, -S;  sums (2,) float64: constant feature, sum_j sum_i b_i x_ij
    intersection_tall    rows   as intersection_dense, room for a multiple of 64 levels each
                         state  table, sums as intersection_dense; offsets, slopes (D / 64,) float64: where a row lies
                                above all 64 levels z of a block, max(x - z, 0) = x - z changes two numbers only, and
                                -S is table[z] + slopes z - offsets
    intersection_csr     rows   indptr; indices, positions in the tables; data, how much of the row is at each (1 at one
                                level, or shares of the two around it); points (D,) float, the levels; owners (D,)
                                int32, columns; starts (d + 1,) int64, of the tables
                         state  table (D,) float, -S;  sums (1 + d,) float64: constant feature, sum_i b_i x_ij by column
    gram_dense           rows   codes, starts as above with d + 1; grams (.,) float, k(z, z') of each column, flat;
                                gram_starts (d,) int64
                         state  table (D,) float, T;  sums (1,) float64
    gram_csr             rows   indptr, indices, data; owners, starts, grams, gram_starts
                         state  as gram_dense
"""

__all__ = [
    "descend_gram_csr",
    "descend_gram_dense",
    "descend_intersection_csr",
    "descend_intersection_dense",
    "descend_intersection_tall",
]

import numpy as np

from mercer._native.jit import inline
from mercer._native.lanes import LANES, add_ramp, fetch
from mercer._native.learners.descent.sweep import FOUR, ONE, THREE, TWO, build_descent

EIGHT = np.uint64(LANES)
BLOCK_BITS = 6  # 64 levels to a block of a tall table
BITS = np.uint64(BLOCK_BITS)


@inline
def _look_up_dense(codes, starts, i, table):
    """sum_j table[starts[j] + codes[i, j]]"""
    x = codes[i]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0  # one addition would wait for the one before it
    j, end = np.uint64(0), np.uint64(x.shape[0])
    while j + FOUR <= end:
        s0 += np.float64(table[np.uint64(starts[j]) + np.uint64(x[j])])
        s1 += np.float64(table[np.uint64(starts[j + ONE]) + np.uint64(x[j + ONE])])
        s2 += np.float64(table[np.uint64(starts[j + TWO]) + np.uint64(x[j + TWO])])
        s3 += np.float64(table[np.uint64(starts[j + THREE]) + np.uint64(x[j + THREE])])
        j += FOUR
    while j < end:
        s0 += np.float64(table[np.uint64(starts[j]) + np.uint64(x[j])])
        j += ONE
    return (s0 + s1) + (s2 + s3)


@inline
def _fetch_codes(rows, i):
    codes = rows[0]
    fetch(codes.reshape(-1), np.uint64(i) * np.uint64(codes.shape[1]))


# ------------------------------------------------------------------------------------------------------ intersection


@inline
def _dot_intersection_dense(rows, i, state):
    table, sums = state
    return sums[1] + _look_up_dense(rows[0], rows[1], i, table)


@inline
def _add_intersection_dense(rows, i, step, state):
    (codes, starts), (table, sums) = rows, state
    number = table.dtype.type
    small, total = number(step), 0.0
    for j in range(np.uint64(codes.shape[1])):
        level, first = np.uint64(codes[i, j]), np.uint64(starts[j])
        x = number(level)
        total += np.float64(level)
        k = np.uint64(0)
        while k < level:  # to the end of its eight: there the ramp is zero
            add_ramp(table, first + k, small, x, number(k))
            k += EIGHT
    sums[1] += step * total


@inline
def _dot_intersection_tall(rows, i, state):
    (codes, starts), (table, sums, offsets, slopes) = rows, state
    total = sums[1]
    for j in range(np.uint64(codes.shape[1])):
        level = np.uint64(codes[i, j])
        place = np.uint64(starts[j]) + level
        block = place >> BITS
        total += np.float64(table[place]) + (slopes[block] * np.float64(level) - offsets[block])
    return total


@inline
def _add_intersection_tall(rows, i, step, state):
    (codes, starts), (table, sums, offsets, slopes) = rows, state
    number = table.dtype.type
    small, total = number(step), 0.0
    for j in range(np.uint64(codes.shape[1])):
        level, first = np.uint64(codes[i, j]), np.uint64(starts[j])
        x, block = number(level), first >> BITS
        total += np.float64(level)
        far = step * np.float64(level)
        for t in range(block, block + (level >> BITS)):
            offsets[t] += far
            slopes[t] += step
        k = (level >> BITS) << BITS
        while k < level:
            add_ramp(table, first + k, small, x, number(k))
            k += EIGHT
    sums[1] += step * total


@inline
def _dot_intersection_csr(rows, i, state):
    (indptr, indices, data, _, owners, _), (table, sums) = rows, state
    s0, s1 = 0.0, 0.0
    for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        p, weight = np.uint64(indices[q]), np.float64(data[q])
        s0 += weight * np.float64(table[p])
        s1 += weight * sums[np.uint64(owners[p]) + ONE]
    return s0 + s1


@inline
def _add_intersection_csr(rows, i, step, state):
    (indptr, indices, data, points, owners, starts), (table, sums) = rows, state
    for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        p, weighted = np.uint64(indices[q]), step * np.float64(data[q])
        j, x, small = np.uint64(owners[p]), points[p], table.dtype.type(weighted)
        sums[j + ONE] += weighted * np.float64(x)
        for k in range(np.uint64(starts[j]), p):
            table[k] += small * (points[k] - x)


# ----------------------------------------------------------------------------------------------------- other kernels


@inline
def _dot_gram_dense(rows, i, state):
    return _look_up_dense(rows[0], rows[1], i, state[0])


@inline
def _add_gram_dense(rows, i, step, state):
    codes, starts, grams, gram_starts = rows
    table = state[0]
    small = table.dtype.type(step)
    for j in range(np.uint64(codes.shape[1])):
        level, first, end = np.uint64(codes[i, j]), np.uint64(starts[j]), np.uint64(starts[j + ONE])
        line = np.uint64(gram_starts[j]) + level * (end - first)
        if grams[line + level] > 0:  # k(z, z) = 0 makes k(z, .) zero, as for level 0
            for k in range(end - first):
                table[first + k] += small * grams[line + k]


@inline
def _dot_gram_csr(rows, i, state):
    indptr, indices, data = rows[0], rows[1], rows[2]
    table, total = state[0], 0.0
    for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        total += np.float64(data[q]) * np.float64(table[np.uint64(indices[q])])
    return total


@inline
def _add_gram_csr(rows, i, step, state):
    indptr, indices, data, owners, starts, grams, gram_starts = rows
    table = state[0]
    for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        p, small = np.uint64(indices[q]), table.dtype.type(step * np.float64(data[q]))
        j = np.uint64(owners[p])
        first, end = np.uint64(starts[j]), np.uint64(starts[j + ONE])
        line = np.uint64(gram_starts[j]) + (p - first) * (end - first)
        for k in range(end - first):
            table[first + k] += small * grams[line + k]


# how a row meets the tables, by kind of rows; `joint` makes its loops of these too
INTERSECTION_DENSE = _dot_intersection_dense, _add_intersection_dense
INTERSECTION_CSR = _dot_intersection_csr, _add_intersection_csr
GRAM_DENSE = _dot_gram_dense, _add_gram_dense
GRAM_CSR = _dot_gram_csr, _add_gram_csr

descend_intersection_dense = build_descent(*INTERSECTION_DENSE, _fetch_codes)
descend_intersection_tall = build_descent(_dot_intersection_tall, _add_intersection_tall, _fetch_codes)
descend_intersection_csr = build_descent(*INTERSECTION_CSR)
descend_gram_dense = build_descent(*GRAM_DENSE, _fetch_codes)
descend_gram_csr = build_descent(*GRAM_CSR)
