"""A hierarchical navigable small world of embedded rows in float16. [malkov20efficient]

faiss builds the graph and walks through it. What it consists of are four arrays, in the notation of faiss:

    vectors    float16 (n, width)   embedded rows, divided by a unit that keeps them within the range
    levels     uint8 (n,)           in how many layers a row is: 1 or more
    neighbors  int32 (L,)           the links, row by row and layer by layer, 2 M in the lowest layer and M in others;
                                    -1 ends the links of a layer
    entry      int                  the row where every search begins, one of those with most layers

Levels depend on the position of a row alone, so that a graph built by one thread is the same each time. Links are
written by several threads in any order. A graph never changes: further rows make a copy.
"""

__all__ = ["LINKS", "Graph", "levels_of"]

import numpy as np

from mercer._base.faiss_library import load_faiss
from mercer._base.progress import track

LINKS = 24  # M of the paper: with 64 components, 336 bytes a row
BUILD_CANDIDATES = 128  # efConstruction
BUILD_ROWS = 2**14  # added between two looks at Ctrl-C
LARGEST = 6e4  # that float16 holds, nearly
SEED = 7919


class Graph:
    """A graph of the rows 0 to ``n_rows``.

    Parameters
    ----------
    width : int, components of a row

    Attributes
    ----------
    index, storage : what faiss has of them: the graph and its vectors
    """

    def __init__(self, width):
        faiss = load_faiss()
        self.width = width
        self.index = faiss.IndexHNSWSQ(width, faiss.ScalarQuantizer.QT_fp16, LINKS)
        self.index.hnsw.efConstruction = BUILD_CANDIDATES
        self.storage = faiss.downcast_index(self.index.storage)

    @classmethod
    def of_arrays(cls, vectors, levels, neighbors, entry):
        """The graph that arrays describe, which were checked: see `mercer.search.graph.files`."""
        made, faiss = cls(vectors.shape[1]), load_faiss()
        hnsw = made.index.hnsw
        levels = levels.astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(made.slots[levels])]).astype(np.uint64)
        faiss.copy_array_to_vector(levels, hnsw.levels)
        faiss.copy_array_to_vector(offsets, hnsw.offsets)
        hnsw.neighbors.resize(len(neighbors))
        _view(hnsw.neighbors)[:] = neighbors
        made.storage.add_sa_codes(np.ascontiguousarray(vectors).view(np.uint8))
        hnsw.entry_point, hnsw.max_level = int(entry), int(levels[entry]) - 1
        made.index.ntotal = len(levels)
        return made

    @property
    def n_rows(self):
        return self.index.ntotal

    @property
    def slots(self):
        """How many links the first layers have together, by their number."""
        return load_faiss().vector_to_array(self.index.hnsw.cum_nneighbor_per_level).astype(np.int64)

    @property
    def arrays(self):
        """The arrays above, levels and links as they are in memory; ``entry`` is apart."""
        hnsw = self.index.hnsw
        levels = load_faiss().vector_to_array(hnsw.levels)
        return {"vectors": self.vectors, "levels": levels.astype(np.uint8), "neighbors": _view(hnsw.neighbors)}

    @property
    def entry(self):
        return int(self.index.hnsw.entry_point)

    @property
    def vectors(self):
        """The embedded rows, where faiss keeps them."""
        return _view(self.storage.codes).view(np.float16).reshape(-1, self.width)

    @property
    def nbytes(self):
        hnsw = self.index.hnsw
        return self.vectors.nbytes + 4 * hnsw.neighbors.size() + 4 * hnsw.levels.size() + 8 * hnsw.offsets.size()

    def extended(self, vectors):
        """A graph of these rows and further ones; this one stays as it is."""
        made, faiss = self._copy(), load_faiss()
        levels = levels_of(0, self.n_rows + len(vectors))
        hnsw, codes = made.index.hnsw, made.storage.codes
        _reserve(made, levels)
        starts = range(0, len(vectors), BUILD_ROWS)
        for start in track(starts, "Building the graph") if len(starts) > 1 else starts:
            part = vectors[start : start + BUILD_ROWS]
            faiss.copy_array_to_vector(levels[: made.n_rows + len(part)], hnsw.levels)
            made.index.add(np.ascontiguousarray(part, dtype=np.float32))
        assert codes.size() == 2 * self.width * len(levels)
        return made

    def _copy(self):
        return Graph.of_arrays(**self.arrays, entry=self.entry) if self.n_rows else Graph(self.width)

    def is_lowest(self, positions):
        """Whether rows are in the lowest layer only."""
        return load_faiss().vector_to_array(self.index.hnsw.levels)[positions] == 1

    def without(self, positions):
        """A copy in which no link leads to some rows, all of them in the lowest layer only.

        A link to one of them becomes one to the nearest row that it has links to: had it never been there, rows around
        it would be linked to each other.
        """
        made = self._copy()
        hnsw, width = made.index.hnsw, int(made.slots[1])
        links, before = _view(hnsw.neighbors), _view(self.index.hnsw.neighbors)
        begins = load_faiss().vector_to_array(hnsw.offsets).astype(np.int64)
        gone = np.zeros(self.n_rows + 1, dtype=bool)  # the last for -1
        gone[positions] = True
        for row in np.unique(np.searchsorted(begins, np.flatnonzero(gone[links]), side="right") - 1).tolist():
            part = links[begins[row] : begins[row] + width]
            lost, kept = part[gone[part]], part[~gone[part] & (part >= 0)]
            near = np.unique(before[begins[lost][:, None] + np.arange(width)])
            near = near[~gone[near] & (near >= 0) & (near != row) & ~np.isin(near, kept)]
            away = made.vectors[near].astype(np.float32) - made.vectors[row].astype(np.float32)
            found = np.concatenate([kept, near[np.argsort(_sq_norms(away), kind="stable")[: len(lost)]]])
            part[:] = -1
            part[: len(found)] = found
        return made

    # ---------------------------------------------------------------------------------------------------- searching

    def search(self, Z, k, candidates, bits=None):
        """(positions, squared distances) of about the k nearest rows of embedded queries; -1 where none was found.

        Parameters
        ----------
        candidates : int, that are kept while the graph is walked through (ef of the paper)
        bits : bit per row, packed, whether it may be found; None: all may
        """
        faiss = load_faiss()
        selector = None if bits is None else faiss.IDSelectorBitmap(bits)
        settings = faiss.SearchParametersHNSW(efSearch=max(candidates, k), sel=selector)
        distances, positions = self.index.search(np.ascontiguousarray(Z, dtype=np.float32), k, params=settings)
        return positions, distances

    def scan(self, Z, k, bits=None):
        """The same by looking at all rows."""
        faiss = load_faiss()
        settings = None if bits is None else faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        distances, positions = self.storage.search(np.ascontiguousarray(Z, dtype=np.float32), k, params=settings)
        return positions, distances

    def within(self, z, radius, bits=None):
        """(positions, squared distances) of all rows nearer to one embedded query than a squared distance."""
        faiss = load_faiss()
        settings = None if bits is None else faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        _, distances, positions = self.storage.range_search(np.ascontiguousarray(z), radius, params=settings)
        return positions, distances


def levels_of(first, stop):
    """In how many layers the rows ``first`` to ``stop`` are, int32: one more with probability 1 / M each.

    Bits of a number that SplitMix64 makes of the position; a function of it alone.
    """
    z = (np.arange(first, stop, dtype=np.uint64) + np.uint64(SEED)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
    levels = np.ones(stop - first, dtype=np.int32)
    threshold = 1.0 / LINKS
    while (uniform < threshold).any() and threshold > 1e-8:
        levels += uniform < threshold
        threshold /= LINKS
    return levels


def _sq_norms(rows):
    return np.einsum("ij,ij->i", rows, rows)


def _reserve(graph, levels):
    """Room for all rows at once: vectors that grow by doubling would keep up to twice of it."""
    for vector, size in (
        (graph.index.hnsw.neighbors, int(graph.slots[levels].sum())),
        (graph.storage.codes, 2 * graph.width * len(levels)),
    ):
        n = vector.size()
        vector.resize(size)
        vector.resize(n)


def _view(vector):
    """The numbers of a vector of faiss, not copied."""
    n = vector.size()
    if n:
        return load_faiss().rev_swig_ptr(vector.data(), n)
    return np.empty(0, dtype=np.uint8 if "UInt8" in type(vector).__name__ else np.int32)
