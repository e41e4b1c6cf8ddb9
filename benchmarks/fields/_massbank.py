"""MassBank's spectra as a library, made-up copies of them, and ms_entropy's index."""

from __future__ import annotations

import time

import numpy as np

PEAK_SHIFT, SPREAD, DROPPED = 0.005, 0.5, 0.2  # of copies: m/z, logarithm of intensities, share of peaks
TOLERANCE = 0.02


class Library:
    """The spectra, and their compounds; a quick run takes some of them."""

    def __init__(self, quick):
        from mercer.datasets import load_massbank
        from mercer.spectra import Spectra

        data = load_massbank(0.1)
        n = 1500 if quick else len(data.compound)
        stop = data.offsets[n]
        columns = {"precursor_mz": np.asarray(data.precursor_mz[:n], dtype=float).tolist()}
        self.spectra = Spectra(data.mz[:stop], data.intensity[:stop], data.offsets[: n + 1], columns)
        self.compound = np.asarray(data.compound[:n])

    def __len__(self):
        return len(self.spectra)

    def copies(self, seed):
        """The spectra with peaks moved, weakened and dropped at random."""
        from mercer.spectra import Spectra

        spectra, rng = self.spectra, np.random.default_rng(seed)
        kept = rng.random(len(spectra.mz)) >= DROPPED
        owner = np.repeat(np.arange(len(spectra)), np.diff(spectra.offsets))[kept]
        mz = spectra.mz[kept] + rng.uniform(-PEAK_SHIFT, PEAK_SHIFT, kept.sum())
        intensity = spectra.intensity[kept] * rng.lognormal(0.0, SPREAD, kept.sum())
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(spectra)))])
        return Spectra(mz, intensity, offsets, spectra.columns)

    def queries(self, count):
        """Numbers of spectra whose compound has another spectrum."""
        names, counts = np.unique(self.compound, return_counts=True)
        mates = np.flatnonzero(counts[np.searchsorted(names, self.compound)] > 1)
        return np.random.default_rng(0).choice(mates, min(count, len(mates)), replace=False)

    def same_compound(self, ids, asked):
        """Percent of the queries that find their compound first, and among the first ten, themselves left out."""
        found = []
        for row, own in zip(ids, asked, strict=True):
            others = [number for number in row if number != own][:10]
            same = [self.compound[number] == self.compound[own] for number in others]
            found.append((any(same[:1]), any(same)))
        return 100 * np.mean(found, axis=0)


class Flash:
    """ms_entropy's index: it cleans the library while it is built, and queries as they are asked."""

    def __init__(self, spectra):
        from ms_entropy import FlashEntropySearch

        precursors = spectra.precursor_mz.tolist()
        self.tables = [np.column_stack([each.mz, each.intensity]).astype(np.float32) for each in spectra]
        entries = [
            {"precursor_mz": precursors[row], "peaks": table, "row": row} for row, table in enumerate(self.tables)
        ]
        self.precursors, self.flash = precursors, FlashEntropySearch()
        start = time.perf_counter()
        ordered = self.flash.build_index(entries)
        self.seconds = time.perf_counter() - start
        self.rows = np.array([entry["row"] for entry in ordered])

    @property
    def megabytes(self):
        """Of its arrays."""
        return sum(part.nbytes for part in self.flash.entropy_search.index if hasattr(part, "nbytes")) / 1e6

    def search(self, number, k, mode="open"):
        """(numbers, scores) of the best for a spectrum of the library."""
        flash, precursor = self.flash, self.precursors[number]
        peaks = flash.clean_spectrum_for_search(precursor, self.tables[number])
        if not len(peaks):
            return np.empty(0, dtype=np.int64), np.empty(0)
        scores = (
            flash.open_search(peaks, TOLERANCE)
            if mode == "open"
            else flash.identity_search(precursor, peaks, ms1_tolerance_in_da=0.01, ms2_tolerance_in_da=TOLERANCE)
        )
        best = np.argpartition(-scores, k)[:k]
        best = best[np.argsort(-scores[best], kind="stable")]
        return self.rows[best], scores[best]


def alone(search, queries):
    """Median milliseconds of queries that are asked one by one; the first is not counted."""
    search(queries[0])
    times = []
    for each in queries:
        start = time.perf_counter()
        search(each)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))
