"""Exact nearest neighbours by looking at every row: the oracle that everything else is measured against."""

__all__ = ["exact_knn"]

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import run_blocks, thread_limit
from mercer._base.validation import as_rows, check_same_width
from mercer.kernels import get_kernel
from mercer.kernels._additive import HistogramKernel
from mercer.kernels._compose import NormalizedKernel
from mercer.kernels._exponential import RBF
from mercer.search._best import Best
from mercer.search._measure import MEASURES, Measure, as_double

QUERIES_AT_ONCE = 128
BLOCK_ROWS = 4096  # rows per task
ROUND_ROWS = 2**18  # rows between two looks at the scores
DOUBLE_ROUNDING = 1e-9  # of a block in float64, as a share of the energies: cancellation in a distance included


def exact_knn(kernel, X, Q, k=10, *, normalize=True, measure="similarity", n_jobs=None):
    """The k nearest rows of X for each row of Q under a kernel, by comparing all of them.

    Parameters
    ----------
    kernel : str or Kernel
    X, Q : array-like or sparse matrix, shape (n, d) and (m, d)
    k : int, at most n
    normalize : bool
        Compare by K(x, q) / sqrt(K(x, x) K(q, q)).
    measure : {"similarity", "distance"}
    n_jobs : int or None

    Returns
    -------
    indices : int64 (m, k), nearest first; equal scores in the order of X
    values : float64 (m, k), similarities or distances

    Notes
    -----
    Blocks of kernel values are computed in the precision of the rows (histogram kernels) or in float64; rows that
    could be among the best within their rounding are scored again, in float64 and in a fixed order of summation. So
    the answer does not depend on how the work was cut.

    Examples
    --------
    >>> from mercer.search import exact_knn
    >>> indices, similarity = exact_knn("intersection", [[1.0, 0], [0.5, 0.5]], [[0.8, 0.2]], k=2)
    >>> indices.tolist(), similarity.round(6).tolist()
    ([[0, 1]], [[0.8, 0.7]])
    """
    if measure not in MEASURES:
        raise InputError(f"exact_knn measures {' or '.join(map(repr, MEASURES))}, got measure={measure!r}.")
    kernel = get_kernel(kernel)
    X, Q = _checked(kernel, X, Q)
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 1 <= k <= X.shape[0]:
        raise InputError(f"exact_knn needs 1 <= k <= {X.shape[0]}, the number of rows of X, got k={k!r}.")
    with thread_limit(n_jobs):
        found = nearest_rows(Measure(kernel, normalize, measure), X, Q, int(k))
    return found.positions, Measure(kernel, normalize, measure).reported(found.scores)


def _checked(kernel, X, Q):
    """Validated rows and queries, both dense or both sparse."""
    X, Q = as_rows(X, "exact_knn", "X"), as_rows(Q, "exact_knn", "Q")
    check_same_width(X, Q, "exact_knn")
    kernel._check_values(X, "X")
    kernel._check_values(Q, "Q")
    if sparse.issparse(X) != sparse.issparse(Q):
        Q = sparse.csr_array(Q) if sparse.issparse(X) else Q.toarray()
    return X, Q


def nearest_rows(measure, X, Q, k, keys_of=lambda positions: positions):
    """`Best` of validated rows: see `exact_knn`."""
    best = Best(Q.shape[0], k, keys_of)
    rows, offsets, blocks = _rows_of_blocks(measure, X)
    parts = [slice(i, i + QUERIES_AT_ONCE) for i in range(0, Q.shape[0], QUERIES_AT_ONCE)]
    for part in track(parts, "exact search"):
        _search_part(measure, X, rows, offsets, blocks, Q[part], k, best, part)
    return best


def _rows_of_blocks(measure, X):
    """(rows in the precision of blocks, what is added to K for the objective / 2, blocks of rows)."""
    single = X.dtype == np.float32 and _is_histogram(measure.kernel)
    rows = X if single else as_double(X)
    offsets = -measure.energy(rows) / 2 if measure.is_distance else None
    return rows, offsets, [slice(i, min(i + BLOCK_ROWS, X.shape[0])) for i in range(0, X.shape[0], BLOCK_ROWS)]


def _search_part(measure, X, rows, offsets, blocks, Q, k, best, part):
    queries = Q.astype(rows.dtype)
    kernel = measure.kernel
    margins = _rounding(measure, queries, rows)
    partial = Best(Q.shape[0], k, best._keys_of)
    floor = np.full(Q.shape[0], -np.inf)  # the k-th best of the blocks so far, as blocks see it
    per_round = max(1, ROUND_ROWS // BLOCK_ROWS)
    for first in range(0, len(blocks), per_round):

        def scan(block, floor=floor):
            values = kernel._gram(queries, rows[block], 1)
            if offsets is not None:
                values = values + offsets[block]
            return _near_best(values, k, floor, margins, block.start)

        found = run_blocks(scan, blocks[first : first + per_round])
        left, positions, approximate = (np.concatenate(column) for column in zip(*found, strict=True))
        floor = np.maximum(floor, _kth_best(left, approximate, Q.shape[0], k))
        kept = approximate >= (floor - 2 * margins)[left]
        left, positions = left[kept], positions[kept]
        partial.merge(left, positions, measure.scores(Q, X, left, positions))
    best.positions[part], best.scores[part] = partial.positions, partial.scores


def _near_best(values, k, floor, margins, first):
    """(query, position, value) of the entries that reach the k-th best of their row, and the floor, within margins."""
    if values.shape[1] > k:
        kth = np.partition(values, values.shape[1] - k, axis=1)[:, values.shape[1] - k]
        floor = np.maximum(floor, kth)
    queries, columns = np.nonzero(values >= (floor - 2 * margins)[:, None])
    return queries, columns + first, values[queries, columns].astype(np.float64)


def _kth_best(queries, values, n_queries, k):
    order = np.lexsort((-values, queries))
    starts = np.searchsorted(queries[order], np.arange(n_queries + 1))
    out = np.full(n_queries, -np.inf)
    enough = np.diff(starts) >= k
    out[enough] = values[order][starts[:-1][enough] + k - 1]
    return out


def _is_histogram(kernel):
    inner = kernel.kernel if isinstance(kernel, NormalizedKernel) else kernel
    return isinstance(inner, HistogramKernel)


def _rounding(measure, Q, X):
    """Bounds on the rounding of a block of kernel values, per query.

    Sums of n terms of one sign err by at most n units of the last place of the sum, and the sum is at most
    sqrt(K(q, q) K(x, x)); scaling rows adds a few more.
    """
    highest = np.abs(measure.energy(X)).max(initial=0.0)  # a function of the caller's may have negative ones
    energy = np.sqrt(np.abs(measure.energy(Q)) * highest)
    if X.dtype == np.float64:
        return np.maximum(DOUBLE_ROUNDING * np.maximum(energy, highest), _cancelled(measure.kernel, Q, X))
    terms = np.diff(Q.indptr) if sparse.issparse(Q) else np.count_nonzero(Q, axis=1)
    return (terms + 16) * np.finfo(np.float32).eps * energy


def _cancelled(kernel, Q, X):
    """What is lost where blocks take Euclidean distances as differences of norms, far from the origin."""
    if not isinstance(kernel, RBF):
        return 0.0
    norms = row_norms(Q, squared=True) + row_norms(X, squared=True).max(initial=0.0)
    return kernel.gamma * (X.shape[1] + 4) * np.finfo(np.float64).eps * norms
