"""Every store of an index: what it is asked for by, and what it promises. A new store joins by a line in STORES."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer._base.errors import ApproximationWarning
from mercer.search import KernelIndex, exact_knn
from mercer.search.graph import rows as _graphs
from mercer.search.lists import block as _block
from mercer.search.lists import files as _files
from mercer.search.lists import ranking as _ranking
from mercer.search.lists import store as _store
from mercer.search.rows import derived as _derived
from tests.search.index_samples import SMALL, histograms

BLOCKS = (_block, _store, _files, _derived)  # modules that know how many rows a block of lists has


@dataclass(frozen=True)
class Store:
    """How an index gets a store.

    Parameters
    ----------
    parameters : of KernelIndex
    is_sparse : whether it is tried on CSR rows
    recall : that 10 nearest rows and ranges reach without a proof, on any rows and under any filter
    proves : whether answers without a proof are those of brute force as soon as all rows are re-ranked
    is_killed : whether its writers are killed too: one index of each kind of files
    """

    parameters: dict
    is_sparse: bool = False
    recall: float = 1.0
    proves: bool = True
    is_killed: bool = False

    def index(self, X, **parameters):
        """An index fitted to rows, without any."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            return KernelIndex("chi2", **{"random_state": 0, **self.parameters, **parameters}).fit(self.rows(X))

    def rows(self, X):
        """Rows as the store is to have them."""
        return sparse.csr_array(X) if self.is_sparse else X


STORES = {
    "codes": Store(SMALL, recall=0.98, is_killed=True),  # measured 1
    "embedded rows": Store({**SMALL, "code": "flat", "bytes_per_item": 48}, recall=0.98),  # measured 1
    "codes in lists": Store({**SMALL, "n_lists": 6}, recall=0.95, proves=False),  # measured 0.99
    "a graph": Store({"store": "graph", "effort": "low", "n_landmarks": 48}, recall=0.95, proves=False, is_killed=True),
    "inverted lists": Store({"store": "lists"}, is_sparse=True, is_killed=True),
    "inverted lists of dense rows": Store({"store": "lists"}),
    "inverted lists beside codes": Store({**SMALL, "store": "lists"}, is_sparse=True),
}


def cut_lists(monkeypatch, n_rows=128):
    """What many rows have: lists of several blocks, with files of the full ones, and a graph."""
    for module in BLOCKS:
        monkeypatch.setattr(module, "BLOCK_ROWS", n_rows)
    monkeypatch.setattr(_ranking, "WORTH", 1)  # rows are looked for in lists that are not read
    monkeypatch.setattr(_ranking, "LEAST_LEFT", 1000)
    monkeypatch.setattr(_graphs, "TAIL_ROWS", 16)  # and a graph of so few rows


class Rows:
    """The rows that an index should hold: each step is taken by both, and answers are compared.

    Column ``near`` counts the rows of the first table from the one most like a query to the one least like it: a
    condition on it is correlated with that query, or stands against it.
    """

    Q = histograms(8, seed=5)

    def __init__(self, store, index, X):
        self.store, self.index = store, index
        ranks = np.argsort(exact_knn("chi2", X, self.Q[:1], len(X))[0][0])
        self.near = {}
        self.rows = {}
        self._ranking = None
        self.add(X, ranks)

    def add(self, X, near):
        """Add rows, with ids that have gaps."""
        first = max(self.rows, default=-3) + 3
        ids = list(range(first, first + 3 * len(X), 3))
        self.index.add(self.store.rows(X), ids, data={"near": near})
        self._keep(ids, X, near)

    def update(self, ids, X):
        """Give rows to ids that are there; their column stays."""
        self.index.update(self.store.rows(X), ids)
        self._keep(ids, X, [self.near[each] for each in ids])

    def remove(self, ids):
        """Take rows out."""
        self.index.remove(ids)
        self._ranking = None
        for each in ids:
            del self.rows[each], self.near[each]

    def _keep(self, ids, X, near):
        self._ranking = None
        self.rows.update(zip(ids, X, strict=True))
        self.near.update(zip(ids, np.asarray(near).tolist(), strict=True))

    def check(self, index=None):
        """Everything that can be asked: nearest rows and ranges, with and without filters."""
        index = self.index if index is None else index
        assert len(index) == len(self.rows)
        n = len(self.rows)
        few = sorted(self.rows, key=self.near.get)[: n // 20]
        for k in (1, 10, min(40, n)):
            self._check_nearest(index, k, self.rows, {})
        self._check_range(index, self.rows, {})
        for where, keeps in (
            (f"near < {n // 5}", lambda near: near < n // 5),
            (f"near >= {n - n // 5}", lambda near: near >= n - n // 5),
            (f"near between {n - n // 50} and {n}", lambda near: n - n // 50 <= near <= n),  # a narrow one
            ("near < 0", lambda near: False),
        ):
            allowed = {each for each in self.rows if keeps(self.near[each])}
            self._check_nearest(index, 10, allowed, {"where": where})
            self._check_nearest(index, 10, allowed & set(few), {"where": where, "filter": few})
            self._check_range(index, allowed, {"where": where})
        self._check_nearest(index, 10, few, {"filter": few})

    def ranking(self):
        """(ids, similarities) of all rows for every query, the nearest first, by brute force."""
        if self._ranking is None:
            ids = np.array(sorted(self.rows), dtype=np.int64)
            X = np.stack([self.rows[each] for each in ids.tolist()])
            places, values = exact_knn("chi2", self.store.rows(X), self.Q, len(ids))
            self._ranking = ids[places], values
        return self._ranking

    def truth(self, allowed, k=None):
        """(ids, similarities) of the nearest rows among these: a value is of two rows, whatever others are there."""
        ids, values = self.ranking()
        among, n = np.isin(ids, sorted(allowed)), len(allowed)  # each row of the ranking has all of them
        return ids[among].reshape(len(self.Q), n)[:, :k], values[among].reshape(len(self.Q), n)[:, :k]

    def _check_nearest(self, index, k, allowed, how):
        wanted, similarity = self.truth(allowed, k)
        n = wanted.shape[1]
        for exact in (True, False):
            ids, values = index.search(self.store.rows(self.Q), k, exact=exact, **how)
            assert (ids[:, n:] == -1).all()
            assert (values[:, n:] == -np.inf).all()
            if exact or self.store.recall == 1:
                np.testing.assert_array_equal(ids[:, :n], wanted)
                np.testing.assert_array_equal(values[:, :n], similarity)
            else:
                self._check_found(
                    zip(ids[:, :n], values[:, :n], strict=True), zip(wanted, similarity, strict=True), allowed
                )

    def _check_range(self, index, allowed, how):
        wanted, similarity = self.truth(allowed)
        limit = 0.9
        near = [(ids[values >= limit], values[values >= limit]) for ids, values in zip(wanted, similarity, strict=True)]
        for exact in (True, False):
            found = index.range_search(self.store.rows(self.Q), min_similarity=limit, exact=exact, **how)
            if exact or self.store.recall == 1:
                for (ids, values), (some, their) in zip(near, zip(*found, strict=True), strict=True):
                    np.testing.assert_array_equal(some, ids)
                    np.testing.assert_array_equal(their, values)
            else:
                self._check_found(zip(*found, strict=True), near, allowed)

    def _check_found(self, found, wanted, allowed):
        """Rows that may be found, each once, with their true values in order; and enough of those that are near."""
        hits = total = 0
        for number, ((ids, values), (true, near)) in enumerate(zip(found, wanted, strict=True)):
            there = ids >= 0  # lists of codes that are not looked at hold the others
            ids, values = ids[there], values[there]
            assert len(set(ids.tolist())) == len(ids)
            assert set(ids.tolist()) <= set(allowed)
            assert (np.diff(values) <= 0).all()
            known = dict(zip(*(part[number].tolist() for part in self.ranking()), strict=True))
            assert values.tolist() == [known[each] for each in ids.tolist()]
            # a row as near as the last of the true ones counts as one of them
            hits += np.count_nonzero(values >= near.min(initial=np.inf))
            total += len(true)
        assert hits >= self.store.recall * total
