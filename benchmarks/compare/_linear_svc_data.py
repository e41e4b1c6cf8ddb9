"""What linear solvers are compared on: rows, one column of targets per class, and the objective in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer import datasets


@dataclass(frozen=True)
class Task:
    """Rows in float32 for Mercer and in float64 for LinearSVC (which would convert them), with the same values."""

    X: Any
    y: np.ndarray

    @property
    def X_double(self):
        return self.X.astype(np.float64)

    @property
    def targets(self):
        """int8 (n, P): one column per class, or one column for two classes."""
        classes = np.unique(self.y)
        positive = classes[1:] if len(classes) == 2 else classes
        return np.where(self.y[:, None] == positive, 1, -1).astype(np.int8)


def covtype(quick):
    """Lodgepole pine (2) against the rest, columns scaled to [0, 1]."""
    X, y = datasets.load_covtype()
    if quick:
        X, y = X[:2000], y[:2000]
    low, high = X.min(axis=0), X.max(axis=0)
    return Task(((X - low) / np.where(high > low, high - low, 1)).astype(np.float32), (y == 2).astype(int))


def newsgroups(quick):
    """tf-idf of word counts, rows of length 1; twenty classes, each against the rest."""
    from sklearn.feature_extraction.text import TfidfTransformer

    X, y = datasets.load_20newsgroups()
    if quick:
        chosen = np.flatnonzero(np.isin(y, np.unique(y)[:3]))[::4]
        X, y = X[chosen], y[chosen]
    X = sparse.csr_array(TfidfTransformer().fit_transform(X)).astype(np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LinearSVC takes no wider ones
    return Task(X, np.unique(y, return_inverse=True)[1])


def objectives(task, X_double, W, b, loss, C):
    """1/2 (|w|^2 + b^2) + C sum of losses, for each column of W (d, P)."""
    excess = np.maximum(0, 1 - task.targets * (X_double @ W + b))
    losses = excess if loss == "hinge" else excess**2
    return 0.5 * ((W**2).sum(axis=0) + b**2) + C * losses.sum(axis=0)
