"""How an index searches: by codes and exact values, or exactly with bounds."""

__all__ = ["Searches"]

from numbers import Integral
from threading import Lock

import numpy as np

from mercer._base.errors import InputError
from mercer.search.exact.best import best_of_pairs
from mercer.search.exact.bounds import CHUNK_ROWS, Bounds
from mercer.search.exact.oracle import nearest_rows
from mercer.search.exact.search import Certificate, probable_share, search_bounded

EXACT = (False, True, "stored", "probable")
CONFIDENCE = 0.999  # wanted of relaxed bounds
BRUTE_FORCE_ROWS = 2**14  # so few rows are all looked at, unless there are bounds already
FIT_ROWS = 2**16  # rows that the directions of the bounds are found from
PROBED_ROWS, PROBED_BASE = 256, 2**15  # rows that the relaxed bounds are measured on

_BUILDING = Lock()  # threads may search one index together: the first of them builds its bounds, the others wait


class Searches:
    """What `KernelIndex` does between a validated query and positions with scores."""

    def _search_codes(self, Q, k, allowed, rerank):
        rows = self._rows
        wanted = max(k, int(np.ceil(self.oversample * k))) if rows.vectors and rerank else k
        Z = rows.model.embed_queries(Q)
        positions, scores = rows.store.search(Z, min(wanted, len(rows)), allowed)
        queries, places = np.nonzero(positions >= 0)
        positions, scores = positions[queries, places], scores[queries, places]
        if rows.vectors and rerank:
            scores = self._final(Q, queries, positions)
        else:
            scores = self._estimates(Q, queries, scores)
        return best_of_pairs(Q.shape[0], k, queries, positions, scores, rows.ids.keys(positions))

    def _final(self, Q, queries, positions):
        unique, where = np.unique(positions, return_inverse=True)
        return self._measure.scores(Q, self._rows.take(unique), queries, where)

    def _estimates(self, Q, queries, scores):
        values = self.model_.estimates(scores.astype(np.float64))
        return np.minimum(values, 0.0) if self._measure.is_distance else values

    def _range_codes(self, Q, limit, allowed):
        rows, model = self._rows, self.model_
        reach = (limit - model.slack_ - model.intercept_) / model.slope_
        Z = model.embed_queries(Q)
        k = min(len(rows), 128)
        positions, scores = rows.store.search(Z, k, allowed)
        while k < len(rows) and (scores[:, -1] >= reach).any():  # some query may have more
            k = min(len(rows), 4 * k)
            positions, scores = rows.store.search(Z, k, allowed)
        queries, places = np.nonzero((positions >= 0) & (scores >= reach))
        positions, scores = positions[queries, places], scores[queries, places]
        final = self._final(Q, queries, positions) if rows.vectors else self._estimates(Q, queries, scores)
        kept = final >= limit
        queries, positions, final = queries[kept], positions[kept], final[kept]
        order = np.lexsort((rows.ids.keys(positions), -final, queries))
        return queries[order], positions[order], final[order]

    def _search_exact(self, Q, k, allowed, exact):
        rows = self._exact_rows(exact)
        if len(rows) <= BRUTE_FORCE_ROWS and exact != "probable" and rows.view.bounds is None:
            return self._look_at_all(rows, Q, k, allowed)
        rows, bounds, share, confidence = self._bounded(exact)
        (positions, scores), evaluations = search_bounded(
            bounds, self._measure, Q, k, rows.take, rows.ids.keys, self._may_be_found(allowed), share=share
        )
        self._certify(rows, bounds, evaluations, exact, confidence)
        return positions, scores

    def _look_at_all(self, rows, Q, k, allowed):
        """Brute force: for few rows it takes less time than building bounds."""
        may = self._may_be_found(allowed)
        positions = np.arange(rows.snapshot.n_positions) if may is None else np.flatnonzero(may)
        found = nearest_rows(self._measure, rows.take(positions), Q, k, lambda places: rows.ids.keys(positions[places]))
        evaluations = np.full(Q.shape[0], len(positions), dtype=np.int64)
        self.certificate_ = Certificate(len(rows), evaluations, True, 1.0, 0)
        there = found.positions >= 0
        found.positions[there] = positions[found.positions[there]]
        return found.positions, found.scores

    def _range_exact(self, Q, limit, allowed, exact):
        rows, bounds, share, confidence = self._bounded(exact)
        found, evaluations = search_bounded(
            bounds, self._measure, Q, None, rows.take, rows.ids.keys, self._may_be_found(allowed), limit, share
        )
        self._certify(rows, bounds, evaluations, exact, confidence)
        return found

    def _bounded(self, exact):
        """(rows, bounds of all of them, share of the bounds, confidence)."""
        rows = self._exact_rows(exact)
        with _BUILDING:
            view = rows.view
            bounds = self._sync_bounds(rows, view)
            if exact != "probable":
                return rows, bounds, 1.0, 1.0
            if view.relaxed is None:
                view.relaxed = self._measure_relaxed(rows, bounds)
            return rows, bounds, *view.relaxed

    def _exact_rows(self, exact):
        """The rows, if they can be searched exactly."""
        if exact not in EXACT:
            raise InputError(f"KernelIndex takes exact from {', '.join(map(repr, EXACT))}, got {exact!r:.80}.")
        rows = self._kept_rows("An exact search")
        rounded = np.count_nonzero(rows.column("flags")[~rows.snapshot.removed] & 2)
        if exact is True and rounded:
            raise InputError(
                f"An exact search needs rows as they were given, but this index keeps {rounded} of them rounded "
                f"(vectors={rows.vectors.name!r}). Use vectors='float32' and float32 rows, or exact='stored' for an "
                "answer that is exact on the rows as they are kept."
            )
        return rows

    def _certify(self, rows, bounds, evaluations, exact, confidence):
        self.certificate_ = Certificate(len(rows), evaluations, exact != "probable", confidence, bounds.n_components)

    def _sync_bounds(self, rows, view):
        """Bounds of all positions, built at the first exact search and extended after further rows."""
        bounds, view.bounds = view.bounds, None  # put back when they are complete: interrupted, they are built again
        if bounds is None:
            alive = np.flatnonzero(~rows.snapshot.removed)
            sample = alive[:: max(1, -(-len(alive) // FIT_ROWS))]
            seed = self.random_state if isinstance(self.random_state, Integral) else 0
            bounds = Bounds(self._measure, n_landmarks=self.n_landmarks, random_state=seed, n_jobs=self.n_jobs)
            bounds.fit(rows.take(sample))
        n = rows.snapshot.n_positions
        if bounds.n_rows < n:
            first = bounds.drop_last_partial()
            for start in range(first, n, CHUNK_ROWS):
                bounds.add(rows.take(np.arange(start, min(start + CHUNK_ROWS, n))))
        view.bounds = bounds
        return bounds

    def _measure_relaxed(self, rows, bounds):
        alive = np.flatnonzero(~rows.snapshot.removed)
        rng = np.random.default_rng(0)
        asked = rng.choice(alive, min(PROBED_ROWS, len(alive)), replace=False)
        base = np.sort(rng.choice(alive, min(PROBED_BASE, len(alive)), replace=False))
        left_rows, right_rows = rows.take(asked), rows.take(base)
        found = nearest_rows(self._measure, right_rows, left_rows, min(10, len(base)))
        left, places = np.nonzero(found.positions >= 0)
        right = found.positions[left, places]
        other = base[right] != asked[left]  # a row is no neighbour of itself
        return probable_share(bounds, self._measure, left_rows, right_rows, left[other], right[other], CONFIDENCE)

    def _may_be_found(self, allowed):
        alive = self._rows.alive
        if allowed is None or alive is None:
            return alive if allowed is None else allowed
        return allowed & alive
