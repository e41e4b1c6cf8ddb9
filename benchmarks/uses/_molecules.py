"""Splits, classifiers and searches of the molecules."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.metrics import roc_auc_score

from mercer import KernelClassifier, KernelIndex, MinMax, NystroemMap, WeightedMinHash, exact_knn
from mercer.datasets import load_molecules
from mercer.features import count_fingerprints, murcko_scaffolds

N_HASHES = 1024
N_LANDMARKS = 1000
DRAWS = 1000


class Molecules:
    """Fingerprints, activity and scaffolds of the molecules that RDKit understands."""

    def __init__(self, quick):
        data = load_molecules()
        smiles, active = (data.smiles[::20], data.active[::20]) if quick else (data.smiles, data.active)
        self.counts, understood = count_fingerprints(smiles)
        self.binary = self.counts.copy()
        self.binary.data[:] = 1
        self.smiles, self.active = smiles[understood], active[understood]
        self.scaffold = murcko_scaffolds(self.smiles)
        self.n_given, self.n_refused = len(smiles), int((~understood).sum())
        self.repeated = float((self.counts.data > 1).mean())

    def splits(self):
        """title -> (train, valid, test), row numbers"""
        n = len(self.active)
        shuffled = np.random.default_rng(0).permutation(n)
        return {
            "new scaffolds": self._by_scaffold(),
            "at random": (shuffled[: int(0.8 * n)], shuffled[int(0.8 * n) : int(0.9 * n)], shuffled[int(0.9 * n) :]),
        }

    def _by_scaffold(self):
        """Scaffolds by falling size (ties: the one that comes first in the file), filled into 80, 10 and 10 %."""
        _, first, number, size = np.unique(self.scaffold, return_index=True, return_inverse=True, return_counts=True)
        members = np.split(np.argsort(number, kind="stable"), np.cumsum(size)[:-1])
        n, parts = len(number), ([], [], [])
        for group in np.lexsort((first, -size)):
            filled = [len(part) for part in parts]
            if filled[0] + size[group] <= 0.8 * n:
                place = 0
            elif filled[0] + filled[1] + size[group] <= 0.9 * n:
                place = 1
            else:
                place = 2
            parts[place].extend(members[group])
        return tuple(np.array(part) for part in parts)

    def recall(self, ids, true):
        """Mean share of the ten true neighbours that is found, the query itself left out."""
        shares = [len(set(a) & set(b)) / len(b) for a, b in zip(ids, true, strict=True)]
        return float(np.mean(shares))

    def active_neighbours(self, ids, asked):
        """(whether the first is active, share of active ones) for each query"""
        active = self.active[ids]
        return active[:, 0], active.mean(axis=1)


# ------------------------------------------------------------------------------------------------------ classification


@dataclass
class Fitted:
    """Scores of the test molecules by the C that was best on the validation molecules."""

    scores: np.ndarray
    C: float
    seconds: float
    kilobytes: str


def sides(quick):
    """name -> function (molecules, split, Cs)"""
    hashes, landmarks = (64, 50) if quick else (N_HASHES, N_LANDMARKS)
    minhash = partial(WeightedMinHash, hashes, random_state=0, n_jobs=1)
    nystroem = partial(NystroemMap, "min-max", n_landmarks=landmarks, random_state=0, n_jobs=1)
    return {
        "linear, binary": partial(_fitted, None, "binary", "as it is"),
        "linear, counts": partial(_fitted, None, "counts", "as it is"),
        "min-max map, binary": partial(_fitted, minhash, "binary", f"{hashes:,}"),
        "min-max map, counts": partial(_fitted, minhash, "counts", f"{hashes:,}"),
        "min-max landmarks, counts": partial(_fitted, nystroem, "counts", f"{4 * landmarks:,}"),
    }


def _fitted(make_map, rows, size, molecules, split, Cs):
    train, valid, test = split
    X, y = getattr(molecules, rows), molecules.active
    best = None
    for C in Cs:
        start = time.perf_counter()
        chosen = {"kernel": "linear"} if make_map is None else {"map": make_map()}
        # the kernel is 1 at most; a row of fingerprints has an inner product of some dozens with itself
        model = KernelClassifier(
            C=C if make_map else C / 30, loss="logistic", tol=1e-2, random_state=0, n_jobs=1, **chosen
        )
        model.fit(X[train], y[train])
        seconds = time.perf_counter() - start
        quality = roc_auc_score(y[valid], model.decision_function(X[valid]))
        if best is None or quality > best[0]:
            best = quality, Fitted(model.decision_function(X[test]), model.C, seconds, size)
    return best[1]


def auc_interval(truth, scores, seed=0):
    """(ROC-AUC, low, high): 95 % interval when molecules are drawn again."""
    draws = [roc_auc_score(truth[rows], scores[rows]) for rows in _draws(truth, seed)]
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(roc_auc_score(truth, scores)), float(low), float(high)


def auc_difference(truth, scores, others, seed=0):
    """The same of the difference of two ROC-AUC on the same molecules."""
    draws = [
        roc_auc_score(truth[rows], scores[rows]) - roc_auc_score(truth[rows], others[rows])
        for rows in _draws(truth, seed)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(roc_auc_score(truth, scores) - roc_auc_score(truth, others)), float(low), float(high)


def _draws(truth, seed):
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        rows = rng.integers(len(truth), size=len(truth))
        if truth[rows].any():
            yield rows


def growth(molecules, sizes, Cs):
    """Lines (n, AUC of the map, AUC of the exact kernel, seconds of both, MB of the matrix)."""
    train, valid, test = molecules.splits()["new scaffolds"]
    X, y = molecules.counts, molecules.active
    shuffled = np.random.default_rng(1).permutation(train)
    lines = []
    for size in sizes:
        part = shuffled[:size]
        minhash = partial(WeightedMinHash, N_HASHES, random_state=0, n_jobs=1)
        mapped = _fitted(minhash, "counts", "", molecules, (part, valid, test), Cs)
        exact, seconds = _exact_svc(X, y, part, valid, test, Cs)
        map_auc = float(roc_auc_score(y[test], mapped.scores))
        lines.append([size, map_auc, exact, mapped.seconds, seconds, size**2 * 8 / 1e6])
    return lines


def _exact_svc(X, y, train, valid, test, Cs):
    """(ROC-AUC on test, seconds) of scikit-learn's SVC on the exact min-max matrix, C chosen on valid."""
    from sklearn.svm import SVC

    kernel = MinMax()
    start = time.perf_counter()
    gram = kernel(X[train], n_jobs=1).astype(np.float64)
    gram_seconds = time.perf_counter() - start
    to_valid, best = kernel(X[valid], X[train], n_jobs=1), None
    for C in Cs:
        start = time.perf_counter()
        model = SVC(kernel="precomputed", C=C, cache_size=500).fit(gram, y[train])
        seconds = gram_seconds + time.perf_counter() - start
        quality = roc_auc_score(y[valid], model.decision_function(to_valid))
        if best is None or quality > best[0]:
            best = quality, model, seconds
    scores = best[1].decision_function(kernel(X[test], X[train], n_jobs=1))
    return float(roc_auc_score(y[test], scores)), best[2]


# -------------------------------------------------------------------------------------------------------------- search


@dataclass
class Searched:
    """Ten neighbours of each query, itself left out, and what they cost."""

    ids: np.ndarray
    asked: np.ndarray
    build_seconds: float | None
    ms: float
    megabytes: float | None


def searches(molecules, count, quick):
    """Pairs (name, Searched), the exact kernel first."""
    actives = np.flatnonzero(molecules.active)
    asked = np.random.default_rng(0).choice(actives, min(count, len(actives)), replace=False)
    yield "exact min-max, counts", _exact("min-max", molecules.counts, asked)
    for n_bytes in (16, 32):
        index = KernelIndex(
            "min-max", bytes_per_item=n_bytes, effort="low", random_state=0, n_jobs=1, n_landmarks=64 if quick else 1024
        )
        start = time.perf_counter()
        index.fit(molecules.counts).add(molecules.counts)
        build = time.perf_counter() - start
        for oversample in (10, 50):
            index.set_params(oversample=oversample)
            name = f"{n_bytes} bytes, re-ranked of {11 * oversample}"
            yield name, _indexed(index, molecules.counts, asked, build)
    yield "exact Tanimoto, binary", _exact("min-max", molecules.binary, asked)
    yield "cosine, counts", _exact("linear", _unit(molecules.counts), asked)
    yield "RDKit, counts", _rdkit(molecules, asked[: 20 if quick else 100], asked, counts=True)
    yield "RDKit, binary", _rdkit(molecules, asked[: 20 if quick else 100], asked, counts=False)


def _unit(X):
    from sklearn.preprocessing import normalize

    return normalize(X)


def _without_self(ids, asked):
    return np.array([row[row != own][:10] for row, own in zip(ids, asked, strict=True)])


def _exact(kernel, X, asked):
    exact_knn(kernel, X, X[asked[:2]], 11)
    start = time.perf_counter()
    ids, _ = exact_knn(kernel, X, X[asked], 11)
    ms = 1000 * (time.perf_counter() - start) / len(asked)
    return Searched(_without_self(ids, asked), asked, None, ms, _megabytes(X))


def _indexed(index, X, asked, build):
    index.search(X[asked[:2]], 11)
    start = time.perf_counter()
    ids, _ = index.search(X[asked], 11)
    ms = 1000 * (time.perf_counter() - start) / len(asked)
    kept = index.stats()["code_bytes"] / 1e6 + _megabytes(X) + model_megabytes(index.model_)
    return Searched(_without_self(ids, asked), asked, build, ms, kept)


def _megabytes(X):
    return (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6


def model_megabytes(model):
    """Size of a fitted model as a file."""
    import tempfile
    from pathlib import Path

    from mercer import save

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        save(model, path)
        return path.stat().st_size / 1e6


def _rdkit(molecules, timed, asked, counts):
    """RDKit's own bulk similarity; timed on a part of the queries."""
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    maker = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    make = maker.GetCountFingerprint if counts else maker.GetFingerprint
    start = time.perf_counter()
    prints = [make(Chem.MolFromSmiles(text)) for text in molecules.smiles]
    build = time.perf_counter() - start
    bulk = DataStructs.BulkTanimotoSimilarity
    ids, seconds = [], 0.0
    for place, number in enumerate(asked):
        start = time.perf_counter()
        similarity = np.array(bulk(prints[number], prints))
        ids.append(np.lexsort((np.arange(len(similarity)), -similarity))[:11])
        if place < len(timed):
            seconds += time.perf_counter() - start
    return Searched(_without_self(np.array(ids), asked), asked, build, 1000 * seconds / len(timed), None)
