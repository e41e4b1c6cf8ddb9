"""Scenes-15 as the benchmarks use it: paths and classes, and machines whose C is chosen on a part of the training."""

from __future__ import annotations

import hashlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.code import code_today

HELD_OUT = 30  # training images per class that C is chosen on
CS = (0.3, 1.0, 3.0, 10.0)
THREADS = 2  # of machines, which are judged by what they say and not by their time


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
    """Where samples, encoders and rows of images are kept from one run to the next; other code has another folder."""
    folder = Path(tempfile.gettempdir()) / f"mercer-scenes15-{code_today('mercer.vision.making')}"
    folder.mkdir(exist_ok=True)
    return str(folder)


def fitted(encoder, paths):
    """The encoder after `fit`; one that a benchmark has learned before on these images is not learned again."""
    from mercer import load, save
    from mercer.vision.reading.cache import fingerprint

    encoder.set_params(cache=cache_folder())
    kept = Path(encoder.cache) / f"{fingerprint(encoder, *map(_content, paths))}.mercer"
    if kept.exists():
        return load(kept).set_params(cache=encoder.cache)
    encoder.fit(paths)
    save(encoder, kept)
    return encoder


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

    def of(c):
        machine = SVC(C=C, kernel="precomputed").fit(K, y == c)
        return K_test[:, machine.support_] @ machine.dual_coef_[0] + machine.intercept_[0]

    classes = np.unique(y)
    with ThreadPoolExecutor(THREADS) as pool:  # libsvm lets other threads run
        scores = np.stack(list(pool.map(of, classes)), axis=1)
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
    return hashlib.sha256(path.read_bytes()).hexdigest()
