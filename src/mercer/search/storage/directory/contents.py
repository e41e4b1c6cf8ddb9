"""What the catalogue of a stored index says, as rows of its tables: written here, and read without believing any of it.

The tables must be ours to the letter, every number is checked against the others, texts and lists of positions carry a
checksum, and file names are not stored at all. What is left to believe, the sizes and checksums of the files, is
compared with the files by :mod:`mercer.search.storage.directory.files`.
"""

__all__ = [
    "APPLICATION_ID",
    "CATALOGUE_NAME",
    "FORMAT_VERSION",
    "LONGEST_VALUE",
    "TABLES",
    "Contents",
    "ModelRecord",
    "PartRecord",
    "SegmentRecord",
    "insert_changes",
    "insert_generation",
    "read_contents",
]

import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer.search.storage.blocks import OFFSET, Column, as_columns

CATALOGUE_NAME = "catalogue.sqlite"
FORMAT_VERSION = 1
APPLICATION_ID = 0x4D724B49  # "MrKI", in bytes 68 to 71 of the file
LONGEST_VALUE = 2**24
_POSITIONS_PER_ROW = 2**20
_MOST_ROWS = 2**48

TABLES = {
    "generation": "CREATE TABLE generation (number INTEGER PRIMARY KEY, document TEXT NOT NULL, "
    "crc32 INTEGER NOT NULL)",
    "segment": "CREATE TABLE segment (number INTEGER PRIMARY KEY, n_rows INTEGER NOT NULL)",
    "part": "CREATE TABLE part (segment INTEGER NOT NULL, name TEXT NOT NULL, n_bytes INTEGER NOT NULL, "
    "crc32 INTEGER NOT NULL, PRIMARY KEY (segment, name)) WITHOUT ROWID",
    "removal": "CREATE TABLE removal (number INTEGER PRIMARY KEY, positions BLOB NOT NULL, crc32 INTEGER NOT NULL)",
}


@dataclass(frozen=True)
class PartRecord:
    """The committed bytes of a file: how many, and their CRC-32."""

    n_bytes: int
    crc32: int


@dataclass(frozen=True)
class SegmentRecord:
    """The committed rows of a segment, and the files that hold them."""

    number: int
    n_rows: int
    parts: Mapping[str, PartRecord]


@dataclass(frozen=True)
class ModelRecord:
    """Size and SHA-256 of the model file."""

    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class Contents:
    """What the catalogue says, checked for consistency. ``removed`` are positions, in any order."""

    generation: int
    columns: tuple[Column, ...]
    header: dict[str, Any]
    model: ModelRecord
    segments: dict[int, SegmentRecord] = field(default_factory=dict)
    removed: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def n_positions(self) -> int:
        """Rows of all segments."""
        return sum(record.n_rows for record in self.segments.values())

    def is_same(self, other: "Contents") -> bool:
        """Whether both say the same, of one generation: there, rows are only ever added and removed."""
        mine = self.generation, self.model, self.segments, len(self.removed)
        return mine == (other.generation, other.model, other.segments, len(other.removed))


# ------------------------------------------------------------------------------------------------------------- writing


def insert_generation(execute, contents: Contents) -> None:
    """Write a generation into empty tables. ``execute`` runs one statement."""
    document = {
        "columns": [
            {"name": column.name, "dtype": column.dtype.str, "shape": column.shape, "ragged": column.ragged}
            for column in contents.columns
        ],
        "header": contents.header,
        "model": {"n_bytes": contents.model.n_bytes, "sha256": contents.model.sha256},
    }
    text = _as_json(document)
    execute("INSERT INTO generation VALUES (?, ?, ?)", (contents.generation, text, zlib.crc32(text.encode())))
    insert_changes(execute, contents.segments.values(), contents.removed)


def _as_json(document: dict[str, Any]) -> str:
    try:
        text = json.dumps(document, allow_nan=False)
        faithful = json.loads(text)["header"] == document["header"]
    except (TypeError, ValueError) as error:
        raise InputError(f"The header of an index must be representable as JSON: {error}.") from error
    if not faithful or len(text) > LONGEST_VALUE // 2:
        raise InputError("The header of an index needs string keys, lists for sequences, and less than 8 MB.")
    return text


def insert_changes(execute, segments: Iterable[SegmentRecord], removed: np.ndarray) -> None:
    """Write segments that are new or have grown, and positions that are removed."""
    for record in segments:
        execute("INSERT OR REPLACE INTO segment VALUES (?, ?)", (record.number, record.n_rows))
        for name, part in record.parts.items():
            values = (record.number, name, part.n_bytes, part.crc32)
            execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)", values)
    for start in range(0, len(removed), _POSITIONS_PER_ROW):
        blob = removed[start : start + _POSITIONS_PER_ROW].astype(OFFSET).tobytes()
        execute("INSERT INTO removal (positions, crc32) VALUES (?, ?)", (blob, zlib.crc32(blob)))


# ------------------------------------------------------------------------------------------------------------- reading


def read_contents(connection: sqlite3.Connection, verify: bool) -> Contents:
    """Everything that the catalogue says; with ``verify`` SQLite looks through all of its pages too."""

    def rows(sql):
        return connection.execute(sql).fetchall()

    connection.execute("BEGIN")
    try:
        _check_identity(rows)
        if verify and rows("PRAGMA integrity_check(1)") != [("ok",)]:
            raise _damaged("its tables are inconsistent")
        number, columns, header, model = _read_generation(
            rows("SELECT number, document, crc32 FROM generation LIMIT 2")
        )
        segments = _read_segments(
            columns,
            rows("SELECT number, n_rows FROM segment ORDER BY number"),
            rows("SELECT segment, name, n_bytes, crc32 FROM part"),
        )
        contents = Contents(number, columns, header, model, segments)
        removed = _read_removals(rows("SELECT positions, crc32 FROM removal"), contents.n_positions)
        return Contents(number, columns, header, model, segments, removed)
    finally:
        connection.execute("ROLLBACK")


def _check_identity(rows) -> None:
    if rows("PRAGMA application_id") != [(APPLICATION_ID,)]:
        raise FileProblem(f"is not an index: its {CATALOGUE_NAME!r} is a different database.")
    version = rows("PRAGMA user_version")[0][0]
    if version > FORMAT_VERSION:
        raise FileProblem(
            f"was written by format {version}; this version reads format {FORMAT_VERSION}. Upgrade mercer."
        )
    # no views, triggers or generated columns: they would run the code of whoever wrote the file
    tables = {name: sql for _, name, sql in rows("SELECT type, name, sql FROM sqlite_master LIMIT 100")}
    if version < 1 or tables != TABLES:
        raise _damaged("its tables do not belong to an index")


def _read_generation(found):
    if len(found) != 1:
        raise _damaged("it does not name one generation")
    number, text, crc = found[0]
    if not _is_size(number) or not isinstance(text, str) or zlib.crc32(text.encode()) != crc:
        raise _damaged("the checksum of its description does not match")
    try:
        document = json.loads(text)
        columns = as_columns([_as_column(**fields) for fields in document["columns"]])
        model = ModelRecord(**document["model"])
        header = document["header"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(f"its description cannot be read ({error!s:.200})") from error
    if not isinstance(header, dict) or not _is_size(model.n_bytes) or not _is_digest(model.sha256):
        raise _damaged("its description is incomplete")
    return number, columns, header, model


def _as_column(name, dtype, shape, ragged) -> Column:
    if not isinstance(dtype, str) or not re.fullmatch("[<|][iuf][1248]", dtype) or not isinstance(shape, list):
        raise ValueError("a column has an unknown type")
    if type(ragged) is not bool:
        raise ValueError("a column is neither ragged nor not")
    return Column(name, np.dtype(dtype), tuple(shape), ragged)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST_ROWS


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _read_segments(columns, segments, parts) -> dict[int, SegmentRecord]:
    found: dict[Any, dict[str, PartRecord]] = {}
    for number, name, n_bytes, crc in parts:
        if not _is_size(n_bytes) or type(crc) is not int or not 0 <= crc < 2**32:
            raise _damaged(f"segment {number!r:.20} has an impossible size or checksum")
        found.setdefault(number, {})[name] = PartRecord(n_bytes, crc)
    records = {}
    for expected, (number, n_rows) in enumerate(segments):
        if number != expected or not _is_size(n_rows) or n_rows < 1:
            raise _damaged(f"segment {expected} is missing or has an impossible number of rows")
        records[number] = SegmentRecord(number, n_rows, found.pop(number, {}))
        _check_sizes(columns, records[number])
    if found:
        raise _damaged("it has files of segments that do not exist")
    return records


def _check_sizes(columns, record: SegmentRecord) -> None:
    layout = {part.name: (column, part) for column in columns for part in column.parts}
    if layout.keys() != record.parts.keys():
        raise _damaged(f"segment {record.number} does not have the columns of the index")
    for name, (column, part) in layout.items():
        n_values, rest = divmod(record.parts[name].n_bytes, part.item_bytes)
        if column.ragged:
            fits = n_values == record.n_rows + 1 or name == column.name
        else:
            fits = n_values == record.n_rows
        if rest or not fits:
            raise _damaged(f"segment {record.number} has {record.n_rows} rows, but not as many in column {name!r}")


def _read_removals(removals, n_positions: int) -> np.ndarray:
    for blob, crc in removals:
        if not isinstance(blob, bytes) or len(blob) % OFFSET.itemsize or zlib.crc32(blob) != crc:
            raise _damaged("the checksum of its removed rows does not match")
    removed = np.frombuffer(b"".join(blob for blob, _ in removals), OFFSET)
    if removed.size and (removed.min() < 0 or removed.max() >= n_positions):
        raise _damaged("it removes rows that do not exist")
    return removed


def _damaged(what: str) -> FileProblem:
    return FileProblem(f"has a damaged catalogue: {what}. Restore it from a copy or build the index again.")
