"""Blocks of lists beside the rows of an index in a directory: files that may be missing, and then are made again.

A block of 2**16 rows that is full never changes while its generation lasts. So its file is written once, behind the
commit of its rows, in the container of model files, and mapped when the index is opened. Nothing in it is believed:
the structure is checked when it is mapped, lists when they are used. The rows of a block that is not full are few;
their lists are built in memory.
"""

__all__ = ["StoredBlocks"]

import os
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np

from mercer._base.errors import ModelFileError
from mercer._base.files import container
from mercer._base.files.container import FileProblem
from mercer.search.lists.block import BLOCK_ROWS, build_block, checked_block
from mercer.search.storage.directory.derived import mapped_arrays
from mercer.search.storage.directory.files import derived_name


class StoredBlocks:
    """The files of the full blocks of one generation.

    Parameters
    ----------
    folder : Path of the generation
    width : int, columns of the rows
    n_sums : int, of the kernel
    """

    def __init__(self, folder, width, n_sums):
        self._folder, self._width, self._n_sums = Path(folder), width, n_sums

    def path(self, first):
        """The file of the block that begins at a position."""
        return self._folder / derived_name("lists", first // BLOCK_ROWS)

    def load(self, first):
        """The block that begins at a position, None if it has no file that could be one."""
        path = self.path(first)
        with suppress(ModelFileError, FileProblem, OSError):
            if stat.S_ISREG(os.lstat(path).st_mode):
                return checked_block(first, BLOCK_ROWS, self._width, self._n_sums, mapped_arrays(path)[1])
        return None

    def save(self, block):
        """Write the file of a full block that has none; a full disk is no reason to fail, it can be done without."""
        if block.n_rows == BLOCK_ROWS and not block.is_stored:
            with suppress(OSError):
                document = {"lists": {"first": block.first, "rows": block.n_rows}}
                container.write(self.path(block.first), document, block.arrays)
                block.is_stored = True

    def verify(self, n_rows, take, sums):
        """Compare all files with the rows that they were made of."""
        for first in range(0, n_rows - BLOCK_ROWS + 1, BLOCK_ROWS):
            found = self.load(first)
            if found is None:
                continue
            built = build_block(take(np.arange(first, first + BLOCK_ROWS)), first, sums)
            if not all(np.array_equal(found.arrays[name], array) for name, array in built.arrays.items()):
                raise FileProblem(
                    f"has damaged lists: {self.path(first).name!r} does not hold those of its rows. Delete that "
                    f"file; Mercer then writes it again."
                )
