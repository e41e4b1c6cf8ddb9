"""Few dense rows: the exact kernel of all of them takes less time than looking for candidates would."""

__all__ = ["FEW_VALUES", "FewRows"]

import numpy as np

from mercer.search.exact.best import best_of_pairs, joined
from mercer.search.exact.oracle import QUERIES_AT_ONCE, Base

FEW_VALUES = 2**18  # numbers of all rows


class FewRows:
    """All rows of an index, prepared for searches that look at each of them.

    Values of whole blocks come with a margin for rounding; rows within it get their final score.

    Parameters
    ----------
    measure : Measure
    X : kept rows of shape (n, d), dense
    """

    def __init__(self, measure, X):
        self._measure, self._base = measure, Base(measure, X, prepare=True)

    def __len__(self):
        return len(self._base.X)

    def nearest(self, Q, k, allowed, keys_of):
        """(positions, scores) of the k nearest rows of validated queries."""
        k_most = min(k, len(self))

        def floors(values, queries):
            return np.partition(values, len(self) - k_most, axis=1)[:, len(self) - k_most]

        queries, positions, scores = self._scored(Q, allowed, floors)
        return best_of_pairs(Q.shape[0], k, queries, positions, scores, keys_of(positions))

    def within(self, Q, limit, allowed):
        """(queries, positions, scores) of all rows whose objective reaches a limit."""

        def floors(values, queries):
            if not self._measure.is_distance:
                return np.full(len(values), limit)
            return (limit + self._measure.energy(queries)) / 2  # as blocks see it

        queries, positions, scores = self._scored(Q, allowed, floors)
        kept = scores >= limit
        return queries[kept], positions[kept], scores[kept]

    def _scored(self, Q, allowed, floors):
        """(queries, positions, final scores) of the rows whose values reach ``floors(values, queries)``."""
        base, parts = self._base, []
        for first in range(0, Q.shape[0], QUERIES_AT_ONCE):
            asked = Q[first : first + QUERIES_AT_ONCE]
            queries, factors, margins = base.scaled(asked)
            values = [base.values(queries, factors, block) for block in base.blocks]
            values = values[0] if len(values) == 1 else np.concatenate(values, axis=1)
            if allowed is not None:
                values[:, ~allowed] = -np.inf
            floor = np.maximum(floors(values, asked) - 2 * margins, np.finfo(values.dtype).min)
            left, positions = np.nonzero(values >= floor[:, None])
            if asked.shape[0] == 1:
                scores = self._measure.scores_of_one(asked, base.X[positions], base.energies[positions])
            else:
                scores = self._measure.scores(asked, base.X, left, positions)
            parts.append((left + first, positions, scores))
        return joined(parts)
