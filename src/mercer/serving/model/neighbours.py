"""Nearest rows of an index, for raw rows by its kernel, and for codes by Hamming distance."""

__all__ = ["Neighbours", "open_neighbours"]

import os
import threading
import warnings
from dataclasses import dataclass

import numpy as np

from mercer import KernelIndex, hamming_top_k
from mercer._base.errors import InputError
from mercer._base.tables.formats.readers import load_array
from mercer._base.tables.limits import Limit
from mercer.serving.http.columns import named_columns, other_columns, permutation
from mercer.serving.http.replies import plain
from mercer.serving.model.labels import read_labels

_ENCODED_ROWS = 2**14  # at a time


@dataclass(frozen=True)
class FoundRows:
    """Rows that were found: ids and similarities, (queries, k), labels if they have any, rows if they were wanted."""

    ids: list
    similarity: np.ndarray
    labels: list | None
    rows: list | None


class Neighbours:
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
    """

    def __init__(self, index, model, labels=None):
        if not len(index):
            raise InputError("The index has no rows to be found. Add some with mercer index add.")
        if index.n_features_in_ != model.n_features:
            raise InputError(
                f"The index has rows of {index.n_features_in_} numbers, but the model takes {model.n_features}. "
                "Build the index from rows of the same kind."
            )
        own = named_columns(index)
        self.columns = own if model.columns is None else model.columns
        self.other_columns = (*model.other_columns, *other_columns(index))
        # rows are in the order of the index in it, and in the order of the model outside
        self._to_model = permutation(own, model.columns, "The index")
        self._to_index = None if self._to_model is None else np.argsort(self._to_model)
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
        return {"rows": len(self), "kernel": kernel, "measure": measure, "takes_codes": self.takes_codes}

    def search(self, kind, queries, bits, k, with_rows=False):
        """The k nearest rows of each query. For codes, similarity is the share of bits that agree."""
        k = min(k, len(self))
        if kind == "codes":
            distances, which = hamming_top_k(self._codes_of(bits), queries, k)
            positions, similarity = self._positions[which], 1.0 - distances / bits
            ids = self._collection.ids.at(positions)
        else:
            ids, similarity = self._found(_reordered(queries, self._to_index), k)
            positions = None
        rows = None
        if with_rows:
            if positions is None:
                positions = self._collection.ids.positions(np.asarray(ids).ravel().tolist())
            rows = self._rows(np.asarray(positions).ravel()).reshape(*similarity.shape, -1)
        ids = plain(ids)
        labels = None if self._labels is None else [[self._labels.get(str(name)) for name in row] for row in ids]
        return FoundRows(ids, similarity, labels, None if rows is None else plain(rows))

    def warm_up(self):
        """Search once by each kind of query, so that code is compiled and codes of all rates are made."""
        self._found(np.ones((1, self._model.n_features), dtype=np.float32), 1)
        for bits in self._model.rates if self.takes_codes else ():
            self.search("codes", np.zeros((1, -(-bits // 8)), dtype=np.uint8), bits, 1)

    def _found(self, queries, k):
        """What the index finds for rows that are in its order; that they have no names is no news."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self._index.search(queries, k)

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


def _reordered(rows, order):
    return rows if order is None else np.ascontiguousarray(rows[:, order])


def open_neighbours(index, model, labels=None):
    """Neighbours in an index, given by its directory or as an object; None for no index.

    ``labels`` is the path of a file of labels, or None: csv lines of an id and a label; or npy, or member y of npz, the
    labels of the rows in their order, for an index whose ids are row numbers.
    """
    if index is None:
        return None
    if not isinstance(index, KernelIndex):
        index = KernelIndex.open(index)
    found = Neighbours(index, model, None if labels is None else _labels_by_id(os.fspath(labels), index, model))
    found.warm_up()
    return found


def _labels_by_id(path, index, model):
    """Labels by id, as text. A file that labels no row of the index is refused: it belongs to another."""
    ids = np.asarray(index.rows_.ids.at(index.rows_.alive))
    if path.lower().endswith((".npy", ".npz")):
        labels = _array_of_labels(path)
        if ids.dtype.kind != "i" or ids.min(initial=0) < 0 or ids.max(initial=0) >= len(labels):
            raise InputError(
                f"{path} has {len(labels)} labels in the order of rows, but not all ids of the index are row numbers "
                f"below {len(labels)}. Give csv lines of an id and a label."
            )
        return {str(i): label for i, label in enumerate(labels)}
    labels = read_labels(path, model.classes)
    if labels.keys().isdisjoint(map(str, ids.tolist())):
        raise InputError(f"{path} labels no row of the index; its lines must be an id of the index and a label.")
    return labels


def _array_of_labels(path):
    try:
        found = load_array(path, Limit.fixed())
    except (OSError, InputError) as error:
        raise InputError(f"{path} holds no labels that can be read: {error}") from error
    if found.ndim != 1:
        raise InputError(f"{path} holds an array of shape {found.shape}; labels have one dimension.")
    return plain(found)
