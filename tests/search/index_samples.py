"""Rows for tests of the search, small indices over them, and the answer of brute force."""

import warnings

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from mercer import InputError
from mercer._base.errors import ApproximationWarning
from mercer.search import KernelIndex
from mercer.search.model.measure import Measure

SMALL = {"bytes_per_item": 4, "embedding": "kpca", "effort": "low", "n_components": 12, "n_landmarks": 48}


def histograms(n=120, d=10, seed=0, n_centres=12):
    """Rows around a few centers, the same for every seed, with empty bins, that sum to 1; float32."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).gamma(0.6, 1.0, (n_centres, d)) + 1e-3
    X = centres[rng.integers(0, n_centres, n)] * rng.gamma(8.0, 0.125, (n, d)) * (rng.random((n, d)) < 0.85)
    X[:, 0] += 1e-3  # no row is empty
    return (X / X.sum(axis=1, keepdims=True)).astype(np.float32)


def index(X, kernel="chi2", *, add=True, ids=None, **parameters):
    """A small index of rows, quick to fit. Fewer rows than words of a code are what tests have: no remark on it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        made = KernelIndex(kernel, **{**SMALL, "random_state": 0, **parameters}).fit(X)
    return made.add(X, ids) if add else made


def sort_key(value):
    """Whole numbers first, in their order, then texts."""
    return (isinstance(value, str), value)


def brute_force(measure, X, Q, k, ids=None, allowed=None):
    """(ids, objectives) of the k nearest rows, from the final scores of all pairs and a sort: lists per query."""
    ids = list(range(X.shape[0])) if ids is None else list(ids)
    kept = np.arange(X.shape[0]) if allowed is None else np.flatnonzero(allowed)
    m = Q.shape[0]
    every = measure.scores(Q, X, np.repeat(np.arange(m), len(kept)), np.tile(kept, m)).reshape(m, len(kept))
    found, values = [], []
    for scores in every:
        entries = sorted((-score, sort_key(ids[row]), ids[row]) for score, row in zip(scores, kept, strict=True))
        found.append([entry[2] for entry in entries[:k]])
        values.append([-entry[0] for entry in entries[:k]])
    return found, values


def answer(result):
    """(ids, values) of a search as lists without the places where nothing was found."""
    ids, values = result
    kept = [[value is not None and value != -1 for value in row] for row in ids.tolist()]
    return (
        [
            [i for i, there in zip(row, mask, strict=True) if there]
            for row, mask in zip(ids.tolist(), kept, strict=True)
        ],
        [
            [v for v, there in zip(row, mask, strict=True) if there]
            for row, mask in zip(values.tolist(), kept, strict=True)
        ],
    )


def as_storage(X, is_sparse):
    """Dense or CSR."""
    return sparse.csr_array(X) if is_sparse else X


IDS = [0, 1, 2, 3, 7, 10**15, -5, "a", "b", "zebra", "ü", "0"]
ROWS = histograms(40, seed=11)
ROWS[5:8] = ROWS[3]  # equal rows: order is that of the ids


class Life:
    """An index beside the dictionary of rows that it should be; every step is checked against brute force."""

    def __init__(self, made):
        self.index, self.rows = made, {}
        self.measure = Measure.of(made.model_)

    def step(self, what, ids, numbers):
        """One change. What cannot be done is refused by name and changes nothing."""
        known = [value for value in ids if value in self.rows]
        X = ROWS[numbers[: len(ids)]]
        if what == "add":
            self._change(lambda: self.index.add(X, ids), known, "in the index. Nothing was added")
        elif what == "update":
            self._change(lambda: self.index.update(X, ids), set(ids) - set(known), "found no row with the id")
        elif what == "remove":
            self._change(lambda: self.index.remove(ids), set(ids) - set(known), "found no row with the id")
        else:
            self.index.compact()
            return
        if what == "remove":
            if len(known) == len(ids):
                self.rows = {value: row for value, row in self.rows.items() if value not in ids}
        elif len(known) == (len(ids) if what == "update" else 0):
            self.rows.update(zip(ids, X, strict=True))

    def _change(self, change, refused, message):
        if not refused:
            change()
            return
        with pytest.raises(InputError, match=message) as error:
            change()
        assert any(f"id {value!r}" in str(error.value) for value in refused)

    def check(self, found=None):
        """The index, or another handle of it, holds the rows of the dictionary and nothing else."""
        found = self.index if found is None else found
        assert len(found) == len(self.rows) == found.stats()["rows"]
        assert [value in found for value in IDS] == [value in self.rows for value in IDS]
        if not self.rows:
            return
        ids, X = list(self.rows), np.stack(list(self.rows.values()))
        Q, k = ROWS[[3, 20, 30]], min(4, len(ids))
        wanted, objectives = brute_force(self.measure, X, Q, k, ids)
        allowed = [value for value in ids if sort_key(value) > (False, 2)]
        filtered, _ = brute_force(self.measure, X, Q, k, ids, [value in allowed for value in ids])
        for exact in (False, True):  # oversample is so large that all rows get their final score
            assert answer(found.search(Q, k, exact=exact)) == (wanted, objectives)
            assert answer(found.search(Q, k, exact=exact, filter=allowed))[0] == filtered
            assert answer(found.search(Q, k, exact=exact, filter=lambda value: value in allowed))[0] == filtered


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "update", "remove", "compact"]),
        st.lists(st.sampled_from(IDS), unique=True, min_size=1, max_size=5),
        st.lists(st.integers(0, 39), min_size=5, max_size=5),
    ),
    max_size=9,
)
