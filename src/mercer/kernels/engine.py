"""Blocks of sums over bins, from validated rows: chooses precision, path and block sizes, and spreads them on threads.

The compiled loops of `mercer._native.kernels.gram` want values in a safe range and a packed layout; everything here is
about giving them that. Block sizes follow from the shapes alone, so the number of threads never changes a result.
"""

__all__ = [
    "FixedTiles",
    "bin_sums",
    "in_range",
    "magnitude_bounds",
    "mirror",
    "pair_sums",
    "per_side",
    "product",
    "refuse_overflow",
    "shrinking",
    "unit_rows",
    "weigh",
]

from functools import partial

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import effective_threads, run_blocks, run_row_blocks
from mercer._native.kernels.gram import (
    GROUP,
    LOOPS,
    accumulate_minimum,
    magnitude_range,
    pack_dense_rows,
    pack_sparse_rows,
)

# chi2 multiplies three values before it divides, so they may span 126 / 3 binary orders of magnitude in float32 and
# 1022 / 3 in float64. Outside, float32 is computed in float64 (whose range swallows float32's), and float64 by
# formulas that divide first.
SAFE_EXPONENT = {"f": 40, "d": 300}
HUGE = {"f": 2.0**100, "d": 2.0**1000}  # sums and differences of larger values may overflow
TILE_BYTES_PER_BIN = 2048  # one tile row: 512 float32 or 256 float64 right-hand rows
PRODUCT_ROWS = 512  # left-hand rows per matrix product
CACHE_LINE = 64
ROW_BLOCK = 128  # left-hand rows per task
# Bins per packed list. Short lists keep their part of the tile in the first-level cache; lists with zeros left out want
# to be longer, because each is filled up to a multiple of eight.
FULL_LIST, LIST_WITH_GAPS = 16, 64
LONGEST_BAND = 512  # bins per band: its part of the tile should stay in the second-level cache
TILE_GROUP_BYTES = 2**26  # right-hand tiles alive at once
# Below this share of non-zeros on the right, column lists beat tiles (measured by benchmarks/speed/kernels.py).
LIST_DENSITY = 0.1
# Above this share of non-zeros on the left, leaving out zeros no longer pays for the minimum.
FULL_ROWS = 0.5
SERIAL_VALUES = 2**19  # pairs of values that take less time than it takes to start threads
# Right-hand rows per block of column lists: the scores of one left-hand row stay in the first-level cache.
LIST_COLUMNS = 4096


def _pick_loop(name, X, Y, weight):
    """(loop name, dtype character, factor) under which the values of X and Y are safe.

    Both sides are to be multiplied by ``factor`` (a power of two), which a kernel of homogeneity 1 takes out again. A
    small weight may bring back sums that would not be finite, at the cost of differences too small to show beside it.
    """
    dtype = "f" if X.dtype == np.float32 and Y.dtype == np.float32 else "d"
    low, high = _range_of(X, Y)
    if name in ("minimum", "difference", "common-part"):  # no products: any range will do, as long as sums are finite
        dtype = "d" if high > HUGE["f"] else dtype
        return name, dtype, 2.0**-64 if high > HUGE["d"] and weight < 1 else 1.0
    if dtype == "f" and not _inside(low, high, "f"):
        dtype = "d"
    if dtype == "d" and not _inside(low, high, "d"):
        name = name + "-wide" if name in ("chi2", "jensen-shannon") else name
        if high > HUGE["d"] and weight < 1:
            return name, dtype, 2.0**-64
        return name, dtype, 0.125 if high > 2.0**1020 else 1.0  # 3 times the largest value must be finite
    return name, dtype, 1.0


def _range_of(X, Y):
    sides = [magnitude_bounds(_flat(side)) for side in ((X,) if X is Y else (X, Y))]
    return min(low for low, _ in sides), max(high for _, high in sides)


def magnitude_bounds(values):
    """(smallest non-zero, largest) magnitude; (inf, 0) if there is none."""
    integer = np.dtype(f"u{values.dtype.itemsize}")
    found = np.array(magnitude_range(values.view(integer)), dtype=integer).view(values.dtype)
    low, high = found.astype(np.float64)
    return (low, high) if high > 0 else (np.inf, 0.0)


def _inside(low, high, dtype):
    exponent = SAFE_EXPONENT[dtype]
    return high == 0 or (low >= 2.0**-exponent and high <= 2.0**exponent)


def _flat(X):
    return X.data if sparse.issparse(X) else X.ravel()


def shrinking(X, Y):
    """A power of two by which float64 rows are multiplied so that sums of a formula of homogeneity 1 stay finite."""
    return 2.0**-64 if _range_of(X, Y)[1] > HUGE["d"] else 1.0


def with_finite_sums(shares, X, Y):
    """The ratios of sums of rows, (ratios, sums of both rows) = shares(X, Y), also where sums are beyond the range.

    These are taken of rows scaled by one number, which changes no ratio, but would make the smallest rows empty.
    """
    high = _range_of(X, Y)[1]
    if high <= HUGE[np.result_type(X.dtype, Y.dtype).char]:
        return shares(X, Y)[0]
    X, Y = per_side(lambda side: side.astype(np.float64), X, Y)
    with np.errstate(over="ignore", invalid="ignore"):
        ratios, sums = shares(X, Y)
        if high <= HUGE["d"]:
            return ratios
        return np.where(sums <= HUGE["d"], ratios, shares(*per_side(lambda side: side * 2.0**-64, X, Y))[0])


def in_range(X, Y, homogeneity):
    """The rows scaled by one power of two, as float64, where their values to the power ``homogeneity`` ask for it."""
    low, high = _range_of(X, Y)
    dtype = np.result_type(X.dtype, Y.dtype).char
    room = (60 if dtype == "f" else 400) / max(homogeneity or 1.0, 1e-3)
    if high == 0 or (np.log2(low) >= -room and np.log2(high) <= room):
        return X, Y
    top = int(min(1000 - 32, 900 / max(homogeneity, 1e-3))) if homogeneity else 0
    shift = top - int(np.frexp(high)[1]) if homogeneity else 0
    return per_side(lambda side: _shifted(side.astype(np.float64), shift), X, Y)


def unit_rows(X):
    """Each row scaled by a power of two so that its largest magnitude lies between 1/2 and 1; as float64."""
    X = X.astype(np.float64)
    top = abs(X).max(axis=1)
    shift = -np.frexp(top.toarray().ravel() if sparse.issparse(top) else top)[1].astype(np.int64)
    return _shifted(X, np.repeat(shift, np.diff(X.indptr)) if sparse.issparse(X) else shift[:, None])


def per_side(function, X, Y):
    """(function(X), function(Y)), the same object where X is Y."""
    left = function(X)
    return left, left if X is Y else function(Y)


def _shifted(X, shift):
    """X * 2**shift, of rows that the caller does not need anymore."""
    if sparse.issparse(X):
        X.data = np.ldexp(X.data, shift)
        return X
    return np.ldexp(X, shift)


def weigh(sums, weight, factor):
    """sums * weight / factor, in place, infinite only where the result is."""
    with np.errstate(over="ignore"):
        first, second = (weight, 1 / factor) if weight <= 1 else (1 / factor, weight)
        for number in (first, second):
            if number != 1:
                sums *= sums.dtype.type(number)
    return sums


def refuse_overflow(values, who):
    """Raise for the first of the kernel's values that its type cannot hold, naming the rows."""
    if np.isfinite(values).all():
        return values
    at = np.unravel_index(int(np.argmin(np.isfinite(values))), values.shape)
    rows = " and ".join(f"row {row} of {side}" for row, side in zip(at, "XY", strict=False))
    raise InputError(
        f"{who}: the value of {rows} exceeds the largest {values.dtype.name} number. Scale the rows down, for "
        "instance by the largest absolute value."
    )


def product(X, Y, n_jobs=None, who="The product"):
    """X Y' as a dense array, exactly symmetric when X is Y; dense or sparse on either side."""
    out = np.empty((X.shape[0], Y.shape[0]), dtype=np.result_type(X.dtype, Y.dtype))
    right = Y.T

    def fill(rows):
        with np.errstate(over="ignore", invalid="ignore"):
            block = X[rows] @ right
            out[rows] = block.toarray() if sparse.issparse(block) else block

    run_row_blocks(fill, X.shape[0], PRODUCT_ROWS, n_jobs)
    if _range_of(X, Y)[1] > np.sqrt(HUGE[out.dtype.char]):
        refuse_overflow(out, who)
    if X is Y:
        mirror(out)
    return out


def bin_sums(name, X, Y, *, param=0.0, signed=False, keep_zeros=False, weight=1.0, who=None, n_jobs=None):
    """out[i, j] = weight * sum_k pair(X[i, k], Y[j, k]), as float32 if both sides are, else float64.

    Sums beyond the largest number are infinite, or refused in the name of ``who``.

    ``keep_zeros`` for pairs that do not vanish at x = 0 (distances): dense rows only. When X is Y the result is exactly
    symmetric and half of it is computed.
    """
    out_dtype = np.result_type(X.dtype, Y.dtype)
    name, dtype, factor = _pick_loop(name, X, Y, weight)
    symmetric = X is Y
    X = _scaled(X, dtype, factor)
    Y = X if symmetric else _scaled(Y, dtype, factor)
    n_jobs = effective_threads(n_jobs)
    if X.shape[0] * Y.shape[0] * X.shape[1] <= SERIAL_VALUES:
        n_jobs = 1
    loops, logs = LOOPS[name, dtype], _takes_logs(name)
    out = _aligned_zeros((X.shape[0], Y.shape[0]), X.dtype)
    if sparse.issparse(X) and sparse.issparse(Y) and _filled(Y) <= LIST_DENSITY:
        _by_lists(loops.lists(signed), X, Y, logs, param, out, n_jobs)
    elif name == "minimum" and not signed and not sparse.issparse(X) and _filled(X) > FULL_ROWS:
        # 1 as a parameter: see the loop. One band of all bins, rounded up to fours.
        _by_tiles(accumulate_minimum, _pad, -(-X.shape[1] // 4) * 4, X, Y, False, 1.0, out, n_jobs)
    else:
        band = _band_length(X)
        pack = partial(_pack, band=band, logs=logs, keep_zeros=keep_zeros)
        _by_tiles(loops.tile(signed), pack, band, X, Y, logs, param, out, n_jobs)
    with np.errstate(over="ignore"):
        out = weigh(out, weight, factor).astype(out_dtype, copy=False)
    may_overflow = who is not None and (out.dtype != X.dtype or _range_of(X, Y)[1] > HUGE["d"])
    return refuse_overflow(out, who) if may_overflow else out


def pair_sums(name, X, Y, *, param=0.0, signed=False):
    """out[i] = sum_k pair(X[i, k], Y[i, k]) for float64 rows, each sum in ascending order of k."""
    from mercer._native.kernels.pair_sums import dense_pair_sums, logarithms, sparse_pair_sums

    out = np.empty(X.shape[0])
    parts = []
    for side in (X, Y):
        values = side.data if sparse.issparse(X) else side
        logs = logarithms(values) if _takes_logs(name) else values
        parts += [side.indptr, side.indices, values, logs] if sparse.issparse(X) else [values, logs]
    loop = (sparse_pair_sums if sparse.issparse(X) else dense_pair_sums)(name, signed)
    loop(*parts, float(param), out)
    return out


def _aligned_zeros(shape, dtype):
    """As np.zeros, starting at a cache line: numpy aligns to 16 bytes, and then every other vector load takes two."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    first = -memory.ctypes.data % CACHE_LINE
    return memory[first : first + size].view(dtype).reshape(shape)


def _takes_logs(name):
    return name in ("jensen-shannon", "jensen-shannon-wide", "power-mean")


def _scaled(X, dtype, factor):
    X = X.astype(dtype, copy=False)
    return X if factor == 1.0 else X * X.dtype.type(factor)


def _filled(X):
    """Share of the values that are not zero."""
    return (X.nnz if sparse.issparse(X) else np.count_nonzero(X)) / max(1, X.shape[0] * X.shape[1])


def _log2(values):
    return np.log2(np.where(values != 0, np.abs(values), values.dtype.type(1)))


# ------------------------------------------------------------------------------------------------ dense: tiles


def _by_tiles(loop, pack, band, X, Y, logs, param, out, n_jobs):
    """Fill out by ``loop(*pack(rows of X), tile, its logarithms, param, out, row, column)`` for every tile of Y."""
    param = X.dtype.type(param)
    symmetric = X is Y
    width = TILE_BYTES_PER_BIN // X.dtype.itemsize
    per_tile = width * (X.shape[1] + 1) * X.dtype.itemsize * (2 if logs else 1)
    tiles_at_once = max(1, TILE_GROUP_BYTES // per_tile)
    row_blocks = [slice(i, min(i + ROW_BLOCK, X.shape[0])) for i in range(0, X.shape[0], ROW_BLOCK)]
    columns = [slice(j, min(j + width, Y.shape[0])) for j in range(0, Y.shape[0], width)]

    for first in range(0, len(columns), tiles_at_once):
        group = columns[first : first + tiles_at_once]
        tiles = run_blocks(lambda block: _make_tile(Y, block, band, logs), group, n_jobs)
        # With few left-hand rows the tiles of a group are shared out instead of the rows.
        shares = _shares(list(zip(group, tiles, strict=True)), wanted=max(1, 8 // len(row_blocks)))
        tasks = [(rows, share) for rows in row_blocks for share in shares]

        def fill(task):
            rows, share = task
            packed = None
            for block, (tile, tile_logs) in share:
                if symmetric and block.stop <= rows.start:
                    continue
                packed = packed or pack(X[rows])
                loop(*packed, tile, tile_logs, param, out, rows.start, block.start)

        run_blocks(fill, tasks, n_jobs)
    if symmetric:
        mirror(out)


class FixedTiles:
    """`bin_sums` of rows X as they come and dense rows Y of the same type, whose tiles are made once."""

    def __init__(self, name, Y, *, param=0.0, signed=False):
        self._range, self._n_rows, self._dtype = _range_of(Y, Y), len(Y), Y.dtype
        self._name, self._logs, self._param = name, _takes_logs(name), Y.dtype.type(param)
        if name == "minimum" and not signed and _filled(Y) > FULL_ROWS:  # as in `bin_sums`
            self._loop, self._pack, self._param = accumulate_minimum, _pad, Y.dtype.type(1)
            band = -(-Y.shape[1] // 4) * 4
        else:
            band = _band_length(Y)
            self._loop, self._pack = LOOPS[name, Y.dtype.char].tile(signed), partial(_pack, band=band, logs=self._logs)
        width = TILE_BYTES_PER_BIN // Y.itemsize
        blocks = [slice(j, min(j + width, len(Y))) for j in range(0, len(Y), width)]
        self._tiles = [(block.start, *_make_tile(Y, block, band, self._logs)) for block in blocks]

    def take(self, X):
        """Whether their type holds the sums of these rows."""
        if sparse.issparse(X) or X.dtype != self._dtype:
            return False
        (low, high), (least, most) = magnitude_bounds(X.ravel()), self._range
        low, high = min(low, least), max(high, most)
        kind = self._dtype.char
        return high <= HUGE[kind] if self._name == "minimum" else _inside(low, high, kind)

    def __call__(self, X, out=None):
        """The sums of rows that are taken, shape (n, rows of Y)."""
        sums = _aligned_zeros((len(X), self._n_rows), self._dtype)
        packed = self._pack(X)
        for start, tile, tile_logs in self._tiles:
            self._loop(*packed, tile, tile_logs, self._param, sums, 0, start)
        if out is None:
            return sums
        out[...] = sums
        return out


def _band_length(X):
    filled = _filled(X)
    length = FULL_LIST if filled > 0.9 else LIST_WITH_GAPS
    return int(min(max(length / max(filled, 1e-9), length), LONGEST_BAND))


def _shares(items, wanted):
    size = max(1, -(-len(items) // wanted))
    return [items[i : i + size] for i in range(0, len(items), size)]


def _make_tile(Y, block, band, logs):
    """(tile, its logarithms): the rows of a block as columns, an all-zero row closing each band of bins."""
    rows = Y[block]
    if sparse.issparse(rows):
        rows = rows.toarray()
    n, d = rows.shape
    bands = -(-d // band)
    tile = _aligned_zeros((bands * (band + 1), n), rows.dtype)
    for b in range(bands):
        first, last = b * band, min(d, (b + 1) * band)
        tile[first + b : last + b] = rows[:, first:last].T
    return tile, (_log2(tile) if logs else tile)


def _pad(rows):
    """The rows with zeros up to a multiple of four columns."""
    missing = -rows.shape[1] % 4
    return (np.pad(rows, ((0, 0), (0, missing))) if missing else rows,)


def _pack(rows, band, logs, keep_zeros=False):
    n, d = rows.shape
    bands = -(-d // band)
    starts = np.empty((bands, n + 1), dtype=np.int64)
    if sparse.issparse(rows):
        capacity = rows.nnz + bands * n * (GROUP - 1)
    else:
        capacity = n * (d + bands * (GROUP - 1))
    bins, values = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=rows.dtype)
    if sparse.issparse(rows):
        cursor = np.empty(n, dtype=np.int64)
        used = pack_sparse_rows(rows.indptr, rows.indices, rows.data, band, cursor, starts, bins, values)
    else:
        used = pack_dense_rows(rows, band, keep_zeros, starts, bins, values)
    bins, values = bins[:used], values[:used]
    return starts, bins, values, (_log2(values) if logs else values)


def mirror(out):
    """Copy the upper triangle onto the lower one, block by block (a whole-matrix copy would double the memory)."""
    n, step = len(out), 512
    for i in range(0, n, step):
        for j in range(i, n, step):
            upper = out[i : i + step, j : j + step]
            if i == j:
                np.copyto(upper, upper.T, where=np.tri(len(upper), k=-1, dtype=bool))
            else:
                out[j : j + step, i : i + step] = upper.T


# ------------------------------------------------------------------------------------------- sparse: column lists


def _by_lists(loop, X, Y, logs, param, out, n_jobs):
    param = X.dtype.type(param)
    left_logs = _log2(X.data) if logs else X.data
    row_blocks = [slice(i, min(i + ROW_BLOCK, X.shape[0])) for i in range(0, X.shape[0], ROW_BLOCK)]
    for first in range(0, Y.shape[0], LIST_COLUMNS):
        block = slice(first, min(first + LIST_COLUMNS, Y.shape[0]))
        right = Y[block].tocsc()
        right_logs = _log2(right.data) if logs else right.data
        longest = int(np.diff(right.indptr).max(initial=0))

        def fill(rows):
            buffer = np.empty(longest, dtype=X.dtype)
            indptr = X.indptr[rows.start : rows.stop + 1]
            loop(
                indptr, X.indices, X.data, left_logs,
                right.indptr, right.indices, right.data, right_logs, param, buffer, out, rows.start, block.start,
            )  # fmt: skip

        run_blocks(fill, row_blocks, n_jobs)
