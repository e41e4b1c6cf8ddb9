"""Sums over windows by masks, and the best rows by matching all of them."""

import numpy as np

from tests.reference.spectra.matching import match_spectra


def add_windows(kind, centers, widths, a, masses, values, rows, contributions, sums, counts):
    """sums[row] += what the peaks in the windows share, in float64"""
    for center, width, x in zip(centers, widths, a.astype(np.float64), strict=True):
        inside = np.abs(masses - center) <= width * (1 + 1e-9) + 1e-9
        y = values[inside].astype(np.float64)
        new = x * y if kind == 2 else 0.5 * (x * np.log2((x + y) / x) + y * np.log2((x + y) / y))
        np.add.at(sums, rows[inside], new)
        np.add.at(counts, rows[inside], 1)


def match_candidates(
    kind, mode, mz_a, a, precursor, tolerance, ppm, mz, values, offsets, precursors, first, start, allowed, least,
    least_matched, sums, counts, scores, matched, places, n,
):  # fmt: skip
    """The k best of all rows and those before them, whatever their bounds"""
    found = list(zip(scores[:n], matched[:n], places[:n], strict=True))
    for row in np.flatnonzero(allowed):
        part, shift = slice(*offsets[start + row : start + row + 2]), precursor - precursors[start + row]
        score, count = match_spectra(kind, mode, mz_a, a, mz[part], values[part], shift, tolerance, ppm)
        if score >= least and count >= least_matched:
            found.append((score, count, first + start + row))
    found = sorted(found, key=lambda each: (-each[0], each[2]))[: len(scores)]
    for t, each in enumerate(found):
        scores[t], matched[t], places[t] = each
    return len(found)
