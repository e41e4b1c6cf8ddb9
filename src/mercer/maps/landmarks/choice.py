"""Choosing landmarks: a few rows whose kernel functions represent all the others.

    rule           draws a row with probability proportional to                         order of the rows matters
    uniform        1, without replacement                                               no
    kmeans++       squared distance, in feature space, to the nearest landmark so far   yes
    rpcholesky     K(x, x) - |projection on the landmarks so far|^2, the residual       yes

Both adaptive rules change their probabilities after every landmark, which taken literally means one pass over all rows
per landmark. They are run in rounds instead ([epperly24embrace]): a block of rows is proposed from the current
probabilities p, then each proposal is accepted in turn with probability q / p, where q is its weight after those
accepted before it. The accepted rows have exactly the distribution of the one-at-a-time rule, and all rows are updated
once per round, by one kernel block and one matrix product.

Notation ([chen22randomly], [epperly24embrace])
    paper   code       meaning                                             shape
    A       K          Gram matrix of the candidates, never formed         (n, n)
    d       weights    diagonal of the residual, sampling weights          (n,)
    F       factor     K ~ F F', one column per landmark                   (n, M)
    S'      proposals  rows proposed in this round                         (PROPOSALS,)
    H       residual   K - F F' on the proposals                           (PROPOSALS, PROPOSALS)
Deviation from the papers: a residual below the rounding of K(x, x) counts as zero, so that a row that the landmarks
already reproduce is never drawn, and the search ends with fewer landmarks when nothing is left to represent.
"""

__all__ = ["LANDMARK_RULES", "check_rule", "choose_landmarks", "given_landmarks", "sample_rows"]

import logging
import warnings

import numpy as np
from scipy import linalg, sparse

from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.parameters import named
from mercer._base.parameters.maps import LANDMARKS
from mercer._base.threads import run_blocks, single_threaded, thread_limit
from mercer._base.validation import as_rows

PROPOSALS = 128  # rows proposed per round
ROW_BLOCK = 2048  # candidates updated per task
FACTOR_BYTES = 2**28  # largest factor: 32,768 candidates for 1,024 landmarks
# A residual below this share of K(x, x) is rounding: of the arithmetic (in float64), or of rows that are float32.
ROUNDING = {"f": 1e-9, "d": 32 * np.finfo(np.float64).eps}
NEGATIVE_SHARE = 1e-3  # a residual below minus this share of K(x, x) is not rounding
logger = logging.getLogger("mercer")
OF_LANDMARKS = named(LANDMARKS)


def choose_landmarks(
    kernel, X, landmarks, n_landmarks, *, random_state, max_candidates=None, n_jobs=None, who="choose_landmarks"
):
    """(rows, indices): the landmarks as rows like X, and their positions in X (None if the rows were given).

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or csr_array of shape (n, d)
        Validated rows.
    landmarks : str, array of integers or rows
        A rule of :data:`LANDMARK_RULES`, positions in X, or the landmarks themselves (array or sparse matrix).
    n_landmarks : int
        How many, for a rule. All rows are taken when there are no more than that.
    random_state : numpy.random.RandomState
    max_candidates : int or None
        The rule looks at no more than this many rows, a uniform sample. None means as many as keep the working array
        of randomly pivoted Cholesky at 256 MiB: 32,768 rows for 1,024 landmarks. Where these would be no more than the
        landmarks, which are then more than 5,792, the rule is "uniform".
    """
    if not check_rule(landmarks, who):
        return given_landmarks(kernel, X, landmarks, who)
    OF_LANDMARKS["n_landmarks"].check(n_landmarks, who)
    OF_LANDMARKS["max_candidates"].check(max_candidates, who)
    n = X.shape[0]
    if n_landmarks >= n:
        return X, np.arange(n)
    limit = max(max_candidates or FACTOR_BYTES // (8 * n_landmarks), n_landmarks)
    if max_candidates is None and limit == n_landmarks:
        landmarks = "uniform"  # a rule would have no candidates to choose among
    if landmarks != "uniform" and n > limit:
        candidates = sample_rows(n, limit, random_state)
        chosen = LANDMARK_RULES[landmarks](kernel, X[candidates], n_landmarks, random_state, n_jobs)
        indices = candidates[chosen]
    else:
        indices = LANDMARK_RULES[landmarks](kernel, X, n_landmarks, random_state, n_jobs)
    if len(indices) < n_landmarks:
        logger.info("%s: %d landmarks represent all rows; %d were requested.", who, len(indices), n_landmarks)
    return X[indices], indices


def check_rule(landmarks, who):
    """Whether the parameter names a rule (True) or is an array (False); raises for a name that is none."""
    if isinstance(landmarks, str) and landmarks not in LANDMARK_RULES:
        OF_LANDMARKS["landmarks"].refuse(landmarks, who)
    return isinstance(landmarks, str)


def given_landmarks(kernel, X, landmarks, who):
    """(rows, indices or None) of landmarks that the caller gave, by position in X or by value."""
    if not sparse.issparse(landmarks):
        landmarks = np.asarray(landmarks)
        if landmarks.ndim == 1 and landmarks.dtype.kind in "iu" and len(landmarks):
            wrong = landmarks[(landmarks < 0) | (landmarks >= X.shape[0])]
            if len(wrong):
                raise InputError(
                    f"{who} has {X.shape[0]} rows to choose landmarks from, but landmarks names {wrong[0]}."
                )
            return X[landmarks], landmarks.astype(np.int64)
        if landmarks.ndim != 2:
            raise InputError(
                f"{who} needs landmarks to be a rule, a 1-d array of row numbers or an array of rows; got an array of "
                f"shape {landmarks.shape} and type {landmarks.dtype}."
            )
    rows = as_rows(landmarks, who, "landmarks").astype(X.dtype, copy=False)
    if rows.shape[1] != X.shape[1]:
        raise InputError(f"{who} got landmarks of {rows.shape[1]} features for rows of {X.shape[1]} features.")
    kernel.check_values(rows, "landmarks")
    return rows, None


def sample_rows(n, size, random_state):
    """``size`` different row numbers below n, ascending."""
    return np.sort(random_state.permutation(n)[:size])


# ------------------------------------------------------------------------------------------------------- the rules


def _uniform(kernel, X, n_landmarks, random_state, n_jobs):
    return random_state.permutation(X.shape[0])[:n_landmarks]


def _kmeans_plus_plus(kernel, X, n_landmarks, random_state, n_jobs):
    """D^2 sampling ([arthur07kmeans]) with the distance sqrt(K(x, x) + K(y, y) - 2 K(x, y)) of feature space."""
    chosen = np.array([random_state.randint(X.shape[0])])
    weights = np.full(X.shape[0], np.inf)
    rounding = ROUNDING[X.dtype.char] * np.abs(kernel.diagonal(X))
    newest = chosen
    while True:
        _lower_distances(kernel, X, newest, weights, n_jobs)
        weights[weights <= rounding] = 0.0
        if len(chosen) == n_landmarks or not weights.any():
            return chosen
        proposals = _propose(weights, random_state)
        distances = kernel.squared_distances(X[proposals], X[proposals], n_jobs).astype(np.float64)
        np.fill_diagonal(distances, 0.0)
        newest = proposals[_accept_far(distances, weights[proposals], n_landmarks - len(chosen), random_state)]
        chosen = np.concatenate([chosen, newest])


def _lower_distances(kernel, X, newest, weights, n_jobs):
    """weights = min(weights, squared distances to the newest landmarks), in place"""
    right = X[newest]

    def update(rows):
        distances = kernel.squared_distances(X[rows], right, None).min(axis=1)
        np.minimum(weights[rows], distances, out=weights[rows])

    _over_rows(update, X.shape[0], n_jobs)
    weights[newest] = 0.0


def _accept_far(distances, before, at_most, random_state):
    """Positions of the accepted proposals: each with probability (squared distance now) / (squared distance before)."""
    now, accepted = before.copy(), []
    for i, threshold in enumerate(random_state.uniform(size=len(before)) * before):
        if threshold < now[i]:
            accepted.append(i)
            np.minimum(now, distances[i], out=now)
        if len(accepted) == at_most:
            break
    return accepted


def _rp_cholesky(kernel, X, n_landmarks, random_state, n_jobs):
    """Randomly pivoted Cholesky, the accelerated algorithm. [epperly24embrace]

    In float64 whatever the rows are: small pivots magnify rounding, and in float32 the residuals of SIFT rows with chi2
    were noise after some 900 landmarks.
    """
    diagonal = np.maximum(kernel.diagonal(X.astype(np.float64)), 0.0)
    weights, rounding = diagonal.copy(), ROUNDING[X.dtype.char] * diagonal
    enough = rounding.sum()
    factor = np.empty((X.shape[0], n_landmarks))
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < n_landmarks and weights.sum() > enough:
        k = len(chosen)
        proposals = _propose(weights, random_state)
        residual = _residual(kernel, X[proposals], factor[proposals, :k])
        # a proposal whose residual turns out to be rounding would be proposed again and again
        weights[proposals[np.diag(residual) <= rounding[proposals]]] = 0.0
        accepted, cholesky = _accept_pivots(residual, rounding[proposals], n_landmarks - k, random_state)
        if len(accepted):
            _extend_factor(kernel, X, factor, k, proposals[accepted], cholesky, weights, n_jobs)
            if np.any(weights < -NEGATIVE_SHARE * diagonal):
                _warn_negative(kernel)
            weights[weights <= rounding] = 0.0
            chosen = np.concatenate([chosen, proposals[accepted]])
    return chosen if len(chosen) else np.zeros(1, dtype=np.int64)


def _residual(kernel, rows, factor):
    """K - F F' on a few rows."""
    rows = rows.astype(np.float64)
    with single_threaded():
        return kernel.gram_block(rows, rows, None) - factor @ factor.T


def _accept_pivots(residual, rounding, at_most, random_state):
    """(accepted positions, Cholesky factor of the residual on them). [epperly24embrace]"""
    left = residual.copy()
    before = np.diag(residual).copy()
    columns, accepted = np.zeros((len(left), min(at_most, len(left)))), []
    for i, threshold in enumerate(random_state.uniform(size=len(before)) * before):
        pivot = left[i, i]
        if pivot > max(threshold, rounding[i]):
            column = left[:, i] / np.sqrt(pivot)
            left -= np.outer(column, column)
            columns[:, len(accepted)] = column
            accepted.append(i)
        if len(accepted) == columns.shape[1]:
            break
    return accepted, np.tril(columns[accepted, : len(accepted)])


def _extend_factor(kernel, X, factor, k, pivots, cholesky, weights, n_jobs):
    """F[:, k:k+t] = (K(X, pivots) - F F[pivots]') L'^-1 for t new pivots, and weights -= their squared rows."""
    right, known = X[pivots].astype(np.float64), factor[pivots, :k].T.copy()
    columns = slice(k, k + len(pivots))

    def update(rows):
        block = kernel.gram_block(X[rows], right, None)
        block -= factor[rows, :k] @ known
        new = linalg.solve_triangular(cholesky, block.T, lower=True, check_finite=False, overwrite_b=True).T
        factor[rows, columns] = new
        weights[rows] -= np.einsum("ij,ij->i", new, new)

    _over_rows(update, X.shape[0], n_jobs)
    weights[pivots] = 0.0


def _warn_negative(kernel):
    warnings.warn(
        f"{kernel!r} is not positive definite on this data: rows have a negative residual. They count as represented, "
        "and fewer landmarks than requested may be found.",
        ApproximationWarning,
        stacklevel=6,
    )


def _propose(weights, random_state):
    """Positions drawn with replacement, in proportion to the weights."""
    total = np.cumsum(weights)
    draws = random_state.uniform(size=PROPOSALS) * total[-1]
    # rounding may place a draw on or beyond the last step; the last row with a weight is then meant
    return np.minimum(np.searchsorted(total, draws, side="right"), np.flatnonzero(weights)[-1])


def _over_rows(update, n_rows, n_jobs):
    """Run ``update`` on fixed blocks of rows, with one BLAS thread in each, so that threads do not change the bits."""
    blocks = [slice(i, min(i + ROW_BLOCK, n_rows)) for i in range(0, n_rows, ROW_BLOCK)]
    with thread_limit(n_jobs), single_threaded():
        run_blocks(update, blocks)


# name -> function(kernel, X, n_landmarks, random_state, n_jobs) that returns positions in X
LANDMARK_RULES = {"uniform": _uniform, "kmeans++": _kmeans_plus_plus, "rpcholesky": _rp_cholesky}
