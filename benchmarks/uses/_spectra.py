"""The ways of searching MassBank that are compared, and the classification of its superclasses."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mercer import KernelClassifier, KernelIndex, SpectralEntropyWeighting, exact_knn
from mercer.datasets import load_massbank
from mercer.features import bin_spectra

NEIGHBOURS = 11  # one more than needed: a query finds itself, which does not count
ALONE = 200  # queries that are also asked one by one
NOISE, PRECURSOR = 0.01, 1.6  # ms_entropy's own defaults
MERGED, TOLERANCE = 0.05, 0.02


class Library:
    """Spectra as peaks, as rows and as rows of cleaned peaks."""

    def __init__(self, quick):
        self.data = load_massbank(0.1)
        self.n = 1500 if quick else len(self.data.compound)
        self.compound = self.data.compound[: self.n]
        weighting = SpectralEntropyWeighting()
        self.raw = self.data.data[: self.n]
        self.rows = weighting.fit_transform(self.raw)
        self.peaks = [self._cleaned(number, 0.0, None) for number in range(self.n)]
        self.cleaned = [self._cleaned(number, NOISE, PRECURSOR) for number in range(self.n)]
        self.cleaned_rows = weighting.fit_transform(bin_spectra(self.cleaned))

    def _cleaned(self, number, noise, below_precursor):
        from ms_entropy import clean_spectrum

        part = slice(*self.data.offsets[number : number + 2])
        peaks = np.column_stack([self.data.mz[part], self.data.intensity[part]]).astype(np.float32)
        top = None if below_precursor is None else float(self.data.precursor_mz[number]) - below_precursor
        kept = clean_spectrum(
            peaks, min_mz=-1, max_mz=top, noise_threshold=noise, min_ms2_difference_in_da=MERGED, max_peak_num=None,
            normalize_intensity=True,
        )  # fmt: skip
        return kept if len(kept) else peaks[:0]

    def queries(self, count):
        """Row numbers of spectra whose compound has another spectrum."""
        names, counts = np.unique(self.compound, return_counts=True)
        mates = np.flatnonzero(counts[np.searchsorted(names, self.compound)] > 1)
        return np.random.default_rng(0).choice(mates, min(count, len(mates)), replace=False)

    def hits(self, ids, asked):
        """rank -> whether each query has a mate among its first."""
        others = np.array([row[row != own][: NEIGHBOURS - 1] for row, own in zip(ids, asked, strict=True)])
        same = self.compound[others] == self.compound[asked][:, None]
        return {rank: same[:, :rank].any(axis=1) for rank in (1, 10)}


@dataclass
class Found:
    """Answers and costs of one way of searching."""

    ids: np.ndarray
    build_seconds: float | None
    ms_together: float | None
    ms_alone: float
    megabytes: float


def ways(library):
    """Pairs (name, function of the queries)."""
    lengths = np.sqrt(library.raw.multiply(library.raw).sum(axis=1))[:, None]
    cosine = library.raw.multiply(1 / lengths).tocsr().astype(np.float32)
    return [
        ("exact Jensen-Shannon", partial(_exact, "jensen-shannon", library.rows)),
        ("16 bytes, re-ranked", partial(_index, library.rows, 16, True)),
        ("32 bytes, re-ranked", partial(_index, library.rows, 32, True)),
        ("32 bytes, codes only", partial(_index, library.rows, 32, False)),
        ("16 bytes, re-ranked, cleaned", partial(_index, library.cleaned_rows, 16, True)),
        ("cosine of intensities", partial(_exact, "linear", cosine)),
        ("cosine of their roots", partial(_exact, "hellinger", _sum_to_one(library.raw))),
        ("ms_entropy", partial(_flash, library.peaks, library)),
        ("ms_entropy, cleaned", partial(_flash, library.cleaned, library)),
    ]


def _sum_to_one(X):
    return X.multiply(1 / X.sum(axis=1)[:, None]).tocsr().astype(np.float32)


def _exact(kernel, X, asked):
    """Every kernel value of every query."""
    _exact_once = partial(exact_knn, kernel, X)
    _exact_once(X[asked[:2]], NEIGHBOURS)
    together, (ids, _) = _timed(lambda: _exact_once(X[asked], NEIGHBOURS))
    alone = _one_by_one(lambda row: _exact_once(row, NEIGHBOURS), X, asked[:20])
    return Found(ids, None, 1000 * together / len(asked), alone, _megabytes(X))


def _index(X, n_bytes, rerank, asked):
    vectors = "float32" if rerank else None
    index = KernelIndex("jensen-shannon", bytes_per_item=n_bytes, vectors=vectors, random_state=0, n_jobs=1)
    build, _ = _timed(lambda: index.fit(X).add(X))
    index.search(X[asked[:2]], NEIGHBOURS)
    together, (ids, _) = _timed(lambda: index.search(X[asked], NEIGHBOURS))
    alone = _one_by_one(lambda row: index.search(row, NEIGHBOURS), X, asked[:ALONE])
    kept = index.stats()["code_bytes"] / 1e6 + _model_megabytes(index) + (_megabytes(X) if rerank else 0)
    return Found(ids, build, 1000 * together / len(asked), alone, kept)


def _flash(peaks, library, asked):
    """ms_entropy's open search: all spectra, whatever their precursor."""
    from ms_entropy import FlashEntropySearch

    precursors = library.data.precursor_mz
    entries = [{"precursor_mz": float(precursors[i]), "peaks": table, "row": i} for i, table in enumerate(peaks)]
    entries = [entry for entry in entries if len(entry["peaks"])]
    flash = FlashEntropySearch()
    build, ordered = _timed(lambda: flash.build_index(entries, clean_spectra=False))
    row = np.array([entry["row"] for entry in ordered])
    ids = np.full((len(asked), NEIGHBOURS), -1)
    start = time.perf_counter()
    for place, number in enumerate(asked):
        if len(peaks[number]):
            similarity = flash.open_search(peaks[number], TOLERANCE)
            best = np.argpartition(-similarity, NEIGHBOURS)[:NEIGHBOURS]
            ids[place] = row[best[np.argsort(-similarity[best], kind="stable")]]
    alone = 1000 * (time.perf_counter() - start) / len(asked)
    kept = sum(part.nbytes for part in flash.entropy_search.index) + flash.precursor_mz_array.nbytes
    return Found(ids, build, None, alone, kept / 1e6)


def _timed(job: Callable):
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def _one_by_one(search, X, asked):
    rows = [X[[number]] for number in asked]
    seconds, _ = _timed(lambda: [search(row) for row in rows])
    return 1000 * seconds / len(rows)


def _megabytes(X):
    return (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6


def _model_megabytes(index):
    """Size of the fitted embedding and code as a model file."""
    import tempfile
    from pathlib import Path

    from mercer import save

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        save(index.model_, path)
        return path.stat().st_size / 1e6


# ------------------------------------------------------------------------------------------------------ classification


@dataclass
class Classified:
    """One kind of features over all folds: what was right, whose spectrum it was, and the choices made."""

    right: np.ndarray
    compound: np.ndarray
    label: np.ndarray
    Cs: list
    seconds: float


def superclasses(Cs, folds, quick):
    """({features: Classified}, number of spectra)"""
    from sklearn.model_selection import GroupKFold

    data = load_massbank(0.1)
    known = np.flatnonzero(data.superclass != "")
    if quick:
        known = known[::40]
    y, compound = data.superclass[known], data.compound[known]
    weighted = SpectralEntropyWeighting().fit_transform(data.data[known])
    plain = _sum_to_one(data.data[known])
    sides = {
        "linear, intensities": ("linear", _unit(plain)),
        "linear, entropy-weighted": ("linear", _unit(weighted)),
        "square roots": ("hellinger", weighted),
        "Jensen-Shannon map": ("jensen-shannon", weighted),
        "intersection map": ("intersection", weighted),
    }
    splits = list(GroupKFold(folds, shuffle=True, random_state=0).split(y, groups=compound))
    return {name: _classified(kernel, X, y, compound, splits, Cs) for name, (kernel, X) in sides.items()}, len(y)


def _unit(X):
    from sklearn.preprocessing import normalize

    return normalize(X)


def _classified(kernel, X, y, compound, splits, Cs):
    from sklearn.model_selection import GroupShuffleSplit

    right, chosen, seconds = np.zeros(len(y), dtype=bool), [], 0.0
    for train, test in splits:
        inner = GroupShuffleSplit(1, test_size=0.2, random_state=0)
        fitted, held = next(inner.split(train, groups=compound[train]))
        scores = [_classifier(kernel, C).fit(X[train[fitted]], y[train[fitted]]).score(X[train[held]], y[train[held]])
                  for C in Cs]  # fmt: skip
        chosen.append(Cs[int(np.argmax(scores))])
        seconds, model = _timed(lambda: _classifier(kernel, chosen[-1]).fit(X[train], y[train]))
        right[test] = model.predict(X[test]) == y[test]
    return Classified(right, compound, y, chosen, seconds)


def _classifier(kernel, C):
    return KernelClassifier(kernel, C=C, multi_class="ovr", tol=1e-2, random_state=0, n_jobs=1)


def balanced(result):
    """Mean over the classes of the share that is right."""
    return float(np.mean([result.right[result.label == name].mean() for name in np.unique(result.label)]))
