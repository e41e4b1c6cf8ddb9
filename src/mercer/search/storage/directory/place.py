"""Which directories may become, or are, a stored index; and what in them may be deleted."""

__all__ = ["check_index", "check_new_place", "delete_leftovers", "make_place"]

import os
import re
from contextlib import suppress
from pathlib import Path

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer.search.storage.directory.catalogue import is_ours
from mercer.search.storage.directory.contents import CATALOGUE_NAME
from mercer.search.storage.directory.files import LOCK_NAME

_OURS = re.compile(rf"generation-\d+|{re.escape(CATALOGUE_NAME)}\.new.*|{re.escape(LOCK_NAME)}")


def check_index(path: Path) -> None:
    """Refuse what is not the directory of an index."""
    if not path.is_dir():
        raise FileProblem("is not a directory." if path.exists() else "does not exist.")
    if not os.path.lexists(path / CATALOGUE_NAME):
        if any(path.glob("generation-*")):
            raise FileProblem("is not an index: its creation was interrupted. Create it again.")
        raise FileProblem(f"is not an index: it has no {CATALOGUE_NAME!r}.")


def make_place(path: Path) -> None:
    """A directory for a new index. Nothing is written into one that holds anything else."""
    check_new_place(path)
    if not path.is_dir():
        path.mkdir(parents=True)


def check_new_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path where `KernelIndex.persist` cannot make a new index.

    That is a file, or a directory that holds an index or anything but the remains of an interrupted creation.
    """
    path = Path(path)
    if not path.is_dir():
        if os.path.lexists(path):
            raise InputError(f"A new index needs a directory, but {os.fspath(path)!r} is a file.")
        return
    names = sorted(os.listdir(path))
    if CATALOGUE_NAME in names and is_ours(path / CATALOGUE_NAME):
        raise InputError(f"{os.fspath(path)!r} already holds an index. Open it, or choose another directory.")
    # folders of generations are ours only beside our lock: somebody's generation-1 must not be deleted as a leftover
    foreign = [name for name in names if not _OURS.fullmatch(name) or LOCK_NAME not in names]
    if foreign:
        raise InputError(
            f"A new index needs an empty directory, but {os.fspath(path)!r} contains {foreign[0]!r}. Choose another "
            "directory."
        )


def delete_leftovers(path: Path, keep: int | None) -> None:
    """Delete all generations but one, and the remains of an interrupted creation. What resists is left to the next."""
    for entry in list(os.scandir(path)):
        if not _OURS.fullmatch(entry.name) or entry.name in (f"generation-{keep}", LOCK_NAME):
            continue
        if entry.is_dir(follow_symlinks=False):
            _delete_folder(entry.path)
        else:
            with suppress(OSError):
                os.unlink(entry.path)


def _delete_folder(path: str) -> None:
    """Delete a folder of files. Ctrl-C stays Ctrl-C: inside `shutil.rmtree` it may become an error of a closed file."""
    with suppress(OSError):
        for entry in list(os.scandir(path)):
            with suppress(OSError):
                os.unlink(entry.path)
        os.rmdir(path)
