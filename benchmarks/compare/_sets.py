"""Real data for comparing classifiers: training and test rows, prepared without looking at the test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer import datasets


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to judge by."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def splits(name, quick):
    """The splits of a set, of which accuracies are averaged; a quick run takes a few hundred rows of the first."""
    made = {
        "pendigits": _pendigits, "digits": _digits, "covtype": lambda: [covtype()], "20newsgroups": _newsgroups,
        "sector": _sector, "Fashion-MNIST": _fashion_mnist,
    }[name]()  # fmt: skip
    return [_few(made[0])] if quick else made


def _pendigits():
    return [_scaled(*datasets.load_pendigits(), *datasets.load_pendigits("test"))]


def _digits(n_splits=5):
    """1,000 rows and the other 797, five times: one split is too small to tell half a point."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedShuffleSplit

    X, y = load_digits(return_X_y=True)
    chosen = StratifiedShuffleSplit(n_splits, train_size=1000, random_state=0).split(X, y)
    return [_scaled(X[train], y[train], X[test], y[test]) for train, test in chosen]


def covtype(n_train=10_000, n_test=20_000):
    """The first rows of both parts."""
    X, y = datasets.load_covtype()
    X_test, y_test = datasets.load_covtype("test")
    return _scaled(X[:n_train], y[:n_train], X_test[:n_test], y_test[:n_test])


def _fashion_mnist():
    return [_scaled(*datasets.load_fashion_mnist(), *datasets.load_fashion_mnist("test"))]


def _newsgroups():
    return [_histograms(*datasets.load_20newsgroups(), *datasets.load_20newsgroups("test"))]


def _sector():
    return [_histograms(*datasets.load_sector(), *datasets.load_sector("test"))]


def _scaled(X, y, X_test, y_test):
    """Every column from 0 to 1 over the training rows; test values beyond are cut off."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1)
    rows, test_rows = (((part - low) / width).clip(0, 1).astype(np.float32) for part in (X, X_test))
    return Split(rows, y, test_rows, y_test)


def _histograms(X, y, X_test, y_test):
    """Rows that sum to 1, CSR."""
    from sklearn.preprocessing import normalize

    rows, test_rows = (sparse.csr_array(normalize(part, "l1")) for part in (X, X_test))
    return Split(rows, y, test_rows, y_test)


def _few(split, n_train=200, n_test=200, n_classes=3, n_columns=60):
    """Some rows of some classes; of wide sparse rows, the columns of largest sum."""
    classes = np.unique(split.y)[:n_classes]
    train, test = (np.flatnonzero(np.isin(y, classes)) for y in (split.y, split.y_test))
    rng = np.random.default_rng(0)
    train, test = (rng.permutation(which)[:n] for which, n in ((train, n_train), (test, n_test)))
    columns = slice(None)
    if split.X.shape[1] > n_columns:
        columns = np.sort(np.argsort(-np.asarray(split.X[train].sum(axis=0)).ravel())[:n_columns])
    rows, test_rows = split.X[train][:, columns], split.X_test[test][:, columns]
    for part in (rows, test_rows):
        if sparse.issparse(part):  # LinearSVC takes no wider indices
            part.indices, part.indptr = part.indices.astype(np.int32), part.indptr.astype(np.int32)
    return Split(rows, split.y[train], test_rows, split.y_test[test])
