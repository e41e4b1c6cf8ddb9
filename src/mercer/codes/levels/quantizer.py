"""LevelQuantizer: values as levels, on which an additive kernel is a table. [wu10fast] Sec. 3"""

__all__ = ["NUMBERS", "LevelQuantizer"]

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.feature_names import names_of_features
from mercer._base.files.loaded import check_kind, check_whole, checked_array
from mercer._base.linalg import rank_revealing_factor
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.codes import LEVEL_QUANTIZER, MOST_LEVELS
from mercer.codes.levels.binning import Bins, choose_bins, signed_parts
from mercer.codes.levels.words import dense_levels, levels_that_occur, on_words, sparse_levels
from mercer.kernels import Intersection, Kernel
from mercer.maps.base import FeatureMap
from mercer.maps.dask import is_dask, rows_to_fit, transform_chunks
from mercer.spaces import BlockFactor, CodeRows, CSRRows, CumulativeSum

# what is read as it is: histograms often come as bytes, which as float64 would take eight times the memory
NUMBERS = [np.float64, np.float32, np.uint8, np.uint16, np.int16, np.int32, np.int64]
MOST_GRAM = 2**28  # kernel values between the levels of columns, of kernels that are not the intersection


class LevelQuantizer(FeatureMap):
    """Encode values as small integers, with an additive kernel of these levels as inner product.

    On integers up to v the intersection kernel is the inner product of unary codes of length v [wu10fast]. Here a
    level is a one-hot word and the inner product does the rest, so that nothing is ever unrolled.

    Parameters
    ----------
    bins : "auto", int or None
        Number v of bins; levels go from 0 to v, and more bins follow the values more closely. "auto" uses integers from
        0 to 1,023 on one scale as levels, and 100 bins otherwise. None uses the values as levels, which must be
        integers from 0 to 65,535.
    binning : {"auto", "global", "column", "adaptive"}
        One scale for all columns [wu10fast] (13); one scale per column; or edges at the quantiles of each column.
        "auto" uses one scale per column if their ranges differ by more than a factor of 10, and one scale for all
        otherwise.
    kernel : str or Kernel
        Additive kernel with k(0, y) = 0: the intersection, chi2, Hellinger, Jensen-Shannon or a power mean.
    n_jobs : int or None

    Attributes
    ----------
    kernel_ : Kernel
    inner_ : CumulativeSum or BlockFactor
    rule_ : str
        How values became levels: "whole numbers", "global", "column" or "adaptive".
    n_bins_ : int
    lows_, widths_ : ndarrays of shape (columns,)
        The value of level 0 of each column, and the distance of level ``n_bins_`` from it.
    edges_, edge_starts_ : None or ndarrays
        Edges of adaptive bins.
    levels_, starts_ : ndarrays
        The levels that have a word, those of column j being ``levels_[starts_[j] : starts_[j + 1]]``.
    is_sparse_ : bool
        Whether the quantizer was fitted to sparse rows.

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

    _table = LEVEL_QUANTIZER

    def __init__(self, bins="auto", binning="auto", kernel="intersection", n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Choose the bins and find the levels of each column. ``y`` is ignored."""
        self.check_parameters()
        X = self._checked(X, reset=True)
        self.kernel_, self.is_sparse_ = self.resolved_kernel(), sparse.issparse(X)
        X = signed_parts(X) if self.is_sparse_ else X
        found = choose_bins(X, self.bins, self.binning, "LevelQuantizer")
        self.rule_, self.n_bins_, self.lows_, self.widths_ = found.rule, found.n_bins, found.lows, found.widths
        self.edges_, self.edge_starts_ = found.edges, found.edge_starts
        self._keep_levels(self._levels(X))
        return self

    def transform(self, X):
        """Encode rows as levels: uint8 or uint16, dense, or CSR if the quantizer was fitted to sparse rows."""
        if is_dask(X):
            return transform_chunks(self, X)
        return self.encode_rows(self._checked(X, reset=False))

    def encode_rows(self, X):
        return self._levels(self._parts(X))

    def as_rows(self, X):
        """One-hot levels as `mercer.spaces` rows, the form that learners work on."""
        levels = self.encode_rows(X)
        if self.is_sparse_:
            return CSRRows(on_words(levels, self.levels_, self.starts_, self.n_bins_))
        tops = np.diff(self.starts_) - 1
        return CodeRows(np.minimum(levels, tops.astype(levels.dtype)), tops + 1)

    def describe(self):
        """Describe briefly how values become levels.

        >>> LevelQuantizer(50).fit([[0.5, 0.0], [2.0, 1.0]]).describe()
        '50 bins from 0 to 1.925 for all columns'
        """
        check_is_fitted(self)
        if self.rule_ == "whole numbers":
            text = f"integers as levels, up to {self.n_bins_:,}"
        elif self.rule_ == "global":
            low, high = self.lows_[0], self.lows_[0] + self.widths_[0]
            text = f"{self.n_bins_:,} bins from {low:.4g} to {high:.4g} for all columns"
        else:
            text = f"{self.n_bins_:,} {'quantile ' if self.rule_ == 'adaptive' else ''}bins for each column"
        return text + ("; negative values in separate columns" if len(self.lows_) > self.n_features_in_ else "")

    # ---------------------------------------------------------------------------------------------------- levels

    def _parts(self, X):
        """Rows as they were fitted: dense, or CSR of values >= 0 in as many columns."""
        if not self.is_sparse_:
            return X.toarray() if sparse.issparse(X) else X
        parts, w = signed_parts(sparse.csr_array(X)), len(self.lows_)
        if parts.shape[1] > w:  # no value was negative in training
            return parts[:, :w]
        return sparse.csr_array((parts.data, parts.indices, parts.indptr), shape=(parts.shape[0], w))

    def _levels(self, X):
        bins = Bins(self.rule_, self.n_bins_, self.lows_, self.widths_, self.edges_, self.edge_starts_)
        dtype = np.uint8 if self.n_bins_ <= 255 else np.uint16
        return sparse_levels(X, bins, dtype) if self.is_sparse_ else dense_levels(X, bins, dtype, self.n_jobs)

    def _keep_levels(self, levels):
        """Set the words of every column, and their inner product."""
        if self.is_sparse_:
            self.levels_, counts = levels_that_occur(levels, self.n_bins_)
        else:
            # one kernel matrix serves all columns of equal height
            counts = 1 + levels.max(axis=0 if self._is_intersection else None).astype(np.int64)
            counts = np.broadcast_to(counts, levels.shape[1])
            self.levels_ = np.concatenate([np.arange(count) for count in counts])
        self.starts_ = np.concatenate([[0], np.cumsum(counts)])
        self.inner_ = self._inner_product()

    # ----------------------------------------------------------------------------------------------- inner product

    @property
    def _is_intersection(self):
        return isinstance(self.kernel_, Intersection)

    def _inner_product(self):
        if self._is_intersection:
            gaps, firsts = np.diff(self.levels_, prepend=0), self.starts_[:-1][np.diff(self.starts_) > 0]
            gaps[firsts] = self.levels_[firsts]
            return CumulativeSum(gaps, self.starts_)
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

    def get_feature_names_out(self, input_features=None):
        """Names of the codes, such as ``mz_12~level``, one per column.

        Parameters
        ----------
        input_features : names of the columns, or None for those of ``fit``; ``x0``, ``x1``, ... if it had none
        """
        return names_of_features(self, input_features, "level")

    def _checked(self, X, reset):
        """Validated rows: signs do not matter, levels are never negative."""
        if reset:
            X = rows_to_fit(self, X)
        else:
            check_is_fitted(self)
        return self.admit(self._validated(X, reset, dtype=NUMBERS, order="C"), fitting=reset)

    def admit(self, X, fitting):
        if sparse.issparse(X):
            if not X.has_canonical_format or not X.data.all():
                X = X.copy()
                X.sum_duplicates()
                X.eliminate_zeros()
            X = sparse.csr_array(X)
        return X

    def check_parameters(self):
        """Refuse invalid parameters before any row is read."""
        who = type(self).__name__
        super().check_parameters()
        if self.bins is None and self.binning != "auto":
            raise InputError(
                f"{who} with bins=None uses the values as levels and cannot apply binning={self.binning!r}."
            )
        kernel = self.resolved_kernel()
        if not kernel.additive or kernel.scalar(0.0, 1.0) != 0:
            raise InputError(
                f"{who} needs an additive kernel with k(0, y) = 0, such as the intersection or chi2; got {kernel!r}."
            )

    def _check_loaded(self):
        self.check_parameters()
        check_kind(self, "kernel_", Kernel)
        check_kind(self, "is_sparse_", bool)
        w = len(checked_array(self, "lows_", "float64", ndim=1))
        if w not in (self.n_features_in_, 2 * self.n_features_in_ if self.is_sparse_ else self.n_features_in_):
            raise ValueError("lows_ must have one number per column.")
        checked_array(self, "widths_", "float64", shape=(w,), lowest=0)
        check_whole(self, "n_bins_", 1, MOST_LEVELS)
        levels = checked_array(self, "levels_", "int64", ndim=1, lowest=0, highest=self.n_bins_)
        _check_ascending(self.starts_, w, len(levels), "starts_")
        if self.rule_ == "adaptive":
            edges = checked_array(self, "edges_", "float64", ndim=1)
            _check_ascending(self.edge_starts_, w, len(edges), "edge_starts_")
        if not self.is_sparse_ and not np.array_equal(
            levels, np.concatenate([np.arange(count) for count in np.diff(self.starts_)])
        ):
            raise ValueError("levels_ must hold all levels of every column.")
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
        raise ValueError(f"{name} must ascend from 0 to {end}, with one entry more than columns.")
