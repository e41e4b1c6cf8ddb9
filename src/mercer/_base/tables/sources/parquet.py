"""Rows of a parquet file, batch by batch."""

__all__ = ["ParquetSource"]

from dataclasses import replace
from math import inf
from typing import BinaryIO

from mercer._base.errors import InputError, require_extra
from mercer._base.tables.columns import choose_columns, column_position
from mercer._base.tables.content import Content
from mercer._base.tables.formats.parquet_pages import check_pages
from mercer._base.tables.formats.readers import first_line
from mercer._base.tables.rules import LARGEST_EXACT_INTEGER, InputRules, settle_labels, whole_ids
from mercer._base.tables.sources.rows import BLOCK_ROWS, RowSource

READ_BUFFER = 2**16  # bytes read at a time of each column, instead of all that a row group has of it


class ParquetSource(RowSource):
    """Numeric columns side by side; a column of equally long lists counts as that many columns."""

    def __init__(self, file: str | BinaryIO, name: str, rules: InputRules, may_be_empty: bool = False):
        self._file, self._name, self._limit = file, name, rules.limit
        self._words: list[str] = []  # columns of words, which stay numbers of words as long as possible
        self._arrow = require_extra("pyarrow", extra="parquet", purpose="Reading a parquet file")
        with self._open() as found:
            check_pages(file, found.metadata, self._limit, name)
            schema, n_rows = found.schema_arrow, found.metadata.num_rows
            self._titles = schema.names
            widths = [self._width(found, i, schema.field(i).type) for i in range(len(self._titles))]
        self._limit.check_row(sum(1 if width is None else width for width in widths), name)
        # (column of the file, number in a list of it or None) of everything that could be a feature
        parts = [(i, j) for i, width in enumerate(widths) for j in ([None] if width is None else range(width))]
        names = [self._titles[i] if j is None else f"{self._titles[i]}[{j}]" for i, j in parts]
        chosen = choose_columns(names, len(names), self._expanded(rules, names, parts), name)
        self._label, self._id = (None if k is None else parts[k][0] for k in (chosen.label, chosen.id))
        self._words = [title for i in (self._label, self._id) for title in self._columns_of_words(schema, i)]
        self._kept = list(dict.fromkeys(self._titles[parts[k][0]] for k in chosen.kept))
        self._parts = [parts[k] for k in chosen.features]
        self._columns = sorted({i for i, _ in self._parts})
        self._types = [self._number_type(schema.field(i).type, self._titles[i]) for i in self._columns]
        self._widths = {i: widths[i] for i, j in self._parts if j is not None}
        shape = (n_rows, len(self._parts))
        super().__init__(shape, name, rules, chosen.names, chosen.others, may_be_empty)

    def content(self) -> Content:
        """All rows at once."""
        import numpy as np

        self._limit.check(self.shape[0] * self.shape[1] * self.dtype.itemsize, self.name)
        X = np.empty(self.shape, self.dtype)
        for rows, part in self.raw_blocks(self.default_size()) if self.shape[1] else ():
            X[part] = rows
        y, unlabelled = self._labels()
        return Content(X, y, self.feature_names, self.other_columns, self._ids(), unlabelled, None, self._data())

    def _expanded(self, rules, names, parts):
        """Rules that name positions among the parts, instead of columns of the file, which may hold several."""

        def places(column):
            if column not in self._titles and column in names:
                return [names.index(column)]
            i = column_position(column, self._titles, len(self._titles), self._name)
            return [k for k, part in enumerate(parts) if part[0] == i]

        one = {name: places(getattr(rules, name))[0] for name in ("label", "id") if getattr(rules, name) is not None}
        many = {
            name: tuple(k for column in getattr(rules, name) for k in places(column))
            for name in ("drop", "columns", "keep")
        }
        return replace(rules, **one, **many)

    def _open(self):
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(self._file, buffer_size=READ_BUFFER, read_dictionary=self._words)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error):
        return InputError(f"{self._name} is not a parquet file, or it is damaged: {first_line(error)}.")

    def _number_type(self, kind, title):
        from pyarrow import types

        kind = kind.value_type if _is_list(kind) else kind
        if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
            return kind
        raise InputError(
            f"{self._name}, column {title!r} holds {kind}, not numbers. Ignore it (--drop {title}), or name it as the "
            "label or the id."
        )

    def _columns_of_words(self, schema, i):
        """[the column] if it holds words; nothing for None."""
        from pyarrow import types

        if i is None:
            return []
        kind, title = schema.field(i).type, schema.names[i]
        if types.is_nested(kind):
            raise InputError(f"{self._name}, column {title!r} holds {kind}, not labels or ids.")
        is_words = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind)
        return [title] if is_words and schema.names.count(title) == 1 else []

    def _width(self, file, i, kind):
        """Numbers in a list of the column; None for a column of single numbers."""
        from pyarrow import compute, types

        if not _is_list(kind):
            return None
        if types.is_fixed_size_list(kind):
            return kind.list_size
        first = next(self._batches(file, 1), None)
        return 0 if first is None else compute.list_value_length(first.column(i))[0].as_py() or 0

    def _batches(self, file, size, **which):
        try:
            yield from file.iter_batches(batch_size=size, **which)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._damaged(error) from error

    def raw_blocks(self, size):
        waiting, start = self._arrow.table({}), 0
        with self._open() as file:
            for batch in self._batches(file, size):
                fresh = self._arrow.Table.from_batches([batch])
                # batches end where row groups do, blocks at the multiples of the size
                waiting = self._arrow.concat_tables([waiting, fresh]) if waiting.num_rows else fresh
                while waiting.num_rows >= size:
                    part = slice(start, start + size)
                    yield self._numbers(waiting.slice(0, size), range(part.start, part.stop)), part
                    waiting, start = waiting.slice(size), part.stop
        if waiting.num_rows:
            part = slice(start, start + waiting.num_rows)
            yield self._numbers(waiting, range(part.start, part.stop)), part
            start = part.stop
        if start != len(self):
            raise self._damaged(ValueError(f"it announces {len(self)} rows but holds {start}"))

    def raw_rows(self, chosen):
        import numpy as np

        parts, start = [], 0
        with self._open() as file:
            for group in range(file.num_row_groups):
                stop = start + file.metadata.row_group(group).num_rows
                if np.searchsorted(chosen, start) == np.searchsorted(chosen, stop):
                    start = stop  # none of its rows is wanted
                    continue
                for batch in self._batches(file, self.default_size(), row_groups=[group]):
                    stop = start + batch.num_rows
                    wanted = chosen[np.searchsorted(chosen, start) : np.searchsorted(chosen, stop)]
                    table = self._arrow.Table.from_batches([batch]).take(self._arrow.array(wanted - start))
                    parts.append(self._numbers(table, wanted))
                    start = stop
        return np.concatenate(parts)

    def _numbers(self, table, numbers):
        """Rows as an array; ``numbers`` says which rows of the file they are."""
        import numpy as np

        out = np.empty((table.num_rows, self.shape[1]), dtype=self.dtype)
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is then reported
            found = {i: self._column(table.column(i), i, numbers) for i in self._columns}
            for k, (i, j) in enumerate(self._parts):
                out[:, k] = found[i] if j is None else found[i][:, j]
        return out

    def _column(self, column, i, numbers):
        """The numbers of a column, of a column of lists side by side; nulls are NaN."""
        import numpy as np
        from pyarrow import compute

        if i not in self._widths:
            return self._plain(column)
        width, title = self._widths[i], self._titles[i]
        if column.null_count:
            row = numbers[int(np.argmax(np.asarray(column.is_null())))]
            raise InputError(f"{self._name}, column {title!r}: row {row} (counted from 0) has no list.")
        lengths = np.asarray(compute.list_value_length(column))
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise InputError(
                f"{self.name}, column {title!r}: row {numbers[row]} holds {lengths[row]} numbers, but row 0 holds "
                f"{width}."
            )
        return self._plain(compute.list_flatten(column)).reshape(len(column), width)

    def _plain(self, column):
        return (column.cast(self._arrow.float64(), safe=False) if column.null_count else column).to_numpy()

    def _natural_dtype(self):
        from pyarrow import types

        if any(types.is_float64(kind) for kind in self._types):
            return "float64"
        large = [
            i
            for i, kind in zip(self._columns, self._types, strict=True)
            if types.is_integer(kind) and kind.bit_width > 16
        ]
        return "float64" if large and self._largest(large) > LARGEST_EXACT_INTEGER else "float32"

    def _largest(self, columns):
        """The largest absolute value of these columns, from the file's statistics or by reading them."""
        with self._open() as file:
            known = self._statistics(file.metadata, columns)
            if all(each is not None and each.has_min_max for each in known):
                return max((max(each.max, -each.min) for each in known), default=0)
            values = (self._extreme(batch.column(i)) for batch in self._batches(file, BLOCK_ROWS) for i in columns)
            return max(values, default=0)

    def _statistics(self, metadata, columns):
        groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
        if any(group.num_columns != len(self._titles) for group in groups):
            return [None]  # some column is stored as several, and there is no telling which
        return [group.column(i).statistics for group in groups for i in columns]

    def _extreme(self, column):
        from pyarrow import compute

        ends = compute.min_max(compute.list_flatten(column) if _is_list(column.type) else column)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        return -inf if low is None else max(high, -low)

    def _labels(self):
        if self._label is None:
            return None, None
        values, gone = self._values(self._label)
        y, unlabelled = settle_labels(values if gone is None else values[~gone])
        if gone is None:
            return y, unlabelled
        return _spread(y, gone), gone if unlabelled is None else gone | _spread(unlabelled, gone)

    def _ids(self):
        if self._id is None:
            return None
        values, gone = self._values(self._id)
        if gone is not None:
            row = int(gone.argmax())
            raise InputError(f"{self._name}, row {row} (counted from 0) has no id. Every row needs an id.")
        return whole_ids(values, self._name)

    def _data(self):
        """The columns that go along, as Arrow has them."""
        if not self._kept:
            return None
        self._limit.check(8 * len(self) * len(self._kept), self.name, "its columns")
        with self._open() as file:
            batches = list(self._batches(file, BLOCK_ROWS, columns=self._kept))
            schema = file.schema_arrow
        empty = self._arrow.schema([schema.field(title) for title in self._kept])
        table = self._arrow.Table.from_batches(batches) if batches else empty.empty_table()
        return {title: table.column(title).combine_chunks() for title in self._kept}

    def _values(self, i):
        """(the labels or ids of a column, which rows have none, or None if all have one)."""
        import numpy as np

        title, parts, gone, words = self._titles[i], [], [np.zeros(0, dtype=bool)], {}
        self._limit.check(8 * len(self), self.name, "its labels")
        is_unique = self._titles.count(title) == 1
        with self._open() as file:
            for batch in self._batches(file, BLOCK_ROWS, columns=[title] if is_unique else None):
                column = batch.column(title if is_unique else i)
                gone.append(np.asarray(column.is_null()))
                known = _label_codes(column.drop_null(), words)
                parts.append(_spread(known, gone[-1]))
        values, missing = np.concatenate(parts) if parts else np.empty(0), np.concatenate(gone)
        if words:
            self._limit.check_words(len(values), max(len(str(word)) for word in words), self.name)
            values = np.asarray(list(words))[values.astype(np.intp)]
        return values, missing if missing.any() else None


def _spread(known, gone):
    """Values with zeros, or empty words, where something is gone."""
    import numpy as np

    out = np.zeros(len(gone), dtype=known.dtype)
    out[~gone] = known
    return out


def _label_codes(column, words):
    """Numbers as they are; for everything else its number in ``words``, which grows by what is new."""
    import numpy as np
    from pyarrow import types

    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        values = column.to_numpy(zero_copy_only=False)
        wide = {"f": np.float64, "i": np.int64}.get(values.dtype.kind)
        return values if wide is None else values.astype(wide)
    if not types.is_dictionary(kind):
        column = column.dictionary_encode()
    known = [words.setdefault(word, len(words)) for word in column.dictionary.to_pylist()]
    return np.asarray(known, dtype=np.intp)[column.indices.to_numpy(zero_copy_only=False)]


def _is_list(kind):
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
