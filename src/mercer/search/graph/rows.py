"""The graph of the rows of an index, as far as it has been built, and the embedded rows behind it.

A graph that takes further rows is copied, so that searches may go on in the one before. So rows are gathered: up to
`TAIL_ROWS` of them are scanned, which takes less time than a walk, and then join the graph together.
"""

__all__ = ["GraphOfRows", "halves", "stored_graph", "unit_of"]

import numpy as np

from mercer.search.graph.files import StoredGraph
from mercer.search.graph.hnsw import LARGEST, Graph
from mercer.search.graph.store import GraphStore

TAIL_ROWS = 2**12
EMBEDDED_ROWS = 2**14  # at a time
SAVED_SHARE = 1.25  # a file is written when the graph has so many times the rows of the one before
COMPARED_ROWS, TOLERANCE = 64, 2.0**-6  # of a file, compared with the rows of the index; a share of the unit


class GraphOfRows:
    """Embedded rows by position; never changed.

    Parameters
    ----------
    graph : Graph, of the first rows
    unit : float, by which embedded rows are divided
    tail : float32 (t, width), the rows behind
    n_saved : int, rows of the graph that are in a file
    """

    def __init__(self, graph, unit, tail=None, n_saved=0):
        self.graph, self.unit, self.n_saved = graph, unit, n_saved
        self.tail = np.empty((0, graph.width), dtype=np.float32) if tail is None else tail

    @classmethod
    def empty(cls, model):
        """Of no rows yet."""
        return cls(Graph(model.embedded_width), unit_of(model))

    @property
    def n_rows(self):
        return self.graph.n_rows + len(self.tail)

    @property
    def nbytes(self):
        return self.graph.nbytes + self.tail.nbytes

    @property
    def is_to_be_saved(self):
        """Whether the graph has rows enough that no file has."""
        return self.graph.n_rows > SAVED_SHARE * self.n_saved

    def completed(self, n_rows, rows):
        """The first ``n_rows`` rows of a `Collection`."""
        return self if n_rows <= self.n_rows else self.joined(_embedded(rows, self.n_rows, n_rows, self.unit))

    def joined(self, vectors):
        """These rows and further ones, float16."""
        tail = np.concatenate([self.tail, vectors.astype(np.float32)]) if len(vectors) <= TAIL_ROWS else None
        if tail is not None and len(tail) <= TAIL_ROWS:
            return GraphOfRows(self.graph, self.unit, tail, self.n_saved)
        further = np.concatenate([self.tail.astype(np.float16), vectors])
        return GraphOfRows(self.graph.extended(further), self.unit, None, self.n_saved)

    def saved(self, n_saved):
        """The same, of which a file has so many rows."""
        return GraphOfRows(self.graph, self.unit, self.tail, n_saved)

    def at(self, positions):
        """Embedded rows at positions, float16."""
        n = self.graph.n_rows
        out = np.empty((len(positions), self.graph.width), dtype=np.float16)
        inside = positions < n
        out[inside] = self.graph.vectors[positions[inside]]
        out[~inside] = self.tail[positions[~inside] - n]
        return out

    def store(self, removed):
        """What searches among them, without some that were removed."""
        return GraphStore(self.graph, self.tail, removed, self.unit)

    def is_of(self, rows):
        """Whether some rows of a `Collection` are embedded as they are here."""
        n = min(self.graph.n_rows, rows.snapshot.n_positions)
        if not n:
            return True
        some = np.unique(np.linspace(0, n - 1, min(n, COMPARED_ROWS)).astype(np.int64))
        wanted = halves(rows.model.embed(rows.take(some))[0], self.unit).astype(np.float32)
        return bool((np.abs(wanted - self.at(some)) <= TOLERANCE).all())


def stored_graph(rows, verify=False):
    """(`GraphOfRows`, curves) in the directory of a `Collection`; None if there is no file of these rows."""
    found = StoredGraph(rows.folder, rows.model.embedded_width).load(verify) if rows.path is not None else None
    if found is None:
        return None
    graph, curves = found
    made = GraphOfRows(graph, unit_of(rows.model), n_saved=graph.n_rows)
    # a reader may find the file of a writer that is ahead of it
    is_ahead = graph.n_rows > rows.snapshot.n_positions and rows.is_writable
    return None if is_ahead or not made.is_of(rows) else (made, curves)


def unit_of(model):
    """What embedded rows are divided by: lengths of about 1 are within the range of float16."""
    return float(np.sqrt(model.highest_energy_)) or 1.0


def halves(Z, unit):
    """Embedded rows in float16, divided by the unit."""
    return np.clip(Z / np.float32(unit), -LARGEST, LARGEST).astype(np.float16)


def _embedded(rows, first, stop, unit):
    """The rows ``first`` to ``stop`` of a `Collection`, in float16."""
    out = np.empty((stop - first, rows.model.embedded_width), dtype=np.float16)
    for start in range(first, stop, EMBEDDED_ROWS):
        part = np.arange(start, min(stop, start + EMBEDDED_ROWS))
        out[part - first] = halves(rows.model.embed(rows.take(part))[0], unit)
    return out
