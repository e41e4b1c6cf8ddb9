"""Files of a stored index: appending, mapping and checking them, the lock of the writer, errors that name them.

Every file of rows lies in the folder of its generation and is named after a segment and a part, both of which are
checked: no name is ever read from the catalogue. Folders and files are opened without following symbolic links, so a
catalogue or a directory from a stranger cannot make a reader look elsewhere.
"""

__all__ = [
    "LOCK_NAME",
    "REMEDY",
    "FileWriter",
    "Folder",
    "LockedError",
    "derived_name",
    "disk_errors",
    "lock_for_writing",
    "reading_errors",
    "require_posix",
    "sync",
    "unlock",
]

import hashlib
import io
import mmap
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from mercer._base.errors import MercerError, ModelFileError
from mercer._base.files.container import FileProblem
from mercer.search.storage.blocks import Part
from mercer.search.storage.directory.contents import ModelRecord, PartRecord, SegmentRecord
from mercer.spaces.stored import DISK_FULL, StorageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK_NAME = "writer.lock"
REMEDY = "Restore the index from a copy or build it again."
_DERIVED = re.compile(r"derived-\d{6}\.[a-z]+")
_READ_BYTES = 2**22
_WRITE_BYTES = 2**26
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# a pipe in the place of a file would make open() wait for ever without O_NONBLOCK
_READ = os.O_RDONLY | _NO_LINKS | getattr(os, "O_NONBLOCK", 0)


class LockedError(MercerError, BlockingIOError):
    """The index is open for writing elsewhere. The message says in which process."""


@contextmanager
def disk_errors(path: Path, what: str) -> Iterator[None]:
    """Name the index that a problem belongs to, and explain a full disk, for which ``what`` was not done."""
    try:
        yield
    except FileProblem as problem:
        raise ModelFileError(f"{os.fspath(path)!r} {problem}") from problem.__cause__
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise StorageError(
            f"{os.fspath(path)!r}: {what} did not fit on the disk ({error.strerror}). The index is unchanged. Free "
            "some space and repeat the call."
        ) from error


@contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Turn everything that can go wrong while an index is read into an error that names it."""
    try:
        with disk_errors(path, "the data to read"):
            yield
    except MercerError:
        raise
    except FileNotFoundError as error:
        name = os.path.basename(str(error.filename))
        raise ModelFileError(f"{os.fspath(path)!r} is damaged: {name!r} is missing. {REMEDY}") from error
    except OSError as error:
        what = f"{error.filename!r}: " if isinstance(error.filename, str) else ""
        raise ModelFileError(f"{os.fspath(path)!r} cannot be opened: {what}{error.strerror}.") from error
    except MemoryError as error:
        raise ModelFileError(f"{os.fspath(path)!r} does not fit in memory.") from error


def require_posix() -> None:
    """Refuse systems without ``flock``, where a mapped file can be neither cut back nor deleted."""
    if fcntl is None:
        raise MercerError("An index in a directory needs a POSIX system: Linux, macOS or the Linux side of Windows.")


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | _NO_LINKS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------------------------------------------------------- lock


def lock_for_writing(path: Path) -> io.FileIO:
    """The lock file of the directory ``path``, locked for this process.

    ``flock`` belongs to the open file: a second writer is refused in the same process too, and the system frees the
    lock when the process ends, in whatever way.
    """
    descriptor = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o666)
    file = io.FileIO(descriptor, "r+b")  # an object, so that a forgotten storage does not stay locked
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(OSError):  # a full disk must not keep rows from being removed; the message can do without
            file.truncate(0)
            file.write(b"%d\n" % os.getpid())
        return file
    except BlockingIOError:
        holder = file.read(20).strip()
        file.close()
        process = f"process {holder.decode()}" if holder.isdigit() else "another process"
        raise LockedError(
            f"{os.fspath(path)!r} is open for writing by {process}. Close it there, or open it with mode='r'."
        ) from None
    except BaseException:
        file.close()
        raise


def unlock(file: io.FileIO) -> None:
    """Give the lock back, also on behalf of forked processes, which hold the same open file."""
    if not file.closed:
        fcntl.flock(file, fcntl.LOCK_UN)
        file.close()


# ----------------------------------------------------------------------------------------------------- folder of files


class Folder:
    """The folder of one generation, held open: what it names stays the same even when it is deleted or replaced."""

    def __init__(self, path: Path):
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINKS)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._descriptor)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def sync(self) -> None:
        """Make the names of new files durable."""
        os.fsync(self._descriptor)

    def writer(self, number: int, part: Part, record: PartRecord | None) -> "FileWriter":
        """The end of a part: behind its committed bytes, or a new file if there are none."""
        flags = os.O_WRONLY | _NO_LINKS | (os.O_CREAT | os.O_EXCL if record is None else 0)
        descriptor = os.open(_file_name(number, part.name), flags, 0o666, dir_fd=self._descriptor)
        return FileWriter(descriptor, part, record or PartRecord(0, 0))

    def load(self, number: int, part: Part, record: PartRecord, verify: bool) -> np.ndarray:
        """The committed values of a part, mapped into memory; with ``verify`` all are read and compared."""
        with self._opened(_file_name(number, part.name), record.n_bytes) as file:
            if verify and crc32_of(file, record.n_bytes) != record.crc32:
                raise FileProblem(f"the checksum of its {record.n_bytes:,} bytes does not match the catalogue")
            return _mapped(file, part, record.n_bytes)

    def check_file(self, name: str, record: ModelRecord, verify: bool) -> None:
        """Compare a whole file with its record; with ``verify`` its content too."""
        with self._opened(name, record.n_bytes) as file:
            if os.fstat(file.fileno()).st_size != record.n_bytes:
                raise FileProblem(f"it has more than the {record.n_bytes:,} bytes that were committed")
            if verify and hashlib.file_digest(file, "sha256").hexdigest() != record.sha256:
                raise FileProblem(f"the checksum of its {record.n_bytes:,} bytes does not match the catalogue")

    def record_of(self, name: str) -> ModelRecord:
        """Size and checksum of a file that was just written, which then is on the disk."""
        with self._opened(name, 0) as file:
            os.fsync(file.fileno())
            return ModelRecord(os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest())

    def cut_back(self, segments: Mapping[int, SegmentRecord], keep: set[str]) -> None:
        """Remove what no committed transaction wrote: bytes beyond the recorded ones, and files without a record.

        What was derived from committed rows stays.
        """
        committed = {
            _file_name(record.number, name): part.n_bytes
            for record in segments.values()
            for name, part in record.parts.items()
        }
        for name in os.listdir(self._descriptor):
            if name in committed:
                self._truncate(name, committed[name])
            elif name not in keep and not _DERIVED.fullmatch(name):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._descriptor)

    def _truncate(self, name: str, n_bytes: int) -> None:
        if os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_size <= n_bytes:
            return
        descriptor = os.open(name, os.O_WRONLY | _NO_LINKS, dir_fd=self._descriptor)
        try:
            os.ftruncate(descriptor, n_bytes)
        finally:
            os.close(descriptor)

    @contextmanager
    def _opened(self, name: str, n_bytes: int) -> Iterator[io.FileIO]:
        where = os.path.join(self.path.name, name)
        try:
            with io.FileIO(os.open(name, _READ, dir_fd=self._descriptor), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise FileProblem("it is not a regular file")
                if status.st_size < n_bytes:
                    raise FileProblem(f"it has {status.st_size:,} bytes, but {n_bytes:,} were committed")
                yield file
        except FileProblem as problem:
            raise FileProblem(f"has a damaged file {where!r}: {problem}. {REMEDY}") from None
        except FileNotFoundError:
            raise  # a new generation may have taken its place: who knows the generation decides
        except OSError as error:
            raise FileProblem(f"has a file {where!r} that cannot be read: {error.strerror}. {REMEDY}") from error


class FileWriter:
    """Appends values to a file and carries its checksum along. A failure leaves the cleaning to ``Folder.cut_back``."""

    def __init__(self, descriptor: int, part: Part, record: PartRecord):
        self._file = io.FileIO(descriptor, "wb")
        self._item_bytes = part.item_bytes
        self.record = record

    @property
    def n_values(self) -> int:
        """Values written so far, committed or not."""
        return self.record.n_bytes // self._item_bytes

    def append(self, values: np.ndarray) -> None:
        """Put values behind those that are there; none counts before it is committed."""
        unwritten = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
        while unwritten:
            # pieces of limited size, so that Ctrl-C is heard; a disk that is nearly full takes less than is given
            size = os.pwrite(self._file.fileno(), unwritten[:_WRITE_BYTES], self.record.n_bytes)
            self.record = PartRecord(self.record.n_bytes + size, zlib.crc32(unwritten[:size], self.record.crc32))
            unwritten = unwritten[size:]

    def finish(self) -> PartRecord:
        """Wait until everything is on the disk, and close the file."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()
        return self.record

    def close(self) -> None:
        """Close the file as it is."""
        self._file.close()


def derived_name(kind: str, number: int) -> str:
    """The name of a file that can be made again from committed rows: no writer counts on it, and none deletes it.

    >>> derived_name("lists", 3)
    'derived-000003.lists'
    """
    return f"derived-{number:06d}.{kind}"


def _file_name(number: int, part: str) -> str:
    return f"segment-{number:06d}.{part}"


def crc32_of(file: io.FileIO, n_bytes: int) -> int:
    """CRC-32 of the first bytes of a file."""
    crc, buffer = 0, memoryview(bytearray(min(_READ_BYTES, n_bytes)))
    while n_bytes:
        size = file.readinto(buffer[: min(len(buffer), n_bytes)])
        if not size:
            raise FileProblem("it was truncated while it was being read")
        crc = zlib.crc32(buffer[:size], crc)
        n_bytes -= size
    return crc


def _mapped(file: io.FileIO, part: Part, n_bytes: int) -> np.ndarray:
    n_values = n_bytes // part.item_bytes
    if not n_values:
        return np.empty((0, *part.shape), part.dtype)  # nothing cannot be mapped
    # private and writable although nobody writes: a read-only array would make numba compile every loop again, and
    # what a mistake wrote would stay in this process. NORESERVE: it does not count as memory that is spoken for
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
    data: Any = mmap.mmap(file.fileno(), n_bytes, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    return np.frombuffer(data, part.dtype).reshape(n_values, *part.shape)
