"""Sparse rows for the benchmarks of inverted lists, and times of single queries."""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

PEAK_SHIFT, SPREAD, DROPPED = 0.005, 0.5, 0.2  # of copies of spectra: m/z, logarithm of intensities, share of peaks


def spectra(n_rows=None):
    """Entropy-weighted spectra of MassBank in bins of 0.1, float32 rows that sum to 1."""
    from mercer import SpectralEntropyWeighting
    from mercer.datasets import load_massbank

    rows = load_massbank(0.1).data
    return sparse.csr_array(SpectralEntropyWeighting().fit_transform(rows[:n_rows]), dtype=np.float32)


def more_spectra(n_rows, seed=0):
    """Copies of the real spectra until there are ``n_rows``: peaks moved, weakened and dropped at random."""
    from mercer import SpectralEntropyWeighting
    from mercer.datasets import load_massbank

    data, rng = load_massbank(0.1), np.random.default_rng(seed)
    width, parts, n = data.data.shape[1], [], 0
    owner = np.repeat(np.arange(len(data.compound)), np.diff(data.offsets))
    while n < n_rows:
        kept = rng.random(len(data.mz)) >= DROPPED
        moved = data.mz[kept] + rng.uniform(-PEAK_SHIFT, PEAK_SHIFT, kept.sum())
        heights = data.intensity[kept] * rng.lognormal(0.0, SPREAD, kept.sum())
        bins = np.clip((moved / 0.1).astype(np.int64), 0, width - 1)
        copy = sparse.csr_array((heights, (owner[kept], bins)), shape=(len(data.compound), width))
        copy = copy[np.diff(copy.indptr) > 0][: n_rows - n]
        parts.append(sparse.csr_array(SpectralEntropyWeighting().fit_transform(copy), dtype=np.float32))
        n += parts[-1].shape[0]
    return sparse.vstack(parts, format="csr")


def more_fingerprints(n_rows, seed=0):
    """Count fingerprints of molecules until there are ``n_rows``: counts of copies are raised or lowered by chance."""
    from mercer.datasets import load_molecules
    from mercer.features import count_fingerprints

    return copied_counts(count_fingerprints(load_molecules().smiles)[0], n_rows, seed)


def copied_counts(counts, n_rows, seed=0):
    """Copies of rows of counts until there are ``n_rows``, counts raised or lowered by chance."""
    counts, rng, parts, n = sparse.csr_array(counts, dtype=np.float32), np.random.default_rng(seed), [], 0
    while n < n_rows:
        copy = counts.copy()
        copy.data = np.maximum(copy.data + rng.integers(-1, 2, len(copy.data)), 0).astype(np.float32)
        copy.eliminate_zeros()
        parts.append(copy[: n_rows - n])
        n += parts[-1].shape[0]
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def one_by_one(search, queries):
    """Median milliseconds of a query that is asked alone; the first is not counted."""
    rows = [queries[i : i + 1] for i in range(queries.shape[0])]
    search(rows[0])
    times = []
    for row in rows:
        start = time.perf_counter()
        search(row)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))
