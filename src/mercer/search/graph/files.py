"""The graph of an index in a directory: one file beside the segments, derived from the rows and believed in nothing.

It is written behind a commit, when the graph has grown by a part, and when the index is closed; whoever opens it scans
the rows that have come since, or adds them. What it holds is checked before faiss is given any of it: a walk reads
wherever links lead. A file that is missing, cut short or cannot be a graph of these rows is done without, and the graph
is built again. Scores are those of the rows themselves, so that a forged graph finds fewer neighbors and no wrong ones.
"""

__all__ = ["StoredGraph"]

import os
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np

from mercer._base.errors import ModelFileError
from mercer._base.files import container
from mercer._base.files.container import FileProblem
from mercer.search.effort import curves_of
from mercer.search.graph.hnsw import LINKS, Graph
from mercer.search.storage.directory.derived import mapped_arrays
from mercer.search.storage.directory.files import derived_name

DTYPES = {"vectors": "<f2", "levels": "|u1", "neighbors": "<i4"}
EXPONENT = np.uint16(0x7C00)  # all bits of it are set in what is no finite float16
CHECKED_ROWS = 2**16  # looked at together


class StoredGraph:
    """The file of the graph of one generation.

    Parameters
    ----------
    folder : Path of the generation
    width : int, components of an embedded row
    """

    def __init__(self, folder, width):
        self.path, self._width = Path(folder) / derived_name("graph", 0), width

    def load(self, verify=False):
        """(graph, curves), None if there is no file that could be a graph; ``verify`` compares its checksum."""
        with suppress(ModelFileError, FileProblem, OSError):
            if not stat.S_ISREG(os.lstat(self.path).st_mode):
                return None
            if verify:
                container.verify(self.path)
            header, arrays = mapped_arrays(self.path)
            found = header.document.get("graph")
            if not isinstance(found, dict) or found.get("links") != LINKS:
                return None
            return _checked(arrays, found.get("entry"), self._width), curves_of(found.get("curves"))
        return None

    def save(self, graph, curves):
        """Write the file, or leave the one before; a full disk is no reason to fail, it can be done without."""
        document = {"links": LINKS, "entry": graph.entry, "curves": [curve.document for curve in curves]}
        with suppress(OSError):
            container.write(self.path, {"graph": document}, graph.arrays)


def _checked(arrays, entry, width):
    """The graph of arrays that nobody vouches for."""
    for name, dtype in DTYPES.items():
        if name not in arrays or arrays[name].dtype != np.dtype(dtype):
            raise FileProblem(f"has a damaged graph: no {name!r} of type {np.dtype(dtype)}.")
    vectors, levels, neighbors = arrays["vectors"], arrays["levels"], arrays["neighbors"]
    n = len(levels)
    if levels.ndim != 1 or neighbors.ndim != 1 or vectors.shape != (n, width) or not 0 < n < 2**31:
        raise FileProblem("has a damaged graph: its arrays have different numbers of rows.")
    slots = Graph(width).slots
    if levels.min() < 1 or levels.max() >= len(slots):
        raise FileProblem(f"has a damaged graph: a row is in none of {len(slots) - 1} layers.")
    if type(entry) is not int or not 0 <= entry < n or levels[entry] != levels.max():
        raise FileProblem("has a damaged graph: searches start at a row that is not in the highest layer.")
    if int(slots[levels].sum()) != len(neighbors):
        raise FileProblem("has a damaged graph: it has more links than rows have room for, or fewer.")
    _check_links(neighbors, levels, slots)
    for start in range(0, n, CHECKED_ROWS):
        bits = vectors[start : start + CHECKED_ROWS].view(np.uint16)
        if ((bits & EXPONENT) == EXPONENT).any():
            raise FileProblem("has a damaged graph: a component is not a finite number.")
    return Graph.of_arrays(vectors, levels, neighbors, entry)


def _check_links(neighbors, levels, slots):
    """Links lead to rows, and those of a layer to rows that are in it."""
    if neighbors.min() < -1 or neighbors.max() >= len(levels):
        raise FileProblem("has a damaged graph: a link leads to no row.")
    higher = np.flatnonzero(levels > 1)
    sizes = slots[levels]
    begins = (np.cumsum(sizes) - sizes)[higher]
    for layer in range(1, int(levels.max())):
        inside = levels[higher] > layer
        places = begins[inside][:, None] + np.arange(slots[layer], slots[layer + 1])
        linked = neighbors[places]
        if (levels[linked[linked >= 0]] <= layer).any():
            raise FileProblem(f"has a damaged graph: a link leads out of layer {layer}.")
