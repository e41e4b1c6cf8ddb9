"""Scenes-15 as the benchmarks use it: paths and classes, and machines whose C is chosen on a part of the training."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import numpy as np

HELD_OUT = 30  # training images per class that C is chosen on
CS = (0.3, 1.0, 3.0, 10.0)


def split(quick=False):
    """(training paths, classes, test paths, classes); test images that equal a training image are left out."""
    from benchmarks.paper._icd_sets import data_folder

    root = data_folder("scenes15")
    train, y = _listed(root / "train", 12 if quick else None)
    test, y_test = _listed(root / "test", 12 if quick else None)
    known = {_content(path) for path in train}
    fresh = [i for i, path in enumerate(test) if _content(path) not in known]
    return train, y, [test[i] for i in fresh], y_test[fresh]


def cache_folder():
    """Where samples and rows of images are kept from one run to the next."""
    folder = Path(tempfile.gettempdir()) / "mercer-scenes15"
    folder.mkdir(exist_ok=True)
    return str(folder)


def judged(K, y, K_test, y_test):
    """One-vs-rest support vector machines on Gram matrices, C by a part of the training.

    {"mAP" and "accuracy" on the test, "C", "held out": mAP on the part of the training}
    """
    K, K_test = np.asarray(K, dtype=np.float64), np.asarray(K_test, dtype=np.float64)
    unit = np.trace(K) / len(K)
    fitted, held = held_out_parts(y)
    parts = K[np.ix_(fitted, fitted)] / unit, y[fitted], K[np.ix_(held, fitted)] / unit, y[held]
    trials = {C: _scores(*parts, C)["mAP"] for C in CS}
    best = max(trials, key=trials.get)
    return {**_scores(K / unit, y, K_test / unit, y_test, best), "C": best, "held out": trials[best]}


def judged_rows(X, y, X_test, y_test):
    """As `judged`, of the linear kernel of rows."""
    return judged(X @ X.T, y, X_test @ X.T, y_test)


def _scores(K, y, K_test, y_test, C):
    from sklearn.metrics import average_precision_score
    from sklearn.svm import SVC

    classes = np.unique(y)
    scores = np.stack(
        [SVC(C=C, kernel="precomputed").fit(K, y == c).decision_function(K_test) for c in classes], axis=1
    )
    precision = [average_precision_score(y_test == c, scores[:, i]) for i, c in enumerate(classes)]
    return {"mAP": float(np.mean(precision)), "accuracy": float((classes[scores.argmax(axis=1)] == y_test).mean())}


def held_out_parts(y):
    """(numbers of rows to fit, to hold out), equally many of each class held out."""
    rng = np.random.default_rng(0)
    count = min(HELD_OUT, np.bincount(y).min() // 3)
    held = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:count] for c in np.unique(y)])
    return np.setdiff1d(np.arange(len(y)), held), held


def _listed(folder, most):
    paths, y = [], []
    for number, name in enumerate(sorted(path for path in folder.iterdir() if path.is_dir())):
        found = sorted(name.iterdir())[:most]
        paths += found
        y += [number] * len(found)
    return paths, np.asarray(y)


def _content(path):
    return hashlib.sha256(path.read_bytes()).digest()
