"""Scores of packed bits by numpy, with the numbers added in the order and in the type that the loops promise."""

import numpy as np


def score_bits_vector(packed, v, first, last, out):
    """Entries of all bytes, then their sum from the left."""
    total = np.zeros(last - first)
    for entry in _entries(packed[first:last], v):
        total = total + entry
    out[first:last] = total


def score_bits_matrix(packed, v, first, last, out):
    """The same with four bytes at a time as two pairs."""
    entries = _entries(packed[first:last], v)
    total, whole = np.zeros((last - first, v.shape[1]), dtype=v.dtype), len(entries) // 4 * 4
    for m in range(0, whole, 4):
        total = total + ((entries[m] + entries[m + 1]) + (entries[m + 2] + entries[m + 3]))
    for entry in entries[whole:]:
        total = total + entry
    out[first:last] = total


def score_bytes_matrix(packed, v, twice, first, last, tables, totals, out):
    """As `score_bits_matrix`: tables are another way of looking entries up."""
    score_bits_matrix(packed, v[:, : out.shape[1]], first, last, out)


def add_line(target, i, source, j):
    """An instruction of 64 bytes."""
    size = 64 // target.itemsize
    for t in range(size):
        target[i + t] += source[j + t]


def add_four_lines(target, i, tables, k0, k1, k2, k3):
    """Four such lines, added in pairs."""
    size = 64 // target.itemsize
    for t in range(size):
        target[i + t] += (tables[k0 + t] + tables[k1 + t]) + (tables[k2 + t] + tables[k3 + t])


def _entries(packed, v):
    """What each byte adds to each row: minus its weights, then twice those of its bits, from the lowest."""
    entries = []
    for m in range(packed.shape[1]):
        entry = np.zeros((len(packed), *v.shape[1:]), dtype=v.dtype)
        for k in range(8 * m, 8 * m + 8):
            entry = entry - v[k]
        for position in range(8):
            is_set = (packed[:, m] >> position) & 1 == 1
            entry[is_set] = entry[is_set] + 2 * v[8 * m + position]
        entries.append(entry)
    return entries
