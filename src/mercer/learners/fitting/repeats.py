"""Rows that count: not those of weight 0; and a row of weight 2 is the same row twice, to the last bit of the model."""

__all__ = ["merged_repeats", "without_idle_rows"]

import numpy as np
from scipy import sparse

from mercer.learners.fitting.encode import is_on_disk


def without_idle_rows(X, y, weights):
    """The rows of weight > 0, which alone may influence a map; of what lies on disk, all rows."""
    kept = np.flatnonzero(weights)
    if len(kept) == len(weights) or is_on_disk(X):
        return X, y, weights
    return X[kept], y[kept], weights[kept]


def merged_repeats(X, y, weights, is_weighted=False):
    """(X, y, weights) with equal pairs (row, target) once, their weights added, in an order that follows from content.

    Where no pair repeats and all weights are 1, and those of classes too unless ``is_weighted``, the rows stay as they
    are; rows on disk do always.

    >>> X, y = np.array([[3.0], [3.0], [3.0]]), np.array([1, 0, 1])
    >>> [part.tolist() for part in merged_repeats(X, y, np.ones(3))[1:]]
    [[0, 1], [1.0, 2.0]]
    """
    if is_on_disk(X):
        return X, y, weights
    of_rows, of_targets = _numbers_of(X), _numbers_of_targets(y)
    order = np.lexsort([of_targets, of_rows])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(of_rows[order]) != 0) | (np.diff(of_targets[order]) != 0)
    if is_new.all() and (weights == 1).all() and not is_weighted:
        return X, y, weights
    first = order[is_new]
    again, of = order[~is_new], first[(np.cumsum(is_new) - 1)[~is_new]]
    if not _are_equal(X[again], X[of]):  # different rows with one number, one time in 1e10
        return X, y, weights
    return X[first], y[first], np.add.reduceat(weights[order], np.flatnonzero(is_new))


def _numbers_of(X):
    """A number of 64 bits for each row, equal for equal rows: sums of bits times odd numbers, modulo 2**64."""
    odd = 2 * np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64) + np.uint64(1)
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X)
        return X.view(f"u{X.dtype.itemsize}").astype(np.uint64, copy=False) @ odd
    terms = X.data.view(f"u{X.data.dtype.itemsize}").astype(np.uint64) * odd[X.indices]
    return np.diff(np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))[X.indptr])


def _numbers_of_targets(y):
    y = y.toarray() if sparse.issparse(y) else np.asarray(y)
    return _numbers_of(y.astype(np.float64)) if y.ndim == 2 else np.unique(y, return_inverse=True)[1]


def _are_equal(X, Y):
    return (X != Y).nnz == 0 if sparse.issparse(X) else np.array_equal(X, Y)
