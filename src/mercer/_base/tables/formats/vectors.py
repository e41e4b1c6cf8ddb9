"""Rows in the formats of the TEXMEX corpus: fvecs, bvecs and ivecs.

A file is its rows, one behind the other, with nothing before or after them:

    4 bytes                 d, the number of values of the row, a little-endian int32, the same in every row
    d, 4 d or 4 d bytes     the values: uint8 (bvecs), little-endian float32 (fvecs) or int32 (ivecs)
"""

__all__ = ["VECTOR_FORMATS", "VectorFile", "map_vectors", "parse_vectors"]

import os
from typing import Any, NamedTuple

from mercer._base.errors import InputError

VECTOR_FORMATS = {"fvecs": "<f4", "bvecs": "u1", "ivecs": "<i4"}  # format -> type of the values


class VectorFile(NamedTuple):
    """The rows of a file and the lengths written before them, both views of its bytes."""

    rows: Any
    lengths: Any

    def check(self, which, name: str) -> None:
        """Refuse the file if one of these rows, a slice or ascending numbers, has another length than the first."""
        import numpy as np

        width = self.rows.shape[1]
        other = self.lengths[which] != width
        if other.any():
            row = int(np.arange(len(self.rows))[which][np.argmax(other)])
            raise InputError(
                f"{name}, row {row} (counted from 0) has {self.lengths[row]} numbers by its header, but row 0 has "
                f"{width}. All rows must have the same length. The file is damaged or has a different format."
            )


def parse_vectors(content: bytes, name: str, format: str):
    """The rows of a whole file as an array of their own type."""
    import numpy as np

    record, n_rows = _layout(content[:4], len(content), name, format)
    records = np.frombuffer(content, dtype=record, count=n_rows)
    found = VectorFile(records["row"], records["length"])
    found.check(slice(None), name)
    _refuse_remainder(len(content), record, name)
    return np.ascontiguousarray(found.rows)


def map_vectors(path: str, name: str, format: str) -> VectorFile:
    """The rows of a file, mapped into memory. Their lengths are still to be checked, when they are read."""
    import numpy as np

    size = os.path.getsize(path)
    with open(path, "rb") as stream:
        record, n_rows = _layout(stream.read(4), size, name, format)
    records = np.memmap(path, dtype=record, mode="r", shape=(n_rows,))
    found = VectorFile(records["row"], records["length"])
    if size % record.itemsize:  # a row of another length somewhere is the better explanation, if there is one
        found.check(slice(None), name)
        _refuse_remainder(size, record, name)
    return found


def _layout(head: bytes, size: int, name: str, format: str):
    """(type of one row with its length, number of complete rows); the first length is believed only as far as ``size``,
    the number of bytes there are, allows.
    """
    import numpy as np

    if not size:
        raise InputError(f"{name} is empty.")
    values = np.dtype(VECTOR_FORMATS[format])
    width = int.from_bytes(head, "little", signed=True) if len(head) == 4 else 0
    if width < 1 or 4 + width * values.itemsize > size:
        raise InputError(
            f"{name} is not a file of {format}, or it is truncated: its first four bytes announce a row of {width} "
            f"numbers, but the file has {size} bytes in all."
        )
    if 4 + width * values.itemsize >= 2**31:
        raise InputError(
            f"{name}: its first four bytes announce a row of {width:,} numbers; the maximum is 2 GB per row."
        )
    record = np.dtype([("length", "<i4"), ("row", values, (width,))])
    return record, size // record.itemsize


def _refuse_remainder(size: int, record, name: str) -> None:
    if size % record.itemsize:
        raise InputError(
            f"{name} is truncated: after {size // record.itemsize} complete rows of {record.itemsize} bytes it has "
            f"{size % record.itemsize} extra bytes."
        )
