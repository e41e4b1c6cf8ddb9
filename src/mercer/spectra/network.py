"""Molecular networks: which pairs of spectra become edges, by the rules of GNPS, and files for tools that draw them.

The rules are those of ``filter_top_k`` and ``filter_component`` in molecular_network_filtering_library.py of GNPS
(github.com/mwang87/GNPS_sharedcode), for scores and matched peaks that :meth:`SpectrumIndex.pairs` has limited before.
"""

__all__ = ["graphml", "network_edges"]

from xml.sax.saxutils import escape, quoteattr

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mercer._base.errors import InputError

STEP = 0.02  # of the score, by which a component that is too large is pruned; GNPS's own
NO_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])  # letters that a file of XML cannot hold


def network_edges(first, second, scores, n_spectra, *, top_k=10, max_component=100):
    """Select the pairs that are edges of a molecular network [wang16sharing], and find the component of every spectrum.

    An edge is kept if its score reaches the ``top_k``-th best of either end; equal scores stay together. As long as a
    component has more than ``max_component`` spectra, its edges within 0.02 of the lowest score in it are taken out.

    Parameters
    ----------
    first, second, scores : of :meth:`SpectrumIndex.pairs`
    n_spectra : int
    top_k, max_component : int, 0 for no limit

    Returns
    -------
    kept : ndarray of int64, numbers of pairs
    components : ndarray of int64, of every spectrum; the largest is 0

    Examples
    --------
    >>> kept, components = network_edges([0, 0, 1], [1, 2, 2], [0.9, 0.8, 0.95], 4, top_k=1)
    >>> kept.tolist(), components.tolist()
    ([2], [1, 0, 0, 2])
    """
    if top_k < 0 or max_component < 0:
        raise InputError(f"network_edges needs top_k and max_component >= 0, got {top_k} and {max_component}.")
    first, second, scores = np.asarray(first, np.int64), np.asarray(second, np.int64), np.asarray(scores, np.float64)
    kept = np.arange(len(first))
    if top_k:
        least = _least_scores(first, second, scores, n_spectra, top_k)
        kept = np.flatnonzero((scores >= least[first]) & (scores >= least[second]))
    while True:
        components = _components(first[kept], second[kept], n_spectra)
        large = np.bincount(components, minlength=1) > (max_component or n_spectra)
        owner = components[first[kept]]
        if not large[owner].any():
            return kept, components
        lowest = np.full(len(large), np.inf)
        np.minimum.at(lowest, owner, scores[kept])
        kept = kept[~large[owner] | (scores[kept] >= lowest[owner] + STEP)]


def _least_scores(first, second, scores, n_spectra, k):
    """The score of the k-th best pair of every spectrum, -inf where it has fewer."""
    spectrum, score = np.concatenate([first, second]), np.concatenate([scores, scores])
    order = np.lexsort((-score, spectrum))
    spectrum, score = spectrum[order], score[order]
    ranks = np.arange(len(spectrum)) - np.searchsorted(spectrum, spectrum)
    least = np.full(n_spectra, -np.inf)
    least[spectrum[ranks == k - 1]] = score[ranks == k - 1]
    return least


def _components(first, second, n_spectra):
    """The number of the component of every spectrum, by falling size, then by its first spectrum."""
    graph = sparse.csr_array((np.ones(len(first), dtype=bool), (first, second)), shape=(n_spectra, n_spectra))
    count, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels, minlength=count)
    place = np.empty(count, dtype=np.int64)
    place[np.argsort(-sizes, kind="stable")] = np.arange(count)
    return place[labels].astype(np.int64)


def graphml(nodes, edges):
    """A GraphML document, as UTF-8, of two tables: columns of nodes by name, `id` first; of edges, ends first.

    Missing values are left out.
    """
    parts = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for kind, table in (("node", list(nodes.items())[1:]), ("edge", list(edges.items())[2:])):
        for name, values in table:
            parts.append(f'<key id="{kind}.{name}" for="{kind}" attr.name="{name}" attr.type="{_type(values)}"/>')
    parts.append('<graph edgedefault="undirected">')
    for row in zip(*nodes.values(), strict=True):
        parts.append(f"<node id={quoteattr(f'n{row[0]}')}>{_data('node', list(nodes)[1:], row[1:])}</node>")
    for row in zip(*edges.values(), strict=True):
        ends = f"source={quoteattr(f'n{row[0]}')} target={quoteattr(f'n{row[1]}')}"
        parts.append(f"<edge {ends}>{_data('edge', list(edges)[2:], row[2:])}</edge>")
    return "\n".join([*parts, "</graph>", "</graphml>", ""]).encode()


def _type(values):
    kinds = {type(value) for value in values if value is not None}
    return "long" if kinds == {int} else "double" if kinds and kinds <= {int, float} else "string"


def _data(kind, names, values):
    return "".join(
        f'<data key="{kind}.{name}">{escape(str(value).translate(NO_XML))}</data>'
        for name, value in zip(names, values, strict=True)
        if value is not None
    )
