"""Encoded rows on disk: written once, block by block, and read through memory-mapped files in every pass.

The files have no names: the system frees them when the rows are garbage collected or the process ends, in whatever
way, so nothing is ever left behind. Products have the same bits as those of the same rows in memory.
"""

__all__ = ["StorageError", "StoredBitRows", "StoredCSRRows", "StoredCodeRows", "StoredDenseRows", "store_rows"]

import errno
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from math import prod
from pathlib import Path

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError, MercerError
from mercer.spaces.coded_rows import BitRows, CodeRows
from mercer.spaces.landmarks.rows import LandmarkRows
from mercer.spaces.rows import CSRRows, DenseRows, StackedRows, as_rows

TAKEN_BYTES = 2**26  # rows taken from stored ones come into memory up to this size
LARGEST_INT32 = 2**31 - 1
DISK_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class StorageError(MercerError, OSError):
    """The disk has no room for what is to be stored. The message says how much is needed, where, and what to do."""


def store_rows(blocks, n_rows=None, directory=None):
    """Write encoded rows to disk as they come, and give them back as rows over memory-mapped files.

    Parameters
    ----------
    blocks : iterable of pairs (rows, slice) in order, as ``blocks()`` of rows gives them, or of rows alone. All are of
        one kind: dense, CSR, codes, bits, or a stack of these
    n_rows : how many rows will come, if that is known: a disk that is too small is then noticed before writing
    directory : where to write, the system's directory for temporary files if None

    Returns
    -------
    Rows of the same kind. A slice of them is again a view of the files; other rows that are taken come into memory if
    they are few, and are stored in the same directory otherwise.

    Examples
    --------
    >>> from mercer.spaces import DenseRows
    >>> rows = store_rows(DenseRows(np.eye(3)).blocks(size=2))
    >>> rows.scores([1.0, 2.0, 3.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    place = Path(tempfile.gettempdir() if directory is None else directory)
    if not place.is_dir():
        raise InputError(f"store_rows needs a directory to write to, but {place} is not a directory.")
    with ExitStack() as files:
        writer, stored = None, 0
        for block in blocks:
            rows, part = block if isinstance(block, tuple) else (block, None)
            rows = as_rows(rows)
            if part is not None and (part.start, part.stop) != (stored, stored + len(rows)):
                raise InputError(f"store_rows needs blocks in order: {part} of {len(rows)} rows came after {stored}.")
            if writer is None:
                room = _Room(place, rows, n_rows)
                writer = _writer_of(rows, room, files)
            writer.append(rows, stored)
            stored += len(rows)
        if writer is None:
            raise InputError("store_rows needs at least one block of rows; got none.")
        if n_rows not in (None, stored):
            raise InputError(f"store_rows expected {n_rows} rows, but got {stored}.")
        return writer.finish(stored)


# ----------------------------------------------------------------------------------------------------- rows over files


class _OnDisk:
    """What stored rows of every kind share. ``directory`` is where rows that are taken from them are stored."""

    directory: Path

    def take(self, which):
        in_memory = super().take
        if isinstance(which, slice):
            return in_memory(which)
        chosen = np.arange(len(self))[which]
        row_bytes = max(1, self.nbytes // max(1, len(self)))
        if row_bytes * len(chosen) <= TAKEN_BYTES:
            return in_memory(chosen)
        step = max(1, TAKEN_BYTES // row_bytes)
        parts = (in_memory(chosen[start : start + step]) for start in range(0, len(chosen), step))
        return store_rows(parts, len(chosen), self.directory)


class StoredDenseRows(_OnDisk, DenseRows):
    """Dense rows over a memory-mapped file. Made by :func:`store_rows`."""


class StoredCSRRows(_OnDisk, CSRRows):
    """CSR rows whose entries lie in memory-mapped files. Made by :func:`store_rows`."""


class StoredCodeRows(_OnDisk, CodeRows):
    """Codes over a memory-mapped file. Made by :func:`store_rows`."""


class StoredBitRows(_OnDisk, BitRows):
    """Packed bits over a memory-mapped file. Made by :func:`store_rows`."""


# ------------------------------------------------------------------------------------------------------------- writing


class _ArrayWriter:
    """Rows that are one array: dense, codes, bits."""

    def __init__(self, rows, name, rebuild, room, files):
        self.name, self.rebuild, self.room, self.layout = name, rebuild, room, _layout(rows)
        self.array = getattr(rows, name)[:0]
        self.file = _NamelessFile(room, files)

    def append(self, rows, stored):
        _refuse_other_layout(rows, self.layout, stored)
        self.file.append(getattr(rows, self.name))

    def finish(self, n_rows):
        rows = self.rebuild(self.file.mapped((n_rows, *self.array.shape[1:]), self.array.dtype))
        rows.directory = self.room.place
        return rows


class _CSRWriter:
    """Data and indices go to files; where each row starts stays in memory, eight bytes a row at most."""

    def __init__(self, rows, room, files):
        self.room, self.layout, self.files = room, _layout(rows), files
        self.n_features, self.dtype = rows.shape[1], rows.dtype
        self.data, self.indices = _NamelessFile(room, files), _NamelessFile(room, files)
        self.index = np.dtype(np.int32 if self.n_features <= LARGEST_INT32 else np.int64)
        self.lengths = []

    def append(self, rows, stored):
        _refuse_other_layout(rows, self.layout, stored)
        self.data.append(rows.X.data)
        self.indices.append(rows.X.indices.astype(self.index, copy=False))
        self.lengths.append(np.diff(rows.X.indptr))

    def finish(self, n_rows):
        starts = np.concatenate([[0], *self.lengths]).astype(np.int64)
        np.cumsum(starts, out=starts)
        n_entries = int(starts[-1])
        if n_entries > LARGEST_INT32 and self.index == np.int32:
            self._widen_indices(n_entries)
        # put together by hand: the constructor would look through all entries, which were checked as blocks
        X = sparse.csr_array((n_rows, self.n_features), dtype=self.dtype)
        X.data = self.data.mapped((n_entries,), self.dtype)
        X.indices = self.indices.mapped((n_entries,), self.index)
        X.indptr = starts.astype(self.index, copy=False)
        X.has_canonical_format = True
        rows = object.__new__(StoredCSRRows)
        rows._set(X)
        rows.directory = self.room.place
        return rows

    def _widen_indices(self, n_entries):
        """scipy wants one type for indices and starts; starts beyond int32 make it int64."""
        narrow, self.index = self.indices.mapped((n_entries,), self.index), np.dtype(np.int64)
        self.indices = _NamelessFile(self.room, self.files)
        step = TAKEN_BYTES // 8
        for start in range(0, n_entries, step):
            self.indices.append(narrow[start : start + step].astype(np.int64))


class _StackWriter:
    """Each part of a stack goes to files of its own."""

    def __init__(self, rows, room, files):
        self.layout = _layout(rows)
        self.writers = [_writer_of(part, room, files) for part in rows.parts]

    def append(self, rows, stored):
        _refuse_other_layout(rows, self.layout, stored)
        for writer, part in zip(self.writers, rows.parts, strict=True):
            writer.append(part, stored)

    def finish(self, n_rows):
        return StackedRows([writer.finish(n_rows) for writer in self.writers])


class _LandmarkWriter:
    """Raw rows that are compared with landmarks go to files; kernel values never do."""

    def __init__(self, rows, room, files):
        self.landmarks, self.writer = rows.landmarks, _writer_of(as_rows(rows.X), room, files)

    def append(self, rows, stored):
        self.writer.append(as_rows(rows.X), stored)

    def finish(self, n_rows):
        return LandmarkRows(self.writer.finish(n_rows).X, self.landmarks)


def _writer_of(rows, room, files):
    if isinstance(rows, LandmarkRows):
        return _LandmarkWriter(rows, room, files)
    if isinstance(rows, StackedRows):
        return _StackWriter(rows, room, files)
    if isinstance(rows, CSRRows):
        return _CSRWriter(rows, room, files)
    if isinstance(rows, DenseRows):
        return _ArrayWriter(rows, "X", StoredDenseRows, room, files)
    if isinstance(rows, BitRows):
        return _ArrayWriter(rows, "packed", lambda packed: StoredBitRows(packed, rows.n_bits, rows.value), room, files)
    if isinstance(rows, CodeRows):
        words = rows.n_words
        return _ArrayWriter(rows, "codes", lambda codes: _code_rows(codes, words), room, files)
    raise InputError(f"store_rows supports dense, CSR, code and bit rows and stacks of them; got {rows!r}.")


def _code_rows(codes, words):
    rows = object.__new__(StoredCodeRows)
    rows._set(codes, words)  # the words were checked as blocks
    return rows


def _layout(rows):
    """What all blocks must have in common: in words, and the words of codes."""
    words = rows.n_words.tobytes() if isinstance(rows, CodeRows) else b""
    parts = f"{len(rows.parts)} parts and " if isinstance(rows, StackedRows) else ""
    kind = type(rows).__name__.removeprefix("Stored")
    return f"{kind} of {parts}{rows.shape[1]} features, {rows.dtype}", words


def _refuse_other_layout(rows, layout, stored):
    found = _layout(rows)
    if found != layout:
        came = "words of different blocks" if found[0] == layout[0] else found[0]
        raise InputError(f"store_rows needs blocks of one kind: {came} at row {stored}, after {layout[0]}.")


# -------------------------------------------------------------------------------------------------------- files, room


class _NamelessFile:
    """Numbers appended to a file that has no name in its directory."""

    def __init__(self, room, files):
        self.room = room
        # without a buffer: closing one that cannot be emptied would hide the first error behind a second
        file = tempfile.TemporaryFile(dir=room.place, buffering=0)  # noqa: SIM115 (the stack closes it)
        self.file = files.enter_context(file)

    def append(self, array):
        unwritten = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        with self.room.watched(len(unwritten)):
            while unwritten:
                unwritten = unwritten[self.file.write(unwritten) :]

    def mapped(self, shape, dtype):
        """All numbers as an array over the file, which lives as long as the array does."""
        if not prod(shape):
            return np.empty(shape, dtype)  # nothing cannot be mapped
        # shared and writable although nobody writes: a read-only array would make numba compile every loop again,
        # and a private one would count as memory that is spoken for
        return np.asarray(np.memmap(self.file, dtype=dtype, mode="r+", shape=shape))


class _Room:
    """The place on disk: how much is needed there, how much was written."""

    def __init__(self, place, first, n_rows):
        self.place, self.written = place, 0
        self.needed = None if n_rows is None else round(first.nbytes / max(1, len(first)) * n_rows)
        free = shutil.disk_usage(place).free
        if self.needed is not None and self.needed > free:
            raise self.error(f"where {_mib(free)} are free")

    @contextmanager
    def watched(self, n_bytes):
        """A context in which a full disk is explained."""
        self.written += n_bytes
        try:
            yield
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            raise self.error(f"and writing failed ({error.strerror})") from error

    def error(self, what):
        """The sentence for a disk that is too small."""
        needed = f"at least {_mib(self.written)}" if self.needed is None else f"about {_mib(self.needed)}"
        return StorageError(
            f"Storing encoded rows needs {needed} in {self.place}, {what}. Free some space, or choose another place "
            "with the environment variable TMPDIR or the argument directory."
        )


def _mib(n_bytes):
    return f"{n_bytes / 2**20:,.1f} MiB"
