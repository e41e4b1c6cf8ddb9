"""Rows of a parquet file, batch by batch."""

__all__ = ["ParquetSource"]

from math import inf
from typing import BinaryIO

from mercer._base.errors import InputError, require_extra
from mercer._base.tables.formats import _first_line
from mercer._base.tables.parquet_pages import check_pages
from mercer._base.tables.rules import _LARGEST_EXACT_INTEGER, InputRules, label_position, tidy_labels
from mercer._base.tables.sources import BLOCK_ROWS, RowSource

READ_BUFFER = 2**16  # bytes read at a time of each column, instead of all that a row group has of it


class ParquetSource(RowSource):
    """Numeric columns side by side; a column of equally long lists counts as that many columns."""

    def __init__(self, file: str | BinaryIO, name: str, rules: InputRules):
        self._file, self._name, self._limit = file, name, rules.limit
        self._words: list[str] = []  # columns of words, which stay numbers of words as long as possible
        self._arrow = require_extra("pyarrow", extra="parquet", purpose="Reading a parquet file")
        with self._open() as found:
            check_pages(file, found.metadata, self._limit, name)
            schema, n_rows = found.schema_arrow, found.metadata.num_rows
            titles, self._label = schema.names, None
            if rules.label is not None:
                self._label = label_position(rules.label, titles, len(titles), name)
                self._words = self._columns_of_words(schema)
            self._columns = [i for i in range(len(titles)) if i != self._label]
            self._titles = titles
            self._types = [self._number_type(schema.field(i).type, titles[i]) for i in self._columns]
            self._widths = [self._width(found, i, schema.field(i).type) for i in self._columns]
        self._limit.check_row(sum(1 if width is None else width for width in self._widths), name)
        names = []
        for i, width in zip(self._columns, self._widths, strict=True):
            names += [titles[i]] if width is None else [f"{titles[i]}[{j}]" for j in range(width)]
        super().__init__((n_rows, len(names)), name, rules, names)

    def _open(self):
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(self._file, buffer_size=READ_BUFFER, read_dictionary=self._words)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error):
        return InputError(f"{self._name} is not a parquet file, or it is damaged: {_first_line(error)}.")

    def _number_type(self, kind, title):
        from pyarrow import types

        kind = kind.value_type if _is_list(kind) else kind
        if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
            return kind
        raise InputError(
            f"{self._name}, column {title!r} holds {kind}, not numbers. Drop it, or name it as the label if it is one."
        )

    def _columns_of_words(self, schema):
        """[the label column] if it holds words."""
        from pyarrow import types

        kind, title = schema.field(self._label).type, schema.names[self._label]
        if types.is_nested(kind):
            raise InputError(f"{self._name}, column {title!r} holds {kind}, not labels.")
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

    def raw_blocks(self):
        """Blocks of rows as they are stored, unchecked."""
        return self._raw_blocks(self._default_size())

    def _raw_blocks(self, size):
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
            raise self._damaged(ValueError(f"it promises {len(self)} rows and holds {start}"))

    def _raw_rows(self, chosen):
        import numpy as np

        parts, start = [], 0
        with self._open() as file:
            for group in range(file.num_row_groups):
                stop = start + file.metadata.row_group(group).num_rows
                if np.searchsorted(chosen, start) == np.searchsorted(chosen, stop):
                    start = stop  # none of its rows is wanted
                    continue
                for batch in self._batches(file, self._default_size(), row_groups=[group]):
                    stop = start + batch.num_rows
                    wanted = chosen[np.searchsorted(chosen, start) : np.searchsorted(chosen, stop)]
                    table = self._arrow.Table.from_batches([batch]).take(self._arrow.array(wanted - start))
                    parts.append(self._numbers(table, wanted))
                    start = stop
        return np.concatenate(parts)

    def _numbers(self, table, numbers):
        """Rows as an array; ``numbers`` says which rows of the file they are."""
        import numpy as np

        out, first = np.empty((table.num_rows, self.shape[1]), dtype=self.dtype), 0
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is then reported
            for i, width in zip(self._columns, self._widths, strict=True):
                values = self._column(table.column(i), self._titles[i], width, numbers)
                out[:, first : first + values.shape[1]] = values
                first += values.shape[1]
        return out

    def _column(self, column, title, width, numbers):
        import numpy as np
        from pyarrow import compute

        self._refuse_nulls(column, title, numbers)
        if width is None:
            return column.to_numpy()[:, None]
        lengths = np.asarray(compute.list_value_length(column))
        if (lengths != width).any():
            i = int(np.argmax(lengths != width))
            raise InputError(
                f"{self.name}, column {title!r}: row {numbers[i]} holds {lengths[i]} numbers where row 0 holds {width}."
            )
        flat = compute.list_flatten(column)
        self._refuse_nulls(flat, title, numbers, width)
        return flat.to_numpy().reshape(len(column), width)

    def _refuse_nulls(self, column, title, numbers, width=1):
        import numpy as np

        if column.null_count:
            row = numbers[int(np.argmax(np.asarray(column.is_null()))) // max(1, width)]
            raise InputError(
                f"{self._name}, column {title!r}: a value of row {row} is missing (counted from 0). Fill or drop it."
            )

    def _natural_dtype(self):
        from pyarrow import types

        if any(types.is_float64(kind) for kind in self._types):
            return "float64"
        large = [
            i
            for i, kind in zip(self._columns, self._types, strict=True)
            if types.is_integer(kind) and kind.bit_width > 16
        ]
        return "float64" if large and self._largest(large) > _LARGEST_EXACT_INTEGER else "float32"

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
        import numpy as np

        if self._label is None:
            return None
        title, parts, words, n_rows = self._titles[self._label], [], {}, 0
        self._limit.check(8 * len(self), self.name, "its labels")
        is_unique = self._titles.count(title) == 1
        with self._open() as file:
            for batch in self._batches(file, BLOCK_ROWS, columns=[title] if is_unique else None):
                column = batch.column(title if is_unique else self._label)
                self._refuse_nulls(column, title, range(n_rows, n_rows + len(column)))
                parts.append(_label_codes(column, words))
                n_rows += len(column)
        labels = np.concatenate(parts) if parts else np.empty(0)
        if not words:
            return tidy_labels(labels)
        self._limit.check_words(len(labels), max(len(str(word)) for word in words), self.name)
        return tidy_labels(np.asarray(list(words))[labels])


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
