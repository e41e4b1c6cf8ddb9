"""StoreIndex: the rows of an index in PostgreSQL or Milvus, searched there and ranked here. [bourrier15explicit]

add      psi(x) of every row goes into the store, with the row itself for the last step
search   psi(q); the store finds the ``oversample * k`` rows of largest <psi(q), psi(x)> ~ K(q, x); the exact kernel
         ranks them
"""

__all__ = ["StoreIndex"]

from dataclasses import replace

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer._base.parameters.search import EF, EXACT, K
from mercer._base.threads import thread_limit
from mercer.search.by_codes import oversampled
from mercer.search.conditions import parse_condition
from mercer.search.databases.artefact import embedded
from mercer.search.databases.external import Candidates, Condition
from mercer.search.databases.row_bytes import as_bytes, from_bytes
from mercer.search.model.measure import Measure
from mercer.search.rows.checks import check_taken
from mercer.search.rows.ids import as_ids, listed_ids, refuse_repeated
from mercer.search.rows.vectors import as_kept

ADD_ROWS = 2**14  # embedded and sent at a time
SCAN_ROWS = 2**13  # fetched at a time by an exact search
ASKED_TOGETHER = 256  # queries whose candidates are in memory at once


class StoreIndex:
    """Search for the nearest rows under a kernel in a table or collection of a database.

    ``KernelIndex.push`` copies an index to a store, and ``KernelIndex.connect`` opens it. Rows are identified by their
    ids, as in a :class:`KernelIndex`. Other programs may change the store at any time, and every search uses its
    current content.

    Parameters
    ----------
    store : PostgresStore or MilvusStore, opened
    layout : Layout
    model : SearchModel, fitted
    fingerprint : str
        Of the embedding.
    rows : function of a list of ids, or None
        Returns the rows of these ids, in their order, if the store does not contain them.
    n_jobs : int or None

    Attributes
    ----------
    model_ : SearchModel
    fingerprint_ : str
        Fingerprint of the embedding, as recorded in the store.
    oversample : float
        The store returns ``oversample * k`` candidates per query.

    Examples
    --------
    >>> from mercer import KernelIndex
    >>> index = KernelIndex.connect("postgresql://me@host/shop", "images")  # doctest: +SKIP
    >>> ids, similarity = index.search(X_new, k=10)  # doctest: +SKIP
    """

    def __init__(self, store, layout, model, fingerprint, rows=None, n_jobs=None):
        self._store, self._layout = store, layout
        self.model_, self.fingerprint_ = model, fingerprint
        self.model_.n_jobs = n_jobs
        self.rows, self.n_jobs, self.oversample = rows, n_jobs, layout.oversample

    # --------------------------------------------------------------------------------------------------------- rows

    def add(self, X, ids, payload=None):
        """Add rows, all or none.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        ids : sequence of n integers or strings
            Ids of the type that the store uses. They are never generated, because other programs may write too.
        payload : dict of a column's name -> n values, or None
            Values of further columns of the table, or fields of the collection, including columns of the index.
        """
        self._write(self._store.insert, X, ids, payload, "KernelIndex.add")
        return self

    def update(self, X, ids, payload=None):
        """Replace rows of the index by their ids, all or none. Other columns do not change."""
        self._write(self._store.update, X, ids, payload, "KernelIndex.update")
        return self

    def remove(self, ids):
        """Remove rows by id. Rows of a table that existed before stay in the table."""
        ids = self._checked_ids(ids, "KernelIndex.remove")
        self._store.delete(list(dict.fromkeys(ids)))
        return self

    def __len__(self):
        return self._store.count()

    def __contains__(self, id):
        return bool(self._store.known(self._checked_ids([id], "KernelIndex")))

    def transaction(self):
        """Return a context manager that applies all changes together, or none if an error leaves it.

        PostgreSQL only. On a connection of your own, changes belong to its transaction anyway.
        """
        if not self._store.has_transactions:
            raise InputError(f"{self._store.place} does not support transactions: every change is visible at once.")
        return self._store.transaction()

    def _write(self, write, X, ids, payload, who):
        X = as_kept(self.model_.validated(X), self._layout.sparse)
        ids = self._checked_ids(ids, who, X.shape[0])
        refuse_repeated(ids, who)
        payload = _checked_payload(payload, len(ids), self._layout, who)
        parts = [slice(start, start + ADD_ROWS) for start in range(0, len(ids), ADD_ROWS)]
        write(ids, (self._packed(X[part], who) for part in parts), payload)

    def _packed(self, X, who):
        """(embedded rows, kept rows as bytes)."""
        vectors = self._layout.vectors
        rows = as_bytes(vectors, vectors.pack(X, who)[0]) if vectors else [None] * X.shape[0]
        return embedded(self.model_, X), rows

    # ------------------------------------------------------------------------------------------------------- search

    def search(self, Q, k=10, *, filter=None, where=None, exact=False, rerank=True, ef=None):
        """Find the k nearest rows of each query.

        Parameters
        ----------
        Q : array-like or sparse matrix of shape (m, d)
        k : int
        filter : sequence of ids, text, (text, values), or None
            Rows to search among: ids, or a condition in the language of the store. A condition is code: never build it
            from untrusted input. In PostgreSQL, pass values separately: ``("year > %(since)s", {"since": 2000})``.
        where : str, mapping or None
            Condition on the columns that were pushed, as in `KernelIndex.search`. Names are checked and values are
            bound, so it may come from untrusted input. It applies in addition to ``filter``.
        exact : bool
            Compare every row of the store by the exact kernel, which is slow and serves as ground truth.
        rerank : bool
            Compute the exact kernel for the candidates; otherwise, the store's inner products rank them, which are
            estimates.
        ef : int or None
            Number of candidates kept during an HNSW search; more candidates find more true neighbors and are slower.
            None uses the number of rows requested, at least 100.

        Returns
        -------
        ids : array of shape (m, k), nearest first, ties by id; -1 (None for string ids) if fewer were found
        values : float64 array of shape (m, k), similarities or distances
        """
        Q = as_kept(self.model_.validated(Q, name="Q"), self._layout.sparse)
        K.check(k, "StoreIndex.search")
        EF.check(ef, "StoreIndex.search")
        condition = self._condition(filter, where)
        EXACT.check(exact, "StoreIndex.search")
        if (exact or rerank) and self._layout.kept is None and self.rows is None:
            raise InputError(
                f"The exact kernel needs the rows, but {self._store.place} does not store them (vectors=None). "
                "Connect with rows=..., a function that returns the rows of a list of ids, or search with "
                "rerank=False."
            )
        with thread_limit(self.n_jobs):
            if exact:
                found = self._compare_all(Q, int(k), condition)
            else:
                found = self._ask(Q, int(k), condition, rerank, ef)
        return self._answer(found, int(k))

    def kneighbors(self, X, n_neighbors=5, return_distance=True):
        """Return (distances or similarities, ids), or the ids alone, as scikit-learn does."""
        ids, values = self.search(X, n_neighbors)
        return (values, ids) if return_distance else ids

    def embed(self, X):
        """Embed rows or queries, float32, for your own SQL or Milvus calls: <psi(x), psi(y)> ~ K(x, y)."""
        return embedded(self.model_, self.model_.validated(X))

    def explain(self, q, k=10, *, filter=None, where=None):
        """Show how the store would search for the first row of ``q``: PostgreSQL's EXPLAIN, or the index of Milvus."""
        K.check(k, "StoreIndex.explain")
        wanted = oversampled(int(k), self.oversample)
        return self._store.explain(self.embed(q)[0], wanted, self._condition(filter, where))

    def stats(self):
        """Return a dictionary that describes the index and its store."""
        layout, model = self._layout, self.model_
        return {
            "rows": len(self),
            "place": self._store.place,
            "kernel": repr(model.kernel_),
            "measure": model.measure,
            "normalize": model.normalize,
            "vectors": layout.kept,
            "fingerprint": self.fingerprint_,
            **{name: value for name, value in layout.document().items() if name not in ("kept", "format")},
        }

    def drop(self):
        """Drop the index: its table or collection, or its columns in a table that existed before."""
        self._store.drop()

    def close(self):
        """Close the connection, unless it is yours."""
        self._store.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    @property
    def kernel(self):
        """The kernel of the parameters."""
        return self.model_.kernel

    @property
    def kernel_(self):
        """The kernel that compares rows, with its measured width."""
        return self.model_.kernel_

    @property
    def measure(self):
        """The reported measure: "similarity" or "distance"."""
        return self.model_.measure

    @property
    def normalize(self):
        """Whether the kernel is normalized."""
        return self.model_.normalize

    @property
    def columns_(self):
        """The columns that were pushed: their types by name."""
        return {column.name: column.type for column in self._layout.data}

    @property
    def n_features_in_(self):
        """Columns of a row."""
        return self.model_.n_features_in_

    # ------------------------------------------------------------------------------------------------------ helpers

    @property
    def _measure(self):
        return Measure.of(self.model_)

    def _ask(self, Q, k, condition, rerank, ef):
        """Candidates of the store, with their final or estimated scores."""
        Z, wanted, found = embedded(self.model_, Q), oversampled(k, self.oversample) if rerank else k, []
        for start in range(0, Q.shape[0], ASKED_TOGETHER):
            part = slice(start, start + ASKED_TOGETHER)
            candidates = self._store.search(Z[part], wanted, condition, ef, rerank and self.rows is None)
            if rerank:
                found.extend(self._scored(Q[part], candidates))
            else:
                found.extend(self._estimated(each) for each in candidates)
        return found

    def _scored(self, Q, candidates):
        """The same candidates with exact scores."""
        place, kept = {}, []
        for each in candidates:
            for value, row in zip(each.ids, each.rows, strict=True):
                if place.setdefault(value, len(place)) == len(kept):
                    kept.append(row)
        if not place:
            return candidates
        left = np.repeat(np.arange(len(candidates)), [len(each.ids) for each in candidates])
        right = np.array([place[value] for each in candidates for value in each.ids])
        X = self._restored(list(place), kept)
        scores = self._measure.scores(Q, X, left, right, self.n_jobs)
        cuts = np.searchsorted(left, np.arange(len(candidates) + 1))
        return [
            replace(each, scores=scores[cuts[i] : cuts[i + 1]].tolist(), rows=[]) for i, each in enumerate(candidates)
        ]

    def _restored(self, ids, kept):
        """The rows of ids: from the store, or from the caller's function."""
        if self.rows is None:
            return self._from_store(ids, kept)
        X = as_kept(self.model_.validated(self.rows(ids), name="rows(ids)"), self._layout.sparse)
        if X.shape[0] != len(ids):
            raise InputError(f"rows(ids) must return {len(ids)} rows, but returned {X.shape[0]}.")
        return X

    def _from_store(self, ids, kept):
        """Kept rows, of which others may have made anything."""
        empty = next((value for value, row in zip(ids, kept, strict=True) if row is None), None)
        if empty is not None:
            raise InputError(
                f"{self._store.place} has no row with the id {empty!r:.80} in the column {self._layout.row_column!r} "
                f"of {self._layout.name}, because another program deleted it. Add the row again, or connect with "
                "rows=."
            )
        X = from_bytes(self._layout.vectors, kept, self._store.place)
        try:
            check_taken(X, self._layout.vectors, self.model_.kernel_)
        except FileProblem as problem:
            raise InputError(
                f"{self._store.place}: {self._layout.name} {problem} Another program wrote to the column "
                f"{self._layout.row_column!r}. Add these rows again, or connect with rows=."
            ) from None
        return X

    def _estimated(self, found):
        """Scores of the store as the objective: kernel values, or squared distances below zero."""
        scores = np.asarray(found.scores, dtype=np.float64)
        measure = self._measure
        if measure.is_distance and self._layout.metric == "inner product":
            scores = 2 * scores - 2  # K(x, x) = 1 here
        return replace(found, scores=np.minimum(scores, 0.0).tolist() if measure.is_distance else scores.tolist())

    def _compare_all(self, Q, k, condition):
        best = [Candidates([], [], []) for _ in range(Q.shape[0])]
        for block in self._store.scan(condition, SCAN_ROWS, self.rows is None):
            X, n, m = self._restored(block.ids, block.rows), len(block.ids), Q.shape[0]
            left, right = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
            scores = self._measure.scores(Q, X, left, right, self.n_jobs).reshape(m, n)
            best = [
                Candidates(each.ids + block.ids, each.scores + row.tolist(), []).best(k)
                for each, row in zip(best, scores, strict=True)
            ]
        return best

    def _answer(self, found, k):
        texts = self._layout.ids == "texts"
        ids = np.full((len(found), k), None if texts else -1, dtype=object if texts else np.int64)
        values = np.full((len(found), k), self._measure.nothing)
        for i, each in enumerate(found):
            best = each.best(k)
            ids[i, : len(best.ids)] = best.ids
            values[i, : len(best.ids)] = self._measure.reported(np.array(best.scores))
        return ids, values

    def _checked_ids(self, ids, who, n_rows=None):
        if ids is None:
            raise InputError(
                f"{who} needs ids, because other programs may use the store too. Pass an integer or a string per row."
            )
        ids = listed_ids(ids, who) if n_rows is None else as_ids(ids, n_rows, who)
        ids = [value if isinstance(value, str) else int(value) for value in ids]
        wanted = str if self._layout.ids == "texts" else int
        strange = next((value for value in ids if not isinstance(value, wanted)), None)
        if strange is not None:
            what = "strings" if wanted is str else "integers"
            raise InputError(f"{who} needs {what} as ids in {self._layout.name}, got {strange!r:.80}.")
        return ids

    def _condition(self, filter, where):
        found = self._filter(filter)
        if where is None:
            return found
        return replace(found or Condition(), tree=parse_condition(where, self._layout.data, "StoreIndex.search"))

    def _filter(self, filter):
        if filter is None:
            return None
        if isinstance(filter, str):
            return Condition(text=filter)
        if isinstance(filter, tuple) and [type(part) for part in filter] == [str, dict]:
            return Condition(text=filter[0], values=filter[1])
        if callable(filter):
            raise InputError(
                f"{self._store.place} cannot use a Python function as a filter. Pass ids, or a condition in "
                f"{self._store.language}."
            )
        return Condition(ids=self._checked_ids(filter, "KernelIndex.search(filter=)"))


def _checked_payload(payload, n_rows, layout, who):
    """A list of values for each name, which is not one of our columns."""
    if payload is None:
        return {}
    own = (layout.id_column, layout.embedding_column, layout.row_column)
    for name, values in dict(payload).items():
        if not isinstance(name, str) or name in own:
            raise InputError(f"{who} cannot set its own columns ({', '.join(own)}) as payload; got {name!r:.80}.")
        if not hasattr(values, "__len__") or len(values) != n_rows:
            raise InputError(f"{who} needs {n_rows} values for the column {name!r}, one per row.")
    return {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in payload.items()}
