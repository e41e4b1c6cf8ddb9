"""Matching of peaks by all pairs of them."""

import itertools

import numpy as np


def match_spectra(kind, mode, mz_a, a, mz_b, b, shift, tolerance, ppm):
    """(similarity, matched peaks): in turn for entropies, the largest products first for cosines"""
    free = np.ones(len(mz_a), dtype=bool), np.ones(len(mz_b), dtype=bool)
    score, matched = match_free(kind, mode, mz_a, a, mz_b, b, shift, tolerance, ppm, *free)
    return min(score, 1.0), matched


def match_free(kind, mode, mz_a, a, mz_b, b, shift, tolerance, ppm, free_a, free_b):
    """The same among peaks that are free, which then are not"""
    widths = mz_a * tolerance * 1e-6 if ppm else np.full(len(mz_a), tolerance)
    if kind == 2 and mode == 2 and len(mz_a) and abs(shift) <= widths[-1]:
        mode = 0
    passes = {0: [0.0], 1: [shift], 2: [0.0, shift]}[mode]
    if kind == 2:
        pairs = [pair for by in passes for pair in near(mz_a, mz_b + by, widths)]
        pairs.reverse()
        pairs.sort(key=lambda pair: -np.float32(np.float64(a[pair[0]]) * np.float64(b[pair[1]])))
    else:
        pairs = [pair for by in passes for pair in near(mz_a, mz_b + by, widths)]
    matched, score = 0, 0.0
    for i, j in pairs:
        if free_a[i] and free_b[j]:
            free_a[i] = free_b[j] = False
            matched += 1
            x, y = np.float64(a[i]), np.float64(b[j])
            score += x * y if kind == 2 else 0.5 * (x * np.log2((x + y) / x) + y * np.log2((x + y) / y))
    return score, matched


def near(mz_a, mz_b, widths):
    pairs = itertools.product(range(len(mz_a)), range(len(mz_b)))
    return [(i, j) for i, j in pairs if mz_a[i] - widths[i] <= mz_b[j] <= mz_a[i] + widths[i]]


def match_pairs(
    kind, mode, mz_a, a, offsets_a, rows_a, mz_b, b, offsets_b, rows_b, shifts, tolerance, ppm, scores, matched
):
    """scores[i], matched[i] = match_spectra of a pair of rows"""
    for t, (i, j) in enumerate(zip(rows_a, rows_b, strict=True)):
        left, right = slice(*offsets_a[i : i + 2]), slice(*offsets_b[j : j + 2])
        scores[t], matched[t] = 0.0, 0
        if mode == 0 or not np.isnan(shifts[t]):
            found = match_spectra(kind, mode, mz_a[left], a[left], mz_b[right], b[right], shifts[t], tolerance, ppm)
            scores[t], matched[t] = found
