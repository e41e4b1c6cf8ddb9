"""Sums over bins for blocks of rows against blocks of rows: the loops behind every histogram kernel.

Dense path. The right-hand rows lie transposed in a *tile* (bins x rows), so that the innermost loop runs over
right-hand rows with one left-hand value held in a register: it vectorises without a reduction, and every pair of rows
is summed in the same order wherever it stands in a block. Left-hand rows come as *packed lists* of their non-zero bins
(zeros contribute nothing), cut into bands of bins whose part of the tile stays in the cache; each list is filled up to
a multiple of eight with a bin whose tile row is all zero.

Sparse path. Both sides sparse: the right-hand side comes as column lists (CSC), and each left-hand non-zero meets only
the rows that share its bin. The contributions of one column are computed into a buffer (vectorised), then scattered.
"""

import math
from functools import cache

import numpy as np

from mercer._native.jit import jit
from mercer._native.kernels import pairs

MINIMUM_BAND = 64  # bins whose part of the tile should stay in the first-level cache
GROUP = 8  # bins added per pass over the accumulators: loads and stores of the accumulators are shared by eight bins


def _build_tile_loop(pair, two, signed):
    @jit
    def accumulate_tile(starts, bins, values, logs, tile, tile_logs, param, out, row0, col0):
        """out[row0 + i, col0 : col0 + J] += pair(values of row i, tile rows at its bins).sum(over bins)

        starts     (bands, n + 1) int64   first entry of each row's list, band by band
        bins       (entries,)     int32   row of the tile
        values     (entries,)     float   left-hand values; logs their base-2 logarithms
        tile       (bins, J)      float   right-hand values, one column per row; tile_logs their logarithms
        out        (rows, columns) float  written in place
        """
        J = tile.shape[1]
        for band in range(starts.shape[0]):
            for i in range(starts.shape[1] - 1):
                o = out[row0 + i, col0 : col0 + J]
                q = starts[band, i]
                while q < starts[band, i + 1]:
                    x0, x1, x2, x3 = values[q], values[q + 1], values[q + 2], values[q + 3]
                    x4, x5, x6, x7 = values[q + 4], values[q + 5], values[q + 6], values[q + 7]
                    a0, a1, a2, a3 = logs[q], logs[q + 1], logs[q + 2], logs[q + 3]
                    a4, a5, a6, a7 = logs[q + 4], logs[q + 5], logs[q + 6], logs[q + 7]
                    y0, y1, y2, y3 = tile[bins[q]], tile[bins[q + 1]], tile[bins[q + 2]], tile[bins[q + 3]]
                    y4, y5, y6, y7 = tile[bins[q + 4]], tile[bins[q + 5]], tile[bins[q + 6]], tile[bins[q + 7]]
                    b0, b1 = tile_logs[bins[q]], tile_logs[bins[q + 1]]
                    b2, b3 = tile_logs[bins[q + 2]], tile_logs[bins[q + 3]]
                    b4, b5 = tile_logs[bins[q + 4]], tile_logs[bins[q + 5]]
                    b6, b7 = tile_logs[bins[q + 6]], tile_logs[bins[q + 7]]
                    if signed:
                        for j in range(J):
                            t = math.copysign(pair(abs(x0), a0, abs(y0[j]), b0[j], param), x0 * y0[j])
                            t += math.copysign(pair(abs(x1), a1, abs(y1[j]), b1[j], param), x1 * y1[j])
                            t += math.copysign(pair(abs(x2), a2, abs(y2[j]), b2[j], param), x2 * y2[j])
                            t += math.copysign(pair(abs(x3), a3, abs(y3[j]), b3[j], param), x3 * y3[j])
                            t += math.copysign(pair(abs(x4), a4, abs(y4[j]), b4[j], param), x4 * y4[j])
                            t += math.copysign(pair(abs(x5), a5, abs(y5[j]), b5[j], param), x5 * y5[j])
                            t += math.copysign(pair(abs(x6), a6, abs(y6[j]), b6[j], param), x6 * y6[j])
                            t += math.copysign(pair(abs(x7), a7, abs(y7[j]), b7[j], param), x7 * y7[j])
                            o[j] += t
                    elif two is None:
                        for j in range(J):
                            t = pair(x0, a0, y0[j], b0[j], param) + pair(x1, a1, y1[j], b1[j], param)
                            t += pair(x2, a2, y2[j], b2[j], param) + pair(x3, a3, y3[j], b3[j], param)
                            t += pair(x4, a4, y4[j], b4[j], param) + pair(x5, a5, y5[j], b5[j], param)
                            t += pair(x6, a6, y6[j], b6[j], param) + pair(x7, a7, y7[j], b7[j], param)
                            o[j] += t
                    else:
                        for j in range(J):
                            t = two(x0, a0, y0[j], b0[j], x1, a1, y1[j], b1[j], param)
                            t += two(x2, a2, y2[j], b2[j], x3, a3, y3[j], b3[j], param)
                            t += two(x4, a4, y4[j], b4[j], x5, a5, y5[j], b5[j], param)
                            t += two(x6, a6, y6[j], b6[j], x7, a7, y7[j], b7[j], param)
                            o[j] += t
                    q += GROUP

    return accumulate_tile


def _build_plain_tile_loop(pair, signed):
    @jit
    def accumulate_tile(starts, bins, values, logs, tile, tile_logs, param, out, row0, col0):
        """As above, one bin at a time: for long formulas, which gain nothing from shared loads and stores."""
        J = tile.shape[1]
        for band in range(starts.shape[0]):
            for i in range(starts.shape[1] - 1):
                o = out[row0 + i, col0 : col0 + J]
                for q in range(starts[band, i], starts[band, i + 1]):
                    x, a, y, b = values[q], logs[q], tile[bins[q]], tile_logs[bins[q]]
                    for j in range(J):
                        t = pair(abs(x), a, abs(y[j]), b[j], param)
                        o[j] += math.copysign(t, x * y[j]) if signed else t

    return accumulate_tile


def _build_list_loop(pair, signed):
    @jit
    def accumulate_lists(indptr, bins, values, logs, starts, rows, right, right_logs, param, buffer, out, row0, col0):
        """out[row0 + i, col0 + j] += pair(left[i, k], right[j, k]) over the bins k that both rows have

        indptr, bins, values, logs          left-hand rows as CSR, with logarithms
        starts, rows, right, right_logs     right-hand rows as CSC, with logarithms
        buffer  (longest column,)           scratch
        out     (rows, columns)             written in place
        """
        for i in range(indptr.shape[0] - 1):
            o = out[row0 + i, col0:]
            for q in range(indptr[i], indptr[i + 1]):
                first, last = starts[bins[q]], starts[bins[q] + 1]
                x, a = values[q], logs[q]
                column, column_logs, column_rows = right[first:last], right_logs[first:last], rows[first:last]
                for r in range(last - first):
                    if signed:
                        v = pair(abs(x), a, abs(column[r]), column_logs[r], param)
                        buffer[r] = math.copysign(v, x * column[r])
                    else:
                        buffer[r] = pair(x, a, column[r], column_logs[r], param)
                for r in range(last - first):
                    o[column_rows[r]] += buffer[r]

    return accumulate_lists


class Loops:
    """The compiled loops of one kernel and dtype, built on first use so that a kernel not used costs nothing."""

    def __init__(self, pair, two=None, long=False):
        self._pair, self._two, self._long = pair, two, long

    @cache  # noqa: B019 (the few instances live as long as the module)
    def tile(self, signed):
        if self._long:
            return _build_plain_tile_loop(self._pair, signed)
        return _build_tile_loop(self._pair, None if signed else self._two, signed)

    @cache  # noqa: B019
    def lists(self, signed):
        return _build_list_loop(self._pair, signed)


# (name, dtype character) -> loops
LOOPS = {
    **dict.fromkeys([("minimum", "f"), ("minimum", "d")], Loops(pairs.minimum_pair)),
    **dict.fromkeys([("chi2", "f"), ("chi2", "d")], Loops(pairs.chi2_pair, pairs.chi2_two)),
    ("chi2-wide", "d"): Loops(pairs.chi2_pair),
    **dict.fromkeys([("common-part", "f"), ("common-part", "d")], Loops(pairs.common_part_pair)),
    **dict.fromkeys([("difference", "f"), ("difference", "d")], Loops(pairs.difference_pair)),
    **dict.fromkeys([("chi2-distance", "f"), ("chi2-distance", "d")], Loops(pairs.chi2_distance_pair)),
    ("jensen-shannon", "f"): Loops(pairs.jensen_shannon_single_pair, long=True),
    ("jensen-shannon", "d"): Loops(pairs.jensen_shannon_double_pair, long=True),
    ("jensen-shannon-wide", "d"): Loops(pairs.jensen_shannon_wide_pair, long=True),
    ("power-mean", "f"): Loops(pairs.power_mean_single_pair, long=True),
    ("power-mean", "d"): Loops(pairs.power_mean_double_pair, long=True),
}


@jit
def accumulate_minimum(X, tile, tile_logs, one, out, row0, col0):
    """out[row0 : row0 + n, col0 : col0 + J] += np.minimum(X[:, :, None], tile[None]).sum(axis=1), for X >= 0

    X     (n, d)          float   left-hand rows, d a multiple of 4
    tile  (d + 1, J)      float   right-hand values, one column per row; tile_logs is not looked at
    one   1, which the compiler does not know: the sums become fused multiply-adds, which run beside the minima, while
          additions would wait for the same unit of the processor
    Two rows and four bins at a time: the values of the tile are loaded once for both rows, and all fits the registers.
    """
    n, d = X.shape
    J = tile.shape[1]
    spare = np.empty(J, dtype=X.dtype)
    for first in range(0, d, MINIMUM_BAND):
        for i in range(0, n, 2):
            s = min(i + 1, n - 1)
            o = out[row0 + i, col0 : col0 + J]
            u = out[row0 + s, col0 : col0 + J] if s > i else spare  # the last of an odd number of rows is alone
            for k in range(first, min(first + MINIMUM_BAND, d), 4):
                y0, y1, y2, y3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]
                x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
                z0, z1, z2, z3 = X[s, k], X[s, k + 1], X[s, k + 2], X[s, k + 3]
                for j in range(J):
                    a0, a1, a2, a3 = y0[j], y1[j], y2[j], y3[j]
                    p = one * min(x0, a0) + min(x1, a1)
                    q = one * min(x2, a2) + min(x3, a3)
                    o[j] = one * (one * p + q) + o[j]
                    p = one * min(z0, a0) + min(z1, a1)
                    q = one * min(z2, a2) + min(z3, a3)
                    u[j] = one * (one * p + q) + u[j]


@jit
def pack_dense_rows(X, band, keep_zeros, starts, bins, values):
    """Packed lists of the rows of X; returns the number of entries.

    X       (n, d)         float
    starts  (bands, n + 1) int64, bins and values (entries,): written; entries <= bands * n * (band rounded up to 8)
    Tile rows are numbered band * (band length + 1) + bin; the last one of each band is the all-zero row. A filling
    entry has the value 0 when zeros are kept, else 1 (so that no formula divides zero by zero).
    """
    n, d = X.shape
    filling = X.dtype.type(0 if keep_zeros else 1)
    q = 0
    for b in range(starts.shape[0]):
        first, last = b * band, min(d, (b + 1) * band)
        for i in range(n):
            starts[b, i] = q
            for k in range(first, last):
                x = X[i, k]
                if keep_zeros or x != 0:
                    bins[q] = k + b
                    values[q] = x
                    q += 1
            while q % GROUP != 0:
                bins[q] = b * (band + 1) + band
                values[q] = filling
                q += 1
        starts[b, n] = q
    return q


@jit
def pack_sparse_rows(indptr, indices, data, band, cursor, starts, bins, values):
    """As pack_dense_rows, from CSR rows with sorted indices. cursor (n,) int64 is scratch."""
    n = indptr.shape[0] - 1
    one = data.dtype.type(1)
    q = 0
    for i in range(n):
        cursor[i] = indptr[i]
    for b in range(starts.shape[0]):
        last = (b + 1) * band
        for i in range(n):
            starts[b, i] = q
            while cursor[i] < indptr[i + 1] and indices[cursor[i]] < last:
                if data[cursor[i]] != 0:
                    bins[q] = indices[cursor[i]] + b
                    values[q] = data[cursor[i]]
                    q += 1
                cursor[i] += 1
            while q % GROUP != 0:
                bins[q] = b * (band + 1) + band
                values[q] = one
                q += 1
        starts[b, n] = q
    return q


@jit
def magnitude_range(bits):
    """(smallest non-zero |v|, largest |v|) of floats given, and returned, as their bit patterns

    bits  (N,)  uint32 or uint64   a view of finite floats
    Patterns without the sign bit are ordered as magnitudes are, and minima of integers vectorise where those of floats
    may not. Subtracting 1 makes the pattern of zero the largest one. A smallest value of 0 means that all are zero.
    """
    one = bits.dtype.type(1)
    magnitude = ~bits.dtype.type(0) >> one
    low, high = ~bits.dtype.type(0), bits.dtype.type(0)
    for i in range(bits.shape[0]):
        b = bits.dtype.type(bits[i] & magnitude)
        high = max(high, b)
        low = min(low, bits.dtype.type(b - one))
    return bits.dtype.type(low + one), high
