"""Intervals for the tables: over queries or groups drawn again, and over repeated cross-validation."""

from __future__ import annotations

import numpy as np

DRAWS = 2000


def resampled_interval(hits, groups=None, seed=0):
    """(mean, low, high) in percent: the 95 % interval of a mean of 0 and 1 when whole groups are drawn again."""
    hits = np.asarray(hits, dtype=np.float64)
    if groups is None:
        totals, sizes = hits, np.ones(len(hits))
    else:
        _, number = np.unique(groups, return_inverse=True)
        totals, sizes = np.bincount(number, weights=hits), np.bincount(number)
    rng = np.random.default_rng(seed)
    means = np.empty(DRAWS)
    for draw in range(DRAWS):
        chosen = rng.integers(len(totals), size=len(totals))
        means[draw] = totals[chosen].sum() / sizes[chosen].sum()
    low, high = np.quantile(means, [0.025, 0.975])
    return 100 * hits.mean(), 100 * low, 100 * high


def repeated_cv_interval(values, test_share):
    """(mean, low, high): the 95 % interval of a mean over folds that share rows, corrected as in [nadeau03inference].

    The variance of the mean of k values is var (1 / k + n_test / n_train), not var / k.
    """
    from scipy import stats

    values = np.asarray(values, dtype=np.float64)
    k = len(values)
    error = np.sqrt(values.var(ddof=1) * (1 / k + test_share / (1 - test_share)))
    half = stats.t.ppf(0.975, k - 1) * error
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def plus_minus(triple, digits=1):
    """'86.5 (85.0 to 88.0)'"""
    mean, low, high = triple
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
