"""Arrays in the npy format: their header, and mapping them into memory instead of reading them."""

__all__ = ["give_back", "map_npy", "npy_header"]

import io
import mmap
import tokenize
from math import prod
from typing import IO, Any

from mercer._base.errors import InputError

_LONGEST_HEADER = 10_000  # bytes, as numpy has it


def npy_header(stream: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, Any]:
    """(shape, whether columns come first, dtype) of an array; the stream then stands at its first number.

    The header is believed only as far as ``size``, the number of bytes there are, allows.
    """
    try:
        shape, fortran_order, dtype = _parsed_header(stream)
        if not all(0 <= length < 2**63 for length in shape):
            raise ValueError(f"its header gives the shape {shape}")
        if not dtype.itemsize:  # no bytes promise any number of values, for which numpy would find room
            raise ValueError(f"its header gives the type {dtype.str}, whose values have no bytes")
    except (ValueError, EOFError, RecursionError, MemoryError, tokenize.TokenError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise InputError(f"{name} is not an npy array: {reason}.") from error
    if dtype.hasobject:
        raise InputError(f"{name} contains pickled Python objects, which are never loaded. Save it as numbers instead.")
    n_bytes = prod(shape) * dtype.itemsize
    if n_bytes > size:
        raise InputError(
            f"{name} is truncated: its header announces {n_bytes} bytes of numbers, but the file has {size} in all."
        )
    return shape, fortran_order, dtype


def _parsed_header(stream: IO[bytes]):
    """What numpy makes of a header, of which no more is read than numpy accepts."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    width = 2 if version == (1, 0) else 4  # bytes of the header's length
    prefix = stream.read(width)
    length = int.from_bytes(prefix, "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header claims {length} bytes")
    header = io.BytesIO(prefix + stream.read(length))
    return npy.read_array_header_1_0(header) if width == 2 else npy.read_array_header_2_0(header)


def map_npy(stream: IO[bytes], path: str, name: str, start: int = 0, size: int | None = None):
    """The array that starts at byte ``start`` of an open file and takes ``size`` bytes there, header included."""
    import numpy as np

    if size is None:
        size = stream.seek(0, 2) - start
    stream.seek(start)
    shape, fortran_order, dtype = npy_header(stream, size, name)
    first = stream.tell()
    if first + prod(shape) * dtype.itemsize > start + size:
        raise InputError(f"{name} is truncated: numbers at its end are missing.")
    if not prod(shape):
        return np.empty(shape, dtype)  # nothing cannot be mapped
    return np.memmap(path, dtype=dtype, mode="r", offset=first, shape=shape, order="F" if fortran_order else "C")


def give_back(array, rows) -> None:
    """Let the system take back the memory of some rows of a memory-mapped array, which stay in the file.

    ``rows`` is a view of them. Nothing is given back of a copy-on-write map, whose changes would be lost.
    """
    import numpy as np
    from numpy.lib.array_utils import byte_bounds

    source = getattr(array, "_mmap", None)
    if source is None or array.mode == "c" or not hasattr(mmap, "MADV_DONTNEED") or not rows.size:
        return
    origin = np.frombuffer(source, dtype=np.uint8).ctypes.data
    low, high = (bound - origin for bound in byte_bounds(rows))
    start = low - low % mmap.PAGESIZE
    source.madvise(mmap.MADV_DONTNEED, start, high - start)
