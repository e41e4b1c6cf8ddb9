"""Loops over peaks against their twins: cleaning, weights, pairs, windows and the best rows."""

import numpy as np
import pytest

from mercer._native.spectra import matching, preparation, windows
from tests.reference.spectra import matching as slow_matching
from tests.reference.spectra import preparation as slow_preparation
from tests.reference.spectra import windows as slow_windows

MODES = [matching.FRAGMENTS, matching.LOSSES, matching.HYBRID]


def spectra(n=40, seed=0, span=3.0, most=14, step=0.0, digits=2):
    """(m/z, intensities, offsets): crowded peaks in hundredths, or `step` apart; some spectra without any."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, most, n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    mz = np.concatenate(
        [np.sort(np.round(100 + span * rng.random(length), digits)) + step * np.arange(length) for length in lengths]
    )
    return mz, np.round(rng.gamma(0.5, 30, len(mz))), offsets


@pytest.mark.parametrize(("merge", "ppm"), [(0.0, False), (0.05, False), (400.0, True)])
@pytest.mark.parametrize(("noise", "most", "power"), [(0.0, 0, 1.0), (0.05, 4, 0.5)])
def test_cleaning_takes_the_steps_of_its_twin(merge, ppm, noise, most, power):
    mz, intensity, offsets = spectra()
    tops = np.where(np.arange(40) % 3, np.nan, 102.0)
    found, wanted = [], []
    for module, out in ((preparation, found), (slow_preparation, wanted)):
        arrays = np.zeros_like(mz), np.zeros_like(mz), np.zeros(40, dtype=np.int64)
        module.clean_spectra(mz, intensity, offsets, tops, noise, merge, ppm, most, power, *arrays)
        for kind in range(3):
            weighted = arrays[1][: arrays[2][-1]].copy()
            module.weigh_spectra(kind, weighted, arrays[2])
            out.append(weighted)
        out += [arrays[0][: arrays[2][-1]], arrays[1][: arrays[2][-1]], arrays[2]]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("tolerance", "ppm"), [(0.02, False), (0.25, False), (300.0, True)])
def test_pairs_are_matched_as_all_pairs_of_peaks_say(kind, mode, tolerance, ppm):
    # in turn and by two pointers are the same where peaks are apart
    mz, intensity, offsets = spectra(span=8.0, step=0.0 if kind == matching.COSINE else 0.7, digits=1)
    a = (intensity + 1) / 1000
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 40, (2, 60))
    shifts = np.round(rng.normal(0, 1, 60), 1)
    shifts[::9] = np.nan
    results = []
    for module in (matching, slow_matching):
        scores, matched = np.empty(60), np.empty(60, dtype=np.int64)
        module.match_pairs(kind, mode, mz, a, offsets, rows[0], mz, a, offsets, rows[1], shifts, tolerance, ppm, scores,
                           matched)  # fmt: skip
        results.append((scores, matched))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(results[0][1], results[1][1])
    assert results[0][1].max() > 1  # tenths: no two peaks are apart by just the tolerance


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("mode", MODES)
def test_peaks_that_match_are_free_no_more(kind, mode):
    mz, intensity, offsets = spectra(span=8.0, step=0.0 if kind == matching.COSINE else 0.7, digits=1)
    a = (intensity + 1) / 1000
    for one, other in zip(range(20), range(20, 40), strict=True):
        left, right = slice(*offsets[one : one + 2]), slice(*offsets[other : other + 2])
        ours, theirs = [[np.arange(len(mz[part])) % 5 > 0 for part in (left, right)] for _ in range(2)]
        given = kind, mode, mz[left], a[left], mz[right], a[right], 0.4, 0.25, False
        found, wanted = matching.match_free(*given, *ours), slow_matching.match_free(*given, *theirs)
        assert found == pytest.approx(wanted)
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("mode", MODES)
def test_windows_bound_every_score_and_the_best_rows_are_those_of_all(kind, mode):
    mz, intensity, offsets = spectra(n=200, span=30.0)
    values = ((intensity + 1) / 2000).astype(np.float32)
    precursors = np.round(np.random.default_rng(2).normal(140, 3, 200), 2)
    rows = np.repeat(np.arange(200), np.diff(offsets)).astype(np.uint16)
    asked_for = int(np.argmax(np.diff(offsets)))
    query, precursor = slice(*offsets[asked_for : asked_for + 2]), precursors[asked_for]
    mz_a, a, tolerance = mz[query], values[query], 0.05
    widths = np.full(len(mz_a), tolerance)
    sums = [np.zeros(2**16, np.float32), np.zeros(2**16)]
    counts = [np.zeros(2**16, np.uint16), np.zeros(2**16, np.int64)]
    asked = [(mz, values, rows, mz_a, a)] if mode != matching.LOSSES else []
    if mode != matching.FRAGMENTS:
        asked.append((precursors[rows] - mz, values, rows, (precursor - mz_a)[::-1], a[::-1]))
    for masses, weights, owners, centers, given in asked:
        order = np.argsort(masses)
        given, centers = np.ascontiguousarray(given), np.ascontiguousarray(centers)
        parts = masses[order], weights[order], owners[order]
        scratch = np.empty(windows.STRETCH, np.float32)
        windows.add_windows(kind, centers, widths, given, *parts, scratch, sums[0], counts[0])
        slow_windows.add_windows(kind, centers, widths, given, *parts, scratch, sums[1], counts[1])
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-5, atol=1e-9)  # float32 sums of a dozen
    np.testing.assert_array_equal(counts[0], counts[1])
    allowed = (np.arange(200) % 5 > 0).astype(np.uint8)
    answers = []
    for module in (windows, slow_windows):
        best = np.empty(6), np.empty(6, dtype=np.int64), np.empty(6, dtype=np.int64)
        n = module.match_candidates(
            kind, mode, mz_a, a, precursor, tolerance, False, mz, values, offsets, precursors, 1000, 0, allowed,
            1e-5, 1, sums[0].copy(), counts[0], *best, 0,
        )  # fmt: skip
        answers.append([part[:n] for part in best])
    assert len(answers[0][0]) > 2
    for ours, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
