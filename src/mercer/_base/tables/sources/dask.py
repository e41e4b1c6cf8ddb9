"""Rows of Dask collections: arrays in chunks and data frames in partitions, wherever they are computed.

The chunks of a collection are its blocks here: whoever computes them, their boundaries and so the order of sums over
them are the same. Values are checked where they are computed. Without a `distributed.Client` everything runs in this
process, a chunk at a time.
"""

__all__ = ["DaskSource", "current_client"]

import sys
from dataclasses import replace
from functools import cached_property

import numpy as np

from mercer._base.alignment import settled
from mercer._base.errors import InputError
from mercer._base.tables.columns import choose_columns, features_of
from mercer._base.tables.missing import MissingValues
from mercer._base.tables.rules import InputRules, settle_dtype, settle_labels
from mercer._base.tables.sources.rows import RowSource


def current_client():
    """The `distributed.Client` that work would be sent to, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


class DaskSource(RowSource):
    """Rows of a Dask array or data frame.

    Attributes
    ----------
    sizes : rows of each chunk
    reader : the checks of this source without its rows, for whoever computes a chunk
    """

    def __init__(self, collection, rules: InputRules, name: str | None = None):
        columns = getattr(collection, "columns", None)
        name = name or ("the Dask data frame" if columns is not None else "the Dask array")
        if columns is None:
            if collection.ndim != 2:
                raise InputError(
                    f"{name} must have two dimensions, rows and columns; got {collection.ndim} dimensions."
                )
            chosen = choose_columns(None, collection.shape[1], rules, name)
            is_whole = len(chosen.features) == collection.shape[1] and not rules.columns
            X = collection if is_whole else collection[:, list(chosen.features)]
            label = None if chosen.label is None else collection[:, chosen.label]
        else:
            chosen = choose_columns([str(column) for column in columns], len(columns), rules, name)
            X = _numbers_of(collection, [columns[i] for i in chosen.features], name)
            label = None if chosen.label is None else _labels_of(collection[columns[chosen.label]])
        if X.dtype.kind not in "fiub":
            raise InputError(f"{name} holds values of type {X.dtype}; only real numbers are supported.")
        if any(np.isnan(size) for size in X.chunks[0]):
            X = X.compute_chunk_sizes()
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        self._X, self._label_column = self._completed(X, label, chosen.names, rules)
        X = self._X
        has_names = columns is not None and all(isinstance(column, str) for column in columns)  # else by position
        names = chosen.names if has_names else None
        super().__init__((int(X.shape[0]), int(X.shape[1])), name, rules, names, chosen.others)
        self.sizes = [int(size) for size in X.chunks[0]]

    def _completed(self, X, label, names, rules):
        """The numbers and the labels after what the rules say about missing values."""
        import dask.array as da

        means = features_of(rules.like).means
        policy = rules.missing or ("error" if means is None else "mean")
        if policy == "error":
            return X, label
        gone = da.isnan(X)
        left_out, unlabelled = gone.any(axis=1), 0
        if policy == "drop-rows" and label is not None:
            label = label.rechunk((X.chunks[0],))
            blank = label.map_blocks(_has_no_label, dtype=bool)
            left_out, unlabelled = left_out | blank, blank.sum()
        counts, n_rows, unlabelled = da.compute(gone.sum(axis=0), left_out.sum(), unlabelled)
        if policy == "mean":
            self.means = da.nanmean(X, axis=0).compute() if means is None else means
        if not n_rows:
            return X, label
        titles = names or [str(i) for i in range(X.shape[1])]
        by_name = {titles[i]: int(counts[i]) for i in counts.nonzero()[0]}
        self.missing = MissingValues(policy, int(counts.sum()), int(n_rows), by_name, int(unlabelled))
        if policy != "drop-rows":
            return da.where(gone, rules.fill_value if self.means is None else self.means, X), label
        whole = ~left_out
        return X[whole].compute_chunk_sizes(), None if label is None else label[whole].compute_chunk_sizes()

    @property
    def starts(self):
        """The number of the first row of each chunk."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def reader(self):
        found = RowSource(self.shape, self.name, self._rules, self.feature_names)
        found.dtype = self.dtype
        return found

    def head(self, n):
        """The first ``n`` rows, or all if there are fewer."""
        return self.take(np.arange(min(n, len(self))))

    def chunks(self):
        """The chunks as delayed values, unchecked; those without rows are in it too."""
        return list(self._X.to_delayed().ravel())

    def delayed_blocks(self):
        """[(delayed block in the type of the source, slice)], checked where it is computed; no chunk without rows."""
        from dask import delayed

        check = delayed(_checked, pure=True)
        return [
            (check(self.reader, chunk, int(start)), slice(int(start), int(start) + size))
            for chunk, start, size in zip(self.chunks(), self.starts, self.sizes, strict=True)
            if size
        ]

    def raw_blocks(self, size):
        for chunk, start, length in zip(self.chunks(), self.starts, self.sizes, strict=True):
            rows = settled(chunk.compute())
            for first in range(0, length, size):
                part = slice(first, min(first + size, length))
                yield rows[part], slice(int(start) + part.start, int(start) + part.stop)

    def raw_rows(self, chosen):
        from dask import compute, delayed
        from scipy import sparse

        ends = self.starts + np.asarray(self.sizes)
        cuts = np.searchsorted(chosen, ends)
        take, first, wanted = delayed(_take), 0, []
        for chunk, start, last in zip(self.chunks(), self.starts, cuts, strict=True):
            if last > first:
                wanted.append(take(chunk, chosen[first:last] - start))
            first = last
        parts = compute(*wanted)
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)

    def _natural_dtype(self):
        stored, rules = self._X.dtype, replace(self._rules, format=None)
        if stored.kind == "f" or stored.itemsize <= 2:
            return settle_dtype(np.zeros((1, 1), stored), rules, self.name).dtype
        largest = np.asarray(abs(self._X).max().compute()).reshape(1, 1)  # float64 only if a number needs it
        return settle_dtype(largest, rules, self.name).dtype

    def _labels(self):
        if self._label_column is None:
            return None, None
        return settle_labels(_plain_labels(self._label_column.compute()))

    def _ids(self):
        return None


def _numbers_of(frame, columns, name):
    """Columns of a data frame as a Dask array."""
    for column in columns:
        if getattr(frame.dtypes[column], "kind", "O") not in "fiub":
            raise InputError(
                f"{name} has the column {str(column)!r} of type {frame.dtypes[column]}; only real numbers are "
                "supported. Drop the column, or name it as the label."
            )
    return _array_of(frame[columns])


def _labels_of(column):
    """A column of labels as a Dask array; words as objects, since arrays have no extension types."""
    is_plain = getattr(column.dtype, "kind", "O") in "fiub" and isinstance(column.dtype, np.dtype)
    return _array_of(column if is_plain else column.astype(object))


def _plain_labels(y):
    """Labels of a data frame as numpy's numbers or texts; an empty text stands for one that is missing."""
    y = np.asarray(y)
    if y.dtype.kind != "O":
        return y
    return np.array(["" if _is_none(label) else str(label) for label in y.tolist()], dtype=str)


def _is_none(label):
    # pandas' NA is equal to nothing and different from nothing; NaN is different from itself
    return label is None or type(label).__name__ == "NAType" or label != label


def _has_no_label(y):
    missing = settle_labels(_plain_labels(y))[1]
    return np.zeros(len(y), dtype=bool) if missing is None else missing


def _array_of(frame):
    """A Dask array with known sizes. Reading fewer columns may join partitions, so they are counted afterward."""
    return frame.optimize().to_dask_array(lengths=True)


def _checked(reader, rows, start):
    return reader.checked_rows(rows, range(start, start + rows.shape[0]))


def _take(rows, numbers):
    return rows[numbers]
