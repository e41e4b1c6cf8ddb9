"""Bounds that hold for most neighbors and not for all. [bourrier15explicit] (28)

Cauchy-Schwarz bounds the product of what the components lose of a query and of a row by R(q) R(x), as if both pointed
the same way. Where components say little, as for bags of words, that excludes next to nothing, though nearly all pairs
are far from parallel. So only a share beta of R(q) R(x) is counted. A neighbor x of q, whose value reaches that of the
k-th nearest, T, is still found if at every level

    K~(q, x) + beta R(q) R(x) >= T,   that is   beta >= (T - K~(q, x)) / (R(q) R(x)) = the need of the pair.

The needs are measured on stored rows as queries, but not on landmarks. Deviation from the paper: it bounds the cosine
of the pair itself, (K - K~) / (R R), which is the need of the k-th neighbor only; those before it need less.
"""

__all__ = ["measure_needs", "share_for"]

import numpy as np
from scipy import sparse

from mercer.search.exact.oracle import nearest_rows
from mercer.search.model.measure import as_double

PROBED_ROWS, PROBED_BASE = 384, 2**16  # stored rows that are asked, and rows among which
ERRORS = 2.33  # standard errors by which the measured share of neighbors must be above the one that is wanted
LEAST_PROBES = 32  # that have a neighbor; with fewer, whole bounds are used
RANGE_ROWS = 128  # nearest rows that tell the needs of a range


def measure_needs(rows, measure, directions, k, limit=None):
    """The needs of the neighbors of stored rows, (probes, neighbors); NaN where there is no neighbor.

    Parameters
    ----------
    rows : Collection
    measure : Measure
    directions : Directions
    k : int, or None with ``limit``
    limit : objective that a neighbor has, instead of being among the k nearest
    """
    rng, alive = np.random.default_rng(0), rows.alive
    asked = rng.choice(alive, min(2 * PROBED_ROWS, len(alive)), replace=False)
    asked = asked[~_are_landmarks(directions, rows.take(asked))][:PROBED_ROWS]
    if not len(asked):
        return np.empty((0, 1))
    base = np.sort(rng.choice(alive, min(PROBED_BASE, len(alive)), replace=False))
    Q, X = rows.take(asked), rows.take(base)
    count = min((k or RANGE_ROWS) + 1, len(base))
    found = nearest_rows(measure, X, Q, count)
    places = found.positions
    there = (places >= 0) & (base[places] != asked[:, None])  # a row is no neighbor of itself
    if limit is None:
        there &= np.cumsum(there, axis=1) <= k
        limits = np.where(there, found.scores, np.inf).min(axis=1)
    else:
        there &= found.scores >= limit
        limits = np.full(len(asked), limit)
    needs = np.full(places.shape, np.nan)
    left, ranks = np.nonzero(there)
    needs[left, ranks] = _needs(measure, directions, Q, X, left, places[left, ranks], limits[left])
    return needs


def _are_landmarks(directions, X):
    """Whether rows are landmarks of the directions, which lose less of these than of any query to come."""
    known = set(_keys(directions.pca.landmarks_))
    return np.array([key in known for key in _keys(X)], dtype=bool)


def _keys(X):
    """Bytes that tell rows apart."""
    X = as_double(X)
    if not sparse.issparse(X):
        return [row.tobytes() for row in X]
    ends = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    return [X.indices[begin:end].astype(np.int64).tobytes() + X.data[begin:end].tobytes() for begin, end in ends]


def _needs(measure, directions, Q, X, left, right, objectives):
    """The need of each pair, at the level where it is largest."""
    used, where = np.unique(right, return_inverse=True)
    (v, q_norms, q_tails), (u, x_norms, x_tails) = directions.projected(Q), directions.projected(X[used])
    norms = q_norms[left] * x_norms[where]
    if measure.is_distance:
        objectives = (objectives + q_norms[left] ** 2 + x_norms[where] ** 2) / 2
    wanted = np.divide(objectives, norms, out=np.zeros_like(norms), where=norms > 0)
    sums = np.cumsum(v[left] * u[where], axis=1)[:, [end - 1 for end in directions.ends]].T
    tails = q_tails[:, left] * x_tails[:, where]
    return ((wanted - sums) / tails).max(axis=0)


def share_for(needs, confidence):
    """(beta, the share of neighbors that it keeps, measured): the smallest that is as good as wanted, with some room.

    Queries count alike, and the mean of their shares must be above the confidence by `ERRORS` standard errors.
    """
    known = needs[~np.isnan(needs).all(axis=1)]
    if len(known) < LEAST_PROBES:
        return 1.0, 1.0
    counts = np.count_nonzero(~np.isnan(known), axis=1)

    def shares(beta):
        return np.count_nonzero(known <= beta, axis=1) / counts

    candidates = np.unique(known[~np.isnan(known)])
    low, high = 0, len(candidates) - 1
    while low < high:  # the mean rises with beta, and what is subtracted from it falls where it is near 1
        middle = (low + high) // 2
        found = shares(candidates[middle])
        enough = found.mean() - ERRORS * found.std() / np.sqrt(len(found)) >= confidence
        low, high = (low, middle) if enough else (middle + 1, high)
    beta = float(np.clip(candidates[low], 0.0, 1.0))
    return beta, float(shares(max(beta, candidates[low])).mean())
