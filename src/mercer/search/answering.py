"""How an index answers: by lists, a graph, codes or exactly, whichever its rows have and its caller wants."""

__all__ = ["as_frame_of", "find_nearest", "find_within", "in_lists"]

from itertools import pairwise
from numbers import Integral

import numpy as np

from mercer.search.by_codes import range_codes, search_codes
from mercer.search.columns.frames import as_data_frame
from mercer.search.effort import planned
from mercer.search.exact.searcher import ExactSearch, check_searchable
from mercer.search.lists.searcher import ListSearch


def find_nearest(index, rows, Q, k, allowed, exact, confidence, rerank, recall):
    """((positions, scores) of the k nearest rows of validated queries, `Certificate` or None).

    Parameters
    ----------
    index : KernelIndex, whose parameters count
    rows : Collection
    allowed : bool per position, or None
    exact, confidence, rerank, recall : as they were given to `KernelIndex.search`
    """
    exact, effort = planned(rows, k, exact, rerank, recall, index.oversample)
    if rows.by_lists:
        return _lists_of(rows, exact).nearest(Q, k, allowed)
    if exact is False:
        return search_codes(rows, Q, k, allowed, *effort), None
    return _exact_search(index, rows, exact, confidence).nearest(Q, k, allowed)


def find_within(index, rows, Q, limit, allowed, exact, confidence):
    """((queries, positions, scores) of all rows whose objective reaches a limit, `Certificate` or None)."""
    if rows.by_lists:
        return _lists_of(rows, exact).within(Q, limit, allowed)
    if exact is False:
        return range_codes(rows, Q, limit, allowed), None
    return _exact_search(index, rows, exact, confidence).within(Q, limit, allowed)


def _lists_of(rows, exact):
    if exact is not False:
        check_searchable(rows, exact)
    return ListSearch(rows)


def _exact_search(index, rows, exact, confidence):
    seed = index.random_state if isinstance(index.random_state, Integral) else 0
    return ExactSearch(rows, exact, index.n_landmarks, seed, confidence)


def as_frame_of(library, measure, rows, queries, positions, values):
    """What was found as a data frame, line by line; queries ascend, and the nearest rows of each come first."""
    ranks = np.arange(1, len(queries) + 1) - np.searchsorted(queries, queries)
    head = {"query": queries, "rank": ranks, "id": rows.ids.at(positions), measure: values}
    return as_data_frame(library, head, rows.data, rows.values(positions))


def in_lists(n_queries, queries, *columns):
    """Columns of what was found, each as a list with an array per query."""
    bounds = np.searchsorted(queries, np.arange(n_queries + 1))
    return tuple([column[start:stop] for start, stop in pairwise(bounds)] for column in columns)
