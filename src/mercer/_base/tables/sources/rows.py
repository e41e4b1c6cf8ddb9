"""Rows that need not fit into memory: read block by block, as often as they are needed.

The type of the numbers follows the rule of the package. Every block is checked when it is read: a number that is not
finite is reported with its file, row and column.
"""

__all__ = ["ArraySource", "RowSource", "open_rows", "open_together"]

import logging
import struct
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from mercer._base.errors import InputError
from mercer._base.tables.columns import choose_columns, features_of
from mercer._base.tables.content import Content
from mercer._base.tables.formats.npy import give_back, map_npy
from mercer._base.tables.formats.readers import (
    _ARCHIVE_ERRORS,
    _SPARSE_MEMBERS,
    _choose_member,
    _load_npy,
    _split_columns,
    _two_dimensional,
)
from mercer._base.tables.formats.vectors import VECTOR_FORMATS
from mercer._base.tables.reading import Table, _open, _split_member, read_table, read_tables
from mercer._base.tables.rules import (
    PACKERS,
    ArgumentError,
    InputRules,
    format_of,
    settle_dtype,
    settle_labels,
    whole_ids,
)

BLOCK_ROWS = 8192  # rows of a block at most, when the caller does not say
BLOCK_BYTES = 2**26  # memory of such a block at most
FITTED_ROWS, LEAST_FITTED, FITTED_BYTES = 2**16, 2**12, 2**28  # of a sample that a map is fitted to
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # of a zip member: signature, ..., lengths of the name and the extra field
logger = logging.getLogger("mercer")


class RowSource:
    """Rows in a file or an array, in blocks. Made by :func:`open_rows`.

    Attributes
    ----------
    shape : (rows, features)
    dtype : float32 or float64, the type of every block
    y : labels, or None
    ids : of the rows, or None
    feature_names : names of the columns, or None
    other_columns : names of the columns of the file that are no features
    name : the file, as it is called in messages
    kept : numbers of the rows of the file that are left if some were dropped, or None
    n_rows_in_file : how many rows there were before some were dropped
    means : of the columns, if missing values are filled with them, or None
    missing : what was done about missing values, or None if there were none
    """

    lines: Any = None
    kept: Any = None
    means: Any = None
    missing: Any = None

    def __init__(
        self,
        shape,
        name: str,
        rules: InputRules,
        feature_names: Sequence[str] | None = None,
        other_columns: Sequence[str] = (),
        may_be_empty: bool = False,
    ):
        if 0 in shape and not may_be_empty:
            raise InputError(f"{name} holds no data: {shape[0]} rows and {shape[1]} columns of numbers.")
        rules.limit.check_row(shape[1], name)
        self.shape: tuple[int, int] = shape
        self.name = name
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.other_columns = tuple(other_columns)
        self._rules = rules

    @property
    def n_rows_in_file(self) -> int:
        """How many rows the file has."""
        return self.shape[0]

    @property
    def ids_in_file(self):
        """The ids of all rows of the file, or None."""
        return self.ids

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.shape[0]} x {self.shape[1]})"

    @cached_property
    def dtype(self):
        """float32 or float64. Large integers may have to be read once to know."""
        import numpy as np

        return np.dtype(self._rules.dtype or self._natural_dtype())

    @cached_property
    def y(self):
        """The labels, read when they are first asked for; None if there are none."""
        y, unlabelled = self.labels
        if unlabelled is not None:
            raise InputError(
                f"{self.name}, {self.place(int(unlabelled.argmax()))} has no label. Fill it in, or leave rows without "
                "a label out with --missing drop-rows."
            )
        return y

    @cached_property
    def labels(self):
        """(labels or None, which rows have none, or None if all have one)."""
        return self._labels()

    @cached_property
    def ids(self):
        """The ids of the rows, read when they are first asked for; None if no column was said to hold them."""
        return self._ids()

    def place(self, row) -> str:
        """A row in words: its line in a text, or its number."""
        return self._row(row) + (" (counted from 0)" if self.lines is None else "")

    def _row(self, row) -> str:
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    def blocks(self, size: int | None = None) -> Iterator[tuple[Any, slice]]:
        """Consecutive blocks as pairs (array or CSR, slice), with boundaries at the multiples of ``size``.

        Parameters
        ----------
        size : rows of a block; if None, 8192 or as many as take 64 MiB
        """
        if size is not None and size < 1:
            raise InputError(f"{type(self).__name__}.blocks needs size >= 1, got {size}.")
        for rows, part in self.raw_blocks(size or self.default_size()):
            yield self.checked_rows(rows, range(part.start, part.stop)), part

    def sample(self, n: int, random_state=None):
        """``n`` different rows chosen at random, or all if there are fewer, in the order of the file.

        Parameters
        ----------
        n : how many rows
        random_state : seed, generator or None
        """
        return self.take(self.draw(n, random_state))

    def draw(self, n: int, random_state=None):
        """Ascending numbers of ``n`` different rows chosen at random, or of all if there are fewer."""
        import numpy as np
        from sklearn.utils import check_random_state
        from sklearn.utils.random import sample_without_replacement

        if n < 1:
            raise InputError(f"{type(self).__name__}.sample needs n >= 1, got {n}.")
        random_state = check_random_state(random_state)
        return np.sort(sample_without_replacement(len(self), min(n, len(self)), random_state=random_state))

    def take(self, numbers):
        """The rows of ascending numbers."""
        return self.checked_rows(self.raw_rows(numbers), numbers)

    def fitting_size(self) -> int:
        """How many rows a map is fitted to when not all are in memory."""
        return min(FITTED_ROWS, max(LEAST_FITTED, FITTED_BYTES // (4 * self.shape[1])))

    # ------------------------------------------------------------------------------------ what a kind of file defines

    def raw_blocks(self, size: int) -> Iterator[tuple[Any, slice]]:
        """Blocks as they are stored, without the label column."""
        raise NotImplementedError

    def raw_rows(self, chosen):
        """The rows of these ascending numbers."""
        raise NotImplementedError

    def _natural_dtype(self):
        """The type of the numbers when nothing is said."""
        raise NotImplementedError

    def _labels(self):
        """(labels or None, which rows have none, or None if all have one)."""
        raise NotImplementedError

    def _ids(self):
        raise NotImplementedError

    def default_size(self) -> int:
        return max(1, min(BLOCK_ROWS, BLOCK_BYTES // (8 * self.shape[1])))

    def checked_rows(self, rows, numbers):
        """Rows in the type of the source, all finite. ``numbers`` says which rows they are."""
        import numpy as np

        with np.errstate(over="ignore"):
            block = rows.astype(self.dtype, copy=False)
        values = block.data if hasattr(block, "indptr") else block
        finite = np.isfinite(values)
        if self._may_lack_values:
            finite |= np.isnan(values)
        if not finite.all():
            self._refuse(rows, int(np.argmin(finite)), numbers)
        return block

    @property
    def _may_lack_values(self) -> bool:
        """Whether missing values are passed on, to a model that fills them itself."""
        return self._rules.missing is None and features_of(self._rules.like).takes_missing

    def _refuse(self, rows, position, numbers):
        """Raise for the value at flat ``position`` into the rows, or into the data of a CSR matrix."""
        import numpy as np

        if hasattr(rows, "indptr"):
            i = int(np.searchsorted(rows.indptr, position, side="right")) - 1
            column, value = int(rows.indices[position]), rows.data[position]
        else:
            i, column = divmod(position, self.shape[1])
            value = rows[i, column]
        title = f" ({self.feature_names[column]!r})" if self.feature_names else ""
        where = f"{self.name}, {self._row(numbers[i])}, column {column}{title}"
        where += ", both counted from 0," if self.lines is None else ""
        if np.isnan(value):
            raise InputError(
                f"{where} holds {'nan, ' if self.lines is None else ''}a missing value. Fill it in, or say what "
                "becomes of missing values: --missing fill:0 (or another number), mean, or drop-rows."
            )
        what = f"{value}, too large for {self.dtype}" if np.isfinite(value) else f"{value}"
        raise InputError(f"{where} holds {what}. Every number must be finite: drop the row, or fill the value.")


class ArraySource(RowSource):
    """Rows of an array, in memory or memory-mapped, or of a CSR matrix.

    Blocks of an array in memory are views if its type needs no change; blocks of a mapped one are copies, and the pages
    they came from are given back, so that one block is in memory at a time.
    """

    def __init__(self, X, name: str, rules: InputRules, content: Content | None = None):
        import numpy as np

        if X.dtype.kind not in "fiub":
            raise InputError(f"{name} holds values of type {X.dtype}; only real numbers can be used.")
        self._stored = X
        self._rows = X if hasattr(X, "indptr") else np.asarray(X)
        self._content = content
        self._chosen, self._picked = None, None
        width, names = X.shape[1], None
        others: tuple[str, ...] = ()
        if content is None:  # columns are still to be chosen
            rules.limit.check_row(width, name)
            self._chosen = choose_columns(None, width, rules, name)
            if len(self._chosen.features) != width or rules.columns:
                self._picked = np.array(self._chosen.features, dtype=np.intp)
                width = len(self._picked)
        else:
            names, others, self.lines = content.names, content.others, content.lines
        super().__init__((X.shape[0], width), name, rules, names, others)

    def raw_blocks(self, size):
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            yield self._read(part), part

    def raw_rows(self, chosen):
        import numpy as np

        if hasattr(self._rows, "indptr"):
            return self._read(chosen)
        step = self.default_size()
        return np.concatenate([self._read(chosen[start : start + step]) for start in range(0, len(chosen), step)])

    def _read(self, which):
        import numpy as np

        rows = self._rows[which]
        if self._picked is not None:
            rows = rows[:, self._picked]
        if not hasattr(self._stored, "_mmap"):
            return rows
        rows = np.array(rows, order="C", copy=True if isinstance(which, slice) else None)
        touched = which if isinstance(which, slice) else slice(which[0], which[-1] + 1)
        give_back(self._stored, self._rows[touched])
        return rows

    def _natural_dtype(self):
        stored, rules = self._rows.dtype, replace(self._rules, format=None)
        if stored.kind == "f" or stored.itemsize <= 2:
            return settle_dtype(self._rows[:1], rules, self.name).dtype
        # integers become float64 only if one of them needs it
        settled = (settle_dtype(rows, rules, self.name).dtype for rows, _ in self.raw_blocks(self.default_size()))
        return next((dtype for dtype in settled if dtype.itemsize == 8), "float32")

    def _labels(self):
        if self._content is not None:
            return self._content.y, self._content.unlabelled
        return (None, None) if self._chosen.label is None else settle_labels(self._column(self._chosen.label))

    def _ids(self):
        if self._content is not None:
            return self._content.ids
        return None if self._chosen.id is None else whole_ids(self._column(self._chosen.id), self.name)

    def _column(self, position):
        import numpy as np

        self._rules.limit.check(8 * len(self), self.name, "its labels")
        parts = []
        for start in range(0, len(self), self.default_size()):
            rows = self._rows[start : start + self.default_size()]
            parts.append(np.array(rows[:, position]))
            give_back(self._stored, rows)
        return np.concatenate(parts)

    def default_size(self):
        if not hasattr(self._rows, "indptr"):
            return super().default_size()
        entries = max(1, self._rows.nnz // len(self))
        return max(1, min(BLOCK_ROWS, BLOCK_BYTES // (16 * entries)))


def open_rows(source: Any, **rules: Any) -> RowSource:
    """Rows of a file or an array, to be read block by block.

    Parameters
    ----------
    source : path of a file, or an array, a memory-mapped array or a sparse matrix. An npy file, an uncompressed member
        of an npz file (``"data.npz::X"``), a parquet file and an fvecs, bvecs or ivecs file are read in blocks; other
        formats are read as a whole. A Dask array or data frame is read chunk by chunk
    **rules : how to read it, as for the commands: ``format``, ``label`` (name or position of the column that holds the
        labels), ``id``, ``drop`` and ``columns`` (which columns are ids, left out, or features), ``missing``
        (``"error"``, ``"drop-rows"``, ``"fill:0"`` or ``"mean"``), ``like`` (a fitted model whose columns are matched
        by name), ``dtype`` (``"float32"`` or ``"float64"``), ``array`` (member of an npz file), ``max_unpacked`` (the
        most memory that a file read as a whole may take, as ``"8GB"``; by default a quarter of what is available) ...

    Examples
    --------
    >>> import numpy as np
    >>> rows = open_rows(np.arange(10, dtype=np.uint8).reshape(5, 2), label=-1)
    >>> [(block.tolist(), part.start) for block, part in rows.blocks(size=3)]
    [([[0.0], [2.0], [4.0]], 0), ([[6.0], [8.0]], 3)]
    >>> rows.y.tolist()
    [1, 3, 5, 7, 9]
    """
    unknown = set(rules) - {field.name for field in fields(InputRules)}
    if unknown:
        raise TypeError(f"open_rows has no rule named {', '.join(sorted(unknown))}.")
    known = InputRules(**rules)
    if isinstance(source, RowSource):
        if rules:
            raise ArgumentError(f"{source.name} is open already; say how to read it when it is opened.")
        return source
    if known.n_features is None:
        known = replace(known, n_features=features_of(known.like).n)
    if hasattr(source, "__dask_graph__"):
        from mercer._base.tables.sources.dask import DaskSource

        return DaskSource(source, known)
    if isinstance(source, str | Path):
        found = _open_file(str(source), known)
    else:
        found = _read_whole(source, known) if hasattr(source, "read") else _open_array(source, known)
    return _completed(found, known)


def _completed(rows: RowSource, rules: InputRules) -> RowSource:
    """The rows after what the rules say about missing values."""
    from mercer._base.tables.missing import completed

    return completed(rows, rules)


def _open_file(source: str, rules: InputRules) -> RowSource:
    path, member = _split_member(source)
    format = format_of(path, rules.format)
    rules = replace(rules, format=format, array=member or rules.array)
    if rules.array is not None and format != "npz":
        raise ArgumentError(f"{path} is read as {format}, which has no member {rules.array!r}; only npz has members.")
    if path == "-" or (Path(path).exists() and not Path(path).is_file()):
        return _read_whole(path, rules)
    if format == "parquet":
        from mercer._base.tables.sources.parquet import ParquetSource

        _open(path, format, rules.limit).close()  # a file that is not there is reported as everywhere
        return ParquetSource(path, path, rules)
    if format in VECTOR_FORMATS and Path(path).suffix.lower() not in PACKERS:
        from mercer._base.tables.sources.vectors import VectorSource

        _open(path, format, rules.limit).close()
        return VectorSource(path, rules)
    if format not in ("npy", "npz"):
        return _read_whole(path, rules)
    with _open(path, format, rules.limit) as stream:
        if format == "npy":
            return ArraySource(_two_dimensional(map_npy(stream, path, path), path), path, rules)
        mapped = _map_npz(stream, path, path, rules)
    if mapped is None:
        return _read_whole(path, rules)
    X, y, label_used = mapped
    if y is None:
        return ArraySource(_two_dimensional(X, path), path, rules)
    if y.shape != X.shape[:1]:
        raise InputError(f"{path} has {X.shape[0]} rows and labels of shape {y.shape}; one label per row is needed.")
    found = ArraySource(_two_dimensional(X, path), path, replace(rules, label=None) if label_used else rules)
    found.labels = settle_labels(y)
    return found


def _map_npz(stream: BinaryIO, path: str, name: str, rules: InputRules):
    """(array, labels or None, whether the label rule was a member) of an npz file; None if it cannot be mapped.

    That is the case of compressed and of sparse members, and of damaged files, which a reader has better words for.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if rules.array is None and members.keys() >= _SPARSE_MEMBERS:
                return None
            chosen = _choose_member(members, name, rules.array)
            info, titled = members[chosen], rules.label in members
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
                return None
            y, wanted = None, rules.label if titled else "y" if rules.label is None and chosen == "X" else None
            if wanted in members:
                with archive.open(members[wanted]) as part:
                    y = _load_npy(part, members[wanted].file_size, f"{name}::{wanted}", rules.limit)
            stream.seek(info.header_offset)
            signature, *lengths = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
            if signature != b"PK\x03\x04":
                return None
            X = map_npy(stream, path, f"{name}::{chosen}", stream.tell() + sum(lengths), info.file_size)
    except InputError:
        raise
    except (*_ARCHIVE_ERRORS, struct.error):
        return None
    return X, y, titled


def _read_whole(source: str | BinaryIO, rules: InputRules) -> RowSource:
    table = read_table(source, **{field.name: getattr(rules, field.name) for field in fields(InputRules)})
    logger.info("%s was read as a whole: its format (%s) has no blocks to read it in.", table.name, table.format)
    return source_of(table, rules)


def source_of(table: Table, rules: InputRules) -> RowSource:
    """The rows of a table that was read as a whole."""
    return ArraySource(table.X, table.name, rules, table.content)


def open_together(sources: Sequence[str], **rules: Any) -> list[RowSource]:
    """Rows of several files that belong together: columns of the others are matched with those of the first.

    svmlight files share one width and one way of counting columns.
    """
    known = InputRules(**rules)
    if all(format_of(_split_member(source)[0], known.format) == "svmlight" for source in sources):
        return [_completed(source_of(table, known), known) for table in read_tables(sources, **rules)]
    first = open_rows(sources[0], **rules)
    return [first, *(open_rows(source, **rules | {"like": first}) for source in sources[1:])]


def _open_array(X: Any, rules: InputRules) -> RowSource:
    import numpy as np
    from scipy import sparse

    name = "the array"
    if isinstance(X, np.memmap):
        name = str(X.filename or name)
        return ArraySource(_two_dimensional(X, name), name, rules)
    if not sparse.issparse(X):
        return ArraySource(_two_dimensional(np.asarray(X), name), name, rules)
    found = _split_columns(sparse.csr_array(X), name, rules)
    return ArraySource(found.X, name, rules, found)
