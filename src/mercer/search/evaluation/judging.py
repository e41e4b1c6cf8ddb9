"""An index against true neighbors: recall and time by its codes, after re-ranking, and of the exact search."""

__all__ = ["IndexEvaluation", "SearchQuality", "evaluate_index"]

import time
from dataclasses import dataclass

import numpy as np

from mercer._base.errors import InputError
from mercer.search.evaluation.recall import recall_k_at
from mercer.search.model.measure import Measure
from mercer.search.rows.ids import listed_ids

CURVE_STEPS = 12  # ranks of a curve for each power of ten


@dataclass(frozen=True)
class SearchQuality:
    """One way of searching an index.

    Attributes
    ----------
    search : "codes", "re-ranked", "exact", "lists" or "graph"
    n_bytes : tuple of float
        Of the code of a row, and of the row itself where that is needed.
    recall : dict, name such as "recall_1@10" -> value
    milliseconds : float, per query, of a search for k rows
    """

    search: str
    n_bytes: tuple
    recall: dict
    milliseconds: float

    @property
    def bytes_text(self):
        """Code and kept row, as in 8+132."""
        return "+".join(f"{n:.4g}" for n in self.n_bytes)


@dataclass(frozen=True)
class IndexEvaluation:
    """Result of :func:`evaluate_index`.

    Attributes
    ----------
    code : str, the name of the code; "lists" or "graph" where these find rows
    n_rows : int, of the index
    searches : list of SearchQuality, one for each way of searching
    curve : list of (rank, recall_1@rank of the codes), at many ranks
    n_selves : int
        Queries that are rows of the index, as far as an exact search tells.
    """

    code: str
    n_rows: int
    searches: list
    curve: list
    n_selves: int

    def as_dict(self):
        """Convert to plain numbers that JSON can hold."""
        searches = [
            {
                "search": one.search,
                "bytes_per_item": sum(one.n_bytes),
                **one.recall,
                "milliseconds_per_query": one.milliseconds,
            }
            for one in self.searches
        ]
        return {
            "code": self.code,
            "rows": self.n_rows,
            "queries_in_the_index": self.n_selves,
            "searches": searches,
            "curve": {"ranks": [rank for rank, _ in self.curve], "recall_1": [recall for _, recall in self.curve]},
        }


@dataclass(frozen=True)
class Answer:
    """Rows found for the queries, by their positions in the index (ids may be of two kinds), and how long that took."""

    positions: np.ndarray
    values: np.ndarray
    seconds: float


def evaluate_index(index, Q, k=10, ranks=(1, 10, 100), *, true_ids=None):
    """Measure how many true nearest rows an index finds, how fast, and in how many bytes.

    A row exactly as near as the last true one counts as true. Figures after re-ranking refer to a search for the same
    number of rows.

    Parameters
    ----------
    index : KernelIndex, with rows
    Q : array or sparse matrix of shape (m, d), the queries
    k : int, of recall_k@k; at most the number of rows
    ranks : sequence of int
        The ranks R of recall_1@R. Ranks above the number of rows are skipped.
    true_ids : table of ids with a line for each query, nearest first, or None
        The k nearest rows or more. None finds them by exact search, which needs an index that stores rows.

    Returns
    -------
    IndexEvaluation

    Examples
    --------
    >>> from mercer import KernelIndex
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=500).astype("f4")
    >>> index = KernelIndex("chi2", bytes_per_item=4, random_state=0).fit(X).add(X[50:])
    >>> found = evaluate_index(index, X[:50], ranks=(1, 100))
    >>> {one.search: one.recall["recall_1@100"] for one in found.searches}
    {'codes': 1.0, 're-ranked': 1.0, 'exact': 1.0}
    """
    ranks = sorted({rank for rank in ranks if rank <= len(index)}) or [1]
    if true_ids is None:
        exact = _search(index, Q, k, exact="stored" if index.stats()["rounded_rows"] else True)
        true = exact.positions, exact.values
    else:
        exact, true = None, (_positions(index, true_ids, k), None)
    searches, curve = _judged_searches(index, Q, k, ranks, true, exact)
    store = index.rows_.model.store
    return IndexEvaluation(
        index.plan_["code"] if store == "codes" else store, len(index), searches, curve, _selves(index, exact)
    )


def _judged_searches(index, Q, k, ranks, true, exact):
    """What each way of searching comes to, and the curve of the codes."""
    n_bytes = _bytes(index)
    if index.rows_.model.store != "codes":
        return _judged_store(index, Q, k, ranks, true, exact, n_bytes)
    coded = _search(index, Q, max(*ranks, k), rerank=False)
    recall = judged(index, Q, coded, true)
    figures = {f"recall_1@{R}": recall(1, R) for R in ranks} | {f"recall_{k}@{k}": recall(k, k)}
    found = [SearchQuality("codes", n_bytes[:1], figures, _milliseconds(index, Q, k, rerank=False))]
    if index.rows_.vectors is not None:
        of_rank = {R: judged(index, Q, _search(index, Q, R), true) for R in {*ranks, k}}
        figures = {f"recall_1@{R}": of_rank[R](1, R) for R in ranks} | {f"recall_{k}@{k}": of_rank[k](k, k)}
        found.append(SearchQuality("re-ranked", n_bytes, figures, _milliseconds(index, Q, k)))
    if exact is not None:
        ones = dict.fromkeys(figures, 1.0)
        found.append(SearchQuality("exact", n_bytes[1:], ones, 1000 * exact.seconds / Q.shape[0]))
    return found, [(R, recall(1, R)) for R in curve_ranks(ranks[-1])]


def _judged_store(index, Q, k, ranks, true, exact, n_bytes):
    """The one way of searching by lists, which is exact, or by a graph."""
    found = _search(index, Q, max(*ranks, k))
    recall = judged(index, Q, found, true)
    figures = {f"recall_1@{R}": recall(1, R) for R in ranks} | {f"recall_{k}@{k}": recall(k, k)}
    qualities = [SearchQuality(index.rows_.model.store, n_bytes[1:], figures, _milliseconds(index, Q, k))]
    if index.rows_.by_graph and exact is not None:
        ones = dict.fromkeys(figures, 1.0)
        qualities.append(SearchQuality("exact", n_bytes[1:], ones, 1000 * exact.seconds / Q.shape[0]))
    return qualities, [(R, recall(1, R)) for R in curve_ranks(ranks[-1])]


def judged(index, Q, found, true):
    """recall(k, R) of an answer; where exact values are known, equal ones are as good."""
    true_positions, true_values = true
    values = None if true_values is None else index.exact_values(Q, found.positions)

    def recall(k, R):
        return recall_k_at(found.positions, true_positions, k, R, found_scores=values, true_scores=true_values)

    return recall


def _positions(index, ids, k):
    """Where the true neighbors stand; all of them must be in the index."""
    ids = np.asarray(ids, dtype=object)[:, :k]
    positions = index.rows_.ids.positions(listed_ids(ids.ravel(), "evaluate_index(true_ids=)")).reshape(ids.shape)
    if (positions < 0).any():
        raise InputError(f"evaluate_index needs true_ids that are in the index; {ids[positions < 0][0]!r} is not.")
    return positions


def _search(index, Q, k, **how):
    index.search(Q[:1], k, **how)  # compiled code, tables and bounds before the clock runs
    started = time.perf_counter()
    ids, values = index.search(Q, k, **how)
    seconds = time.perf_counter() - started
    positions = np.full(ids.shape, -1, dtype=np.int64)
    there = np.isfinite(values)  # inverted lists may hold fewer than k
    positions[there] = index.rows_.ids.positions(ids[there] if ids.dtype.kind == "i" else ids[there].tolist())
    return Answer(positions, values, seconds)


def _milliseconds(index, Q, k, **how):
    return 1000 * _search(index, Q, k, **how).seconds / Q.shape[0]


def _bytes(index):
    """Of the code of a row, and of the row as it is kept."""
    found, rows = index.stats(), index.rows_
    stored = max(1, found["rows"] + found["removed"])
    return (float(found["bytes_per_item"]), *([rows.kept_bytes() / stored] if found["vectors"] else []))


def _selves(index, exact):
    """Queries whose nearest row is as near as can be."""
    if exact is None or not (index.measure == "distance" or Measure.of(index).unit_diagonal):
        return 0
    nearest = exact.values[:, 0]
    return int((nearest <= 1e-7 if index.measure == "distance" else nearest >= 1 - 1e-9).sum())


def curve_ranks(last):
    """Ranks from 1 to the last, evenly on a logarithmic scale.

    >>> curve_ranks(5)
    [1, 2, 3, 4, 5]
    """
    found, exponent = {1, last}, 0
    while (rank := round(10 ** (exponent / CURVE_STEPS))) < last:
        found.add(rank)
        exponent += 1
    return sorted(found)
