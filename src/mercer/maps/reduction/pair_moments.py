"""Pairs of rows, the kernel on them, and the sums over pairs that a reduction is computed from.

Notation ([gavves12convex])
    paper      code     meaning                                                           shape
    K_xy       values   kernel of each pair                                               (P,)
    k_xy       design   one-dimensional kernels k(x_i, y_i) of each pair, never stored    (P, D)
    -          G        mean over pairs of design' design                                 (D, D)
    -          q        mean over pairs of design' values                                 (D,)

The kernel is the sum of its one-dimensional kernels, values = design 1, hence q = G 1: the matrix G says all. For
k(x, y) = f(x) f(y) (linear, Hellinger) no pairs need to be drawn: over all ordered pairs of n different rows, with F =
f(X),

    sum f(x_i) f(y_i) f(x_j) f(y_j) = (F'F)_ij^2 - (F^2' F^2)_ij

which costs n D^2 instead of the P D^2 of drawn pairs (the paper: 50,000 pairs of 1,500 rows).
"""

__all__ = [
    "Moments",
    "all_pairs",
    "candidates",
    "design_moments",
    "draw_pairs",
    "draws_all",
    "factor",
    "factor_products",
    "is_product",
    "kernel_moments",
    "moment_error",
    "moments_of_products",
    "pair_designs",
    "pair_values",
    "spread_among",
    "spread_pairs",
    "weighted_values",
]

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer._base.progress import track
from mercer._base.threads import run_blocks, run_row_blocks, single_threaded
from mercer.kernels import Hellinger, Linear
from mercer.kernels.engine import mirror
from mercer.maps.reduction.nonnegative import solve_nonnegative
from mercer.spaces.blocks import even_slices

BLOCK_VALUES = 2**20  # values of one-dimensional kernels that a thread holds at a time
SUM_ROWS, SUM_STRIPS = 1024, 16  # products of columns are sums over blocks of rows, in strips that threads share out
CANDIDATES = 4  # pairs looked at for each one that spread_pairs takes
BINS = 32  # ranges of kernel values among which it shares its pairs out


@dataclass(frozen=True)
class Moments:
    """Means over pairs: G and q of the design, square and mean of the kernel values. See the notation above."""

    G: np.ndarray
    q: np.ndarray
    square: float
    mean: float

    def minimizer(self, penalty=0.0, start=None):
        """The optimum c of (P) of :mod:`mercer.maps.reduction.nonnegative`."""
        return solve_nonnegative(self.G, self.q, penalty, start)

    def refitted(self, at, start):
        """Weights of these columns alone, without a penalty."""
        return solve_nonnegative(self.G[np.ix_(at, at)], self.q[at], start=start)

    def error(self, c):
        """(7): root mean square of K - sum_i c_i k_i, over the mean of K."""
        at = np.flatnonzero(c)
        return moment_error(self.G[np.ix_(at, at)], self.q[at], self.square, self.mean, c[at])


def moment_error(G, q, square, mean, weights):
    """(7) of some columns with these weights, from their part of the moments."""
    squared = square - 2 * (q @ weights) + weights @ (G @ weights)
    return float(np.sqrt(max(squared, 0.0)) / abs(mean)) if mean else 0.0


def kernel_moments(kernel, X, which, n_pairs, random_state, n_jobs=None):
    """Moments of an additive kernel over pairs of rows of X.

    Parameters
    ----------
    which : {"all", "uniform", "informative", "auto"}
        All pairs, drawn pairs, drawn pairs whose kernel values are spread out; "auto": all where that is less work than
        drawing, else drawn.
    """
    if draws_all(kernel, X.shape[0], which, n_pairs):
        return all_pairs(kernel, X, n_jobs)
    if which == "informative":
        pairs = spread_pairs(kernel, X, n_pairs, random_state, n_jobs)
    else:
        pairs = draw_pairs(X.shape[0], n_pairs, random_state)
    return design_moments(kernel, X, pairs, pair_values(kernel, X, pairs, n_jobs), n_jobs)


def draws_all(kernel, n_rows, which, n_pairs):
    """Whether all pairs are taken, by the closed form."""
    return which == "all" or (which == "auto" and is_product(kernel) and n_rows <= n_pairs)


def draw_pairs(n_rows, n_pairs, random_state):
    """Row numbers (2, n_pairs) of pairs of different rows, drawn evenly, with repetition."""
    left = random_state.randint(n_rows, size=n_pairs)
    right = (left + random_state.randint(1, n_rows, size=n_pairs)) % n_rows
    return np.stack([left, right])


def spread_pairs(kernel, X, n_pairs, random_state, n_jobs=None):
    """Row numbers (2, n_pairs) of pairs whose kernel values are spread over their range."""
    pairs = draw_pairs(X.shape[0], candidates(n_pairs), random_state)
    return pairs[:, spread_among(pair_values(kernel, X, pairs, n_jobs), n_pairs)]


def candidates(n_pairs):
    """Pairs that are looked at to find so many whose kernel values are spread out."""
    return CANDIDATES * n_pairs


def spread_among(values, n_pairs):
    """Positions of ``n_pairs`` kernel values that are spread over their range.

    Most pairs of rows are about equally unlike. Of several times as many drawn pairs, each of a number of equal ranges
    of kernel values gives the same share as far as it has as many, so that the few pairs that are alike count as well.
    """
    low, high = values.min(), values.max()
    bins = np.minimum((BINS * (values - low) / (high - low or 1.0)).astype(np.int64), BINS - 1)
    # the k-th pair of every range comes before the (k+1)-th of any
    by_bin = np.argsort(bins, kind="stable")
    counts = np.bincount(bins, minlength=BINS)
    place = np.empty(len(bins), dtype=np.int64)
    place[by_bin] = np.arange(len(bins)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(np.argsort(place, kind="stable")[:n_pairs])


def pair_values(kernel, X, pairs, n_jobs=None):
    """K(x, y) of each pair, float64."""

    def values(part):
        left, right = (X[side].astype(np.float64) for side in pairs[:, part])
        return kernel.pair_values(left, right)

    return np.concatenate(run_row_blocks(values, pairs.shape[1], _block_rows(X), n_jobs))


def design_moments(kernel, X, pairs, values, n_jobs=None):
    """Moments of the one-dimensional kernels of the columns of X, for kernel values of these pairs from elsewhere.

    Blocks of pairs follow each other, and in each the strips of G are shared out among threads: every sum has its
    order, whoever computes it.
    """
    D, P = X.shape[1], pairs.shape[1]
    G, q = np.zeros((D, D)), np.zeros(D)
    strips = even_slices(D, min(SUM_STRIPS, D))
    size = SUM_STRIPS * _block_rows(X)
    with single_threaded():
        for start in track(range(0, P, size), "Kernel values of pairs"):
            part = slice(start, min(start + size, P))
            design = _design(kernel, X, pairs[:, part], n_jobs)

            def add(strip, design=design, part=part):
                G[strip, strip.start :] += design[:, strip].T @ design[:, strip.start :]
                q[strip] += design[:, strip].T @ values[part]

            run_blocks(add, strips, n_jobs)
    mirror(G)
    G /= P
    return Moments(G, q / P, float(values @ values) / P, float(values.mean()))


def weighted_values(kernel, X, pairs, c, n_jobs=None):
    """sum_i c_i k(x_i, y_i) of each pair, float64."""

    def values(part):
        return _block_design(kernel, X, pairs[:, part]) @ c

    return np.concatenate(run_row_blocks(values, pairs.shape[1], _block_rows(X), n_jobs))


def is_product(kernel):
    """Whether k(x, y) = f(x) f(y), so that sums over all pairs have a closed form."""
    return isinstance(kernel, (Linear, Hellinger))


def all_pairs(kernel, X, n_jobs=None):
    """Moments over all pairs of different rows, for a kernel with k(x, y) = f(x) f(y)."""
    return moments_of_products(*factor_products(kernel, X, n_jobs), X.shape[0])


def factor_products(kernel, X, n_jobs=None):
    """(F'F, F^2' F^2, sums of F), which add up over rows; of the two matrices the upper triangle."""
    n, D = X.shape
    G, own, totals = np.zeros((D, D)), np.zeros((D, D)), np.zeros(D)
    strips = even_slices(D, min(SUM_STRIPS, D))
    with single_threaded():
        for start in track(range(0, n, SUM_ROWS), "Products of columns"):
            rows = X[start : start + SUM_ROWS]
            rows = factor(kernel, rows.toarray() if sparse.issparse(rows) else rows)
            squares = rows * rows
            totals += rows.sum(axis=0)

            def add(strip, rows=rows, squares=squares):
                right = slice(strip.start, D)
                G[strip, right] += rows[:, strip].T @ rows[:, right]
                own[strip, right] += squares[:, strip].T @ squares[:, right]

            run_blocks(add, strips, n_jobs)
    return G, own, totals


def moments_of_products(G, own, totals, n):
    """Moments over all pairs of n different rows, from :func:`factor_products`; G is overwritten."""
    norms = float(G.trace())
    np.square(G, out=G)
    G -= own
    mirror(G)
    G /= n * (n - 1)
    q = G.sum(axis=1)
    return Moments(G, q, float(q.sum()), (float(totals @ totals) - norms) / (n * (n - 1)))


def factor(kernel, X):
    """f(x), float64, with k(x, y) = f(x) f(y); CSR for CSR."""
    if sparse.issparse(X):
        return sparse.csr_array((factor(kernel, X.data), X.indices, X.indptr), X.shape)
    rows = X.astype(np.float64)
    return np.copysign(np.sqrt(np.abs(rows)), rows) if isinstance(kernel, Hellinger) else rows


def pair_designs(kernel, X, pairs, part):
    """(slice, one-dimensional kernels) of the pairs in ``part``, so many at a time as fit into a cache."""
    step = _block_rows(X)
    for start in range(part.start, part.stop, step):
        block = slice(start, min(start + step, part.stop))
        yield block, _block_design(kernel, X, pairs[:, block])


def _design(kernel, X, pairs, n_jobs):
    """One-dimensional kernels of a block of pairs, float64 (pairs, D)."""
    out = np.empty((pairs.shape[1], X.shape[1]))

    def fill(part):
        out[part] = _block_design(kernel, X, pairs[:, part])

    run_row_blocks(fill, len(out), _block_rows(X), n_jobs)
    return out


def _block_design(kernel, X, pairs):
    left, right = X[pairs[0]], X[pairs[1]]
    if sparse.issparse(X):
        left, right = left.toarray(), right.toarray()
    return kernel.scalar(left.astype(np.float64, copy=False), right.astype(np.float64, copy=False))


def _block_rows(X):
    """Pairs that a thread takes at a time."""
    return max(1, BLOCK_VALUES // X.shape[1])
