"""Reading: find the bytes, hand them to the reader of the format, settle the type of the numbers."""

__all__ = ["Table", "read_table", "read_tables"]

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from mercer._base.errors import InputError
from mercer._base.tables.content import Content
from mercer._base.tables.formats.readers import READERS
from mercer._base.tables.limits import Limit
from mercer._base.tables.rules import PACKABLE, PACKERS, ArgumentError, InputRules, format_of, settle_dtype


@dataclass(frozen=True)
class Table:
    """The content of a file, whose name and format are known."""

    content: Content
    name: str = ""
    format: str = ""

    @property
    def X(self) -> Any:
        """The numbers, an array or a CSR matrix; missing ones are NaN."""
        return self.content.X

    @property
    def y(self) -> Any:
        """The labels, or None."""
        return self.content.y

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, or None."""
        return self.content.names


def read_table(source: str | Path | BinaryIO, **rules: Any) -> Table:
    r"""Read one table; the keywords are the fields of :class:`InputRules`.

    >>> table = read_table(io.BytesIO(b"height,width,kind\n1,2,cat\n3,4,dog\n"), format="csv", label="kind")
    >>> table.X.tolist(), table.y.tolist(), table.feature_names
    ([[1.0, 2.0], [3.0, 4.0]], ['cat', 'dog'], ('height', 'width'))
    """
    return read_tables([source], **rules)[0]


def read_tables(sources: Sequence[str | Path | BinaryIO], **rules: Any) -> list[Table]:
    """Read several tables that belong together: svmlight files then share one width and one way of counting columns."""
    known = InputRules(**_only_known(rules))
    tables = [_read_one(source, known) for source in sources]
    return _align_svmlight(tables, known.n_features)


def _only_known(rules: dict[str, Any]) -> dict[str, Any]:
    unknown = set(rules) - {field.name for field in fields(InputRules)}
    if unknown:
        raise TypeError(f"read_table has no option named {', '.join(sorted(unknown))}.")
    return rules


def _read_one(source, rules: InputRules) -> Table:
    member = None
    if isinstance(source, str | Path):
        source, member = split_member(str(source))
        name = "standard input" if source == "-" else source
        format = format_of(source, rules.format)
        stream = open_file(source, format, rules.limit)
    else:
        name, stream = getattr(source, "name", "stream"), source
        format = format_of(name, rules.format)
    rules = replace(rules, format=format, array=member or rules.array)
    if rules.array is not None and format != "npz":
        raise ArgumentError(
            f"{name} is read as {format}, which has no member {rules.array!r}; only npz files have members."
        )
    with stream:
        found = READERS[format](stream, name, rules)
    X = found.X
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(f"{name} has no data: {X.shape[0]} rows and {X.shape[1]} columns of numbers.")
    rules.limit.check_array(X, 8 if rules.dtype == "float64" else 4, name)
    return Table(replace(found, X=settle_dtype(X, rules, name)), name, format)


def split_member(source: str) -> tuple[str, str | None]:
    path, separator, member = source.rpartition("::")
    if separator and path.lower().endswith(".npz"):
        return path, member
    return source, None


def open_file(path: str, format: str, limit: Limit) -> BinaryIO:
    """The bytes of a file, a pipe or the standard input, seekable, with what is packed expanded."""
    if path == "-":
        return io.BytesIO(limit.read(sys.stdin.buffer, "standard input"))
    suffix = Path(path).suffix.lower()
    try:
        if suffix in PACKERS and format in PACKABLE:
            return io.BytesIO(_expand(path, suffix, limit))
        if not Path(path).is_file():  # a pipe, or an error that reading it raises
            with open(path, "rb") as pipe:
                return io.BytesIO(limit.read(pipe, path))
        return open(path, "rb")
    except FileNotFoundError:
        raise ArgumentError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise ArgumentError(f"{path} is a directory. Name a file.") from None
    except PermissionError:
        raise ArgumentError(f"{path} cannot be read: permission denied.") from None


def _expand(path: str, suffix: str, limit: Limit) -> bytes:
    import lzma
    import zlib
    from importlib import import_module

    try:
        with import_module(PACKERS[suffix]).open(path, "rb") as stream:
            return limit.read(stream, path)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{path} is not a complete {suffix} file: {error}.") from error


def _align_svmlight(tables: list[Table], n_features: int | None) -> list[Table]:
    """One width for all svmlight tables, and columns counted from 1 unless any of the files uses index 0."""
    sparse = [table for table in tables if table.format == "svmlight"]
    if not sparse:
        return tables
    first = 0 if any((table.X.indices == 0).any() for table in sparse) else 1
    needed = max(table.X.shape[1] - first for table in sparse)
    if n_features is not None and n_features < needed:
        raise ArgumentError(f"{sparse[0].name} needs n_features of at least {needed}, not {n_features}.")
    width = n_features or needed

    def aligned(table: Table) -> Table:
        X = table.X[:, first:].tocsr()
        X.resize(X.shape[0], width)
        return replace(table, content=replace(table.content, X=X))

    return [aligned(table) if table.format == "svmlight" else table for table in tables]
