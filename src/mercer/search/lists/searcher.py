"""The search of an index by inverted lists: candidates of the lists, final scores, and a certificate."""

__all__ = ["ListSearch"]

import numpy as np

from mercer._base.threads import run_blocks
from mercer.search.exact.best import best_of_pairs
from mercer.search.exact.oracle import nearest_rows
from mercer.search.exact.search import Certificate
from mercer.search.model.measure import as_double
from mercer.search.rows.checks import damages_named

QUERIES_PER_TASK, MOST_PER_TASK = 16, 64


class ListSearch:
    """Searches among the kept rows of an index by their lists; answers are those of brute force on these rows.

    Parameters
    ----------
    rows : Collection
    """

    def __init__(self, rows):
        self.rows, self.measure = rows, rows.measure

    def nearest(self, Q, k, allowed):
        """((positions, scores) of the k nearest rows of validated queries, certificate)."""
        rows, allowed = self.rows, self.rows.may_be_found(allowed)
        store = rows.derived.lists
        if Q.shape[0] == 1:
            found = self._nearest_of_one(store, Q, k, allowed)
            if found is not None:
                return found
        if not _is_safe(store, Q):
            return self._look_at_all(Q, k, allowed)

        def find(columns, values, room):
            return store.nearest(columns, values, k, allowed, rows.ids.keys, room)

        (queries, positions, scores), certificate = self._found(store, Q, find)
        return best_of_pairs(Q.shape[0], k, queries, positions, scores, rows.ids.keys(positions)), certificate

    def _nearest_of_one(self, store, Q, k, allowed):
        """As `nearest`, of one query by the shortest way; None where that leads nowhere."""
        rows, (columns, values) = self.rows, _entries_of(Q, 0)
        if not (store.scorer.serves and rows.view.trusted):
            return None
        room = store.take_room()
        found = store.nearest(columns, values, k, allowed, rows.ids.keys, room)
        store.give_back(room)
        if found is None:
            return None
        order = found.positions.argsort()
        positions, scores = found.positions[order], found.scores[order]
        unknown = np.isnan(scores).nonzero()[0]
        asked = positions[unknown]
        entries = rows.vectors.entries(rows.snapshot.segments, asked)
        final = store.scorer.scores(columns, values, entries, store.totals_at(asked))
        if final is None:
            return None
        scores[unknown] = final
        best = best_of_pairs(1, k, None, positions, scores, rows.ids.keys(positions))
        share = found.n_read / found.n_postings if found.n_postings else 0.0
        return best, Certificate(len(rows), np.array([len(unknown)]), True, 1.0, 0, share)

    def within(self, Q, limit, allowed):
        """((queries, positions, scores) of all rows whose objective reaches a limit, certificate)."""
        rows, allowed = self.rows, self.rows.may_be_found(allowed)
        store = rows.derived.lists
        if not _is_safe(store, Q):
            (positions, scores), certificate = self._look_at_all(Q, len(rows), allowed)
            queries, places = np.nonzero(positions >= 0)
            found = queries, positions[queries, places], scores[queries, places]
        else:
            found, certificate = self._found(
                store, Q, lambda *query: store.within(*query[:2], limit, allowed, query[2])
            )
        queries, positions, scores = (column[found[2] >= limit] for column in found)
        order = np.lexsort((rows.ids.keys(positions), -scores, queries))
        return (queries[order], positions[order], scores[order]), certificate

    def _found(self, store, Q, find):
        """((queries, positions, final scores) of all candidates, certificate)."""
        size = min(max(QUERIES_PER_TASK, Q.shape[0] // 8), MOST_PER_TASK)
        tasks = [slice(i, i + size) for i in range(0, Q.shape[0], size)]

        def search(part):
            with damages_named(self.rows.storage):
                return self._search_part(store, Q[part] if len(tasks) > 1 else Q, find, part.start)

        parts = run_blocks(search, tasks)
        queries, positions, scores, scored = (np.concatenate(column) for column in list(zip(*parts, strict=True))[:4])
        n_read, n_postings = (sum(part[i] for part in parts) for i in (4, 5))
        evaluations = np.bincount(queries[scored], minlength=Q.shape[0])
        share = n_read / n_postings if n_postings else 0.0
        certificate = Certificate(len(self.rows), evaluations, True, 1.0, 0, share)
        return (queries, positions, scores), certificate

    def _search_part(self, store, Q, find, first):
        """(queries, positions, scores, whether they were computed, postings read, postings) of a few queries."""
        room, found = store.take_room(), []
        for i in range(Q.shape[0]):
            found.append(find(*_entries_of(Q, i), room))
        store.give_back(room)
        queries = np.repeat(np.arange(len(found)), [len(each.positions) for each in found])
        positions = np.concatenate([each.positions for each in found])
        scores = np.concatenate([each.scores for each in found])
        open_scores = np.isnan(scores)
        unique, where = np.unique(positions[open_scores], return_inverse=True)
        scores[open_scores] = self.measure.scores(Q, self.rows.take(unique), queries[open_scores], where, 1)
        n_read, n_postings = sum(each.n_read for each in found), sum(each.n_postings for each in found)
        return queries + first, positions, scores, open_scores, n_read, n_postings

    def _look_at_all(self, Q, k, allowed):
        """Brute force, for numbers so large that single precision does not hold their sums."""
        rows = self.rows
        positions = np.arange(rows.snapshot.n_positions) if allowed is None else np.flatnonzero(allowed)
        found = nearest_rows(self.measure, rows.take(positions), Q, k, lambda places: rows.ids.keys(positions[places]))
        there = found.positions >= 0
        found.positions[there] = positions[found.positions[there]]
        evaluations = np.full(Q.shape[0], len(positions), dtype=np.int64)
        return (found.positions, found.scores), Certificate(len(rows), evaluations, True, 1.0, 0)


def _entries_of(Q, i):
    """(columns, values) of a row of queries, values that are zero left out."""
    part = slice(Q.indptr[i], Q.indptr[i + 1])
    columns, values = Q.indices[part], Q.data[part]
    kept = values != 0
    return (columns, values) if kept.all() else (columns[kept], values[kept])


def _is_safe(store, Q):
    return store.is_safe(max(float(part.totals(as_double(Q)).max(initial=0.0)) for part in store.formula.sums))
