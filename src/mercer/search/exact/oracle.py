"""Exact nearest neighbors by looking at every row: the oracle that everything else is measured against."""

__all__ = ["Base", "exact_knn", "nearest_rows"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import run_blocks, thread_limit
from mercer._base.validation import as_rows, check_same_width
from mercer.kernels import get_kernel
from mercer.kernels.additive import HistogramKernel
from mercer.kernels.compose import NormalizedKernel
from mercer.search.exact.best import Best, joined
from mercer.search.model.measure import MEASURES, Measure, as_double

QUERIES_AT_ONCE = 128
BLOCK_ROWS = 4096  # rows per task
FIRST_BLOCKS = 4  # of the first round; every round has as many as all before it
DOUBLE_ROUNDING = 1e-9  # of a block in float64, as a share of the energies: cancellation in a distance included


def exact_knn(kernel, X, Q, k=10, *, normalize=True, measure="similarity", n_jobs=None):
    """Find the k nearest rows of X for each row of Q under a kernel, by comparing all rows.

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
        raise InputError(f"exact_knn needs measure to be {' or '.join(map(repr, MEASURES))}, got measure={measure!r}.")
    kernel = get_kernel(kernel)
    X, Q = _checked(kernel, X, Q)
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 1 <= k <= X.shape[0]:
        raise InputError(f"exact_knn needs 1 <= k <= {X.shape[0]}, the number of rows of X; got k={k!r}.")
    with thread_limit(n_jobs):
        found = nearest_rows(Measure(kernel, normalize, measure), X, Q, int(k))
    return found.positions, Measure(kernel, normalize, measure).reported(found.scores)


def _checked(kernel, X, Q):
    """Validated rows and queries, both dense or both sparse."""
    X, Q = as_rows(X, "exact_knn", "X"), as_rows(Q, "exact_knn", "Q")
    check_same_width(X, Q, "exact_knn")
    kernel.check_values(X, "X")
    kernel.check_values(Q, "Q")
    if sparse.issparse(X) != sparse.issparse(Q):
        Q = sparse.csr_array(Q) if sparse.issparse(X) else Q.toarray()
    return X, Q


def nearest_rows(measure, X, Q, k, keys_of=lambda positions: positions):
    """`Best` of validated rows: see `exact_knn`."""
    best = Best(Q.shape[0], k, keys_of)
    if X.shape[0] == 0:  # of an index whose rows were all removed
        return best
    base = Base(measure, X)
    parts = [slice(i, i + QUERIES_AT_ONCE) for i in range(0, Q.shape[0], QUERIES_AT_ONCE)]
    for part in track(parts, "exact search"):
        found = _search_part(base, Q[part], k, keys_of)
        best.positions[part], best.scores[part] = found.positions, found.scores
    return best


class Base:
    """Rows in the precision of blocks, and what all queries need of them, computed once.

    Attributes
    ----------
    rows, blocks : the rows, and slices of them
    energies : K(x, x) before the kernel is normalized, float64
    factors : 1 / sqrt(K(x, x)) where the kernel is normalized, else None
    offsets : -K(x, x) / 2, which is added to K for half of a distance's objective, else None
    highest : largest |K(x, x)|; a function of the caller's may have negative ones

    Parameters
    ----------
    measure : Measure
    X : validated rows
    prepare : whether blocks are prepared for many calls with few queries, which takes the memory of the rows again
    """

    def __init__(self, measure, X, prepare=False):
        self.measure, self.X = measure, X
        self.rows = X if X.dtype == np.float32 and _is_histogram(measure.kernel) else as_double(X)
        self.blocks = [slice(i, min(i + BLOCK_ROWS, X.shape[0])) for i in range(0, X.shape[0], BLOCK_ROWS)]
        plain = np.concatenate(run_blocks(lambda block: self._diagonal(self.rows[block]), self.blocks))
        self.energies, self.factors = plain, self._inverse_roots(plain)
        energy = plain if self.factors is None else (plain > 0).astype(np.float64)
        self.offsets = -energy / 2 if measure.is_distance else None
        self.highest = np.abs(energy).max(initial=0.0)
        prepares = prepare and self.rows.dtype == np.float32  # what is prepared answers in single precision
        self._against = [measure.plain.against(self.rows[block]) for block in self.blocks] if prepares else None

    def _diagonal(self, rows):
        return self.measure.plain.diagonal(as_double(rows)).astype(np.float64)

    def _inverse_roots(self, diagonal):
        if self.measure.kernel is self.measure.plain:
            return None
        inverse = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
        return inverse.astype(self.rows.dtype)

    def scaled(self, queries):
        """(queries in the precision of blocks, their factors, how far rounding may move a value)."""
        queries = queries.astype(self.rows.dtype)
        plain = self._diagonal(queries)
        energy = np.abs(plain if self.factors is None else plain > 0)
        factors = self._inverse_roots(plain)
        return queries, None if factors is None else factors[:, None], self._rounding(queries, energy)

    def values(self, queries, factors, block):
        """Kernel values of a block; of distances, half of the objective up to a term of the query."""
        if self._against is None:
            values = self.measure.plain.gram_block(queries, self.rows[block], 1)
        else:
            values = self._against[block.start // BLOCK_ROWS](queries)
        if factors is not None:
            values *= factors
            values *= self.factors[block]
        return values if self.offsets is None else values + self.offsets[block]

    def _rounding(self, Q, energy):
        """How far rounding may move a value, per query.

        Sums of n terms of one sign err by at most n units of the last place of the sum, and the sum is at most
        sqrt(K(q, q) K(x, x)); factors add a few more. In float64 what cancels in a distance counts.
        """
        energy = np.sqrt(energy) * np.sqrt(self.highest)  # their product may be beyond the range
        if self.rows.dtype == np.float64:
            return DOUBLE_ROUNDING * np.maximum(energy, self.highest)
        terms = np.diff(Q.indptr) if sparse.issparse(Q) else np.count_nonzero(Q, axis=1)
        return (terms + 16) * np.finfo(np.float32).eps * energy


def _search_part(base, Q, k, keys_of):
    """`Best` of a few queries. Rounds grow: each finds about as many rows that are worth a final score as the last."""
    queries, factors, margins = base.scaled(Q)
    best = Best(Q.shape[0], k, keys_of)
    floor = np.full(Q.shape[0], -np.inf)  # the k-th best of the blocks so far, as blocks see it
    first = 0
    while first < len(base.blocks):

        def scan(block, floor=floor):
            return _near_best(base.values(queries, factors, block), k, floor, margins, block.start)

        size = max(FIRST_BLOCKS, first)
        left, positions, approximate = joined(run_blocks(scan, base.blocks[first : first + size]))
        floor = np.maximum(floor, _kth_best(left, approximate, Q.shape[0], k))
        kept = approximate >= (floor - 2 * margins)[left]
        left, positions = left[kept], positions[kept]
        best.merge(left, positions, base.measure.scores(Q, base.X, left, positions))
        first += size
    return best


def _near_best(values, k, floor, margins, first):
    """(query, position, value) of the entries that reach the k-th best of their row, and the floor, within margins."""
    if np.isneginf(floor).any() and values.shape[1] > k:  # later rounds have a floor that few entries reach
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
