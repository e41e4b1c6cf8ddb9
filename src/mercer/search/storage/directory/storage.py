"""The storage of an index that lives in a directory: every transaction is on the disk when its ``with`` block ends.

    catalogue.sqlite                        which bytes of which files count, and the removed positions
    writer.lock                             locked by the one writer, whose process number it holds
    generation-3/model.mercer               written by the caller
    generation-3/segment-000000.codes       the values of one part of up to 2**18 rows, little-endian, nothing else
    generation-3/segment-000000.entries.offsets

Files only grow. A transaction appends to them, waits until the bytes (and the names of new files) are on the disk, and
then commits to the catalogue: that is the moment at which it has happened. What a transaction leaves behind that fails
or is killed lies beyond the lengths in the catalogue; it is cut off at once, or by the next writer that opens. A new
generation is a new folder that the catalogue switches to in one commit.

Readers map the files as far as they are committed and keep no file open. A folder that is deleted stays readable to
those who have mapped it.
"""

__all__ = ["MODEL_NAME", "Change", "DirectoryStorage"]

import io
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer._base.threads import run_blocks
from mercer.search.storage.api import Removed, Segment, Snapshot, Storage
from mercer.search.storage.blocks import Column, RowWriter, as_columns
from mercer.search.storage.directory.catalogue import Catalogue, is_unchanged, read_catalogue
from mercer.search.storage.directory.contents import CATALOGUE_NAME, Contents, ModelRecord
from mercer.search.storage.directory.files import (
    Folder,
    disk_errors,
    lock_for_writing,
    reading_errors,
    require_posix,
    sync,
    unlock,
)
from mercer.search.storage.directory.place import check_index, check_new_place, delete_leftovers, make_place
from mercer.search.storage.directory.segments import SegmentFiles, load_segment

MODEL_NAME = "model.mercer"


class Change(NamedTuple):
    """What :meth:`DirectoryStorage.refresh` found."""

    changed: bool
    generation_changed: bool


class DirectoryStorage(Storage):
    """Rows in a directory. Made by :meth:`create` and :meth:`open`.

    Examples
    --------
    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> columns = [Column("codes", "u1", (2,))]
    >>> with DirectoryStorage.create(place.name, columns, lambda path: path.touch(), {"kernel": "chi2"}) as storage:
    ...     with storage.transaction() as t:
    ...         first = t.append({"codes": np.eye(2, dtype="u1")})
    >>> with DirectoryStorage.open(place.name) as reader:
    ...     reader.header, reader.segments()[0].arrays["codes"].tolist()
    ({'kernel': 'chi2'}, [[1, 0], [0, 1]])
    >>> place.cleanup()
    """

    _state: Any = None  # (Contents, Snapshot): one assignment, so that they belong together at any moment
    _stamp = b""
    _closed = False
    _broken = False  # what is on the disk is not known for certain; only opening it again tells
    _uncertain = False  # a commit was begun and its end not seen
    _lock: io.FileIO | None = None
    _catalogue: Any = None  # a Catalogue, if open for writing
    _filling: SegmentFiles | None = None  # the files of the present change, or the last

    def __init__(self, path: Path):
        super().__init__()
        self.path = path
        self._process = os.getpid()

    # ------------------------------------------------------------------------------------------------ create and open

    @classmethod
    def create(
        cls,
        path: str | os.PathLike,
        columns: Sequence[Column],
        write_model: Callable[[Path], None],
        header: dict[str, Any],
    ) -> "DirectoryStorage":
        """A new storage, open for writing.

        Parameters
        ----------
        path : a directory that is empty or does not exist
        columns : what each row consists of
        write_model : is called with the path at which it writes the model file
        header : a dictionary that JSON can hold, kept beside the rows
        """
        storage = cls.at(path)
        try:
            storage.fill(columns, write_model, header)
        except BaseException:
            storage.close()
            raise
        return storage

    @classmethod
    def at(cls, path: str | os.PathLike) -> "DirectoryStorage":
        """A storage that is still to be filled: nothing is read or written, so that its maker can keep hold of it."""
        require_posix()
        return cls(Path(path).absolute())

    def fill(
        self,
        columns: Sequence[Column],
        write_model: Callable[[Path], None],
        header: dict[str, Any],
        batches: Iterable[Mapping[str, Any]] = (),
        model: Any = None,
    ) -> None:
        """Create the index with its first rows, in one step: it is there when its catalogue gets its name.

        See :meth:`create` and :meth:`Storage.rewrite` for the parameters.
        """
        columns = as_columns(columns)
        with disk_errors(self.path, "a new index"):
            make_place(self.path)
            self._lock = lock_for_writing(self.path)
            try:
                check_new_place(self.path)  # again: another process may have been faster
                delete_leftovers(self.path, keep=None)
                self._filling = SegmentFiles(self._folder_path(1), columns, {})
                contents = self._write_generation(1, columns, header, write_model, batches)
                self._uncertain = True
                Catalogue.create(self.path / CATALOGUE_NAME, contents)
                sync(self.path)
                sync(self.path.parent)
                self.is_filled(model)
            except BaseException:
                self.is_filled(model)
                raise

    def is_filled(self, model: Any = None) -> bool:
        """Whether ``fill`` got as far as to the catalogue: then this is open, else closed, and its files are deleted.

        Can be repeated after it was interrupted.
        """
        if self._uncertain and os.path.lexists(self.path / CATALOGUE_NAME):
            if self._catalogue is None:
                self._catalogue = Catalogue(self.path / CATALOGUE_NAME)
            self._install(self._catalogue.read(), model=model)
            self._uncertain = False
        if self._state is None and self._filling is not None:
            self._filling.abandon()
            delete_leftovers(self.path, keep=None)
        if self._state is None:
            self.close()
        return self._state is not None

    @classmethod
    def open(cls, path: str | os.PathLike, mode: str = "r", verify: bool = True) -> "DirectoryStorage":
        """A storage that exists.

        Parameters
        ----------
        path : its directory
        mode : "r" to read, which needs no permission to write and disturbs nobody; "w" to write, for one at a time
        verify : read all files once and compare their checksums; False compares their sizes only
        """
        if mode not in ("r", "w"):
            raise InputError(f"An index must be opened with mode='r' or mode='w'; got {mode!r}.")
        require_posix()
        storage = cls(Path(path).absolute())
        with reading_errors(storage.path):
            check_index(storage.path)
            if mode == "r":
                storage._reload(verify)
            else:
                storage._open_for_writing(verify)
        return storage

    def _open_for_writing(self, verify: bool) -> None:
        self._lock = lock_for_writing(self.path)
        try:
            self._catalogue = Catalogue(self.path / CATALOGUE_NAME)
            self._install(self._catalogue.read(verify), verify)
            # only now, when everything that counts is there
            with Folder(self._folder_path()) as folder:
                folder.cut_back(self._contents.segments, keep={MODEL_NAME})
            delete_leftovers(self.path, keep=self._contents.generation)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give back the lock. Snapshots, and the segments in them, stay usable."""
        if self.turn.taken:
            raise InputError("An index cannot be closed inside its own transaction.")
        self._closed = True
        if self._process != os.getpid():
            return  # a fork: connection and lock belong to the process that opened them
        if self._catalogue is not None:
            self._catalogue.close()
        if self._lock is not None:
            unlock(self._lock)
            self._lock = None

    # ---------------------------------------------------------------------------------------------------- what is there

    @property
    def snapshot(self) -> Snapshot:  # type: ignore[override]
        """All rows of the moment that ``open``, ``refresh`` or the last change shows."""
        return self._state[1]

    @property
    def _contents(self) -> Contents:
        return self._state[0]

    @property
    def is_writable(self) -> bool:
        """Whether this is open, and open for writing in this process."""
        return not self._closed and self._catalogue is not None and self._process == os.getpid()

    @property
    def header(self) -> dict[str, Any]:
        """The dictionary that was given to ``create`` or to the last ``rewrite``."""
        return self._contents.header

    @property
    def model_path(self) -> Path:
        """The model file of this generation. A reader that finds it gone calls ``refresh``: there is a new one."""
        return self._folder_path() / MODEL_NAME

    def refresh(self) -> Change:
        """See what was committed since the snapshot was taken; tells whether anything changed, and the generation."""
        self._check_open("refresh")
        if self._catalogue is not None or is_unchanged(self.path / CATALOGUE_NAME, self._stamp):
            return Change(False, False)
        before = self._contents
        with reading_errors(self.path):
            self._reload(verify=False)
        after = self._contents
        return Change(before is not after, before.generation != after.generation)

    def verify(self) -> None:
        """Read all files and compare their checksums. The error names the damaged file and says what to do."""
        self._check_open("verify")
        with reading_errors(self.path):
            if self._catalogue is None:
                self._reload(verify=True)
            else:
                self._catalogue.read(verify=True)
                self._map(self._contents, verify=True)

    def _reload(self, verify: bool) -> None:
        """Take a snapshot without the writer's help; a generation that vanishes while it is opened has a successor."""
        missed = None
        while True:
            contents, stamp = read_catalogue(self.path / CATALOGUE_NAME, verify)
            try:
                self._install(contents, verify)
            except FileNotFoundError:
                if missed == contents.generation:
                    raise
                missed = contents.generation
            else:
                self._stamp = stamp
                return

    def _install(self, contents: Contents, verify: bool = False, model: Any = None) -> None:
        segments = self._map(contents, verify)
        if self._state and contents.is_same(self._contents):
            return  # the same snapshot, so that nothing has to be derived from it again
        removal = Removed(contents.n_positions).changed(contents.n_positions, contents.removed)
        self._state = contents, Snapshot(contents.generation, contents.columns, segments, removal, model)

    def _map(self, contents: Contents, verify: bool) -> tuple[Segment, ...]:
        """The segments; those that the present snapshot has mapped already are taken from there."""
        mapped = {}
        if self._state and not verify and self.snapshot.generation == contents.generation:
            for record, segment in zip(self._contents.segments.values(), self.snapshot.segments, strict=True):
                if record == contents.segments.get(record.number):
                    mapped[record.number] = segment
        firsts = np.cumsum([0, *(record.n_rows for record in contents.segments.values())]).tolist()
        with Folder(self._folder_path(contents.generation)) as folder:
            folder.check_file(MODEL_NAME, contents.model, verify)

            def load(record):
                first = firsts[record.number]
                return mapped.get(record.number) or load_segment(folder, contents.columns, record, first, verify)

            # checksums keep every core busy; mapping alone is not worth a thread
            return tuple(run_blocks(load, contents.segments.values(), n_jobs=None if verify else 1))

    # ------------------------------------------------------------------------------------------------------- changes

    def settle(self) -> None:
        if self._process == os.getpid():  # a fork has no say in what becomes of the files
            super().settle()

    def errors(self, what: str) -> AbstractContextManager:
        return disk_errors(self.path, what)

    def _check_open(self, name: str) -> None:
        if self._closed:
            raise InputError(f"{name} needs an open index; {os.fspath(self.path)!r} is closed.")

    def _check_writable(self, name: str) -> None:
        self._check_open(name)
        if self._catalogue is None:
            raise InputError(f"{name} needs mode='w', but {os.fspath(self.path)!r} was opened with mode='r'.")
        if self._process != os.getpid():
            raise InputError(f"{name} cannot run in a fork of process {self._process}, which opened the index.")
        if self._broken:
            raise InputError(
                f"{name} needs {os.fspath(self.path)!r} to be opened again, because a disk operation failed."
            )

    def row_writer(self) -> RowWriter:
        self._filling = SegmentFiles(self._folder_path(), self.columns, self._contents.segments)
        return self._rows_into(self._filling, self.n_positions, len(self._contents.segments))

    def _rows_into(self, files: SegmentFiles, n_positions: int, n_segments: int) -> RowWriter:
        limits = self.segment_rows, self.segment_bytes
        return RowWriter(files.columns, n_positions, n_segments, files.begin, limits)

    def commit(self, writer: RowWriter, removed: np.ndarray) -> None:
        assert self._filling is not None
        before = self._contents
        records = self._filling.finish(writer.touched)
        gone = np.concatenate([before.removed, removed])
        contents = replace(before, segments=before.segments | records, removed=gone)
        # mapped before the commit: behind it nothing may fail any more
        segments = self._map(contents, verify=False)
        removal = self.snapshot.removal.changed(writer.n_positions, removed)
        state = contents, replace(self.snapshot, segments=segments, removal=removal)
        self._uncertain = True
        self._catalogue.commit(list(records.values()), removed)
        self._state = state
        self._uncertain = False

    def _rewrite(self, columns, batches, write_model, header, model) -> None:
        columns, header = as_columns(columns), self.header if header is None else header
        number = self._contents.generation + 1
        self._filling = SegmentFiles(self._folder_path(number), columns, {})
        delete_leftovers(self.path, keep=self._contents.generation)
        contents = self._write_generation(number, columns, header, write_model, batches)
        removal = Removed(contents.n_positions)
        state = contents, Snapshot(number, columns, self._map(contents, verify=False), removal, model)
        self._uncertain = True
        self._catalogue.replace(contents)
        self._state = state
        self._uncertain = False
        with suppress(OSError):  # it has happened, whatever becomes of the old files
            delete_leftovers(self.path, keep=number)

    def _write_generation(self, number: int, columns, header, write_model, batches) -> Contents:
        """A folder with model and rows, which is on the disk and not part of the index yet."""
        assert self._filling is not None
        model = self._begin_generation(number, write_model)
        writer = self._rows_into(self._filling, 0, 0)
        for batch in batches:
            writer.append(batch)
        records = self._filling.finish(writer.touched)
        sync(self.path)
        return Contents(number, columns, header, model, records)

    def _undo(self) -> None:
        """Back to what the catalogue says, which is asked when the end of a commit was not seen."""
        self._broken = True
        if self._filling is not None:
            self._filling.abandon()
        self._catalogue.roll_back()
        with suppress(OSError, FileProblem):
            if self._uncertain:
                self._install(self._catalogue.read())
            with Folder(self._folder_path()) as folder:
                folder.cut_back(self._contents.segments, keep={MODEL_NAME})
            delete_leftovers(self.path, keep=self._contents.generation)
            self._uncertain = self._broken = False

    def _begin_generation(self, number: int, write_model) -> ModelRecord:
        """A new folder with a model in it: a new one, or the present one under a second name."""
        path = self._folder_path(number)
        path.mkdir()
        if write_model is not None:
            write_model(path / MODEL_NAME)
        else:
            try:
                os.link(self.model_path, path / MODEL_NAME)
            except OSError:  # some file systems have no second names
                shutil.copyfile(self.model_path, path / MODEL_NAME)
        with Folder(path) as folder:
            record = folder.record_of(MODEL_NAME)
            folder.sync()
        return record

    def _folder_path(self, generation: int | None = None) -> Path:
        return self.path / f"generation-{self._contents.generation if generation is None else generation}"
