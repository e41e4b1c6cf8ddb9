"""Segments of a stored index: which files a transaction appends to, and how committed rows are mapped into memory."""

__all__ = ["SegmentFiles", "load_segment"]

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer._base.files.container import FileProblem
from mercer.search.storage.api import Segment
from mercer.search.storage.blocks import Column, SegmentWriter
from mercer.search.storage.directory.contents import SegmentRecord
from mercer.search.storage.directory.files import REMEDY, FileWriter, Folder, sync


class SegmentFiles:
    """The files that a transaction or a new generation appends to."""

    def __init__(self, path: Path, columns: tuple[Column, ...], records: Mapping[int, SegmentRecord]):
        self.columns = columns
        self._path, self._records = path, records
        self._writers: dict[int, dict[str, FileWriter]] = {}

    def begin(self, number: int, new: bool) -> SegmentWriter:
        """The end of a segment. The one before it is full: it goes to the disk while others are still to come."""
        for writers in self._writers.values():
            for writer in writers.values():
                writer.finish()
        record = None if new else self._records[number]
        writers = self._writers[number] = {}
        with Folder(self._path) as folder:
            for column in self.columns:
                for part in column.parts:
                    writers[part.name] = folder.writer(number, part, record and record.parts[part.name])
        return SegmentWriter(number, self.columns, record.n_rows if record else 0, writers)

    def finish(self, segments: Sequence[SegmentWriter]) -> dict[int, SegmentRecord]:
        """Wait until everything is on the disk; returns what is to be committed."""
        records = {}
        for segment in segments:
            parts = {name: writer.finish() for name, writer in self._writers[segment.number].items()}
            records[segment.number] = SegmentRecord(segment.number, segment.n_rows, parts)
        if records.keys() - self._records.keys():
            sync(self._path)
        return records

    def abandon(self) -> None:
        """Close the files as they are."""
        for writers in self._writers.values():
            for writer in writers.values():
                writer.close()


def load_segment(folder: Folder, columns: Sequence[Column], record: SegmentRecord, first: int, verify: bool) -> Segment:
    """The committed rows of a segment, mapped into memory."""
    arrays: dict[str, Any] = {}
    for column in columns:
        loaded = [folder.load(record.number, part, record.parts[part.name], verify) for part in column.parts]
        if column.ragged:
            _check_offsets(loaded[0], loaded[1], column.name, record.number)
        arrays[column.name] = tuple(loaded) if column.ragged else loaded[0]
    return Segment(first, record.n_rows, arrays)


def _check_offsets(values: np.ndarray, offsets: np.ndarray, name: str, number: int) -> None:
    """Compiled loops trust them, so a file that was forged with the right checksum must not pass."""
    if offsets[0] != 0 or offsets[-1] != len(values) or (offsets[1:] < offsets[:-1]).any():
        raise FileProblem(f"has a damaged segment {number}: the rows of column {name!r} overlap. {REMEDY}")
