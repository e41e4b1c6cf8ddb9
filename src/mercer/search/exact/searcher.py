"""The exact search of an index: which rows can be searched so, with which bounds, and what certifies the answer."""

__all__ = ["ExactSearch", "check_searchable"]

from threading import Lock

import numpy as np

from mercer._base.errors import InputError
from mercer.search.exact.bounds import CHUNK_ROWS, Bounds
from mercer.search.exact.oracle import nearest_rows
from mercer.search.exact.search import Certificate, probable_share, search_bounded

EXACT = (False, True, "stored", "probable")
CONFIDENCE = 0.999  # wanted of relaxed bounds
BRUTE_FORCE_ROWS = 2**14  # so few rows are all looked at, unless there are bounds already
FIT_ROWS = 2**16  # rows that the directions of the bounds are found from
PROBED_ROWS, PROBED_BASE = 256, 2**15  # rows that the relaxed bounds are measured on

_BUILDING = Lock()  # threads may search one index together: the first of them builds its bounds, the others wait


class ExactSearch:
    """Searches among the kept rows of an index, with a certificate.

    Parameters
    ----------
    rows : Collection
    exact : {True, "stored", "probable"}
        What is to be proven: see `KernelIndex.search`.
    n_landmarks, seed, n_jobs : of the bounds, if they are still to be built
    """

    def __init__(self, rows, exact, n_landmarks, seed, n_jobs):
        check_searchable(rows, exact)
        self.rows, self.exact, self.measure = rows, exact, rows.measure
        self._bounds_of = {"n_landmarks": n_landmarks, "random_state": seed, "n_jobs": n_jobs}

    def nearest(self, Q, k, allowed):
        """((positions, scores) of the k nearest rows of validated queries, certificate)."""
        rows = self.rows
        if len(rows) <= BRUTE_FORCE_ROWS and self.exact != "probable" and rows.view.bounds is None:
            return self._look_at_all(Q, k, allowed)
        return self._search_bounded(Q, k, allowed)

    def within(self, Q, limit, allowed):
        """((queries, positions, scores) of all rows whose objective reaches a limit, certificate)."""
        return self._search_bounded(Q, None, allowed, limit)

    def _look_at_all(self, Q, k, allowed):
        """Brute force: for few rows it takes less time than building bounds."""
        rows, may = self.rows, self.rows.may_be_found(allowed)
        positions = np.arange(rows.snapshot.n_positions) if may is None else np.flatnonzero(may)
        found = nearest_rows(self.measure, rows.take(positions), Q, k, lambda places: rows.ids.keys(positions[places]))
        evaluations = np.full(Q.shape[0], len(positions), dtype=np.int64)
        there = found.positions >= 0
        found.positions[there] = positions[found.positions[there]]
        return (found.positions, found.scores), Certificate(len(rows), evaluations, True, 1.0, 0)

    def _search_bounded(self, Q, k, allowed, limit=None):
        rows = self.rows
        bounds, share, confidence = self._bounds()
        found, evaluations = search_bounded(
            bounds, self.measure, Q, k, rows.take, rows.ids.keys, self.rows.may_be_found(allowed), limit, share
        )
        proven = self.exact != "probable"
        return found, Certificate(len(rows), evaluations, proven, confidence, bounds.n_components)

    def _bounds(self):
        """(bounds of all rows, share of them that is used, confidence)."""
        with _BUILDING:
            view = self.rows.view
            bounds = self._complete_bounds(view)
            if self.exact != "probable":
                return bounds, 1.0, 1.0
            if view.relaxed is None:
                view.relaxed = self._measure_relaxed(bounds)
            return bounds, *view.relaxed

    def _complete_bounds(self, view):
        """Bounds of all positions, built at the first exact search and extended after further rows."""
        rows = self.rows
        bounds, view.bounds = view.bounds, None  # put back when they are complete: interrupted, they are built again
        if bounds is None:
            alive = rows.alive
            sample = alive[:: max(1, -(-len(alive) // FIT_ROWS))]
            bounds = Bounds(self.measure, **self._bounds_of).fit(rows.take(sample))
        n = rows.snapshot.n_positions
        if bounds.n_rows < n:
            first = bounds.drop_last_partial()
            for start in range(first, n, CHUNK_ROWS):
                bounds.add(rows.take(np.arange(start, min(start + CHUNK_ROWS, n))))
        view.bounds = bounds
        return bounds

    def _measure_relaxed(self, bounds):
        rows, alive = self.rows, self.rows.alive
        rng = np.random.default_rng(0)
        asked = rng.choice(alive, min(PROBED_ROWS, len(alive)), replace=False)
        base = np.sort(rng.choice(alive, min(PROBED_BASE, len(alive)), replace=False))
        left_rows, right_rows = rows.take(asked), rows.take(base)
        found = nearest_rows(self.measure, right_rows, left_rows, min(10, len(base)))
        left, places = np.nonzero(found.positions >= 0)
        right = found.positions[left, places]
        other = base[right] != asked[left]  # a row is no neighbour of itself
        return probable_share(bounds, self.measure, left_rows, right_rows, left[other], right[other], CONFIDENCE)


def check_searchable(rows, exact):
    """Refuse what an exact search cannot promise of the rows as they are kept."""
    if exact not in EXACT:
        raise InputError(f"KernelIndex takes exact from {', '.join(map(repr, EXACT))}, got {exact!r:.80}.")
    rows.check_kept("An exact search")
    if exact is True and rows.rounded:
        raise InputError(
            f"An exact search needs rows as they were given, but this index keeps {rows.rounded} of them rounded "
            f"(vectors={rows.vectors.name!r}). Use vectors='float32' and float32 rows, or exact='stored' for an "
            "answer that is exact on the rows as they are kept."
        )
