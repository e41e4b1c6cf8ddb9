"""The storage of an index that lives in memory only: arrays that grow, with the behavior of the one on disk."""

__all__ = ["MemoryStorage"]

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer.search.storage.api import Removed, Segment, Snapshot, Storage
from mercer.search.storage.blocks import Column, Part, RowWriter, SegmentWriter, as_columns


class MemoryStorage(Storage):
    """Rows in memory.

    Parameters
    ----------
    columns : what each row consists of
    header : a dictionary kept beside the rows, as a directory keeps one

    Examples
    --------
    >>> storage = MemoryStorage([Column("codes", "u1", (2,)), Column("words", "<i4", ragged=True)])
    >>> with storage.transaction() as t:
    ...     first = t.append({"codes": np.eye(2, dtype="u1"), "words": (np.array([5, 6, 7], "i4"), [1, 2])})
    ...     t.remove([0])
    >>> storage.n_positions, storage.removed.tolist(), storage.segments()[0].arrays["words"][1].tolist()
    (2, [True, False], [0, 1, 3])
    """

    def __init__(self, columns: Sequence[Column], header: dict | None = None):
        super().__init__()
        # (Snapshot, writers of its segments, header): one assignment, so that they belong together at any moment
        self._state: Any = Snapshot(1, as_columns(columns), (), Removed(0)), [], dict(header or {})
        self._closed = False

    @property
    def snapshot(self) -> Snapshot:  # type: ignore[override]
        """All rows of the last change."""
        return self._state[0]

    @property
    def header(self) -> dict:
        """The dictionary that was given to ``__init__`` or to the last ``rewrite``."""
        return self._state[2]

    def close(self) -> None:
        self._closed = True

    def _check_writable(self, name):
        if self._closed:
            raise InputError(f"{name} needs an open storage; this one is closed.")

    def row_writer(self) -> RowWriter:
        columns, writers = self.columns, self._state[1]
        limits = self.segment_rows, self.segment_bytes
        return RowWriter(columns, self.n_positions, len(writers), _begin_in(writers, columns), limits)

    def commit(self, writer, removed):
        before, writers, header = self._state
        segments = list(before.segments)
        for segment in writer.touched:
            segments[segment.number :] = [_view(segment, segments[: segment.number])]
        removal = before.removal.changed(writer.n_positions, removed)
        self._state = replace(before, segments=tuple(segments), removal=removal), writers, header

    def _undo(self):
        snapshot, writers, _ = self._state
        segments = snapshot.segments
        del writers[len(segments) :]
        if segments:
            _cut_back(writers[-1], segments[-1])

    def _rewrite(self, columns, batches, write_model, header, model):
        """``write_model`` is for a directory: there is no file here to write."""
        fresh: list[SegmentWriter] = []
        columns = as_columns(columns)
        writer = RowWriter(columns, 0, 0, _begin_in(fresh, columns), (self.segment_rows, self.segment_bytes))
        for batch in batches:
            writer.append(batch)
        segments: list[Segment] = []
        for segment in fresh:
            segments.append(_view(segment, segments))
        generation = self.snapshot.generation + 1
        snapshot = Snapshot(generation, columns, tuple(segments), Removed(writer.n_positions), model)
        self._state = snapshot, fresh, self.header if header is None else dict(header)


class _GrowingArray:
    """Values in an array with room behind them. What was given out by ``view`` never changes."""

    def __init__(self, part: Part):
        self.n_values = 0
        self._room = np.empty((0, *part.shape), part.dtype)

    def append(self, values: np.ndarray) -> None:
        """Put values behind those that are there."""
        stop = self.n_values + len(values)
        if stop > len(self._room):
            room = np.empty((max(stop, 2 * len(self._room)), *self._room.shape[1:]), self._room.dtype)
            room[: self.n_values] = self._room[: self.n_values]
            self._room = room
        self._room[self.n_values : stop] = values
        self.n_values = stop

    def view(self) -> np.ndarray:
        """The values so far."""
        return self._room[: self.n_values]


def _begin_in(writers: list[SegmentWriter], columns: tuple[Column, ...]):
    """How a RowWriter gets at the segments that ``writers`` holds, and adds to them."""

    def begin(number: int, new: bool) -> SegmentWriter:
        if new:
            parts = {part.name: _GrowingArray(part) for column in columns for part in column.parts}
            writers.append(SegmentWriter(number, columns, 0, parts))
        return writers[number]

    return begin


def _view(writer: SegmentWriter, before: Sequence[Segment]) -> Segment:
    first = before[-1].first + before[-1].n_rows if before else 0
    arrays = {
        column.name: tuple(writer.parts[part.name].view() for part in column.parts)
        if column.ragged
        else writer.parts[column.name].view()
        for column in writer.columns
    }
    return Segment(first, writer.n_rows, arrays)


def _cut_back(writer: SegmentWriter, segment: Segment) -> None:
    writer.n_rows = segment.n_rows
    for column in writer.columns:
        views = segment.arrays[column.name]
        for part, view in zip(column.parts, views if column.ragged else (views,), strict=True):
            writer.parts[part.name].n_values = len(view)
