"""Which bins turn values into levels. [wu10fast] Sec. 3.5

    level(x) = clip(floor(v (x - low) / width), 0, v)                                      (13), and the clip it needs

with low the smallest value and low + width the 97.5th percentile, of all values or of each column. Adaptive bins have
edges at quantiles of each column instead. Of sparse rows only the stored values are looked at: zero stays level 0, and
negative values are the positive values of a second set of columns.
"""

__all__ = ["Bins", "are_on_one_scale", "choose_bins", "signed_parts"]

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.parameters.codes import MOST_LEVELS

DEFAULT_BINS = 100
MOST_AS_IS = 1_023  # integers up to this are levels already
PERCENTILE = 97.5
MOST_RATIO = 10.0  # between the ranges of columns on one scale
MANY_ZEROS, MOST_RATIO_OF_BINS = 0.25, 100.0  # share of zeros from which rows count as histograms with empty bins
SAMPLE_VALUES = 2**24  # values of which percentiles are taken


@dataclass
class Bins:
    """Rules from values to levels.

    Parameters
    ----------
    rule : ``"whole numbers"``, ``"global"``, ``"column"`` or ``"adaptive"``
    n_bins : v
    lows, widths : float64 (w,), by column; a width of 0 makes every value level 0
    edges, edge_starts : None, or for adaptive bins the edges of all columns, float64, and where those of each begin
    """

    rule: str
    n_bins: int
    lows: np.ndarray
    widths: np.ndarray
    edges: np.ndarray | None = None
    edge_starts: np.ndarray | None = None


def choose_bins(X, bins, binning, who):
    """The bins for validated rows: an array, or a CSR matrix of values >= 0.

    Parameters
    ----------
    X : array or CSR matrix
    bins : ``"auto"``, number of bins, or None for values that are levels already
    binning : ``"auto"``, ``"global"``, ``"column"`` or ``"adaptive"``
    who : whom errors speak of
    """
    if bins is None:
        return _as_they_are(X, who)
    values = _Values(X)
    one_scale = values.on_one_scale()
    if bins == "auto" and binning == "auto" and one_scale and values.are_counts(MOST_AS_IS):
        return _as_they_are(X, who)
    n_bins = DEFAULT_BINS if bins == "auto" else int(bins)
    if binning == "auto":
        binning = "global" if one_scale else "column"
    if binning == "adaptive":
        edges = [_edges(column, n_bins, values.is_sparse) for column in values.columns()]
        starts = np.cumsum([0, *map(len, edges)])
        w = X.shape[1]
        return Bins("adaptive", n_bins, np.zeros(w), np.zeros(w), np.concatenate([np.zeros(0), *edges]), starts)
    lows, highs = values.ends() if binning == "global" else values.column_ends()
    return Bins(binning, n_bins, *np.broadcast_arrays(*_checked_width(lows, highs - lows, X.shape[1])))


def are_on_one_scale(X):
    """Whether the ranges of the columns differ so little that one scale serves all of them."""
    return _Values(signed_parts(X) if sparse.issparse(X) else X).on_one_scale()


def _checked_width(lows, widths, w):
    lows, widths = (np.array(np.broadcast_to(a, (w,)), dtype=np.float64) for a in (lows, widths))
    return lows, np.where(np.isfinite(widths), widths, 0.0)


def _as_they_are(X, who):
    values = _Values(X)
    if values.are_counts(MOST_LEVELS):
        n_bins = max(1, int(values.largest))
        return Bins("whole numbers", n_bins, np.zeros(X.shape[1]), np.full(X.shape[1], float(n_bins)))
    if values.largest > MOST_LEVELS:
        found = f"{values.largest:g}"
    elif values.smallest < 0:
        found = f"{values.smallest:g}"
    else:
        found = "fractions"
    raise InputError(
        f"{who} with bins=None needs integers from 0 to {MOST_LEVELS:,} as levels, got {found}. Use bins='auto' or a "
        "number of bins."
    )


def signed_parts(X):
    """A CSR matrix of values >= 0: the positive parts of the columns, then the negative ones if there are any."""
    if not X.nnz or X.data.min() >= 0:
        return X
    d = X.shape[1]
    indices = X.indices.astype(np.int64) + np.where(X.data < 0, d, 0)
    parts = sparse.csr_array((np.abs(X.data), indices, X.indptr), shape=(X.shape[0], 2 * d))
    parts.sort_indices()
    return parts


# ------------------------------------------------------------------------------------------------- dense and CSR alike


class _Values:
    """What bins are chosen by: of a CSR matrix, the stored values."""

    def __init__(self, X):
        self.is_sparse = sparse.issparse(X)
        self.X = X
        self.flat = X.data if self.is_sparse else X
        self.smallest = float(self.flat.min()) if self.flat.size else 0.0
        self.largest = float(self.flat.max()) if self.flat.size else 0.0

    def are_counts(self, most):
        """Whether all values are integers from 0 to ``most``."""
        if self.smallest < 0 or self.largest > most:
            return False
        return bool((self.flat == np.rint(self.flat)).all())

    def on_one_scale(self):
        """Whether the ranges of the columns differ by at most 10 times.

        Bins of histograms are on one scale though some are rarely filled, and then little. Where a quarter of all
        values is zero, columns count by their number of non-zeros, the tenth at either end does not count, and the
        largest values of the others may differ by 100 times.
        """
        lows, highs, filled = self._columns_ends()
        used = highs > lows
        if used.sum() < 2:
            return True
        ranges = (highs - lows)[used]
        if filled[used].sum() > (1 - MANY_ZEROS) * self.X.shape[0] * len(ranges):
            return bool(ranges.max() <= MOST_RATIO * ranges.min())
        sizes, filled = np.maximum(highs, -lows)[used], filled[used]
        order = np.argsort(sizes)
        shares = np.cumsum(filled[order]) / filled.sum()
        low, high = sizes[order][np.searchsorted(shares, [0.1, 0.9])]
        return bool(high <= MOST_RATIO_OF_BINS * low)

    def _columns_ends(self):
        """(smallest value, largest value, number of non-zeros) of each column."""
        if not self.is_sparse:
            ends = (self.X.min(axis=0).astype(np.float64), self.X.max(axis=0).astype(np.float64))
            return *ends, np.count_nonzero(self.X, axis=0)
        highs = self.X.max(axis=0).toarray().ravel().astype(np.float64)
        return np.zeros(len(highs)), highs, np.bincount(self.X.indices, minlength=len(highs))

    def ends(self):
        """(low, high) of all values."""
        flat = _thinned(self.flat).ravel()
        low = 0.0 if self.is_sparse else self.smallest
        high = float(np.percentile(flat, PERCENTILE)) if flat.size else low
        return low, high if high > low else max(self.largest, low)

    def column_ends(self):
        """(lows, highs) of the columns."""
        if not self.is_sparse:
            lows, tops = self.X.min(axis=0).astype(np.float64), self.X.max(axis=0).astype(np.float64)
            highs = np.percentile(_thinned(self.X), PERCENTILE, axis=0)
        else:
            lows = np.zeros(self.X.shape[1])
            pairs = [(np.percentile(c, PERCENTILE), c.max()) if len(c) else (0.0, 0.0) for c in self.columns()]
            highs, tops = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return lows, np.where(highs > lows, highs, tops)

    def columns(self):
        """The values of each column."""
        if self.is_sparse:
            by_column = self.X.tocsc()
            return np.split(by_column.data, by_column.indptr[1:-1])
        return list(_thinned(self.X).T)


def _thinned(X):
    """Every so many rows, if there are very many values."""
    return X[:: max(1, X.size // SAMPLE_VALUES)]


def _edges(column, n_bins, is_sparse):
    """Smallest values of the levels 1, 2, ... of adaptive bins: different quantiles of the column.

    Level 0 is what lies below: the smallest value, or the zeros that are not stored.
    """
    if not len(column):
        return np.zeros(0)
    shares = np.arange(0 if is_sparse else 1, n_bins) / n_bins
    found = np.unique(np.quantile(column, shares, method="inverted_cdf"))
    return found[found > (0 if is_sparse else column.min())].astype(np.float64)
