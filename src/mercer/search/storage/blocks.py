"""Columns of a storage, blocks of rows on their way into it, and how rows are cut into segments.

A column becomes one or two *parts*, sequences of numbers that only ever grow:

    column          parts
    fixed           ``name``            one value of the column's shape per row
    ragged          ``name``            the numbers of all rows, one after the other
                    ``name.offsets``    n_rows + 1 int64 numbers: row i has the numbers offsets[i] to offsets[i + 1]

So both storages are lists of parts, and the files of one hold what the arrays of the other hold.
"""

__all__ = ["Block", "Column", "Part", "RowWriter", "SegmentWriter", "as_columns"]

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.errors import InputError

OFFSET = np.dtype("<i8")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
# no bool: a byte other than 0 and 1 in a file would be believed by compiled loops
_KINDS = "iuf"
_LARGEST_ROW = 2**31  # bytes of one value


@dataclass(frozen=True)
class Part:
    """A sequence of values that grows: the numbers of a column, or where the rows of a ragged one begin."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...] = ()

    @property
    def item_bytes(self) -> int:
        """Bytes of one value."""
        return self.dtype.itemsize * math.prod(self.shape)


@dataclass(frozen=True)
class Column:
    """What a row has under one name: a value of fixed shape, or (``ragged``) any number of scalars.

    >>> Column("codes", "u1", (8,)).parts
    (Part(name='codes', dtype=dtype('uint8'), shape=(8,)),)
    >>> [part.name for part in Column("entries", "<f4", ragged=True).parts]
    ['entries', 'entries.offsets']
    """

    name: str
    dtype: np.dtype
    shape: tuple[int, ...] = ()
    ragged: bool = False

    def __post_init__(self):
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InputError(
                f"A column name must consist of lowercase letters, digits and _; got {str(self.name)[:80]!r}."
            )
        dtype = np.dtype(self.dtype).newbyteorder("<")
        if dtype.kind not in _KINDS or dtype.itemsize > 8:
            raise InputError(f"The column {self.name!r} needs integers or floats of at most 8 bytes, got {dtype}.")
        shape = tuple(self.shape)
        if any(type(side) is not int or side < 1 for side in shape) or len(shape) > 8:
            raise InputError(f"The column {self.name!r} needs a shape of positive integers, got {shape!r:.80}.")
        if dtype.itemsize * math.prod(shape) > _LARGEST_ROW:
            raise InputError(f"The column {self.name!r} has values of more than {_LARGEST_ROW:,} bytes.")
        if self.ragged and shape:
            raise InputError(f"The ragged column {self.name!r} holds scalars; it cannot have the shape {shape}.")
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "ragged", bool(self.ragged))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The sequences that hold this column."""
        values = Part(self.name, self.dtype, self.shape)
        return (values, Part(f"{self.name}.offsets", OFFSET)) if self.ragged else (values,)


def as_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """One column or more, each name once."""
    columns = tuple(columns)
    names = [column.name for column in columns]
    if not columns or len(set(names)) < len(names):
        raise InputError(f"A storage needs at least one column, with unique names; got {names}.")
    return columns


class Block:
    """Rows to be appended: one contiguous array per column, or (values, ends of the rows) for a ragged one."""

    def __init__(self, columns: Sequence[Column], arrays: Mapping[str, Any]):
        if set(arrays) != {column.name for column in columns}:
            wanted = ", ".join(column.name for column in columns)
            raise InputError(f"Appended rows need the columns {wanted}, got {', '.join(sorted(arrays)) or 'none'}.")
        self.columns = columns
        self.arrays = {column.name: _checked(column, arrays[column.name]) for column in columns}
        counts = {column.name: len(self._rows_of(column)) for column in columns}
        if len(set(counts.values())) > 1:
            raise InputError(f"Appended columns must have the same number of rows; got {counts}.")
        self.n_rows = next(iter(counts.values()))

    def _rows_of(self, column):
        return self.arrays[column.name][1] if column.ragged else self.arrays[column.name]

    def parts(self, start: int, stop: int):
        """(column, values, lengths or None) of rows ``start`` to ``stop``."""
        for column in self.columns:
            if not column.ragged:
                yield column, self.arrays[column.name][start:stop], None
                continue
            values, ends = self.arrays[column.name]
            begin = ends[start - 1] if start else 0
            yield column, values[begin : ends[stop - 1] if stop else 0], ends[start:stop] - begin

    def rows_within(self, start: int, stop: int, n_bytes: int) -> int:
        """How many of the rows ``start`` to ``stop``, from the first on, take no more than ``n_bytes``."""
        # the last part has one value per row: those of a fixed column, the offsets of a ragged one
        fixed = sum(column.parts[-1].item_bytes for column in self.columns)
        taken = fixed * np.arange(1, stop - start + 1, dtype=np.int64)
        for column in self.columns:
            if column.ragged:
                ends = self.arrays[column.name][1]
                taken += (ends[start:stop] - (ends[start - 1] if start else 0)) * column.dtype.itemsize
        return int(np.searchsorted(taken, n_bytes, side="right"))


def _checked(column: Column, value: Any):
    if not column.ragged:
        return _as_values(column, value, column.shape)
    values, lengths = value
    values, lengths = _as_values(column, values, ()), np.asarray(lengths)
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths.size and lengths.min() < 0):
        raise InputError(f"The ragged column {column.name!r} needs non-negative integers as lengths of its rows.")
    ends = np.cumsum(lengths, dtype=OFFSET)
    total = int(ends[-1]) if ends.size else 0
    if total != len(values):
        raise InputError(
            f"The ragged column {column.name!r} has {len(values)} values, but its lengths add up to {total}."
        )
    return values, ends


def _as_values(column: Column, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype.newbyteorder("<") != column.dtype or values.ndim < 1 or values.shape[1:] != shape:
        needed = f"{column.dtype} of shape {('n', *shape)}".replace("'", "")
        raise InputError(f"The column {column.name!r} needs {needed}, got {values.dtype} of shape {values.shape}.")
    return np.ascontiguousarray(values, dtype=column.dtype)


# ------------------------------------------------------------------------------------------------------------ segments


class SegmentWriter:
    """The end of one segment: its parts, and how many rows they have together.

    ``parts`` are the ends of the parts by name; each has ``append(values)``, and ``n_values`` says how many it holds.
    """

    def __init__(self, number: int, columns: Sequence[Column], n_rows: int, parts: Mapping[str, Any]):
        self.number, self.columns, self.n_rows, self.parts = number, columns, n_rows, parts
        if not n_rows:
            for column in columns:
                if column.ragged:
                    parts[column.parts[1].name].append(np.zeros(1, OFFSET))

    @property
    def n_bytes(self) -> int:
        """Bytes of all parts."""
        layout = [part for column in self.columns for part in column.parts]
        return sum(part.item_bytes * self.parts[part.name].n_values for part in layout)

    def append(self, block: Block, start: int, stop: int) -> None:
        """Append rows ``start`` to ``stop`` of a block."""
        for column, values, ends in block.parts(start, stop):
            if ends is not None:
                self.parts[column.parts[1].name].append(ends + self.parts[column.name].n_values)
            self.parts[column.name].append(values)
        self.n_rows += stop - start


class RowWriter:
    """Appends blocks to the last segment and begins a new one when it is full.

    Parameters
    ----------
    columns : the columns of the rows
    n_positions, n_segments : how many rows and segments there are; the first block continues the last segment
    begin : called with the number of a segment and whether it is new; gives its writer
    limits : rows and bytes of a full segment; a single row may be larger
    """

    def __init__(
        self,
        columns: Sequence[Column],
        n_positions: int,
        n_segments: int,
        begin: Callable[[int, bool], SegmentWriter],
        limits: tuple[int, int],
    ):
        self.columns, self.n_positions, self.n_segments = columns, n_positions, n_segments
        self.touched: list[SegmentWriter] = []
        self._begin = begin
        self._max_rows, self._max_bytes = limits

    def append(self, arrays: Mapping[str, Any]) -> int:
        """Append rows; returns the position of the first."""
        block = Block(self.columns, arrays)
        first, start = self.n_positions, 0
        while start < block.n_rows:
            segment = self._segment()
            stop = start + self._room(segment, block, start)
            if stop == start:
                self._next_segment()
                continue
            segment.append(block, start, stop)
            self.n_positions += stop - start
            start = stop
        return first

    def _segment(self) -> SegmentWriter:
        if not self.touched:
            if self.n_segments:
                self.touched.append(self._begin(self.n_segments - 1, False))
            else:
                self._next_segment()
        return self.touched[-1]

    def _next_segment(self) -> None:
        self.touched.append(self._begin(self.n_segments, True))
        self.n_segments += 1

    def _room(self, segment: SegmentWriter, block: Block, start: int) -> int:
        """How many rows of the block still fit; an empty segment takes one row of any size."""
        stop = min(block.n_rows, start + max(0, self._max_rows - segment.n_rows))
        rows = block.rows_within(start, stop, self._max_bytes - segment.n_bytes)
        return max(rows, 0 if segment.n_rows else 1)
