"""Values that are missing: refused, filled, or left out with their rows.

Whoever fills or drops looks through all rows once first, so that what was done is known, and said, before anything is
computed.
"""

__all__ = ["CompletedSource", "MissingValues", "completed"]

from dataclasses import dataclass
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables.columns import features_of, listed
from mercer._base.tables.rules import ArgumentError, InputRules
from mercer._base.tables.sources.rows import RowSource


@dataclass(frozen=True)
class MissingValues:
    """What was missing, and what was done about it.

    Attributes
    ----------
    policy : as it was said: "drop-rows", "fill:VALUE" or "mean"
    cells : cells of features without a value
    rows : rows with such a cell or, where they are dropped, without a label
    columns : cells without a value of each column that has some, by name or number
    unlabelled : rows that are dropped because they have no label
    by_model : whether what was inserted are the means of a model, not those of these rows
    """

    policy: str
    cells: int
    rows: int
    columns: dict[str, int]
    unlabelled: int = 0
    by_model: bool = False

    def __str__(self):
        where = "column" if len(self.columns) == 1 else "columns"
        found = f"{self.cells} missing value{'s' if self.cells != 1 else ''} in {where} {_some(self.columns)}"
        if self.policy == "drop-rows":
            reasons = [found] if self.cells else []
            if self.unlabelled:
                reasons.append(f"{self.unlabelled} without a label")
            return f"{self.rows} row{'s' if self.rows != 1 else ''} dropped: {', '.join(reasons)}"
        whose = "of the training rows" if self.by_model else "of the columns"
        filled = f"the means {whose}" if self.policy == "mean" else self.policy.removeprefix("fill:")
        return f"{found}, filled with {filled}"


def _some(columns: dict[str, int]) -> str:
    return listed(list(columns), 5)


def completed(rows: RowSource, rules: InputRules) -> RowSource:
    """The rows after what the rules say about missing values."""
    means = features_of(rules.like).means
    policy = rules.missing or ("error" if means is None else "mean")
    if policy == "error":
        return rows
    if policy == "mean" and rules.like is not None and means is None:
        raise ArgumentError(
            "The model was not fitted with --missing mean, so it has no means to insert. Fit it with --missing mean, "
            "or use --missing fill:VALUE or drop-rows."
        )
    return CompletedSource(rows, rules, policy, means)


class CompletedSource(RowSource):
    """Rows of another source, with missing values filled or without the rows that have some."""

    def __init__(self, inner: RowSource, rules: InputRules, policy: str, means: Any):
        import numpy as np

        self._inner = inner
        found = _Census(inner)
        self.means = self._fill = None
        if policy == "mean":
            if means is not None and len(means) != inner.shape[1]:
                whose = features_of(rules.like).table or "the model"
                raise InputError(f"{inner.name} has {inner.shape[1]} columns, and {whose} has means of {len(means)}.")
            self.means = self._fill = found.means() if means is None else means
        elif policy != "drop-rows":
            self._fill = np.full(inner.shape[1], rules.fill_value)
        gone, unlabelled = found.rows, 0
        needs_labels = rules.label is not None if rules.needs_labels is None else rules.needs_labels
        if policy == "drop-rows" and needs_labels and inner.labels[1] is not None:
            gone, unlabelled = gone | inner.labels[1], int(inner.labels[1].sum())
        if gone.any():
            counts = int(found.counts.sum()), int(gone.sum()), found.by_name(), unlabelled
            self.missing = MissingValues(policy, *counts, by_model=means is not None)
        n_rows, self._n_rows_in_file = inner.shape[0], inner.shape[0]
        if policy == "drop-rows" and gone.any():
            self.kept = np.flatnonzero(~gone)
            n_rows = len(self.kept)
            if not n_rows:
                raise InputError(
                    f"{inner.name} has a missing value in every row, so --missing drop-rows would drop them all."
                )
        super().__init__((n_rows, inner.shape[1]), inner.name, rules, inner.feature_names, inner.other_columns)
        self.lines = inner.lines if inner.lines is None or self.kept is None else np.asarray(inner.lines)[self.kept]

    @property
    def n_rows_in_file(self) -> int:
        """How many rows there were before some were dropped."""
        return self._n_rows_in_file

    @property
    def ids_in_file(self):
        """The ids of all rows, those that were dropped included, or None."""
        return self._inner.ids

    def _row(self, row) -> str:
        return super()._row(row if self.lines is not None or self.kept is None else self.kept[row])

    def raw_blocks(self, size):
        if self.kept is None:
            for rows, part in self._inner.raw_blocks(size):
                yield self._filled(rows), part
            return
        import numpy as np

        waiting, start = None, 0
        for rows, part in self._inner.raw_blocks(size):
            first, last = np.searchsorted(self.kept, (part.start, part.stop))
            fresh = rows[self.kept[first:last] - part.start]
            waiting = fresh if waiting is None else _joined(waiting, fresh)
            while waiting.shape[0] >= size:
                yield waiting[:size], slice(start, start + size)
                waiting, start = waiting[size:], start + size
        if waiting is not None and waiting.shape[0]:
            yield waiting, slice(start, start + waiting.shape[0])

    def raw_rows(self, chosen):
        if self.kept is None:
            return self._filled(self._inner.raw_rows(chosen))
        return self._inner.raw_rows(self.kept[chosen])

    def _filled(self, rows):
        import numpy as np

        if self._fill is None or self.missing is None:
            return rows
        if hasattr(rows, "indptr"):
            gone = np.isnan(rows.data)
            if not gone.any():
                return rows
            rows = rows.copy()
            rows.data[gone] = self._fill[rows.indices[gone]]
            return rows
        gone = np.isnan(rows)
        if not gone.any():
            return rows
        rows = np.array(rows)
        rows[gone] = self._fill[np.nonzero(gone)[1]]
        return rows

    def _natural_dtype(self):
        return self._inner.dtype

    def _labels(self):
        y, unlabelled = self._inner.labels
        if self.kept is None or y is None:
            return y, unlabelled
        return y[self.kept], None if unlabelled is None or not unlabelled[self.kept].any() else unlabelled[self.kept]

    def _ids(self):
        ids = self._inner.ids
        return ids if ids is None or self.kept is None else ids[self.kept]

    def _data(self):
        data = self._inner.data
        if data is None or self.kept is None:
            return data
        return {name: values.take(self.kept) for name, values in data.items()}

    def default_size(self):
        return self._inner.default_size()


class _Census:
    """Which values of a source are missing, counted in one pass; sums of the others."""

    def __init__(self, source: RowSource):
        import numpy as np

        self._source = source
        n_rows, width = source.shape
        self.rows, self.counts = np.zeros(n_rows, dtype=bool), np.zeros(width, dtype=np.int64)
        self._sums = np.zeros(width)
        for rows, part in source.raw_blocks(source.default_size()):
            self._look_at(rows, part)

    def _look_at(self, rows, part) -> None:
        import numpy as np

        if hasattr(rows, "indptr"):
            gone = np.isnan(rows.data)
            owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            self.rows[part][owner[gone]] = True
            np.add.at(self.counts, rows.indices[gone], 1)
            np.add.at(self._sums, rows.indices[~gone], rows.data[~gone])
            return
        gone = np.isnan(rows) if rows.dtype.kind == "f" else np.zeros(rows.shape, dtype=bool)
        self.rows[part] = gone.any(axis=1)
        self.counts += gone.sum(axis=0)
        self._sums += np.where(gone, 0, rows).sum(axis=0, dtype=np.float64)

    def means(self):
        """Of each column, over the rows that have a value there."""
        import numpy as np

        known = self._source.shape[0] - self.counts
        if not known.all():
            column = int(np.argmin(known))
            raise InputError(
                f"{self._source.name}, column {self._title(column)} has no values, so its mean is undefined. Ignore "
                f"it, as in --drop {column}."
            )
        return self._sums / known

    def by_name(self) -> dict[str, int]:
        """Missing values of each column that has some."""
        return {self._title(i): int(self.counts[i]) for i in self.counts.nonzero()[0].tolist()}

    def _title(self, column: int) -> str:
        names = self._source.feature_names
        return str(column) if names is None else names[column]


def _joined(first, second):
    import numpy as np

    if hasattr(first, "indptr"):
        from scipy import sparse

        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])
