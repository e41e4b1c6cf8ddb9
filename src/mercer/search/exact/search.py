"""Exact search: rounds of bounded scans, final scores in between, and a certificate of what was looked at.

Rows are visited in rounds: a few blocks, then more. After each, the k-th best final score so far is the threshold of
the next. In each round a row is dropped as soon as a bound shows that it cannot reach the threshold; the rows that are
left get their final score. So the answer is that of brute force, whatever the order; only the cost depends on it.
"""

__all__ = ["Certificate", "probable_share", "search_bounded"]

from dataclasses import dataclass

import numpy as np

from mercer._base.progress import track
from mercer.search.exact.best import Best

QUERIES_AT_ONCE = 128
SEED_CHUNKS, SEED_CHUNK_ROWS = 16, 512  # rows that are ranked by all components at first, for a first threshold
ROUNDS = (slice(0, 1024), slice(1024, 4096), slice(4096, None))  # rows of every chunk: a 16th of all, a quarter, all
SEED_ROWS = 2  # rows per neighbour wanted that get their final score at first


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


def search_bounded(bounds, measure, Q, k, take, keys_of, allowed=None, limits=None, share=1.0):
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
    share : of the bounds, see `Bounds.candidates`

    Returns
    -------
    (queries, positions, scores) with k None, else (positions, scores) of shape (n_queries, k); kernel evaluations
    """
    evaluations = np.zeros(Q.shape[0], dtype=np.int64)
    parts = [slice(i, min(i + QUERIES_AT_ONCE, Q.shape[0])) for i in range(0, Q.shape[0], QUERIES_AT_ONCE)]
    search = _nearest if k is not None else _within
    wanted = k if k is not None else limits
    found = [
        search(bounds, measure, Q[part], wanted, take, keys_of, allowed, share, evaluations[part], part.start)
        for part in track(parts, "exact search")
    ]
    return tuple(np.concatenate(column) for column in zip(*found, strict=True)), evaluations


def _nearest(bounds, measure, Q, k, take, keys_of, allowed, share, evaluations, first):
    queries = bounds.project_queries(Q)
    best = Best(Q.shape[0], k, keys_of)
    seeds = bounds.best_approximate(queries, SEED_CHUNKS, SEED_CHUNK_ROWS, SEED_ROWS * k, allowed)
    _score(measure, Q, take, best, *seeds, evaluations)
    scored = np.sort(seeds[0] * bounds.n_rows + seeds[1])
    for rows in ROUNDS:
        limits = _thresholds(bounds, measure, queries, best.thresholds)
        found = bounds.candidates(queries, limits, rows, allowed, share)
        left, positions, reached = _without(scored, bounds.n_rows, *found)
        # those with the highest bounds first: they raise the threshold, which spares many of the others
        chosen = _highest(left, reached, Q.shape[0], SEED_ROWS * k)
        _score(measure, Q, take, best, left[chosen], positions[chosen], evaluations)
        rest = ~chosen & (reached >= _thresholds(bounds, measure, queries, best.thresholds)[left])
        _score(measure, Q, take, best, left[rest], positions[rest], evaluations)
    return best.positions, best.scores


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


def _within(bounds, measure, Q, limit, take, keys_of, allowed, share, evaluations, first):
    queries = bounds.project_queries(Q)
    thresholds = _thresholds(bounds, measure, queries, np.full(Q.shape[0], limit))
    left, positions, _ = bounds.candidates(queries, thresholds, slice(None), allowed, share)
    evaluations += np.bincount(left, minlength=Q.shape[0])
    scores = _final_scores(measure, Q, take, left, positions)
    kept = scores >= limit
    left, positions, scores = left[kept], positions[kept], scores[kept]
    order = np.lexsort((keys_of(positions), -scores, left))
    return left[order] + first, positions[order], scores[order]


def _thresholds(bounds, measure, queries, objectives):
    """What score + product of tails + offset must reach, for an objective."""
    energy = queries[3]
    if measure.is_distance:  # objective = 2 (K - K(x, x) / 2) - K(q, q)
        objectives = (objectives + energy) / 2
    return objectives - bounds.margins(energy, bounds.highest_energy)


def _score(measure, Q, take, best, left, positions, evaluations):
    evaluations += np.bincount(left, minlength=Q.shape[0])
    best.merge(left, positions, _final_scores(measure, Q, take, left, positions))


def _final_scores(measure, Q, take, left, positions):
    rows, where = np.unique(positions, return_inverse=True)
    return measure.scores(Q, take(rows), left, where)


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
