"""LevelQuantizer: values as levels, on which an additive kernel is a table. [wu10fast] Sec. 3"""

__all__ = ["NUMBERS", "LevelQuantizer"]

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.linalg import rank_revealing_factor
from mercer._base.threads import run_blocks
from mercer._native.levels import quantize_rows
from mercer.codes._binning import BINNINGS, MOST_LEVELS, Bins, choose_bins, signed_parts
from mercer.kernels import Intersection, Kernel
from mercer.maps._base import FeatureMap
from mercer.spaces import BlockFactor, CodeRows, CSRRows, CumulativeSum
from mercer.spaces._blocks import row_tasks

# what is read as it is: histograms often come as bytes, which as float64 would take eight times the memory
NUMBERS = [np.float64, np.float32, np.uint8, np.uint16, np.int16, np.int32, np.int64]
MOST_GRAM = 2**28  # kernel values between the levels of columns, of kernels that are not the intersection


class LevelQuantizer(FeatureMap):
    """Rows as small whole numbers, one per column, with an additive kernel of these levels as inner product.

    On whole numbers up to v the intersection kernel is the inner product of unary codes of length v [wu10fast]. Here a
    level is a one-hot word and the inner product does the rest, so that nothing is ever unrolled.

    Parameters
    ----------
    bins : "auto", int or None
        Number v of bins; levels go from 0 to v. "auto" takes whole numbers from 0 to 1,023 on one scale as they are,
        and 100 bins otherwise. None takes the values as levels, which must be whole numbers from 0 to 65,535.
    binning : {"auto", "global", "column", "adaptive"}
        One scale for all columns [wu10fast] (13); a scale for each; edges at the quantiles of each. "auto" takes a
        scale for each column if their ranges differ by more than 10 times, else one for all.
    kernel : str or Kernel
        Additive with k(0, y) = 0: the intersection, chi2, Hellinger, Jensen-Shannon, a power mean.
    n_jobs : int or None

    Attributes
    ----------
    kernel_ : Kernel
    inner_ : CumulativeSum or BlockFactor
    rule_ : str
        What was done: "whole numbers", "global", "column" or "adaptive".
    n_bins_ : int
    lows_, widths_ : ndarrays of shape (columns,)
        The value of level 0 of each column, and how far level ``n_bins_`` lies above it.
    edges_, edge_starts_ : None or ndarrays
        Edges of adaptive bins.
    levels_, starts_ : ndarrays
        The levels that have a word, those of column j being ``levels_[starts_[j] : starts_[j + 1]]``.
    is_sparse_ : bool
        Whether it was fitted to sparse rows.

    Notes
    -----
    Dense rows have a word for every level from 0 to the highest of the column in training; higher levels are clipped,
    which the intersection does not notice. Sparse rows have words for the levels seen in training, zero having none;
    other levels are written on the two words around them, as exact for the intersection, and between the levels of
    other kernels an interpolation. Negative values of sparse rows become positive values of further columns.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 3], [2, 1], [5, 0]])
    >>> quantizer = LevelQuantizer().fit(X)
    >>> quantizer.rule_, quantizer.transform(X).tolist()
    ('whole numbers', [[0, 3], [2, 1], [5, 0]])
    >>> quantizer.approximate_kernel(X).astype(int).tolist()
    [[3, 1, 0], [1, 3, 2], [0, 2, 5]]
    """

    def __init__(self, bins="auto", binning="auto", kernel="intersection", n_jobs=None):
        self.bins = bins
        self.binning = binning
        self.kernel = kernel
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Choose the bins, and find the levels of every column. ``y`` is ignored."""
        self._check_parameters()
        X = self._checked(X, reset=True)
        self.kernel_, self.is_sparse_ = self._resolved_kernel(), sparse.issparse(X)
        X = self._parts(X)
        found = choose_bins(X, self.bins, self.binning, "LevelQuantizer")
        self.rule_, self.n_bins_, self.lows_, self.widths_ = found.rule, found.n_bins, found.lows, found.widths
        self.edges_, self.edge_starts_ = found.edges, found.edge_starts
        self._keep_levels(self._levels(X))
        return self

    def transform(self, X):
        """The levels of the rows: uint8 or uint16, dense or, if the quantiser was fitted to sparse rows, CSR."""
        return self._levels(self._parts(self._checked(X, reset=False)))

    def rows(self, X):
        """One-hot levels as `mercer.spaces` rows, the form that learners work on."""
        levels = self.transform(X)
        if self.is_sparse_:
            return CSRRows(self._words(levels, np.float32))
        tops = np.diff(self.starts_) - 1
        return CodeRows(np.minimum(levels, tops.astype(levels.dtype)), tops + 1)

    def describe(self):
        """What the values became, in a few words.

        >>> LevelQuantizer(50).fit([[0.5, 0.0], [2.0, 1.0]]).describe()
        '50 bins from 0 to 1.925 for all columns'
        """
        check_is_fitted(self)
        if self.rule_ == "whole numbers":
            text = f"whole numbers as they are, up to {self.n_bins_:,}"
        elif self.rule_ == "global":
            low, high = self.lows_[0], self.lows_[0] + self.widths_[0]
            text = f"{self.n_bins_:,} bins from {low:.4g} to {high:.4g} for all columns"
        else:
            text = f"{self.n_bins_:,} {'quantile ' if self.rule_ == 'adaptive' else ''}bins for each column"
        return text + ("; negative values in columns of their own" if len(self.lows_) > self.n_features_in_ else "")

    # ---------------------------------------------------------------------------------------------------- levels

    def _parts(self, X):
        """Rows as they were fitted: dense, or CSR of values >= 0."""
        if not self.is_sparse_:
            return X.toarray() if sparse.issparse(X) else X
        X = sparse.csr_array(X)
        if hasattr(self, "lows_"):
            parts = signed_parts(X)
            w = len(self.lows_)
            if parts.shape[1] < w:  # no value is negative this time
                return sparse.csr_array((parts.data, parts.indices, parts.indptr), shape=(X.shape[0], w))
            return parts[:, :w]  # no value was negative in training
        return signed_parts(X)

    def _levels(self, X):
        bins = Bins(self.rule_, self.n_bins_, self.lows_, self.widths_, self.edges_, self.edge_starts_)
        dtype = np.uint8 if self.n_bins_ <= 255 else np.uint16
        return _sparse_levels(X, bins, dtype) if self.is_sparse_ else _dense_levels(X, bins, dtype, self.n_jobs)

    def _keep_levels(self, levels):
        """Set the words of every column, and their inner product."""
        if self.is_sparse_:
            keys = np.unique(self._keys(levels))
            owners, self.levels_ = np.divmod(keys, self.n_bins_ + 1)
            counts = np.bincount(owners, minlength=levels.shape[1])
        else:
            # one kernel matrix serves all columns of equal height
            tops = (
                levels.max(axis=0).astype(np.int64) if self._is_intersection else np.full(levels.shape[1], levels.max())
            )
            counts = tops + 1
            self.levels_ = np.concatenate([np.arange(count) for count in counts])
        self.starts_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.levels_ = self.levels_.astype(np.int64)
        self.inner_ = self._inner_product()

    def _keys(self, levels):
        """Column and level of every stored level, as one number that ascends with both."""
        return levels.indices.astype(np.int64) * (self.n_bins_ + 1) + levels.data

    def _words(self, levels, dtype):
        """CSR rows on the words: a level that has one, or the two around it."""
        n, w = levels.shape
        column, level, keys = levels.indices.astype(np.int64), levels.data.astype(np.int64), self._keys(levels)
        known = np.repeat(np.arange(w), np.diff(self.starts_)) * (self.n_bins_ + 1) + self.levels_
        above = np.searchsorted(known, keys)
        first, end = self.starts_[column], self.starts_[column + 1]
        exact = (above < end) & (known[np.minimum(above, len(known) - 1)] == keys) if len(known) else above < end
        below = above - 1
        low = np.where(below >= first, self.levels_[np.maximum(below, 0)] if len(known) else 0, 0)
        high = np.where(above < end, self.levels_[np.minimum(above, len(known) - 1)] if len(known) else 0, 0)
        share = np.where(exact, 1.0, np.divide(level - low, high - low, out=np.zeros(len(level)), where=high > low))
        # the word above with its share, the word below with the rest; beyond the last word, that one alone
        weights = np.stack([np.where(below >= first, 1.0 - share, 0.0), np.where(above < end, share, 0.0)], axis=1)
        places = np.stack([np.maximum(below, 0), np.minimum(above, max(len(known) - 1, 0))], axis=1)
        kept = weights > 0
        counts = np.add.reduceat(np.append(kept.sum(axis=1), 0), levels.indptr[:-1]) * (np.diff(levels.indptr) > 0)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        index = np.int32 if max(len(known), indptr[-1]) < 2**31 else np.int64
        entries = weights[kept].astype(dtype), places[kept].astype(index), indptr.astype(index)
        return sparse.csr_array(entries, shape=(n, len(known)))

    # ----------------------------------------------------------------------------------------------- inner product

    @property
    def _is_intersection(self):
        return isinstance(self.kernel_, Intersection)

    def _inner_product(self):
        if self._is_intersection:
            gaps = np.diff(self.levels_, prepend=0)
            gaps[self.starts_[:-1][np.diff(self.starts_) > 0]] = self.levels_[
                self.starts_[:-1][np.diff(self.starts_) > 0]
            ]
            return CumulativeSum(gaps.astype(np.float64), self.starts_)
        sizes = np.diff(self.starts_)
        if not self.is_sparse_:
            return BlockFactor(self._factor(slice(0, sizes[0]))[None], repeat=len(sizes))
        if (sizes**2).sum() > MOST_GRAM:
            raise InputError(
                f"LevelQuantizer needs {int((sizes**2).sum()):,} kernel values between the levels of {len(sizes):,} "
                f"columns for {self.kernel_!r}, more than {MOST_GRAM:,}. Use fewer bins, kernel='intersection', or "
                "KernelClassifier with this kernel."
            )
        return BlockFactor([self._factor(slice(*ends)) for ends in zip(self.starts_, self.starts_[1:], strict=False)])

    def _factor(self, words):
        levels = self.levels_[words].astype(np.float64)
        return rank_revealing_factor(self.kernel_.scalar(levels[:, None], levels)) if len(levels) else np.zeros((0, 0))

    # ------------------------------------------------------------------------------------------------------ helpers

    @property
    def _n_features_out(self):
        return len(self.lows_)

    def _checked(self, X, reset):
        """Validated rows: signs do not matter, levels are never negative."""
        if not reset:
            check_is_fitted(self)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=NUMBERS, order="C")
        if sparse.issparse(X):
            if not X.has_canonical_format or not X.data.all():
                X = X.copy()
                X.sum_duplicates()
                X.eliminate_zeros()
            X = sparse.csr_array(X)
        return X

    def _check_parameters(self):
        who = type(self).__name__
        is_count = isinstance(self.bins, Integral) and not isinstance(self.bins, bool)
        if not (self.bins is None or self.bins == "auto" or (is_count and 1 <= self.bins <= MOST_LEVELS)):
            raise InputError(
                f"{who} needs bins as 'auto', None or a whole number from 1 to {MOST_LEVELS:,}; got {self.bins!r}."
            )
        if self.binning not in BINNINGS:
            raise InputError(f"{who} needs binning to be one of {', '.join(BINNINGS)}; got {self.binning!r}.")
        if self.bins is None and self.binning != "auto":
            raise InputError(
                f"{who} takes values as they are with bins=None and cannot apply binning={self.binning!r}."
            )
        kernel = self._resolved_kernel()
        if not kernel.additive or kernel.scalar(0.0, 1.0) != 0:
            raise InputError(
                f"{who} needs an additive kernel with k(0, y) = 0, such as the intersection or chi2; got {kernel!r}."
            )

    def _check_loaded(self):
        self._check_parameters()
        if not isinstance(self.kernel_, Kernel) or type(self.is_sparse_) is not bool:
            raise ValueError("kernel_ must be a kernel, is_sparse_ true or false.")
        w = len(self.lows_)
        if w not in (self.n_features_in_, 2 * self.n_features_in_ if self.is_sparse_ else self.n_features_in_):
            raise ValueError("lows_ must have a number per column.")
        if type(self.n_bins_) is not int or not 1 <= self.n_bins_ <= MOST_LEVELS:
            raise ValueError(f"n_bins_ must be a whole number from 1 to {MOST_LEVELS}.")
        for name in ("lows_", "widths_"):
            values = getattr(self, name)
            if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != (w,):
                raise ValueError(f"{name} must be float64, a number per column.")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite.")
        _check_ascending(self.starts_, w, len(self.levels_), "starts_")
        if self.rule_ == "adaptive":
            _check_ascending(self.edge_starts_, w, len(self.edges_), "edge_starts_")
        levels = self.levels_
        if levels.dtype != np.int64 or (levels < 0).any() or (levels > self.n_bins_).any():
            raise ValueError("levels_ must be whole numbers from 0 to n_bins_.")
        if not self.is_sparse_ and not np.array_equal(
            levels, np.concatenate([np.arange(count) for count in np.diff(self.starts_)])
        ):
            raise ValueError("levels_ must be all levels of every column.")
        keys = np.repeat(np.arange(w), np.diff(self.starts_)) * (self.n_bins_ + 1) + levels
        if (np.diff(keys) <= 0).any() or self.inner_.n_features != len(levels):
            raise ValueError("levels_ must ascend in every column, and fit inner_.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False  # levels are never negative
        tags.transformer_tags.preserves_dtype = []
        return tags


def _check_ascending(starts, n, end, name):
    valid = isinstance(starts, np.ndarray) and starts.dtype == np.int64 and starts.shape == (n + 1,)
    if not valid or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError(f"{name} must ascend from 0 to {end}, one per column and one more.")


# -------------------------------------------------------------------------------------------------------- the levels


def _dense_levels(X, bins, dtype, n_jobs):
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


def _sparse_levels(X, bins, dtype):
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
