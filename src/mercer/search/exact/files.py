"""Bounds beside the rows of an index in a directory: files that may be missing, and then are made again.

    derived-000000.directions   the projection, as a model file
    derived-000000.rounding     how its components are rounded; names the projection by its checksum
    derived-<n>.bounds          the n-th chunk of rows; names the rounding by its checksum

Positions of a generation never change what they hold, so a file that is behind the rows is right as far as it goes. Of
what a file says nothing is believed: its checksum and its structure are checked when it is opened, and a few of its
rows are coded again and compared, so that files of other rows are refused too. What is refused is made again.
"""

__all__ = ["StoredBounds"]

import os
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np

from mercer._base.errors import MercerError
from mercer._base.files import container
from mercer._base.files.container import FileProblem
from mercer._base.files.models import load, save
from mercer.maps import KernelPCA
from mercer.search.exact.chunk import CHUNK_ROWS, Chunk
from mercer.search.exact.directions import Directions
from mercer.search.storage.directory.derived import mapped_arrays
from mercer.search.storage.directory.files import derived_name

SAVED_ROWS = 1024  # by which a chunk that is not full must have grown to be written again
COMPARED_ROWS = 8  # of each chunk
LAYOUT = 2  # of the arrays of a chunk; files of another are made again
ROUNDING = ("center", "step", "origin", "reach", "errors")


class StoredBounds:
    """The files of one generation.

    Parameters
    ----------
    folder : Path of the generation
    """

    def __init__(self, folder):
        self._folder = Path(folder)

    def path(self, kind, number=0):
        """The file of a kind, or of a chunk."""
        return self._folder / derived_name(kind, number)

    def load_directions(self, measure, width):
        """The directions that bounds here are made of; None if there are none that could be."""
        with suppress(MercerError, FileProblem, OSError):
            header, arrays = _read(self.path("rounding"))
            is_known = header.document.get("directions") == self._digest("directions")
            pca = load(_regular(self.path("directions"))) if is_known else None
            if isinstance(pca, KernelPCA) and pca.kernel_ == measure.kernel and pca.n_features_in_ == width:
                return Directions.restored(measure, pca, _rounding(arrays, pca), header.sha256)
        return None

    def save_directions(self, directions):
        """Write directions, if they can be written; gives them the checksum by which chunks name them."""
        with suppress(MercerError, OSError):
            save(directions.pca, self.path("directions"))
            document = {"directions": self._digest("directions")}
            arrays = {name: getattr(directions, name) for name in ROUNDING}
            directions.digest = container.write(self.path("rounding"), document, arrays)

    def load(self, directions, first, n_rows, take):
        """The chunk that begins at a position, with as many of the rows as its file has; None without such a file."""
        with suppress(MercerError, FileProblem, OSError):
            header, arrays = _read(self.path("bounds", first // CHUNK_ROWS))
            said = header.document.get("bounds")
            rows = said.get("rows") if isinstance(said, dict) else None
            is_right = said == _said(first, rows, directions)
            if is_right and type(rows) is int and 0 < rows <= min(CHUNK_ROWS, n_rows - first):
                chunk = Chunk.checked(first, rows, arrays, directions)
                places = np.unique(np.linspace(0, rows - 1, COMPARED_ROWS).astype(np.int64))
                if chunk.agrees(directions, places, take(first + places)):
                    chunk.stored_rows = rows
                    return chunk
        return None

    def save(self, bounds):
        """Write the chunks that have grown; a full disk is no reason to fail, they can be done without."""
        directions = bounds.directions
        if directions.digest is None:
            return
        for chunk in bounds.chunks:
            grown = chunk.n_rows - chunk.stored_rows
            if grown >= SAVED_ROWS or (grown and chunk.n_rows == CHUNK_ROWS):
                with suppress(OSError):
                    path = self.path("bounds", chunk.first // CHUNK_ROWS)
                    container.write(path, {"bounds": _said(chunk.first, chunk.n_rows, directions)}, chunk.arrays)
                    chunk.stored_rows = chunk.n_rows

    def _digest(self, kind):
        return container.read_header(_regular(self.path(kind))).sha256


def _said(first, n_rows, directions):
    """What the header of a chunk has."""
    return {"layout": LAYOUT, "first": first, "rows": n_rows, "rounding": directions.digest}


def _regular(path):
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise FileProblem("is not a regular file")
    return path


def _read(path):
    """(header, arrays) of a file whose checksum matches, mapped privately: see `mercer.search.lists.files`."""
    return container.verify(_regular(path)), mapped_arrays(path)[1]


def _rounding(arrays, pca):
    """The arrays of a file, if they can be what they should."""
    n_components = pca.normalization_.shape[1]
    found = {name: np.array(arrays.get(name, ())) for name in ROUNDING}
    for name, array in found.items():
        if array.dtype != np.float64 or array.ndim != 1 or not np.isfinite(array).all():
            raise FileProblem("has damaged bounds")
        if name in ("center", "step") and len(array) != n_components:
            raise FileProblem("has damaged bounds")
        if name != "center" and not (array >= 0).all():
            raise FileProblem("has damaged bounds")
    if not ((found["step"] > 0).all() and (found["reach"] > 0).all()):
        raise FileProblem("has damaged bounds")
    return found
