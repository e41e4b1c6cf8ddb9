"""Finding, unpacking and verifying the files of a data set."""

__all__ = ["checked_part", "data_root", "is_there", "verified_bytes"]

import bz2
import gzip
import hashlib
import lzma
import os
from pathlib import Path

from mercer._base.errors import InputError

UNPACK = {"": bytes, ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


def checked_part(who, part, parts):
    """What a loader knows about a part, or an error that lists its parts."""
    if part not in parts:
        raise InputError(f"{who} has no part {part!r}. Parts: {', '.join(parts)}.")
    return parts[part]


def is_there(folder, name, root=None):
    """Whether a file of a data set is there, plain or packed."""
    return bool(_packed_forms(folder, name, root))


def verified_bytes(folder, name, sha256, origin, root=None):
    """The content of a file of a data set, unpacked.

    Parameters
    ----------
    folder, name : where it is, below the directory of the data sets; the file may also be packed (``name.gz`` ...)
    sha256 : checksum of the unpacked content
    origin : where the official file lives, for the error messages
    root : directory of the data sets; None for the one that MERCER_DATA names
    """
    found = _packed_forms(folder, name, root)
    if not found:
        raise InputError(
            f"There is no {name} (plain, .gz, .bz2 or .xz) in {data_root(root) / folder}. Download it from {origin}. "
            f"Put it into a folder {folder!r} and set MERCER_DATA to the directory above it."
        )
    path, unpack = found[0]
    try:
        content = unpack(path.read_bytes())
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be read: {error}. Download it from {origin}.") from error
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != sha256:
        raise InputError(
            f"{path} is not the expected file: its sha256 is {checksum[:16]}..., not {sha256[:16]}.... Download it "
            f"from {origin}."
        )
    return content


def _packed_forms(folder, name, root):
    """The forms of a file that are there, as pairs (path, function that unpacks)."""
    forms = [(data_root(root) / folder / (name + suffix), unpack) for suffix, unpack in UNPACK.items()]
    return [(path, unpack) for path, unpack in forms if path.is_file()]


def data_root(root):
    """The directory of the data sets: the one that is named, or MERCER_DATA, or the current one."""
    return Path(root or os.environ.get("MERCER_DATA") or ".")
