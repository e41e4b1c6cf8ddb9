"""The k best of scored pairs, ties by a key of the caller."""

__all__ = ["Best", "best_of_pairs", "joined"]

import numpy as np


def best_of_pairs(n_queries, k, queries, positions, scores, keys):
    """(positions, scores) of shape (n_queries, k): for each query the largest scores, equal ones by smaller key.

    Missing places have position -1 and score -inf.
    """
    if n_queries == 1:
        order = np.lexsort((keys, -scores))[:k]
        found, values = positions[order].astype(np.int64, copy=False), scores[order]
        missing = k - len(order)
        if missing:
            found, values = np.append(found, [-1] * missing), np.append(values, [-np.inf] * missing)
        return found[np.newaxis], values[np.newaxis]
    order = np.lexsort((keys, -scores, queries))
    queries, positions, scores = queries[order], positions[order], scores[order]
    rank = np.arange(len(queries)) - np.searchsorted(queries, queries)
    kept = rank < k
    found = np.full((n_queries, k), -1, dtype=np.int64)
    values = np.full((n_queries, k), -np.inf)
    found[queries[kept], rank[kept]] = positions[kept]
    values[queries[kept], rank[kept]] = scores[kept]
    return found, values


def joined(parts):
    """(queries, positions, scores) of all parts, which may be none."""
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


class Best:
    """The best k rows so far of each query."""

    def __init__(self, n_queries, k, keys_of):
        self.n_queries, self.k, self._keys_of = n_queries, k, keys_of
        self.positions, self.scores = np.full((n_queries, k), -1, dtype=np.int64), np.full((n_queries, k), -np.inf)

    @property
    def thresholds(self):
        """The score that a further row must reach, per query."""
        return self.scores[:, -1]

    def merge(self, queries, positions, scores):
        """Take further pairs into account; a pair that is already there is not counted twice."""
        there = np.nonzero(self.positions >= 0)
        queries = np.concatenate([there[0], queries])
        positions = np.concatenate([self.positions[there], positions])
        scores = np.concatenate([self.scores[there], scores])
        _, first = np.unique(queries * (positions.max(initial=0) + 1) + positions, return_index=True)
        queries, positions, scores = queries[first], positions[first], scores[first]
        found = best_of_pairs(self.n_queries, self.k, queries, positions, scores, self._keys_of(positions))
        self.positions, self.scores = found
