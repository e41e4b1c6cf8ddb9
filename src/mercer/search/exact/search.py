"""Exact search: rounds of bounded scans, final scores in between, and a certificate of what was looked at.

Rows are visited in rounds: a few blocks, then more. After each, the k-th best final score so far is the threshold of
the next. In each round a row is dropped as soon as a bound shows that it cannot reach the threshold; the rows that are
left get their final score. So the answer is that of brute force, whatever the order; only the cost depends on it.
"""

__all__ = ["Certificate", "search_bounded"]

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mercer._base.html.pieces import bars, facts
from mercer._base.progress import track
from mercer.search.exact.best import Best, joined

QUERIES_AT_ONCE = 128
SEED_STRIPS, SEED_CHUNKS = 64, 4  # of 32 rows, which are ranked by all components at first, for a first threshold
ROUNDS = (0, 1 / 16, 1)  # shares of every chunk that were looked at before and after each round
SEED_ROWS = 2  # rows per neighbor wanted that get their final score in each round but the last
LAST_ROWS = 8  # and at first when all rows were looked at


@dataclass(frozen=True)
class Certificate:
    """Certificate of an exact search: how many rows were compared, and whether the result is proven.

    Attributes
    ----------
    n_rows : int
        Rows that were searched.
    kernel_evaluations : ndarray of shape (n_queries,)
        Number of final scores computed for each query, at most one per row; brute force computes n_rows.
    exact : bool
        Whether the result is proven to equal that of brute force on the stored rows.
    confidence : float
        1.0 if proven; otherwise the share of neighbors that the relaxed bounds keep, measured with stored rows as
        queries.
    n_components : int
        Number of components in the bounds; 0 for lists, and if all of a few rows were compared.
    share_read : float or None
        For inverted lists: the share of the postings in the columns of the queries that was read.
    share_of_tails : float
        The share of the loss of the components that the bounds took into account: 1.0 if proven.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelIndex
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=100).astype(np.float32)
    >>> index = KernelIndex("chi2", code="flat", embedding="kpca", bytes_per_item=16, n_landmarks=16, random_state=0)
    >>> ids, similarity = index.fit(X).add(X).search(X[:2], k=3, exact=True)
    >>> index.certificate_.exact, index.certificate_.n_rows
    (True, 100)
    """

    n_rows: int
    kernel_evaluations: np.ndarray
    exact: bool
    confidence: float
    n_components: int
    share_read: float | None = None
    share_of_tails: float = 1.0

    def __str__(self):
        median, most = np.median(self.kernel_evaluations), self.kernel_evaluations.max()
        kind = "identical to brute force"
        if not self.exact:
            kind = f"probable, confidence {self.confidence:.4f} with {self.share_of_tails:.3f} of the tails"
        read = "" if self.share_read is None else f"; {self.share_read:.1%} of the postings read"
        return (
            f"{len(self.kernel_evaluations)} queries over {self.n_rows:,} rows, {kind}; kernel evaluations per query: "
            f"median {median:,.0f}, most {most:,.0f} ({median / max(1, self.n_rows):.4%} of the rows){read}."
        )

    def _repr_html_(self):
        evaluations = {name: take(self.kernel_evaluations) for name, take in (("median", np.median), ("most", np.max))}
        pairs = {
            "answer": "proven to be that of brute force" if self.exact else f"probable, {self.confidence:.4f}",
            "queries": f"{len(self.kernel_evaluations):,}",
            "rows": f"{self.n_rows:,}",
            **({} if self.share_read is None else {"postings read": f"{self.share_read:.1%}"}),
        }
        drawn = [(f"kernel values per query, {name}", number, f"{number:,.0f}") for name, number in evaluations.items()]
        drawn.append(("kernel values per query, brute force", self.n_rows, f"{self.n_rows:,}"))
        return facts("Certificate", pairs) + bars("Kernel values per query", drawn)


def search_bounded(bounds, measure, Q, k, take, keys_of, allowed=None, limits=None, share=1.0, first_of=None):
    """The k nearest rows, or all that reach a limit.

    Parameters
    ----------
    bounds : Bounds of all rows
    Q : validated queries
    k : int, or None with ``limits``
    take : positions -> stored rows
    keys_of : positions -> sort keys of equal scores
    allowed : bool (n_rows,) or None
    limits : objective that rows must reach, instead of k
    share : of the tails that count, see `Directions.aim`
    first_of : (queries, k) -> (queries, positions) of rows that are likely to be near, or None
        Their k-th best score is the first threshold.

    Returns
    -------
    (queries, positions, scores) with k None, else (positions, scores) of shape (n_queries, k); kernel evaluations
    """
    evaluations = np.zeros(Q.shape[0], dtype=np.int64)
    task = _Search(bounds, measure, take, keys_of, allowed, share)
    found = []
    for start in track(range(0, Q.shape[0], QUERIES_AT_ONCE), "exact search"):
        part = slice(start, min(start + QUERIES_AT_ONCE, Q.shape[0]))
        if k is None:
            found.append(task.within(Q[part], limits, evaluations[part], start))
        else:
            found.append(task.nearest(Q[part], k, evaluations[part], first_of))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True)), evaluations


class _Search:
    """Some queries at a time; ``evaluations`` counts the final scores of each."""

    def __init__(self, bounds, measure, take, keys_of, allowed, share):
        self.bounds, self.measure, self.allowed, self.share = bounds, measure, allowed, share
        self._take, self._keys_of = take, keys_of

    def nearest(self, Q, k, evaluations, first_of):
        bounds, aim = self.bounds, self.bounds.directions.aim(Q, self.share)
        best = Best(Q.shape[0], k, self._keys_of)
        scored, shares = self._start(aim, Q, k, best, evaluations, first_of)
        pool = [_without(scored, bounds.n_rows, *bounds.loose(aim, self.allowed))]
        for begin, end in pairwise(shares):
            found = bounds.candidates(aim, best.thresholds, _shares(begin, end), self.allowed)
            found = _without(scored, bounds.n_rows, *found)
            if end < 1:
                # those with the highest bounds raise the threshold; the others wait for what it will be in the end
                chosen = _highest(found[0], found[2], Q.shape[0], SEED_ROWS * k)
                self._score(Q, best, found[0][chosen], found[1][chosen], evaluations)
                found = tuple(column[~chosen] for column in found)
            pool.append(found)
        left, positions, reached = joined(pool)
        rest = reached >= bounds.limits(aim, best.thresholds)[left]
        left, positions, reached = left[rest], positions[rest], reached[rest]
        chosen = _highest(left, reached, Q.shape[0], LAST_ROWS * k)
        self._score(Q, best, left[chosen], positions[chosen], evaluations)
        rest = ~chosen & (reached >= bounds.limits(aim, best.thresholds)[left])
        self._score(Q, best, left[rest], positions[rest], evaluations)
        return best.positions, best.scores

    def _start(self, aim, Q, k, best, evaluations, first_of):
        """Score rows for a first threshold; (their pairs as sorted numbers, shares of chunks to look at in turn)."""
        scored, shares = np.empty(0, dtype=np.int64), ROUNDS
        if first_of is not None:
            left, positions = first_of(Q, k)
            self._score(Q, best, left, positions, evaluations)
            scored = np.sort(left * self.bounds.n_rows + positions)
            shares = (0, 1)  # the threshold is near its end: nothing is gained by looking at few rows first
        if not np.isfinite(best.thresholds).all():  # also where a store has found too few
            left, positions, _ = _without(scored, self.bounds.n_rows, *self._seeds(aim, Q, k))
            self._score(Q, best, left, positions, evaluations)
            scored = np.sort(np.concatenate([scored, left * self.bounds.n_rows + positions]))
            shares = ROUNDS
        return scored, shares

    def within(self, Q, limit, evaluations, first):
        aim = self.bounds.directions.aim(Q, self.share)
        objectives = np.full(Q.shape[0], limit)
        left, positions, reached = self.bounds.loose(aim, self.allowed)
        kept = reached >= self.bounds.limits(aim, objectives)[left]
        found = self.bounds.candidates(aim, objectives, _shares(0, 1), self.allowed)
        left, positions = (np.concatenate(pair) for pair in ((left[kept], found[0]), (positions[kept], found[1])))
        evaluations += np.bincount(left, minlength=Q.shape[0])
        scores = self._final_scores(Q, left, positions)
        kept = scores >= limit
        left, positions, scores = left[kept], positions[kept], scores[kept]
        order = np.lexsort((self._keys_of(positions), -scores, left))
        return left[order] + first, positions[order], scores[order]

    def _seeds(self, aim, Q, k):
        """For each query the rows with the highest bounds among a few of every chunk."""
        nothing, chunks = np.full(Q.shape[0], -np.inf), self.bounds.chunks
        chosen = {chunk.first for chunk in chunks[:: -(-len(chunks) // SEED_CHUNKS)]}

        def part(chunk):
            return (0, min(chunk.n_strips, SEED_STRIPS // len(chosen))) if chunk.first in chosen else (0, 0)

        found = self.bounds.candidates(aim, nothing, part, self.allowed)
        chosen = _highest(found[0], found[2], Q.shape[0], SEED_ROWS * k)
        return tuple(column[chosen] for column in found)

    def _score(self, Q, best, left, positions, evaluations):
        if len(left):
            evaluations += np.bincount(left, minlength=Q.shape[0])
            best.merge(left, positions, self._final_scores(Q, left, positions))

    def _final_scores(self, Q, left, positions):
        if Q.shape[0] == 1:
            return self.measure.scores_of_one(Q, self._take(positions))
        rows, where = np.unique(positions, return_inverse=True)
        return self.measure.scores(Q, self._take(rows), left, where)


def _shares(begin, end):
    """From a chunk to the first and the last of the strips between two shares of them."""
    return lambda chunk: (int(begin * chunk.n_strips), int(end * chunk.n_strips))


def _without(scored, n_rows, left, positions, reached):
    """The candidates without those that were scored at first: they would be counted, and computed, twice."""
    if not len(scored):
        return left, positions, reached
    pairs = left * n_rows + positions
    new = scored[np.minimum(np.searchsorted(scored, pairs), len(scored) - 1)] != pairs
    return left[new], positions[new], reached[new]


def _highest(left, reached, n_queries, n):
    """Flags of the n pairs of each query with the highest bounds."""
    order = np.argsort(left.astype(np.uint8), kind="stable")  # QUERIES_AT_ONCE fit in a byte: linear time
    starts = np.searchsorted(left[order], np.arange(n_queries + 1))
    flags = np.ones(len(left), dtype=bool)
    for i in np.flatnonzero(np.diff(starts) > n):
        pairs = order[starts[i] : starts[i + 1]]
        flags[pairs[np.argpartition(-reached[pairs], n - 1)[n:]]] = False
    return flags
