"""The catalogue of a stored index: a small SQLite database that says which bytes of which files count.

Data are written and synchronized first; then one transaction here makes them part of the index. The journal is SQLite's
rollback journal (TRUNCATE, synchronous=FULL), not its write-ahead log. The log needs a shared-memory file that readers
write too: not on a read-only directory, not over a network, and left behind by them.

Readers take no lock, so they neither block the writer nor are blocked by it. They read the database as an immutable
file and compare what SQLite's format promises about a commit: its journal is not empty from before the first page of
the database is written until after the last, and each commit raises the change counter in bytes 24 to 27. The same
counter and no journal before and after reading, in this order, mean that no page changed in between. A journal that
stays was left by a writer that died or sleeps; journal and database together then give the state before its commit,
which SQLite restores in a private copy.
"""

__all__ = ["Catalogue", "is_ours", "is_unchanged", "read_catalogue"]

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from mercer._base.files.container import FileProblem
from mercer.search.storage.directory.contents import (
    APPLICATION_ID,
    FORMAT_VERSION,
    LONGEST_VALUE,
    TABLES,
    Contents,
    SegmentRecord,
    insert_changes,
    insert_generation,
    read_contents,
)
from mercer.spaces.stored import StorageError

_PATIENCE_SECONDS = 10.0
_COMMIT_SECONDS = 0.1  # a journal that is older is no longer waited for
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")

# ------------------------------------------------------------------------------------------------------------- writing


class Catalogue:
    """The connection of the one writer."""

    def __init__(self, path: Path):
        _check_place(path)
        self._path = path
        with _database_errors():
            self._connection = _connect(path, "mode=rw")
            self._connection.execute("PRAGMA journal_mode = TRUNCATE")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA fullfsync = ON")  # on macOS fsync alone does not reach the disk

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self, verify: bool = False) -> Contents:
        """What is committed."""
        self.roll_back()  # a read that was interrupted has left its transaction open
        with _database_errors():
            return read_contents(self._connection, verify)

    def commit(self, segments: list[SegmentRecord], removed: np.ndarray) -> None:
        """Make appended rows and removals part of the index."""
        self._change(lambda execute: insert_changes(execute, segments, removed))

    def replace(self, contents: Contents) -> None:
        """Put a new generation in the place of the present one."""

        def change(execute):
            for table in TABLES:
                execute(f"DELETE FROM {table}")
            insert_generation(execute, contents)

        self._change(change)

    def roll_back(self) -> None:
        """End a transaction that was interrupted before its commit."""
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _change(self, change: Callable[[Any], None]) -> None:
        with _writing_errors(self._path):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                change(self._connection.execute)
                self._connection.execute("COMMIT")
            except BaseException:
                self.roll_back()
                raise

    @staticmethod
    def create(path: Path, contents: Contents) -> None:
        """Write a new catalogue; it is there under its name only when it is complete and on the disk."""
        unfinished = path.with_name(path.name + ".new")
        unfinished.unlink(missing_ok=True)
        with _writing_errors(path), closing(_connect(unfinished, "mode=rwc")) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            connection.execute("BEGIN")
            for sql in TABLES.values():
                connection.execute(sql)
            insert_generation(connection.execute, contents)
            connection.execute("COMMIT")
        os.replace(unfinished, path)


# ------------------------------------------------------------------------------------------------ reading without locks


def read_catalogue(path: Path, verify: bool = False) -> tuple[Contents, bytes]:
    """What is committed, and a stamp for :func:`is_unchanged`."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    copy_from = time.monotonic() + _COMMIT_SECONDS
    while True:
        _check_place(path)
        stamp, journal = _stamp(path), _journal(path)
        if journal and time.monotonic() < copy_from:
            time.sleep(0.001)
            continue
        try:
            contents = _read_copy(path, verify) if journal else _read_in_place(path, verify)
            failure = None
        except (FileProblem, FileNotFoundError) as problem:
            failure = problem
        # in this order: a commit that ended before the look at the journal has raised the counter before it
        if _journal(path) == journal and _stamp(path) == stamp:
            if failure:
                raise failure
            # the counter of a commit that is under way may be on the disk before the commit counts
            return contents, b"" if journal else stamp
        if time.monotonic() > deadline:
            raise FileProblem(f"was being changed for {_PATIENCE_SECONDS:.0f} seconds. Try again.")


def is_unchanged(path: Path, stamp: bytes) -> bool:
    """Whether nothing was committed since ``stamp`` was taken; a commit that is under way does not count yet."""
    with suppress(FileProblem):
        return _stamp(path) == stamp
    return False


def _stamp(path: Path) -> bytes:
    """Bytes 0 to 99, the header of the database, with the change counter; and the number of the file itself."""
    try:
        with open(path, "rb", buffering=0) as file:
            return b"%d " % os.fstat(file.fileno()).st_ino + file.read(100)
    except OSError as error:
        raise FileProblem(f"has a catalogue that cannot be read: {error.strerror}.") from error


def _journal_path(path: Path) -> Path:
    return path.with_name(path.name + "-journal")


def _journal(path: Path) -> bytes:
    """Empty, or what tells one journal from another: its header, with a random number, and its size."""
    try:
        with open(os.open(_journal_path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", 0) as file:
            start = file.read(28)
            return start and b"%d " % os.fstat(file.fileno()).st_size + start
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise FileProblem(f"has a journal of its catalogue that cannot be read: {error.strerror}.") from error


def _read_in_place(path: Path, verify: bool) -> Contents:
    with _database_errors(), closing(_connect(path, "mode=ro&immutable=1")) as connection:
        return read_contents(connection, verify)


def _read_copy(path: Path, verify: bool) -> Contents:
    with tempfile.TemporaryDirectory(prefix="mercer-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(_journal_path(path), _journal_path(copy))  # first: it must be as old as the oldest page
        shutil.copyfile(path, copy)
        _check_place(copy)
        with _database_errors(), closing(_connect(copy, "mode=rw")) as connection:
            return read_contents(connection, verify)


def is_ours(path: Path) -> bool:
    """Whether a file looks like a catalogue, of this format or another."""
    try:
        with open(path, "rb") as file:
            start = file.read(100)
    except OSError:
        return False
    return start.startswith(b"SQLite format 3\0") and start[68:72] == APPLICATION_ID.to_bytes(4, "big")


# -------------------------------------------------------------------------------------------------------- connecting


def _check_place(path: Path) -> None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise FileProblem(f"has a {path.name!r} that is not a regular file.")
        with open(path, "rb") as file:
            start = file.read(20)
            if start[:16] != b"SQLite format 3\0":
                raise FileProblem(f"has a damaged catalogue: {path.name!r} is not an SQLite database.")
            if start[18:] != b"\1\1":
                raise FileProblem("has a catalogue that another program has switched to write-ahead logging.")
    except FileNotFoundError:
        raise FileProblem(f"is not an index: it has no {path.name!r}.") from None
    except OSError as error:
        raise FileProblem(f"has a catalogue that cannot be read: {error.strerror}.") from error
    _check_journal(_journal_path(path))


def _check_journal(path: Path) -> None:
    """Ours never names another journal; SQLite would read, and perhaps delete, the file that a forged one names."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise FileProblem(f"has a {path.name!r} that is not a regular file.")
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 8))
            if file.read() == _SUPER_JOURNAL:
                raise FileProblem("has a catalogue whose journal belongs to a different database.")


def _connect(path: Path, options: str) -> sqlite3.Connection:
    name = quote(os.fsencode(os.path.abspath(path)))
    connection = sqlite3.connect(f"file:{name}?{options}", uri=True, isolation_level=None, check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


@contextmanager
def _writing_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(
            f"{os.fspath(path)!r} could not be written ({error}). Check the free disk space and the permissions of "
            "the file, and repeat the call."
        ) from error


@contextmanager
def _database_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise FileProblem(f"has a damaged catalogue ({error}). Restore it from a copy or build it again.") from error
