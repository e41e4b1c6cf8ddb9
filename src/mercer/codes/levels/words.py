"""Values to levels, and levels to words: the two steps of :class:`mercer.codes.LevelQuantizer`."""

__all__ = ["dense_levels", "levels_that_occur", "on_words", "sparse_levels"]

import numpy as np
from scipy import sparse

from mercer._base.threads import run_blocks
from mercer._native.codes.levels import quantize_rows
from mercer.spaces.blocks import row_tasks


def dense_levels(X, bins, dtype, n_jobs=None):
    """The levels of an array, of that type; levels already in that type are returned as they are."""
    if bins.rule == "whole numbers" and X.dtype == dtype and X.max(initial=0) <= bins.n_bins:
        return X
    codes = np.zeros(X.shape, dtype=dtype)
    if bins.rule == "adaptive":
        for j, (start, end) in enumerate(zip(bins.edge_starts, bins.edge_starts[1:], strict=False)):
            ranks = np.searchsorted(bins.edges[start:end], X[:, j], side="right")
            codes[:, j] = _spread(ranks, end - start, bins.n_bins)
        return codes
    tops = np.full(X.shape[1], bins.n_bins, dtype=np.int64)

    def fill(part):
        quantize_rows(X, bins.lows, bins.widths, float(bins.n_bins), tops, part.start, part.stop, codes)

    run_blocks(fill, row_tasks(len(X)), n_jobs)
    return codes


def sparse_levels(X, bins, dtype):
    """The levels of a CSR matrix of values >= 0, of that type, without those that are 0."""
    j = X.indices
    if bins.rule == "adaptive":
        ranks = _ranks(X, bins)
        levels = _spread(ranks, np.diff(bins.edge_starts)[j], bins.n_bins)
    else:
        widths = bins.widths[j]
        scaled = np.divide(bins.n_bins * (X.data.astype(np.float64) - bins.lows[j]), widths,
                           out=np.zeros(len(j)), where=widths > 0)  # fmt: skip
        levels = np.clip(scaled, 0, bins.n_bins)
    found = sparse.csr_array((levels.astype(dtype), j, X.indptr), shape=X.shape)
    if not found.data.all():
        found = found.copy()
        found.eliminate_zeros()
    return found


def _ranks(X, bins):
    """Number of edges of its column at or below every stored value; a stored value is at least level 1."""
    by_column = X.tocsc()
    ranks = np.empty(X.nnz, dtype=np.int64)
    for j, (start, end) in enumerate(zip(bins.edge_starts, bins.edge_starts[1:], strict=False)):
        own = slice(by_column.indptr[j], by_column.indptr[j + 1])
        ranks[own] = np.searchsorted(bins.edges[start:end], by_column.data[own], side="right")
    counted = sparse.csc_array((ranks + 1, by_column.indices, by_column.indptr), shape=X.shape).tocsr()
    return counted.data - 1


def _spread(ranks, n_edges, n_bins):
    """Ranks 0 .. n_edges as levels 0 .. n_bins, as far apart as possible."""
    return np.rint(ranks * (n_bins / np.maximum(n_edges, 1)))


# ------------------------------------------------------------------------------------------------------------- words


def levels_that_occur(levels, n_bins):
    """(the different levels of every column, one column after the other; their number in each) of a CSR matrix."""
    owners, found = np.divmod(np.unique(_keys(levels.indices, levels.data, n_bins)), n_bins + 1)
    return found, np.bincount(owners, minlength=levels.shape[1])


def on_words(levels, known, starts, n_bins):
    """CSR rows on the words of known levels: a level that is one of them, or the two around it.

    With z <= x < z' the known levels around x, 0 being one of every column: 1 - s of z and s = (x - z) / (z' - z) of
    z'. From the last one on, that one alone.

    Parameters
    ----------
    levels : CSR matrix of levels > 0, shape (n, w)
    known, starts : ascending levels > 0 of every column, and where those of each column begin
    """
    (n, w), counts = levels.shape, np.diff(starts)
    columns = np.repeat(np.arange(w), counts + 1)  # a place for 0 in front of every column
    points = np.zeros(len(known) + w, dtype=np.int64)
    is_word = np.ones(len(points), dtype=bool)
    is_word[starts[:-1] + np.arange(w)] = False
    points[is_word] = known
    column, level = levels.indices.astype(np.int64), levels.data.astype(np.int64)
    below = np.searchsorted(_keys(columns, points, n_bins), _keys(column, level, n_bins), side="right") - 1
    above = np.minimum(below + 1, starts[column + 1] + column)  # no further than the last place of the column
    gap = points[above] - points[below]
    share = np.divide(level - points[below], gap, out=np.zeros(len(level)), where=gap > 0)
    places, weights = np.stack([below, above], axis=1), np.stack([1.0 - share, share], axis=1)
    kept = (weights > 0) & is_word[places]
    ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])[levels.indptr]
    index = np.int32 if max(len(known), ends[-1]) < 2**31 else np.int64
    words = (places - column[:, None] - 1)[kept]
    return sparse.csr_array(
        (weights[kept].astype(np.float32), words.astype(index), ends.astype(index)), (n, len(known))
    )


def _keys(columns, levels, n_bins):
    """Column and level as one number, which ascends with both."""
    return columns.astype(np.int64) * (n_bins + 1) + levels
