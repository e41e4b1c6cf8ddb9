"""Inverted lists by dictionaries and plain loops."""

import numpy as np

from mercer import GeneralizedIntersection, Hellinger, Intersection, JensenShannon, Linear, PowerMean
from mercer.kernels.additive import Chi2

SCALARS = {
    "product": lambda x, y, p: Linear().scalar(x, y),
    "roots": lambda x, y, p: Hellinger(signed=True).scalar(np.sign(x) * x * x, y),
    "minimum": lambda x, y, p: Intersection().scalar(x, y),
    "sizes": lambda x, y, p: GeneralizedIntersection().scalar(x, y),
    "powers": lambda x, y, p: np.minimum(x, np.abs(y) ** p),
    "chi2": lambda x, y, p: Chi2().scalar(x, y),
    "jensen-shannon": lambda x, y, p: JensenShannon().scalar(x, y),
    "power-mean": lambda x, y, p: PowerMean(-p).scalar(x, y),
    "common-part": lambda x, y, p: np.minimum(np.abs(x), np.abs(y)) * (np.sign(x) == np.sign(y)),
}


def find_lists(wanted, columns, offsets, begins, ends):
    """begins[i], ends[i] = where the list of column wanted[i] lies"""
    where = {column: place for place, column in enumerate(columns.tolist())}
    for i, column in enumerate(wanted.tolist()):
        place = where.get(column)
        begins[i], ends[i] = (0, 0) if place is None else (offsets[place], offsets[place + 1])


def first_damaged(begins, ends, rows, values, n_rows, checked):
    """The first posting that cannot be, -1 if there is none"""
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if begin == end or checked[begin]:
            continue
        steps = np.diff(rows[begin:end].astype(np.int64), prepend=-1)
        wrong = (steps <= 0) | (rows[begin:end] >= n_rows) | ~np.isfinite(values[begin:end])
        if wrong.any():
            return begin + int(np.argmax(wrong))
        checked[begin] = True
    return -1


def list_sums(name, signed=False):
    """The loop ``add_lists``: sums of all lists, in float64"""

    def add_lists(first, last, begins, ends, x, logs, rows, values, param, contributions, sums, seen, touched, n):
        known = touched[:n].tolist()
        for i in range(first, last):
            part = slice(begins[i], ends[i])
            y = values[part].astype(np.float64)
            if signed:
                new = SCALARS[name](abs(np.float64(x[i])), np.abs(y), float(param)) * np.sign(x[i]) * np.sign(y)
            else:
                new = SCALARS[name](np.float64(x[i]), y, float(param))
            np.add.at(sums, rows[part], new)
            known += rows[part].tolist()
        known = list(dict.fromkeys(known))
        touched[: len(known)] = known
        seen[known] = 1
        return len(known)

    return add_lists


def whole_sums(name, signed=False):
    """The loop ``add_to_all``: as ``add_lists``, without notes of the rows"""

    def add_to_all(first, last, begins, ends, x, logs, rows, values, param, contributions, sums):
        notes = np.zeros(len(sums), np.uint8), np.zeros(len(sums) + 1, np.int32), 0
        list_sums(name, signed)(first, last, begins, ends, x, logs, rows, values, param, contributions, sums, *notes)

    return add_to_all


def list_probes(name):
    """The loop ``probe_lists``: what all lists add to some rows"""

    def probe_lists(kept, count, first, begins, ends, x, logs, rows, values, param, sums):
        kept[:count] = np.sort(kept[:count])
        for i in range(first, len(begins)):
            part = slice(begins[i], ends[i])
            there = np.isin(rows[part], kept[:count])
            sums[rows[part][there]] += SCALARS[name](np.float64(x[i]), values[part][there], float(param))

    return probe_lists


def forget(touched, n, sums, seen):
    """sums[touched[:n]] = seen[touched[:n]] = 0"""
    sums[touched[:n]] = 0
    seen[touched[:n]] = 0


def fill_lists(indptr, values, place_of, next_free, rows, stored):
    """The transpose of a CSR matrix without zeros"""
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    kept = np.flatnonzero(values)
    order = kept[np.argsort(place_of[kept], kind="stable")]
    rows[:], stored[:] = owner[order], values[order]
