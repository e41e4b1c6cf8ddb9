"""Exact search: rounds of bounded scans, final scores in between, and a certificate of what was looked at.

Rows are visited in rounds: a few blocks, then more. After each, the k-th best final score so far is the threshold of
the next. In each round a row is dropped as soon as a bound shows that it cannot reach the threshold; the rows that are
left get their final score. So the answer is that of brute force, whatever the order; only the cost depends on it.
"""

__all__ = ["Certificate", "probable_share", "search_bounded"]

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mercer._base.progress import track
from mercer.search.exact.best import Best, joined

QUERIES_AT_ONCE = 128
SEED_STRIPS, SEED_CHUNKS = 256, 4  # of 32 rows, which are ranked by all components at first, for a first threshold
ROUNDS = (0, 1 / 16, 1 / 4, 1)  # shares of every chunk that were looked at before and after each round
SEED_ROWS = 2  # rows per neighbor wanted that get their final score in each round
LAST_ROWS = 8  # and at first when all rows were looked at


@dataclass(frozen=True)
class Certificate:
    """What an exact search did.

    Attributes
    ----------
    n_rows : int
        Rows that were searched.
    kernel_evaluations : ndarray of shape (n_queries,)
        Final scores computed for each query, of every row once at most; brute force computes n_rows.
    exact : bool
        Whether the answer is proven to be that of brute force on the stored rows.
    confidence : float
        1.0 if proven; else the share of neighbours that the relaxed bounds keep, measured on held-out rows.
    n_components : int
        Components that the bounds were made of; 0 where all rows were looked at because there are few, and of lists.
    share_read : float or None
        Of inverted lists: the share that was read of the postings in the columns of the queries.

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

    def __str__(self):
        median, most = np.median(self.kernel_evaluations), self.kernel_evaluations.max()
        kind = "identical to brute force" if self.exact else f"probable, confidence {self.confidence:.4f}"
        read = "" if self.share_read is None else f"; {self.share_read:.1%} of the postings read"
        return (
            f"{len(self.kernel_evaluations)} queries over {self.n_rows:,} rows, {kind}; kernel evaluations per query: "
            f"median {median:,.0f}, most {most:,.0f} ({median / max(1, self.n_rows):.4%} of the rows){read}."
        )


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
        left, positions = self._seeds(aim, Q, k) if first_of is None else first_of(Q, k)
        self._score(Q, best, left, positions, evaluations)
        scored = np.sort(left * bounds.n_rows + positions)
        # with candidates of a store the threshold is near its end, and nothing is gained by looking at few rows first
        shares = ROUNDS if first_of is None else (0, 1)
        pool = []
        for begin, end in pairwise(shares):
            found = bounds.candidates(aim, best.thresholds, _shares(begin, end), self.allowed)
            # those with the highest bounds raise the threshold; the others wait for what it will be in the end
            found = _without(scored, bounds.n_rows, *found)
            chosen = _highest(found[0], found[2], Q.shape[0], SEED_ROWS * k)
            self._score(Q, best, found[0][chosen], found[1][chosen], evaluations)
            pool.append(tuple(column[~chosen] for column in found))
        left, positions, reached = joined(pool)
        rest = reached >= bounds.limits(aim, best.thresholds)[left]
        left, positions, reached = left[rest], positions[rest], reached[rest]
        chosen = _highest(left, reached, Q.shape[0], LAST_ROWS * k)
        self._score(Q, best, left[chosen], positions[chosen], evaluations)
        rest = ~chosen & (reached >= bounds.limits(aim, best.thresholds)[left])
        self._score(Q, best, left[rest], positions[rest], evaluations)
        return best.positions, best.scores

    def within(self, Q, limit, evaluations, first):
        aim = self.bounds.directions.aim(Q, self.share)
        left, positions, _ = self.bounds.candidates(aim, np.full(Q.shape[0], limit), _shares(0, 1), self.allowed)
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

        left, positions, reached = self.bounds.candidates(aim, nothing, part, self.allowed)
        chosen = _highest(left, reached, Q.shape[0], SEED_ROWS * k)
        return left[chosen], positions[chosen]

    def _score(self, Q, best, left, positions, evaluations):
        if len(left):
            evaluations += np.bincount(left, minlength=Q.shape[0])
            best.merge(left, positions, self._final_scores(Q, left, positions))

    def _final_scores(self, Q, left, positions):
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


def probable_share(bounds, measure, rows, neighbours, left, right, confidence):
    """The beta of [bourrier15explicit] (28): bounds beta R(q) R(x) hold for the wanted share of neighbours.

    Parameters
    ----------
    rows, neighbours : validated rows and rows that are near to them
    left, right : the pairs that are neighbours
    confidence : share of the pairs for which the relaxed bounds hold at every level

    Returns
    -------
    (beta, share of the pairs, measured, for which it holds)
    """
    tightest = np.maximum.reduce(bounds.shares_of_tails(measure, rows, neighbours, left, right))
    beta = float(np.clip(np.quantile(tightest, confidence, method="higher"), 0.0, 1.0))
    return beta, float(np.mean(tightest <= beta))
