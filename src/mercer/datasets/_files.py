"""Finding, unpacking and verifying the files of a data set."""

__all__ = ["verified_bytes"]

import bz2
import gzip
import hashlib
import lzma
import os
from pathlib import Path

from mercer._base.errors import InputError

UNPACK = {"": bytes, ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


def verified_bytes(folder, name, sha256, origin, root=None):
    """The content of a file of a data set, unpacked.

    Parameters
    ----------
    folder, name : where it is, below the directory of the data sets; the file may also be packed (``name.gz`` ...)
    sha256 : checksum of the unpacked content
    origin : where the official file lives, for the error messages
    root : directory of the data sets; None for the one that MERCER_DATA names
    """
    root = Path(root or os.environ.get("MERCER_DATA") or ".")
    found = [(root / folder / (name + suffix), unpack) for suffix, unpack in UNPACK.items()]
    found = [(path, unpack) for path, unpack in found if path.is_file()]
    if not found:
        raise InputError(
            f"There is no {name} (plain, .gz, .bz2 or .xz) in {root / folder}. It can be had from {origin}. "
            f"Put it into a folder {folder!r} and let MERCER_DATA name the directory above it."
        )
    path, unpack = found[0]
    try:
        content = unpack(path.read_bytes())
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be read: {error}. It can be had from {origin}.") from error
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != sha256:
        raise InputError(
            f"{path} is not the file that is known by this name: its sha256 is {checksum[:16]}..., not "
            f"{sha256[:16]}.... It can be had from {origin}."
        )
    return content
