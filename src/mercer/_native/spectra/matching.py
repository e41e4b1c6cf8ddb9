"""The similarity of two prepared spectra by peaks that are within a tolerance of each other, each matched once."""

import math

import numpy as np

from mercer._native.jit import inline, jit

ENTROPY, UNWEIGHTED, COSINE = range(3)
FRAGMENTS, LOSSES, HYBRID = range(3)


@inline
def _shared(a, b):
    """(f(a + b) - f(a) - f(b)) / 2 with f(x) = x log2 x: what two matched peaks share"""
    return 0.5 * (a * math.log2((a + b) / a) + b * math.log2((a + b) / b))


@jit
def match_spectra(kind, mode, mz_a, a, mz_b, b, shift, tolerance, ppm):
    """(similarity, matched peaks) of two spectra

    kind, mode    int64     see above; COSINE in HYBRID is the modified cosine
    mz_a, mz_b    float64   ascending
    a, b          float     prepared intensities, above 0
    shift         float64   precursor of a less that of b: by so much losses move the peaks of b
    tolerance     float64   in Da, or, if `ppm`, in millionths of the m/z of a
    """
    if kind != COSINE and mode != HYBRID:
        score, matched = _two_pointers(mz_a, a, mz_b, b, shift if mode == LOSSES else 0.0, tolerance, ppm)
    else:
        free_a = np.ones(mz_a.shape[0], dtype=np.bool_)
        free_b = np.ones(mz_b.shape[0], dtype=np.bool_)
        score, matched = match_free(kind, mode, mz_a, a, mz_b, b, shift, tolerance, ppm, free_a, free_b)
    return min(score, 1.0), matched  # rounding may leave it above


@jit
def match_free(kind, mode, mz_a, a, mz_b, b, shift, tolerance, ppm, free_a, free_b):
    """The same among peaks that are free; those that match are free no more

    free_a, free_b  bool   written
    """
    if kind == COSINE:
        return _greedy(mode, mz_a, a, mz_b, b, shift, tolerance, ppm, free_a, free_b)
    score, matched = 0.0, 0
    if mode != LOSSES:
        score, matched = _two_pointers_among(mz_a, a, mz_b, b, 0.0, tolerance, ppm, free_a, free_b)
    if mode != FRAGMENTS:
        more, others = _two_pointers_among(mz_a, a, mz_b, b, shift, tolerance, ppm, free_a, free_b)
        score, matched = score + more, matched + others
    return score, matched


@inline
def _two_pointers(mz_a, a, mz_b, b, shift, tolerance, ppm):
    i = j = matched = 0
    score = 0.0
    while i < mz_a.shape[0] and j < mz_b.shape[0]:
        difference = mz_a[i] - (mz_b[j] + shift)
        width = mz_a[i] * tolerance * 1e-6 if ppm else tolerance
        if difference < -width:
            i += 1
        elif difference > width:
            j += 1
        else:
            score += _shared(np.float64(a[i]), np.float64(b[j]))
            matched += 1
            i += 1
            j += 1
    return score, matched


@inline
def _two_pointers_among(mz_a, a, mz_b, b, shift, tolerance, ppm, free_a, free_b):
    """The same among peaks that are free, which then are not"""
    i = j = matched = 0
    score = 0.0
    while i < mz_a.shape[0] and j < mz_b.shape[0]:
        difference = mz_a[i] - (mz_b[j] + shift)
        width = mz_a[i] * tolerance * 1e-6 if ppm else tolerance
        if not free_a[i] or difference < -width:
            i += 1
        elif not free_b[j] or difference > width:
            j += 1
        else:
            score += _shared(np.float64(a[i]), np.float64(b[j]))
            matched += 1
            free_a[i] = free_b[j] = False
            i += 1
            j += 1
    return score, matched


@inline
def _greedy(mode, mz_a, a, mz_b, b, shift, tolerance, ppm, free_a, free_b):
    """The pairs within the tolerance, largest products first, each peak once"""
    if mode == HYBRID and mz_a.shape[0] > 0:  # losses are peaks then, as matchms has it
        mode = FRAGMENTS if abs(shift) <= (mz_a[-1] * tolerance * 1e-6 if ppm else tolerance) else HYBRID
    n_pairs = 0
    first = np.empty(0, dtype=np.int64)
    second, products = first, np.empty(0)
    for write in range(2):  # how many there are, then which
        if write:
            first, second = np.empty(n_pairs, dtype=np.int64), np.empty(n_pairs, dtype=np.int64)
            products = np.empty(n_pairs)
            n_pairs = 0
        for moved in range(2):
            if (moved == 0 and mode == LOSSES) or (moved == 1 and mode == FRAGMENTS):
                continue
            by = shift if moved else 0.0
            start = 0
            for i in range(mz_a.shape[0]):
                width = mz_a[i] * tolerance * 1e-6 if ppm else tolerance
                while start < mz_b.shape[0] and mz_b[start] + by < mz_a[i] - width:
                    start += 1
                j = start
                while j < mz_b.shape[0] and mz_b[j] + by <= mz_a[i] + width:
                    if write:
                        first[n_pairs], second[n_pairs] = i, j
                        products[n_pairs] = np.float64(a[i]) * np.float64(b[j])
                    n_pairs += 1
                    j += 1
    score, matched = 0.0, 0
    # of equal products the last, as in matchms; single precision keeps products equal that rounding has moved apart
    for p in np.argsort(products.astype(np.float32), kind="mergesort")[::-1]:
        if free_a[first[p]] and free_b[second[p]]:
            free_a[first[p]] = free_b[second[p]] = False
            score += products[p]
            matched += 1
    return score, matched


@jit
def match_pairs(
    kind, mode, mz_a, a, offsets_a, rows_a, mz_b, b, offsets_b, rows_b, shifts, tolerance, ppm, scores, matched
):
    """scores[i], matched[i] = match_spectra of the rows rows_a[i] and rows_b[i]

    offsets_a, offsets_b  int64     where the rows begin
    rows_a, rows_b   (n,) int64
    shifts           (n,) float64   NaN where a precursor is not known: nothing matches if losses are asked for
    scores, matched  (n,) float64, int64   written
    """
    for t in range(rows_a.shape[0]):
        left, right = offsets_a[rows_a[t]], offsets_a[rows_a[t] + 1]
        low, high = offsets_b[rows_b[t]], offsets_b[rows_b[t] + 1]
        scores[t], matched[t] = 0.0, 0
        if mode == FRAGMENTS or not math.isnan(shifts[t]):
            scores[t], matched[t] = match_spectra(
                kind, mode, mz_a[left:right], a[left:right], mz_b[low:high], b[low:high], shifts[t], tolerance, ppm
            )
