"""The undirected graph of near rows of an index: its edges, its connected components, and files of it."""

__all__ = ["NeighborGraph", "neighbor_graph"]

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mercer._base.errors import InputError
from mercer._base.progress import told
from mercer._base.tables import open_for_writing
from mercer.search.model.measure import Measure
from mercer.search.neighbors.files import edge_format, row_format, write_edges, write_graphml, write_rows
from mercer.search.neighbors.pairs import AllRows

WHO = "neighbor_graph"


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Graph of neighboring rows, with each pair once.

    Attributes
    ----------
    ids : array of shape (n,)
        Ids of the rows; all other attributes number rows in this order.
    sources, targets : int64 arrays
        The two rows of each edge, ``sources < targets``, in this order.
    values : float64 array
        The similarity or distance of each edge.
    measure : {"similarity", "distance"}
    """

    ids: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    values: np.ndarray
    measure: str

    def __repr__(self):
        return f"NeighborGraph({len(self.ids)} rows, {len(self.values)} edges, {len(self.sizes)} components)"

    @cached_property
    def components(self):
        """The connected component of each row, as a number; 0 is the largest, equally large ones by their first row."""
        n = len(self.ids)
        edges = sparse.coo_array((np.ones(len(self.values), dtype=bool), (self.sources, self.targets)), shape=(n, n))
        count, labels = connected_components(edges, directed=False)
        order = np.argsort(-np.bincount(labels, minlength=count), kind="stable")  # labels come by their first rows
        places = np.empty(count, dtype=np.int64)
        places[order] = np.arange(count)
        return places[labels]

    @property
    def sizes(self):
        """Rows of each component, the largest first."""
        return np.bincount(self.components)

    def matrix(self):
        """The values as a symmetric CSR array, edges of distance 0 stored like others."""
        pairs = (self.sources, self.targets), (self.targets, self.sources)
        rows, columns = (np.concatenate(each) for each in pairs)
        return sparse.csr_array((np.tile(self.values, 2), (rows, columns)), shape=(len(self.ids),) * 2)

    def write(self, path, data=None, format=None):
        """Write the graph to a file.

        Parameters
        ----------
        path : a path; ``"-"`` is the standard output
        data : dict or None
            For GraphML: further columns, a list of values by name, as `KernelIndex.data` returns them.
        format : {"graphml", "csv", "tsv"} or None
            csv and tsv have one line per edge: source, target and value. None uses the suffix of the path.
        """
        format = edge_format(path, format)
        with open_for_writing(path) as stream:
            if format == "graphml":
                write_graphml(stream, self, data or {})
            else:
                write_edges(stream, self, format)

    def write_rows(self, path, data=None, format=None):
        """Write one line per row, csv or tsv: its id, its component, and further columns. See `write`."""
        format = row_format(path, format)
        with open_for_writing(path) as stream:
            write_rows(stream, self, format, data or {})


def neighbor_graph(index, k=None, *, min_similarity=None, max_distance=None, mutual=False, exact=False, where=None):
    """Build the neighbor graph of an index: the k nearest rows of each row, all rows within a limit, or both.

    Rows are processed in blocks; memory grows with the number of rows and edges.

    Parameters
    ----------
    index : KernelIndex that keeps its rows
    k : int or None
        Number of nearest neighbors per row; with a limit, only neighbors within it count. None uses all rows within the
        limit.
    min_similarity, max_distance : float or None
        The limit, for the measure of the index.
    mutual : bool
        Keep only edges in which each row is a neighbor of the other.
    exact : bool
        Find neighbors exactly, among the stored rows; otherwise as `KernelIndex.search` and `KernelIndex.range_search`
        do. Results of inverted lists are always exact.
    where : str, mapping or None
        Condition on the columns of the index; only rows that meet it belong to the graph.

    Returns
    -------
    NeighborGraph

    Examples
    --------
    >>> from mercer import KernelIndex
    >>> X = [[8.0, 1, 0], [9, 1, 0], [0, 1, 7], [0, 2, 9], [0, 0, 1]]
    >>> index = KernelIndex("chi2", store="lists").fit(X).add(X, ["a", "b", "c", "d", "e"])
    >>> graph = neighbor_graph(index, min_similarity=0.8)
    >>> graph
    NeighborGraph(5 rows, 2 edges, 3 components)
    >>> graph.components.tolist()
    [0, 0, 1, 1, 2]
    """
    limit = {"min_similarity": min_similarity, "max_distance": max_distance}
    _check(index, k, limit)
    rows = AllRows(index, WHO, exact, where)
    n = len(rows)
    with told(index.verbose):
        if k is None:
            counts, others, values = rows.within(limit)
            own = np.repeat(np.arange(n), counts)
        else:
            if k >= n:
                raise InputError(f"{WHO} needs k less than the number of rows; got k={k} for {n} rows.")
            others, values = (each.ravel() for each in rows.nearest(int(k)))
            own = np.repeat(np.arange(n), k)
    if k is not None and limit != dict.fromkeys(limit):
        kept = values >= min_similarity if max_distance is None else values <= max_distance
        own, others, values = own[kept], others[kept], values[kept]
    return NeighborGraph(rows.ids, *_edges(own, others, values, n, mutual), index.measure)


def _check(index, k, limit):
    given = {name: value for name, value in limit.items() if value is not None}
    if k is None and not given:
        raise InputError(f"{WHO} needs k, a limit, or both.")
    if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
        raise InputError(f"{WHO} needs k to be an integer >= 1; got k={k!r:.80}.")
    if not len(index):
        raise InputError(f"{WHO} needs rows in the index. Use add.")
    if given:
        Measure.of(index.model_).threshold(WHO, **limit)


def _edges(own, others, values, n, mutual):
    """(sources, targets, values): each pair once, of pairs that were found from one side or from both."""
    pair = np.minimum(own, others) * n + np.maximum(own, others)
    order = np.argsort(pair, kind="stable")
    pair, values = pair[order], values[order]
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    if mutual:
        first = first[np.diff(first, append=len(pair)) == 2]
    return pair[first] // n, pair[first] % n, values[first]
