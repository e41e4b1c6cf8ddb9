"""Nearest rows of an index, for raw rows by its kernel, and for codes by Hamming distance."""

__all__ = ["Neighbors", "Wanted", "open_neighbors"]

import math
import os
import threading
import warnings
from dataclasses import dataclass

import numpy as np

from mercer import KernelIndex, hamming_top_k
from mercer._base.errors import InputError
from mercer._base.tables import features_of
from mercer._base.tables.formats.readers import load_array
from mercer._base.tables.limits import Limit
from mercer.serving.bodies.columns import filled, named_columns, other_columns, permutation
from mercer.serving.http.faults import Fault
from mercer.serving.http.replies import plain
from mercer.serving.model.labels import read_labels

_ENCODED_ROWS = 2**14  # at a time
WHO = "KernelIndex.search"


@dataclass(frozen=True)
class FoundRows:
    """Rows that were found, for each query: ids and similarities, labels and columns if there are any, and rows.

    ``data`` has a list for each query, by the name of the column.
    """

    ids: list
    similarity: list
    labels: list | None
    rows: list | None
    data: dict | None


@dataclass(frozen=True)
class Wanted:
    """What a request wants to know: how many rows, which may be found, and what is told of them."""

    k: int
    where: str | None = None
    ids: list | None = None
    exact: bool = False
    with_rows: bool = False
    recall: float | None = None


class Neighbors:
    """The rows of an index as the service searches them.

    Parameters
    ----------
    index : KernelIndex with rows in it
    model : ServedModel; if it takes codes, the kept rows are encoded by its embedding, once for every rate
    labels : dict from ids, as text, to labels; or None

    Attributes
    ----------
    columns : names of the columns by which raw queries are taken, those of the model if it has any; or None
    other_columns : names of columns that may come with them: of the tables of the model and of the index
    takes_missing : whether a raw query may lack values, which the means of the table of the index fill
    """

    def __init__(self, index, model, labels=None):
        if not len(index):
            raise InputError("The index has no rows. Add rows with mercer index add.")
        if index.n_features_in_ != model.n_features:
            raise InputError(
                f"The index has rows of {index.n_features_in_} numbers, but the model takes {model.n_features}. "
                "Build the index from rows with the columns of the model."
            )
        own = named_columns(index)
        self.columns = own if model.columns is None else model.columns
        self.other_columns = (*model.other_columns, *other_columns(index))
        # rows are in the order of the index in it, and in the order of the model outside
        self._to_model = permutation(own, model.columns, "The index")
        self._to_index = None if self._to_model is None else np.argsort(self._to_model)
        self._means = features_of(index).means
        self.takes_missing = self._means is not None
        self._index, self._model, self._labels = index, model, labels
        self._collection = index.rows_
        self._positions = self._collection.alive
        self._lock, self._codes = threading.Lock(), {}
        if model.rates and self._collection.vectors is not None:
            self._codes[model.rates[-1]] = self._encoded(model.rates[-1])

    def __len__(self):
        return len(self._index)

    @property
    def takes_codes(self):
        """Whether queries may be codes: the model makes bits, and the index keeps rows to make bits of."""
        return bool(self._codes)

    @property
    def can_show_rows(self):
        """Whether the index keeps rows."""
        return self._collection.vectors is not None

    def card(self):
        """What ``/v1/model`` tells of the index."""
        kernel, measure = repr(self._index.kernel_), self._index.measure
        beside = {"data": self._index.columns_}
        return {"rows": len(self), "kernel": kernel, "measure": measure, "takes_codes": self.takes_codes, **beside}

    def search(self, kind, queries, bits, wanted):
        """The nearest rows of each query. For codes, similarity is the share of bits that agree."""
        allowed = self._allowed(wanted)
        if kind == "codes":
            found = self._by_bits(queries, bits, wanted, allowed)
        else:
            found = self._by_kernel(filled(_reordered(queries, self._to_index), self._means), wanted)
        positions = [each for each, _ in found]
        ids = [plain(self._collection.ids.at(each)) for each in positions]
        labels = None if self._labels is None else [[self._labels.get(str(name)) for name in row] for row in ids]
        rows = [plain(self._rows(each)) for each in positions] if wanted.with_rows else None
        data = None
        if self._index.columns_:
            told = [self._collection.values(each) for each in positions]
            data = {name: [[_told(value) for value in each[name]] for each in told] for name in self._index.columns_}
        return FoundRows(ids, [values for _, values in found], labels, rows, data)

    def table(self, found, first):
        """(names of columns, for each query a list of lines): what was found, as lines of a table.

        ``first`` is the number of rows before the first query, whose number is one more.
        """
        names = ["row", "rank", "id", self._index.measure, *["label"] * (found.labels is not None), *(found.data or {})]
        columns = [found.ids, found.similarity, *[found.labels] * (found.labels is not None)]
        columns += (found.data or {}).values()
        return names, [
            [[first + query + 1, rank + 1, *(column[query][rank] for column in columns)] for rank in range(len(ids))]
            for query, ids in enumerate(found.ids)
        ]

    def _allowed(self, wanted):
        """Which positions may be found, or None for all; a condition or an id that cannot be used is a fault."""
        try:
            ids = None if wanted.ids is None else self._collection.allowed(wanted.ids, "ids")
        except InputError as error:
            raise Fault(422, "ids", str(error).replace("ids(filter=)", "The index")) from None
        try:
            where = None if wanted.where is None else self._collection.fulfilling(wanted.where, WHO)
        except InputError as error:
            raise Fault(422, "where", str(error).replace(f"{WHO}(where=)", "where")) from None
        return where if ids is None else ids if where is None else ids & where

    def _by_bits(self, codes, bits, wanted, allowed):
        """(positions, shares of bits that agree) for each query."""
        known, positions = self._codes_of(bits), self._positions
        if allowed is not None:
            known, positions = known[allowed[positions]], positions[allowed[positions]]
        if not len(positions):
            return [(positions, np.empty(0))] * len(codes)
        distances, which = hamming_top_k(known, codes, min(wanted.k, len(positions)))
        return list(zip(positions[which], 1.0 - distances / bits, strict=True))

    def _by_kernel(self, rows, wanted):
        """(positions, similarities or distances) for each query."""
        how = {"filter": wanted.ids, "where": wanted.where, "exact": wanted.exact, "recall": wanted.recall}
        ids, values = self._found(rows, min(wanted.k, len(self)), **how)
        nothing = np.inf if self._index.measure == "distance" else -np.inf
        there = values != nothing
        pairs = zip(ids, values, there, strict=True)
        return [(self._collection.ids.positions(some[kept].tolist()), each[kept]) for some, each, kept in pairs]

    def warm_up(self):
        """Search once by each kind of query, so that code is compiled and codes of all rates are made."""
        self._found(np.ones((1, self._model.n_features), dtype=np.float32), 1)
        for bits in self._model.rates if self.takes_codes else ():
            self.search("codes", np.zeros((1, -(-bits // 8)), dtype=np.uint8), bits, Wanted(1))

    def _found(self, queries, k, **how):
        """What the index finds for rows that are in its order; that they have no names is no news."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self._index.search(queries, k, **how)

    def _codes_of(self, bits):
        with self._lock:
            if bits not in self._codes:
                self._codes[bits] = self._encoded(bits)
            return self._codes[bits]

    def _encoded(self, bits):
        starts = range(0, len(self._positions), _ENCODED_ROWS)
        parts = (self._rows(self._positions[start : start + _ENCODED_ROWS]) for start in starts)
        return np.concatenate([self._model.encode(part, bits) for part in parts])

    def _rows(self, positions):
        """Rows at positions, dense, in the order of the model."""
        rows = self._collection.take(positions)
        return _reordered(rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows), self._to_model)


def _told(value):
    """A value of a column as JSON has it: a number that JSON cannot hold as a word, a date as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return plain(value)


def _reordered(rows, order):
    return rows if order is None else np.ascontiguousarray(rows[:, order])


def open_neighbors(index, model, labels=None):
    """Neighbors in an index, given by its directory or as an object; None for no index.

    ``labels`` is the path of a file of labels, or None: csv lines of an id and a label; or npy, or member y of npz, the
    labels of the rows in their order, for an index whose ids are row numbers.
    """
    if index is None:
        return None
    if not isinstance(index, KernelIndex):
        index = KernelIndex.open(index)
    found = Neighbors(index, model, None if labels is None else _labels_by_id(os.fspath(labels), index, model))
    found.warm_up()
    return found


def _labels_by_id(path, index, model):
    """Labels by id, as text. A file that labels no row of the index is refused: it belongs to another."""
    ids = np.asarray(index.rows_.ids.at(index.rows_.alive))
    if path.lower().endswith((".npy", ".npz")):
        labels = _array_of_labels(path)
        if ids.dtype.kind != "i" or ids.min(initial=0) < 0 or ids.max(initial=0) >= len(labels):
            raise InputError(
                f"{path} has {len(labels)} labels in row order, but some ids of the index are not row numbers below"
                f" {len(labels)}. Use a csv file with an id and a label per line."
            )
        return {str(i): label for i, label in enumerate(labels)}
    labels = read_labels(path, model.classes)
    if labels.keys().isdisjoint(map(str, ids.tolist())):
        raise InputError(f"{path} labels no row of the index. Each line must hold an id of the index and a label.")
    return labels


def _array_of_labels(path):
    try:
        found = load_array(path, Limit.fixed())
    except (OSError, InputError) as error:
        raise InputError(f"{path} has no readable labels: {error}") from error
    if found.ndim != 1:
        raise InputError(f"{path} holds an array of shape {found.shape}; labels must have one dimension.")
    return plain(found)
