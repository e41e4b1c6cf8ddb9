"""Inverted lists: sums over the columns that a query and the rows of a block share, and the rows that they bring near.

A block has a list for each column that one of its rows has: the numbers of these rows and their values. Contributions
of a stretch of a list are computed first, many at once, and then added to the sums of their rows.
"""

import math
from functools import cache

import numpy as np

from mercer._native.elementary import log2_single, power_single
from mercer._native.jit import inline, jit
from mercer._native.kernels import pairs

STRETCH = 512  # postings whose contributions are computed at once


@inline
def _product_pair(x, log_x, y, p):
    """x y"""
    return x * y


@inline
def _roots_pair(x, log_x, y, p):
    """sqrt(x y), the root of x is given; with the signs of both"""
    return x * math.copysign(math.sqrt(abs(y)), y)


@inline
def _minimum_pair(x, log_x, y, p):
    """min(x, y)"""
    return min(x, y)


@inline
def _sizes_pair(x, log_x, y, p):
    """min(|x|, |y|)"""
    return min(x, abs(y))


@inline
def _powers_pair(x, log_x, y, p):
    """min(|x|^p, |y|^p), the first is given; a power is 1e-5 p of itself off at most"""
    return min(x, power_single(abs(y), p))


@inline
def _chi2_pair(x, log_x, y, p):
    """2 x y / (x + y)"""
    return pairs.chi2_pair(x, x, y, y, p)


@inline
def _jensen_shannon_pair(x, log_x, y, p):
    """(x log2((x + y) / x) + y log2((x + y) / y)) / 2, without cancellation"""
    return pairs.jensen_shannon_single_pair(x, log_x, y, log2_single(y), p)


@inline
def _power_mean_pair(x, log_x, y, p):
    """((x^-p + y^-p) / 2)^(-1/p)"""
    return pairs.power_mean_single_pair(x, log_x, y, log2_single(y), p)


@inline
def _common_part_pair(x, log_x, y, p):
    """min(|x|, |y|) where the signs agree, else 0"""
    return pairs.common_part_pair(x, x, y, y, p)


PAIRS = {
    "product": _product_pair,
    "roots": _roots_pair,
    "minimum": _minimum_pair,
    "sizes": _sizes_pair,
    "powers": _powers_pair,
    "chi2": _chi2_pair,
    "jensen-shannon": _jensen_shannon_pair,
    "power-mean": _power_mean_pair,
    "common-part": _common_part_pair,
}


@jit
def find_lists(wanted, columns, offsets, begins, ends):
    """begins[i], ends[i] = where the list of column wanted[i] lies, an empty stretch if there is none

    wanted   (m,)      int32   ascending
    columns  (C,)      int32   ascending: those that have a list
    offsets  (C + 1,)  int64
    begins, ends  (m,) int64   written
    """
    low, n = 0, columns.shape[0]
    for i in range(wanted.shape[0]):
        column = wanted[i]
        high = n
        while low < high:
            middle = (low + high) // 2
            if columns[middle] < column:
                low = middle + 1
            else:
                high = middle
        found = low < n and columns[low] == column
        begins[i] = offsets[low] if found else 0
        ends[i] = offsets[low + 1] if found else 0


@jit
def first_damaged(begins, ends, rows, values, n_rows, checked):
    """The first posting of some lists whose row does not ascend below n_rows or whose value is not finite; -1 if none

    begins, ends  (m,)  int64
    rows          (P,)  uint16
    values        (P,)  float32
    checked       (P,)  bool     at the beginning of a list: it was looked at before; written
    """
    for i in range(begins.shape[0]):
        begin, end = begins[i], ends[i]
        if begin == end or checked[begin]:
            continue
        last = -1
        for p in range(begin, end):
            row = np.int64(rows[p])
            if row <= last or row >= n_rows or not np.isfinite(values[p]):
                return p
            last = row
        checked[begin] = True
    return -1


@inline
def _contribute(pair, signed, given, log_x, part, param, contributions):
    """contributions[t] = k(given, part[t])"""
    size = abs(given)
    sign = np.float32(math.copysign(np.float32(1), given))
    for t in range(part.shape[0]):
        if signed:
            value = pair(size, log_x, abs(part[t]), param)
            contributions[t] = math.copysign(value, part[t]) * sign
        else:
            contributions[t] = pair(given, log_x, part[t], param)


@cache
def list_sums(name, signed=False):
    """The loop ``add_lists`` of a formula."""
    pair = PAIRS[name]

    @jit
    def add_lists(first, last, begins, ends, x, logs, rows, values, param, contributions, sums, seen, touched, n):
        """sums[rows[p]] += k(x[i], values[p]) over the lists first to last - 1; returns how many rows are touched

        begins, ends   (m,)        int64
        x, logs        (m,)        float32   values of the query and their logarithms
        rows           (P,)        uint16
        values         (P,)        float32
        contributions  (STRETCH,)  float32   scratch
        sums           (N,)        float32   of rows; zero where a row was not touched
        seen           (N,)        uint8     whether a row was touched
        touched        (N + 1,)    int32     the rows that were, in the order of the first time
        n                          int64     how many
        """
        for i in range(first, last):
            for start in range(begins[i], ends[i], STRETCH):
                stop = min(start + STRETCH, ends[i])
                _contribute(pair, signed, x[i], logs[i], values[start:stop], param, contributions)
                for t in range(stop - start):
                    row = rows[start + t]
                    touched[n] = row
                    n += 1 - seen[row]
                    seen[row] = 1
                    sums[row] += contributions[t]
        return n

    return add_lists


@cache
def whole_sums(name, signed=False):
    """The loop ``add_to_all`` of a formula."""
    pair = PAIRS[name]

    @jit
    def add_to_all(first, last, begins, ends, x, logs, rows, values, param, contributions, sums):
        """sums[rows[p]] += k(x[i], values[p]) over the lists first to last - 1; noting nothing else: see `list_sums`"""
        for i in range(first, last):
            for start in range(begins[i], ends[i], STRETCH):
                stop = min(start + STRETCH, ends[i])
                _contribute(pair, signed, x[i], logs[i], values[start:stop], param, contributions)
                stretch = rows[start:stop]
                for t in range(stretch.shape[0]):
                    sums[stretch[t]] += contributions[t]

    return add_to_all


@cache
def list_probes(name):
    """The loop ``probe_lists`` of a formula."""
    pair = PAIRS[name]

    @jit
    def probe_lists(kept, count, first, begins, ends, x, logs, rows, values, param, sums):
        """sums[row] += k(x[i], its value) for some rows, which are put in order, and all lists from `first` on

        kept   (N,)  int32     the rows, `count` of them
        sums   (N,)  float32   written
        the others as in `list_sums`
        """
        chosen = kept[:count]
        chosen.sort()
        for i in range(first, begins.shape[0]):
            low, end = begins[i], ends[i]
            for t in range(count):
                row = chosen[t]
                high, step = low, 1
                while high < end and rows[high] < row:  # in growing steps from where the last row was
                    low = high + 1
                    high += step
                    step += step
                high = min(high, end)
                while low < high:
                    middle = (low + high) // 2
                    if rows[middle] < row:
                        low = middle + 1
                    else:
                        high = middle
                if low == end:
                    break
                if rows[low] == row:
                    sums[row] += pair(x[i], logs[i], values[low], param)

    return probe_lists


@jit
def forget(touched, n, sums, seen):
    """sums[touched[:n]] = seen[touched[:n]] = 0"""
    for t in range(n):
        sums[touched[t]] = 0
        seen[touched[t]] = 0


@jit
def fill_lists(indptr, values, place_of, next_free, rows, stored):
    """Rows of a block as lists: the transpose of a CSR matrix, values that are zero left out

    indptr     (n + 1,)    int64
    values     (E,)        float32
    place_of   (E,)        int64     the list of each entry
    next_free  (C,)        int64     where each list begins; written
    rows       (P,)        uint16    written
    stored     (P,)        float32   written
    """
    for row in range(indptr.shape[0] - 1):
        for e in range(indptr[row], indptr[row + 1]):
            if values[e] != 0:
                at = next_free[place_of[e]]
                rows[at] = row
                stored[at] = values[e]
                next_free[place_of[e]] = at + 1
