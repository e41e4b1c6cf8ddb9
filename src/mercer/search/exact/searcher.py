"""The exact search of an index: which rows can be searched so, with which bounds, and what certifies the answer."""

__all__ = ["ExactSearch", "check_searchable"]

from threading import Lock

import numpy as np

from mercer._base.errors import InputError
from mercer._base.parameters.search import CONFIDENCE
from mercer.search.exact.oracle import nearest_rows
from mercer.search.exact.relaxed import measure_needs, share_for
from mercer.search.exact.search import Certificate, search_bounded

EXACT = (False, True, "stored", "probable")
CANDIDATES = 2  # rows per neighbor wanted that a store is asked for, for a first threshold
KEPT_NEEDS = 8  # numbers of neighbors whose needs are remembered
BRUTE_FORCE_ROWS = 2**14  # so few rows are all looked at, unless there are bounds already

_BUILDING = Lock()  # threads may search one index together: the first of them measures needs, the others wait


class ExactSearch:
    """Searches among the kept rows of an index, with a certificate.

    Parameters
    ----------
    rows : Collection
    exact : {True, "stored", "probable"}
        What is to be proven: see `KernelIndex.search`.
    n_landmarks, seed : of the bounds, if they are still to be built
    confidence : float
        Share of the neighbors that ``"probable"`` is to find.
    """

    def __init__(self, rows, exact, n_landmarks, seed, confidence):
        check_searchable(rows, exact)
        CONFIDENCE.check(confidence, "KernelIndex")
        self.rows, self.exact, self.measure = rows, exact, rows.measure
        self.confidence = float(confidence)
        self._projection = {"n_landmarks": n_landmarks, "random_state": seed}

    def nearest(self, Q, k, allowed):
        """((positions, scores) of the k nearest rows of validated queries, certificate)."""
        rows = self.rows
        if len(rows) <= BRUTE_FORCE_ROWS and self.exact != "probable" and rows.derived.known.bounds is None:
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
        rows, bounds = self.rows, self.rows.derived.bounds(self._projection)
        proven = self.exact != "probable"
        share, confidence = (1.0, 1.0) if proven else self._relaxed(bounds, k, limit)
        found, evaluations = search_bounded(
            bounds, self.measure, Q, k, rows.take, rows.ids.keys, rows.may_be_found(allowed), limit, share,
            self._first_of(allowed),
        )  # fmt: skip
        made_of = bounds.n_components
        return found, Certificate(len(rows), evaluations, proven, confidence, made_of, share_of_tails=share)

    def _first_of(self, allowed):
        """Where the store of the index finds candidates in less time than bounds do: their function, else None."""
        rows = self.rows
        if not rows.derived.finds_quickly:
            return None

        def first_of(Q, k):
            Z = rows.model.embed_queries(Q)
            positions, _ = rows.derived.store.search(Z, min(CANDIDATES * k, len(rows)), allowed)
            queries, places = np.nonzero(positions >= 0)
            return queries, positions[queries, places].astype(np.int64)

        return first_of

    def _relaxed(self, bounds, k, limit):
        """(share of the tails that counts, share of the neighbors that are found then)."""
        with _BUILDING:
            needs, wanted = self.rows.derived.known.needs, (k, limit)
            if wanted not in needs:
                found = measure_needs(self.rows, self.measure, bounds.directions, k, limit)
                needs = dict([*needs.items(), (wanted, found)][-KEPT_NEEDS:])
                self.rows.derived.known.needs = needs
        return share_for(needs[wanted], self.confidence)


def check_searchable(rows, exact):
    """Refuse what an exact search cannot promise of the rows as they are kept."""
    if exact not in EXACT:
        raise InputError(f"KernelIndex needs exact to be one of {', '.join(map(repr, EXACT))}, got {exact!r:.80}.")
    rows.check_kept("An exact search")
    if exact is True and _has_rounded(rows) and rows.rounded:
        raise InputError(
            f"An exact search needs the original rows, but this index stores {rows.rounded} of them rounded "
            f"(vectors={rows.vectors.name!r}). Use vectors='float32' and float32 rows, or exact='stored' for a search "
            "that is exact on the stored rows."
        )


def _has_rounded(rows):
    """Whether a row is kept rounded, or one that was removed is: counting those that were not takes a millisecond."""
    return any(segment.arrays["flags"].max(initial=0) > 1 for segment in rows.snapshot.segments)
