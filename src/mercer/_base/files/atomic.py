"""Writing a file so that a reader finds either the old one or the complete new one, never a half."""

__all__ = ["replacing"]

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A new binary file that takes the place of ``path`` when the ``with`` block ends, and vanishes if it fails.

    The bytes are on the disk before the name points at them, and the folder after. Permissions are those ``open()``
    would give: the umask's for a new file, the present ones for a replaced file. A symbolic link is written through.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(folder + "/greeting") as file:
    ...         _ = file.write(b"hello")
    ...     print(os.listdir(folder), open(folder + "/greeting").read())
    ['greeting'] hello
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # renaming over a device would destroy it
        code = errno.EISDIR if os.path.isdir(target) else errno.EINVAL
        raise OSError(code, os.strerror(code), os.fspath(path))
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".mercer-{secrets.token_hex(8)}.tmp")
    file = _create(temporary, path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException:  # Ctrl-C included
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _create(temporary: str, path: str | os.PathLike) -> BinaryIO:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        # 0o666 is what open() asks for and leaves the rest to the umask; the tempfile module would make it 0o600
        return os.fdopen(os.open(temporary, flags, 0o666), "w+b")
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # name the file the caller knows


def _sync_folder(folder: str) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
