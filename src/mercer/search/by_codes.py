"""The search of an index by codes: a store finds candidates, the exact kernel ranks them where rows are kept."""

__all__ = ["final_scores", "oversampled", "range_codes", "search_codes"]

import numpy as np

from mercer.search.exact.best import best_of_pairs
from mercer.search.model.measure import Measure

FIRST_ASKED = 128  # rows that a range search begins with, four times as many each time some query may have more


def search_codes(rows, Q, k, allowed, oversample=None, n_probe=None):
    """(positions, scores) of the k nearest rows of validated queries, by codes or by a graph.

    Parameters
    ----------
    rows : Collection
    allowed : bool per position, or None
    oversample : candidates per row wanted that get their exact value; None ranks by what the store tells
    n_probe : lists of codes that are looked at; None: as many as the store has chosen
    """
    rerank = oversample is not None and rows.vectors is not None
    if rerank and rows.derived.few is not None:
        return rows.derived.few.nearest(Q, k, rows.may_be_found(allowed), rows.ids.keys)
    wanted = min(oversampled(k, oversample) if rerank else k, len(rows))
    how = {"least": min(k, wanted)} if rows.by_graph else {} if n_probe is None else {"n_probe": n_probe}
    positions, scores = rows.derived.store.search(rows.model.embed_queries(Q), wanted, allowed, **how)
    queries, places = np.nonzero(positions >= 0)
    positions, scores = positions[queries, places], scores[queries, places]
    scores = final_scores(rows, Q, queries, positions) if rerank else _estimates(rows.model, scores)
    return best_of_pairs(Q.shape[0], k, queries, positions, scores, rows.ids.keys(positions))


def oversampled(k, oversample):
    """Candidates that are asked for where k rows are wanted."""
    return max(k, int(np.ceil(oversample * k)))


def final_scores(rows, Q, queries, positions):
    """The objective of pairs of queries and kept rows, as an exact search computes it."""
    if Q.shape[0] == 1:
        return rows.measure.scores_of_one(Q, rows.take(positions))
    unique, where = np.unique(positions, return_inverse=True)
    return rows.measure.scores(Q, rows.take(unique), queries, where)


def _estimates(model, scores):
    values = model.estimates(scores.astype(np.float64))
    return np.minimum(values, 0.0) if Measure.of(model).is_distance else values


def range_codes(rows, Q, limit, allowed):
    """(queries, positions, scores) of the rows that reach a limit, and whose codes do within the slack of the model."""
    if rows.derived.few is None:
        queries, positions, scores = _near_codes(rows, Q, limit, allowed)
    else:
        queries, positions, scores = rows.derived.few.within(Q, limit, rows.may_be_found(allowed))
    order = np.lexsort((rows.ids.keys(positions), -scores, queries))
    return queries[order], positions[order], scores[order]


def _near_codes(rows, Q, limit, allowed):
    model = rows.model
    reach = (limit - model.slack_ - model.intercept_) / model.slope_
    queries, positions, scores = _reaching(rows, model.embed_queries(Q), reach, allowed)
    final = final_scores(rows, Q, queries, positions) if rows.vectors else _estimates(model, scores)
    kept = final >= limit
    return queries[kept], positions[kept], final[kept]


def _reaching(rows, Z, reach, allowed):
    """(queries, positions, scores) of the rows whose score reaches a limit."""
    if rows.by_graph:
        return rows.derived.store.within(Z, reach, allowed)
    k = min(len(rows), FIRST_ASKED)
    positions, scores = rows.derived.store.search(Z, k, allowed)
    while k < len(rows) and (scores[:, -1] >= reach).any():
        k = min(len(rows), 4 * k)
        positions, scores = rows.derived.store.search(Z, k, allowed)
    queries, places = np.nonzero((positions >= 0) & (scores >= reach))
    return queries, positions[queries, places], scores[queries, places]
