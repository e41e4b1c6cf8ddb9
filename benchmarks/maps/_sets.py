"""The real data that maps are measured on: rows to fit on, and other rows to judge by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.datasets import load_massbank, load_pendigits, load_sift


@dataclass(frozen=True)
class Split:
    """Rows of one data set. X_fit and X_test have no row in common."""

    title: str
    X_fit: Any
    X_test: Any


def split(name: str, n_fit: int, n_test: int) -> Split:
    """A split of "sift", "massbank" or "pendigits", with at most so many rows."""
    return {"sift": _sift, "massbank": _massbank, "pendigits": _pendigits}[name](n_fit, n_test)


def all_sift() -> np.ndarray:
    """Every descriptor there is but the 10,000 of the base, which are for judging: 45,000 rows that sum to 1."""
    return unit_rows(np.concatenate([load_sift(part) for part in ("learn", "more-base", "more-query")]))


def all_spectra() -> sparse.csr_array:
    """Every spectrum, as CSR rows that sum to 1, in random order."""
    data = unit_rows(load_massbank().data)
    return data[np.random.default_rng(0).permutation(data.shape[0])]


def unit_rows(X):
    """Rows that sum to 1, float32."""
    sums = np.asarray(X.sum(axis=1)).ravel()
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(1 / sums) @ X).astype(np.float32)
    return (X / sums[:, None]).astype(np.float32)


def with_mixtures(X, n_rows: int, seed: int = 0):
    """The rows of X and, up to n_rows, means of two of them drawn at random: more rows of the same kind."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, X.shape[0], size=(2, max(0, n_rows - X.shape[0])))
    mixtures = (X[first] + X[second]) * np.float32(0.5)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.vstack([X, mixtures], format="csr"))[:n_rows]
    return np.concatenate([X, mixtures])[:n_rows]


def _sift(n_fit, n_test):
    return Split("SIFT descriptors, rows that sum to 1", all_sift()[:n_fit], unit_rows(load_sift("base")[:n_test]))


def _massbank(n_fit, n_test):
    data = all_spectra()
    title = "MS/MS spectra of MassBank in bins of 0.1 m/z, rows that sum to 1"
    return Split(title, data[n_test : n_test + n_fit], data[:n_test])


def _pendigits(n_fit, n_test):
    X_fit, X_test = (load_pendigits(part)[0] for part in ("train", "test"))
    return Split("Pendigits, coordinates from 0 to 100", X_fit[:n_fit], X_test[:n_test])
