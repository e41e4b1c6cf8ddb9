"""Classifiers and neighbours of compositions: samples of bacteria, posts of words."""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import BrayCurtis, HomogeneousMap, KernelClassifier, KernelIndex, exact_knn
from mercer.datasets import load_20newsgroups, load_microbiome

FOLDS = 5
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
POWERS = (1.0, 0.5, 0.25)
MAP_ORDER = 3


def evaluated(part, repeats, quick):
    """({features: ROC-AUC of every fold}, number of people, {features: seconds of the first fold})"""
    data = load_microbiome(part)
    y = (data.target == ("no" if part.startswith("gevers") else "Healthy")).astype(int) ^ 1
    folds = list(RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(data.data, y))
    found, seconds = {}, {}
    for name, grams in _candidates(data.data).items():
        start = time.perf_counter()
        scores = [_machine(grams, y, *folds[0])]
        seconds[name] = time.perf_counter() - start
        found[name] = np.array(scores + [_machine(grams, y, *fold) for fold in folds[1:]])
    start = time.perf_counter()
    scores = [_forest(data.data, y, *folds[0], quick)]
    seconds["random forest"] = time.perf_counter() - start
    found["random forest"] = np.array(scores + [_forest(data.data, y, *fold, quick) for fold in folds[1:]])
    return found, len(y), seconds


def _candidates(counts):
    """features -> functions (train, rows) that give features or a matrix to choose from.

    Maps look at one row at a time and learn nothing, so they are applied once to all rows. With fewer rows than
    features, a linear machine on features F is found from F F' in the same way; that is how all of them are fitted.
    """
    shares = [_shares(counts**power) for power in POWERS]
    logs = np.log(counts.astype(np.float64) + 0.5)
    ratios = logs - logs.mean(axis=1, keepdims=True)
    bray = [_mapped("intersection", rows) for rows in shares]
    js = [_mapped("jensen-shannon", rows) for rows in shares]
    return {
        "linear, shares": [_scaled(shares[0])],
        "linear, power chosen": [_scaled(rows) for rows in shares],
        "linear, log-ratios": [_scaled(ratios)],
        "Bray-Curtis map": [_fixed(bray[0])],
        "Bray-Curtis, exact": [_matrix(BrayCurtis()(shares[0]))],
        "Bray-Curtis map, power chosen": [_fixed(rows) for rows in bray],
        "Jensen-Shannon map": [_fixed(js[0])],
        "Jensen-Shannon map, power chosen": [_fixed(rows) for rows in js],
    }


def _shares(rows):
    rows = rows.astype(np.float64)
    return rows / rows.sum(axis=1, keepdims=True)


def _mapped(kernel, rows):
    return HomogeneousMap(kernel, order=MAP_ORDER, n_jobs=1).fit(rows).transform(rows)


def _fixed(features):
    return _matrix(features @ features.T)


def _matrix(gram):
    return lambda train: gram


def _scaled(features):
    """Columns scaled by the training rows, and the whole by 1 / columns, so that C means the same as for kernels."""

    def gram(train):
        kept = StandardScaler().fit(features[train]).transform(features)
        return kept @ kept.T / kept.shape[1]

    return gram


def _machine(candidates, y, train, test):
    """ROC-AUC of the candidate and C that are best within the training rows."""
    inner = list(StratifiedKFold(3, shuffle=True, random_state=0).split(train, y[train]))
    best = None
    for candidate in candidates:
        grams = [candidate(train[fitted]) for fitted, _ in inner]
        for C in CS:
            pairs = zip(grams, inner, strict=True)
            quality = np.mean([_auc(gram, y, train[fitted], train[held], C) for gram, (fitted, held) in pairs])
            if best is None or quality > best[0]:
                best = quality, candidate, C
    return _auc(best[1](train), y, train, test, best[2])


def _auc(gram, y, train, test, C):
    model = SVC(kernel="precomputed", C=C).fit(gram[np.ix_(train, train)], y[train])
    return roc_auc_score(y[test], model.decision_function(gram[np.ix_(test, train)]))


def _forest(counts, y, train, test, quick):
    model = RandomForestClassifier(50 if quick else 300, random_state=0, n_jobs=1).fit(_shares(counts[train]), y[train])
    return roc_auc_score(y[test], model.predict_proba(_shares(counts[test]))[:, 1])


# ----------------------------------------------------------------------------------------------------- costs and posts


def _posts(part):
    """(counts, shares, groups) in a seeded order"""
    X, y = load_20newsgroups(part)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    kept = np.asarray(X.sum(axis=1)) > 0
    X, y = X[kept], y[kept]
    return X, X.multiply(1 / X.sum(axis=1)[:, None]).tocsr().astype(np.float32), y


def fit_costs(sizes):
    """Lines (n, seconds and accuracy of the map and of the exact kernel, MB of the matrix)."""
    _, X, groups = _posts("train")
    _, Q, later = _posts("test")
    Q, later = Q[:2000], later[:2000]
    y, truth = (np.char.startswith(names, "talk.") for names in (groups, later))
    KernelClassifier("intersection", C=10.0, n_jobs=1).fit(X[:50], y[:50])  # compiles
    lines = []
    for n in sizes:
        start = time.perf_counter()
        mapped = KernelClassifier("intersection", C=10.0, random_state=0, n_jobs=1).fit(X[:n], y[:n])
        map_seconds = time.perf_counter() - start
        start = time.perf_counter()
        gram = BrayCurtis()(X[:n], n_jobs=1).astype(np.float64)
        exact = SVC(kernel="precomputed", C=10.0).fit(gram, y[:n])
        exact_seconds = time.perf_counter() - start
        right = [
            100 * float((mapped.predict(Q) == truth).mean()),
            100 * float((exact.predict(BrayCurtis()(Q, X[:n], n_jobs=1)) == truth).mean()),
        ]
        lines.append([n, map_seconds, exact_seconds, *right, n * n * 8 / 1e6])
    return lines


def neighbour_times(sizes, dense_up_to=500):
    """Lines (n, seconds of scipy or None, seconds of exact_knn, MB of both)."""
    from scipy.spatial.distance import pdist, squareform

    X, _, _ = _posts("train")
    exact_knn("bray-curtis", X[:20], X[:20], 5)
    lines = []
    for n in sizes:
        dense_seconds = None
        if n <= dense_up_to:
            dense = X[:n].toarray().astype(np.float64)
            start = time.perf_counter()
            distances = squareform(pdist(dense, "braycurtis"))
            nearest = np.argsort(distances, axis=1, kind="stable")[:, :11]
            dense_seconds = time.perf_counter() - start
        start = time.perf_counter()
        ids, values = exact_knn("bray-curtis", X[:n], X[:n], 11)
        seconds = time.perf_counter() - start
        if n <= dense_up_to:
            expected = 1 - np.take_along_axis(distances, nearest, axis=1)
            np.testing.assert_allclose(values, expected, atol=1e-6)
        rows = (X[:n].data.nbytes + X[:n].indices.nbytes + X[:n].indptr.nbytes) / 1e6
        kept = rows + (ids.nbytes + values.nbytes) / 1e6
        lines.append([n, dense_seconds, seconds, (n * n + n * X.shape[1]) * 8 / 1e6, kept])
    return lines


def neighbour_quality(count, quick):
    """({neighbours by: (hits, ms per query, MB)}, recall of the index, number of rows)"""
    from sklearn.preprocessing import normalize

    counts, X, groups = _posts("train")
    Qc, Q, later = _posts("test")
    if quick:
        counts, X, groups = counts[:1000], X[:1000], groups[:1000]
    Qc, Q, later = Qc[:count], Q[:count], later[:count]
    sides = {
        "Bray-Curtis of counts, exact": ("bray-curtis", counts, Qc),
        "Bray-Curtis of shares, exact": ("bray-curtis", X, Q),
        "cosine of counts, exact": ("linear", normalize(counts), normalize(Qc)),
        "Jensen-Shannon of shares, exact": ("jensen-shannon", X, Q),
    }
    found, true = {}, None
    for name, (kernel, rows, queries) in sides.items():
        start = time.perf_counter()
        ids, _ = exact_knn(kernel, rows, queries, 10)
        ms = 1000 * (time.perf_counter() - start) / count
        found[name] = _voted(groups, ids) == later, ms, _megabytes(rows)
        true = ids if name == "Bray-Curtis of shares, exact" else true
    # on rows that sum to 1 Bray-Curtis is the intersection, which has an explicit map
    index = KernelIndex("intersection", bytes_per_item=32, effort="low", oversample=30, random_state=0, n_jobs=1)
    index.fit(X).add(X)
    index.search(Q[:2], 10)
    start = time.perf_counter()
    ids, _ = index.search(Q, 10)
    ms = 1000 * (time.perf_counter() - start) / count
    kept = _megabytes(X) + index.stats()["code_bytes"] / 1e6
    found["Bray-Curtis of shares, 32 bytes, re-ranked"] = _voted(groups, ids) == later, ms, kept
    recall = float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(ids, true, strict=True)]))
    return found, recall, len(groups)


def _voted(groups, ids):
    """The most frequent group of each row of neighbours; ties go to the nearest."""
    names, number = np.unique(groups, return_inverse=True)
    votes = np.zeros((len(ids), len(names)))
    for rank in range(ids.shape[1]):
        votes[np.arange(len(ids)), number[ids[:, rank]]] += 1 - 1e-3 * rank
    return names[votes.argmax(axis=1)]


def _megabytes(X):
    return (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
