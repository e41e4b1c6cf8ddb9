"""Columns on a common scale before a kernel compares rows.

none        x
unit        (x - smallest) / (largest - smallest), cut off at 0 and 1; of sparse rows x / largest magnitude
standard    (x - mean) / standard deviation; of sparse rows without the mean, so that zeros stay zeros
ranks       share of training values that are smaller, linear between QUANTILES quantiles
rows        x / sum of the row: histograms, counts and shares of different totals
"""

__all__ = ["SCALINGS", "ColumnScaling"]

from copy import copy

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.files.loaded import checked_array

SCALINGS = ("none", "unit", "standard", "ranks", "rows")
QUANTILES = 128  # pieces of the distribution of a column
CHECKS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


class ColumnScaling(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale columns or rows by statistics of the training rows; the first step of an automatic fit.

    Parameters
    ----------
    kind : {"none", "unit", "standard", "ranks", "rows"}
        How to scale: leave values unchanged; map each column to [0, 1] and clip values outside; subtract the mean and
        divide by the standard deviation; replace values by their rank in the column, from 0 to 1; or divide each row by
        its sum.

    Attributes
    ----------
    center_, width_ : ndarrays of shape (n_features,), or None
        A column becomes ``(x - center_) / width_``.
    points_ : ndarray of shape (n_features, 129), or None
        Quantiles of each column, for ``"ranks"``.
    weights_ : ndarray of shape (n_features,), or None
        Factors for the scaled columns in a distance. None uses 1 for all.

    Examples
    --------
    >>> ColumnScaling("unit").fit([[0.0, 5.0], [4.0, 15.0]]).transform([[1.0, 20.0]]).tolist()
    [[0.25, 1.0]]
    """

    def __init__(self, kind="unit"):
        self.kind = kind

    def fit(self, X, y=None):
        """Compute the statistics of the columns of X. ``y`` is ignored."""
        return self.fit_validated(validate_data(self, X, **CHECKS))

    def transform(self, X):
        """Scale the rows, in the type of X; sparse rows stay sparse."""
        check_is_fitted(self)
        return self.of_validated(validate_data(self, X, reset=False, **CHECKS))

    def fit_validated(self, X):
        """``fit`` for rows that were validated."""
        if self.kind not in SCALINGS:
            raise InputError(f"`kind` must be one of {', '.join(map(repr, SCALINGS))}; got {self.kind!r}.")
        self.n_features_in_ = X.shape[1]
        self.center_ = self.width_ = self.points_ = self.weights_ = None
        if self.kind == "unit":
            self._fit_range(X)
        elif self.kind == "standard":
            self._fit_moments(X)
        elif self.kind == "ranks":
            self._fit_quantiles(X)
        return self

    def weighed(self, weights):
        """The same with other weights of the scaled columns, float64 (n_features,)."""
        other = copy(self)
        other.weights_ = weights
        return other

    def of_validated(self, X):
        """``transform`` for rows that were validated."""
        scaled = self._scaled(X)
        if self.weights_ is None:
            return scaled
        weights = self.weights_.astype(X.dtype)
        return sparse.csr_array(scaled @ sparse.diags_array(weights)) if sparse.issparse(X) else scaled * weights

    def _scaled(self, X):
        if self.kind == "rows":
            return _by_sums(X)
        if self.kind == "ranks":
            return self._ranks(X)
        if self.width_ is None:
            return X
        width = self.width_.astype(X.dtype)
        if sparse.issparse(X):
            return sparse.csr_array(X @ sparse.diags_array(1 / width))
        scaled = (X - self.center_.astype(X.dtype)) / width
        return np.clip(scaled, 0, 1, out=scaled) if self.kind == "unit" else scaled

    def _fit_range(self, X):
        low, high = (_flat(end) for end in (X.min(axis=0), X.max(axis=0)))
        if sparse.issparse(X):
            low, high = np.zeros_like(low), np.maximum(np.abs(low), np.abs(high))
        self.center_, self.width_ = low, _positive(high - low)

    def _fit_moments(self, X):
        if sparse.issparse(X):
            mean = _flat(X.mean(axis=0))
            spread = np.sqrt(np.maximum(_flat(X.multiply(X).mean(axis=0)) - mean**2, 0))
            self.center_ = np.zeros_like(mean)
        else:
            self.center_, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        self.width_ = _positive(spread)

    def _fit_quantiles(self, X):
        if sparse.issparse(X):
            raise InputError("ColumnScaling('ranks') needs dense rows, because the zeros of sparse rows would change.")
        # method 'lower' takes values that occur, so that a column of few values has few different points
        self.points_ = np.quantile(X, np.linspace(0, 1, QUANTILES + 1), axis=0, method="lower").T.astype(np.float64)

    def _ranks(self, X):
        out = np.empty(X.shape, dtype=X.dtype)
        ranks = np.arange(QUANTILES + 1) / QUANTILES
        for j, points in enumerate(self.points_):
            values, first = np.unique(points, return_index=True)
            last = np.append(first[1:], len(points)) - 1
            out[:, j] = np.interp(X[:, j], values, (ranks[first] + ranks[last]) / 2)  # equal values share their ranks
        return out

    def _check_loaded(self):
        d = self.n_features_in_
        if self.kind not in SCALINGS:
            raise ValueError(f"kind must be one of {', '.join(SCALINGS)}.")
        if self.kind in ("unit", "standard"):
            checked_array(self, "center_", "float64", shape=(d,))
            if not checked_array(self, "width_", "float64", shape=(d,)).all():
                raise ValueError("width_ must not be 0.")
        if self.weights_ is not None:
            checked_array(self, "weights_", "float64", shape=(d,), lowest=0.0)
        if self.kind == "ranks":
            points = checked_array(self, "points_", "float64", shape=(d, QUANTILES + 1))
            if (np.diff(points, axis=1) < 0).any():
                raise ValueError("points_ must ascend.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kind != "ranks"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _by_sums(X):
    sums = np.abs(_flat(X.sum(axis=1, dtype=np.float64)))
    factors = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0).astype(X.dtype)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(factors) @ X)
    return X * factors[:, None]


def _positive(widths):
    """1 instead of 0, which a constant column has."""
    return np.where(widths > 0, widths, 1.0)


def _flat(values):
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64).ravel()
