"""Search in blocks of peaks that are sorted by mass: bounds of the similarity of all rows, then the rows that matter.

Every peak of a query adds what it shares with the peaks in its window to the sums of their rows. A matching takes each
peak once, hence no more than that: a sum is an upper bound, and it is the similarity where peaks are further apart
than two tolerances. Rows whose bound reaches the k-th best score so far are matched with the query.
"""

import math

import numpy as np

from mercer._native.elementary import log2_single
from mercer._native.jit import inline, jit
from mercer._native.kernels import pairs
from mercer._native.spectra.matching import COSINE, FRAGMENTS, match_spectra

STRETCH = 512  # peaks whose contributions are computed at once
RUN = 64  # rows whose sums are compared at once
SMALLEST = np.float32(1e-30)  # of a sum that is one


@inline
def _first_at_least(masses, mass, low):
    """The first place from `low` on whose mass is not below, in growing steps"""
    n = masses.shape[0]
    high, step = low, 1
    while high < n and masses[high] < mass:
        low = high + 1
        high += step
        step += step
    high = min(high, n)
    while low < high:
        middle = (low + high) // 2
        if masses[middle] < mass:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def add_windows(kind, centers, widths, a, masses, values, rows, contributions, sums, counts):
    """sums[row] += what the peaks of a query share with those of the row in their windows; counts[row] += how many

    centers  (m,)  float64   ascending: where the windows are
    widths   (m,)  float64   half of their size
    a        (m,)  float32   prepared intensities
    masses   (P,)  float64   ascending
    values   (P,)  float32   prepared intensities
    rows     (P,)  uint16
    contributions  (STRETCH,)  float32   scratch
    sums     (2**16,)  float32   written
    counts   (2**16,) or (0,)  uint16  written, if there is room for them
    """
    begin = 0
    for i in range(centers.shape[0]):
        # a little wider: whether a peak is within the tolerance is decided where rows are matched
        width = widths[i] * (1 + 1e-9) + 1e-9
        begin = _first_at_least(masses, centers[i] - width, 0 if i == 0 else begin)
        end = _first_at_least(masses, np.nextafter(centers[i] + width, np.inf), begin)
        given = a[i]
        log_a = log2_single(given)
        for start in range(begin, end, STRETCH):
            count = min(STRETCH, end - start)
            part = values[start : start + count]
            if kind == COSINE:
                for t in range(count):
                    contributions[t] = given * part[t]
            else:
                for t in range(count):
                    log_b = log2_single(part[t])
                    contributions[t] = pairs.jensen_shannon_single_pair(given, log_a, part[t], log_b, np.float32(0))
            for t in range(count):
                sums[rows[start + t]] += contributions[t]
            if counts.shape[0] > 0:
                for t in range(count):
                    counts[rows[start + t]] += 1


@inline
def _worse(score, row, other, other_row):
    """Whether the first stands behind the second"""
    return score < other or (score == other and row > other_row)


@inline
def _offer(scores, matched, places, n, score, n_matched, place):
    """Put a row among the best, which are ordered; returns how many there are

    scores, matched, places  (k,)  float64, int64, int64   the first n of them; written
    """
    k = scores.shape[0]
    if n == k and not _worse(scores[k - 1], places[k - 1], score, place):
        return n
    t = min(n, k - 1)
    while t > 0 and _worse(scores[t - 1], places[t - 1], score, place):
        scores[t], matched[t], places[t] = scores[t - 1], matched[t - 1], places[t - 1]
        t -= 1
    scores[t], matched[t], places[t] = score, n_matched, place
    return min(n + 1, k)


@jit
def match_candidates(
    kind, mode, mz_a, a, precursor, tolerance, ppm, mz, values, offsets, precursors, first, start, allowed, least,
    least_matched, sums, counts, scores, matched, places, n,
):  # fmt: skip
    """The k best of the rows of a block, added to those of the blocks before it; returns how many there are

    mz_a, a     (m,)           float64, float32   the query
    precursor                  float64            its precursor, NaN if it has none
    mz, values  (P,)           float64, float32   peaks of a segment
    offsets     (n + 1,)       int64
    precursors  (n,)           float64
    first, start               int64    position of the segment, and row of it where the block begins
    allowed     (N,)           uint8    rows of the block that are looked for
    least, least_matched       float64, int64   score and matched peaks that are wanted
    sums, counts (2**16,)      float32, uint16  of `add_windows`; some sums become 0. One matched peak needs no counts
    scores, matched, places (k,)  the best so far; written
    """
    k, n_rows = scores.shape[0], allowed.shape[0]
    # rounding of as many sums as there are peaks
    slack = 1 + (4 * mz_a.shape[0] + 64) * 2.0**-23
    # first the k largest bounds, so that the k-th best score is large when all others are compared with it
    bounds = np.empty(k, dtype=np.float64)
    chosen = np.empty(k, dtype=np.int64)
    unused = np.empty(k, dtype=np.int64)
    for phase in range(2):
        n_chosen = 0
        for start_of_run in range(0, n_rows, RUN):
            end_of_run = min(start_of_run + RUN, n_rows)
            limit = max(least, scores[k - 1]) if n == k else least
            if n_chosen == k:
                limit = max(limit, bounds[k - 1])
            needed = max(np.float32((limit - 1e-6) / slack), SMALLEST)
            found, run = np.int32(0), sums[start_of_run : start_of_run + RUN]
            for t in range(RUN):  # of a length that is known, so that it is done in vectors; most runs end here
                found += np.int32(run[t] >= needed)
            if found == 0:
                continue
            for row in range(start_of_run, end_of_run):
                if sums[row] < needed or not allowed[row]:
                    continue
                if least_matched > 1 and counts[row] < least_matched:
                    continue
                if phase == 0:
                    n_chosen = _offer(bounds, unused, chosen, n_chosen, sums[row] * slack + 1e-6, 0, row)
                else:
                    n = _match_row(kind, mode, mz_a, a, precursor, tolerance, ppm, mz, values, offsets, precursors,
                                   first, start + row, least, least_matched, scores, matched, places, n)  # fmt: skip
        for t in range(n_chosen):
            sums[chosen[t]] = 0
            n = _match_row(kind, mode, mz_a, a, precursor, tolerance, ppm, mz, values, offsets, precursors, first,
                           start + chosen[t], least, least_matched, scores, matched, places, n)  # fmt: skip
    return n


@inline
def _match_row(
    kind, mode, mz_a, a, precursor, tolerance, ppm, mz, values, offsets, precursors, first, row, least, least_matched,
    scores, matched, places, n,
):  # fmt: skip
    shift = precursor - precursors[row]
    if mode != FRAGMENTS and math.isnan(shift):
        return n
    low, high = offsets[row], offsets[row + 1]
    score, n_matched = match_spectra(kind, mode, mz_a, a, mz[low:high], values[low:high], shift, tolerance, ppm)
    if n_matched < least_matched or score < least:
        return n
    return _offer(scores, matched, places, n, score, n_matched, first + row)
