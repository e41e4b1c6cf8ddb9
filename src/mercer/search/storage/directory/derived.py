"""Files that are derived from committed rows: mapped as they are, and believed in nothing by those who read them."""

__all__ = ["mapped_arrays"]

import mmap

import numpy as np

from mercer._base.files import container


def mapped_arrays(path):
    """(header, arrays) of a container, mapped privately and not compared with its checksum; see `files`."""
    header = container.read_header(path)
    with open(path, "rb") as file:
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
        data = mmap.mmap(file.fileno(), header.file_bytes, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    whole = np.frombuffer(data, np.uint8)
    return header, {
        entry.name: whole[entry.start : entry.stop].view(entry.dtype).reshape(entry.shape) for entry in header.arrays
    }
