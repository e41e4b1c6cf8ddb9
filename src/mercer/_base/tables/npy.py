"""Arrays in the npy format: their header, and mapping them into memory instead of reading them."""

__all__ = ["give_back", "map_npy", "npy_header"]

import mmap
import tokenize
from math import prod
from typing import Any, BinaryIO

from mercer._base.errors import InputError


def npy_header(stream: BinaryIO, size: int, name: str) -> tuple[tuple[int, ...], bool, Any]:
    """(shape, whether columns come first, dtype) of an array; the stream then stands at its first number.

    The header is believed only as far as ``size``, the number of bytes there are, allows.
    """
    from numpy.lib import format as npy

    try:
        version = npy.read_magic(stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran_order, dtype = read_header(stream)
        if min(shape, default=0) < 0:
            raise ValueError(f"its header gives the shape {shape}")
    except (ValueError, EOFError, tokenize.TokenError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise InputError(f"{name} is not an npy array: {reason}.") from error
    if dtype.hasobject:
        raise InputError(f"{name} holds pickled Python objects, which are never loaded. Save it as numbers instead.")
    n_bytes = prod(shape) * dtype.itemsize
    if n_bytes > size:
        raise InputError(f"{name} is cut short: its header promises {n_bytes} bytes of numbers, it has {size} in all.")
    return shape, fortran_order, dtype


def map_npy(stream: BinaryIO, path: str, name: str, start: int = 0, size: int | None = None):
    """The array that starts at byte ``start`` of an open file and takes ``size`` bytes there, header included."""
    import numpy as np

    if size is None:
        size = stream.seek(0, 2) - start
    stream.seek(start)
    shape, fortran_order, dtype = npy_header(stream, size, name)
    first = stream.tell()
    if first + prod(shape) * dtype.itemsize > start + size:
        raise InputError(f"{name} is cut short: numbers at its end are missing.")
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
