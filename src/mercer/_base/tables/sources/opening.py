"""From a file, an array or a Dask collection to its rows: ``mercer.open_rows``."""

__all__ = ["open_rows", "open_together"]

import logging
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from mercer._base.errors import InputError
from mercer._base.tables.columns import features_of
from mercer._base.tables.formats.npy import map_npy
from mercer._base.tables.formats.readers import (
    ARCHIVE_ERRORS,
    SPARSE_MEMBERS,
    choose_member,
    load_npy,
    split_columns,
    two_dimensional,
)
from mercer._base.tables.formats.vectors import VECTOR_FORMATS
from mercer._base.tables.reading import Table, open_file, read_table, read_tables, split_member
from mercer._base.tables.rules import (
    PACKERS,
    ArgumentError,
    InputRules,
    format_of,
    settle_labels,
)
from mercer._base.tables.sources.arrays import ArraySource
from mercer._base.tables.sources.rows import RowSource

_LOCAL_HEADER = struct.Struct("<4s22xHH")  # of a zip member: signature, ..., lengths of the name and the extra field
logger = logging.getLogger("mercer")


def open_rows(source: Any, **rules: Any) -> RowSource:
    """Open a file or an array whose rows are read block by block.

    Parameters
    ----------
    source : path of a file, or an array, a memory-mapped array or a sparse matrix. An npy file, an uncompressed member
        of an npz file (``"data.npz::X"``), a parquet file and an fvecs, bvecs or ivecs file are read in blocks; other
        formats are read as a whole. A Dask array or data frame is read chunk by chunk
    **rules : how to read it, as on the command line: ``format``, ``label`` (name or position of the column that holds
    the
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
        raise TypeError(f"open_rows has no option named {', '.join(sorted(unknown))}.")
    known = InputRules(**rules)
    if isinstance(source, RowSource):
        if rules:
            raise ArgumentError(f"{source.name} is already open. Pass the options when you open it.")
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
    path, member = split_member(source)
    format = format_of(path, rules.format)
    rules = replace(rules, format=format, array=member or rules.array)
    if rules.array is not None and format != "npz":
        raise ArgumentError(
            f"{path} is read as {format}, which has no member {rules.array!r}; only npz files have members."
        )
    if path == "-" or (Path(path).exists() and not Path(path).is_file()):
        return _read_whole(path, rules)
    if format == "parquet":
        from mercer._base.tables.sources.parquet import ParquetSource

        open_file(path, format, rules.limit).close()  # a file that is not there is reported as everywhere
        return ParquetSource(path, path, rules)
    if format in VECTOR_FORMATS and Path(path).suffix.lower() not in PACKERS:
        from mercer._base.tables.sources.vectors import VectorSource

        open_file(path, format, rules.limit).close()
        return VectorSource(path, rules)
    if format not in ("npy", "npz"):
        return _read_whole(path, rules)
    with open_file(path, format, rules.limit) as stream:
        if format == "npy":
            return ArraySource(two_dimensional(map_npy(stream, path, path), path), path, rules)
        mapped = _map_npz(stream, path, path, rules)
    if mapped is None:
        return _read_whole(path, rules)
    X, y, label_used = mapped
    if y is None:
        return ArraySource(two_dimensional(X, path), path, rules)
    if y.shape != X.shape[:1]:
        raise InputError(
            f"{path} has {X.shape[0]} rows and labels of shape {y.shape}. There must be one label per row."
        )
    found = ArraySource(two_dimensional(X, path), path, replace(rules, label=None) if label_used else rules)
    found.labels = settle_labels(y)
    return found


def _map_npz(stream: BinaryIO, path: str, name: str, rules: InputRules):
    """(array, labels or None, whether the label rule was a member) of an npz file; None if it cannot be mapped.

    That is the case of compressed and of sparse members, and of damaged files, which a reader has better words for.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if rules.array is None and members.keys() >= SPARSE_MEMBERS:
                return None
            chosen = choose_member(members, name, rules.array)
            info, titled = members[chosen], rules.label in members
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
                return None
            y, wanted = None, rules.label if titled else "y" if rules.label is None and chosen == "X" else None
            if wanted in members:
                with archive.open(members[wanted]) as part:
                    y = load_npy(part, members[wanted].file_size, f"{name}::{wanted}", rules.limit)
            stream.seek(info.header_offset)
            signature, *lengths = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
            if signature != b"PK\x03\x04":
                return None
            X = map_npy(stream, path, f"{name}::{chosen}", stream.tell() + sum(lengths), info.file_size)
    except InputError:
        raise
    except (*ARCHIVE_ERRORS, struct.error):
        return None
    return X, y, titled


def _read_whole(source: str | BinaryIO, rules: InputRules) -> RowSource:
    table = read_table(source, **{field.name: getattr(rules, field.name) for field in fields(InputRules)})
    logger.info("%s was read as a whole, because its format (%s) cannot be read in blocks.", table.name, table.format)
    return source_of(table, rules)


def source_of(table: Table, rules: InputRules) -> RowSource:
    """The rows of a table that was read as a whole."""
    return ArraySource(table.X, table.name, rules, table.content)


def open_together(sources: Sequence[str], **rules: Any) -> list[RowSource]:
    """Rows of several files that belong together: columns of the others are matched with those of the first.

    svmlight files share one width and one way of counting columns.
    """
    known = InputRules(**rules)
    if all(format_of(split_member(source)[0], known.format) == "svmlight" for source in sources):
        return [_completed(source_of(table, known), known) for table in read_tables(sources, **rules)]
    first = open_rows(sources[0], **rules)
    return [first, *(open_rows(source, **rules | {"like": first}) for source in sources[1:])]


def _open_array(X: Any, rules: InputRules) -> RowSource:
    import numpy as np
    from scipy import sparse

    name = "the array"
    if isinstance(X, np.memmap):
        name = str(X.filename or name)
        return ArraySource(two_dimensional(X, name), name, rules)
    if not sparse.issparse(X):
        return ArraySource(two_dimensional(np.asarray(X), name), name, rules)
    found = split_columns(sparse.csr_array(X), name, rules)
    return ArraySource(found.X, name, rules, found)
