"""Histograms to measure on, and slow float64 oracles for the kernels between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse


def histograms(n_rows: int, n_bins: int, seed: int, dtype: type = np.float32) -> np.ndarray:
    """Rows that sum to 1 without a zero bin: no side can skip anything."""
    X = np.random.default_rng(seed).random((n_rows, n_bins))
    return (X / X.sum(axis=1, keepdims=True)).astype(dtype)


def spiky_histograms(n_rows: int, n_bins: int, seed: int, dtype: type = np.float32) -> np.ndarray:
    """Rows that sum to 1 with values over many orders of magnitude and a third of the bins zero."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.1, size=(n_rows, n_bins)) * (rng.random((n_rows, n_bins)) < 2 / 3)
    return (X / X.sum(axis=1, keepdims=True)).astype(dtype)


def sparse_histograms(n_rows: int, n_bins: int, density: float, seed: int) -> sparse.csr_array:
    """CSR rows that sum to 1, float32, the non-zero bins spread evenly over the columns."""
    rng = np.random.default_rng(seed)
    per_row = round(density * n_bins)
    columns = np.sort(np.argsort(rng.random((n_rows, n_bins)), axis=1)[:, :per_row], axis=1)
    values = rng.random((n_rows, per_row)) + 1e-3
    values /= values.sum(axis=1, keepdims=True)
    offsets = np.arange(0, columns.size + 1, per_row)
    return sparse.csr_array((values.ravel().astype(np.float32), columns.ravel(), offsets), shape=(n_rows, n_bins))


def sample_rows(n_rows: int, count: int = 24) -> np.ndarray:
    """Rows on which results are checked: spread over the whole matrix, the first and the last included."""
    return np.linspace(0, n_rows - 1, min(count, n_rows)).astype(int)


def oracle(pair: Callable[[np.ndarray, np.ndarray], np.ndarray], X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """K[i, j] = pair(X[i], Y)[j] in float64, from the values the float32 rows really hold."""
    Y = Y.astype(np.float64)
    return np.stack([pair(x, Y) for x in X.astype(np.float64)])


def chi2(x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """sum 2xy / (x + y)"""
    total = x + Y
    return (2 * x * Y / np.where(total > 0, total, 1)).sum(axis=1)


def intersection(x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """sum min(x, y)"""
    return np.minimum(x, Y).sum(axis=1)


def jensen_shannon(x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """sum x/2 log2((x + y)/x) + y/2 log2((x + y)/y)"""
    total = x + Y
    return sum(
        (part / 2 * np.log2(np.where(part > 0, total / np.where(part > 0, part, 1), 1))).sum(axis=1)
        for part in (np.broadcast_to(x, Y.shape), Y)
    )
