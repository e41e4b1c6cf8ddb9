"""What every feature map shares: validation, tags, the approximate kernel, folding.

A map encodes x as phi(x), stored as rows (dense, CSR, codes), with a geometry ``inner_`` such that
K(x, y) ~ phi(x)' H phi(y).
"""

__all__ = ["FeatureMap"]

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.feature_names import names_of_features
from mercer._base.parameters import Table, check_parameters
from mercer._base.validation import canonical, narrow, require_range
from mercer.kernels import TakesKernel, get_kernel, needs_non_negative, resolve_kernel
from mercer.maps.dask import is_dask, rows_to_fit, transform_chunks
from mercer.spaces import MapPredictor, as_rows


class FeatureMap(TakesKernel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the maps: a scikit-learn transformer that approximates a kernel.

    A subclass defines ``fit`` (which sets ``kernel_``, ``inner_`` and ``_n_features_out``) and ``encode_rows(X)``, the
    features of validated rows as a dense array or a CSR matrix. Both also take Dask collections.

    Whoever has validated rows uses ``fit_validated`` and ``rows_of_validated``, so that X is looked through once.
    """

    _table: Table = ()  # its parameters
    has_many_landmarks = False  # whether learners are given rows that are compared with landmarks in every pass
    _any_range = False  # whether numbers may be as large and small as floats can be
    _features_per_column: int | None = None  # None: features are of all columns together
    _trusts_rows = False  # whether the rows to fit were validated by the caller

    def transform(self, X):
        """Features of the rows of X, in the dtype of X; of a Dask collection, a Dask array of them."""
        if is_dask(X):
            return transform_chunks(self, X)
        return narrow(self.encode_rows(self._checked(X, reset=False)))

    def get_feature_names_out(self, input_features=None):
        """Names of the features. Maps that encode columns one by one use column names, as in ``mz_12~chi2_0``.

        Parameters
        ----------
        input_features : names of the columns, or None for those of ``fit``; ``x0``, ``x1``, ... if it had none
        """
        check_is_fitted(self)
        width = self._features_per_column
        if width is None:
            return super().get_feature_names_out(input_features)
        kernel = getattr(self.kernel_, "name", None) or type(self.kernel_).__name__.lower()
        return names_of_features(self, input_features, kernel, width)

    def rows(self, X):
        """The features as `mercer.spaces` rows, the form that learners and searchers work on."""
        return self.as_rows(self._checked(X, reset=False))

    def fit_validated(self, X):
        """``fit(X)`` for finite rows, C-contiguous floats or CSR; only what the kernel asks of them is looked at."""
        self._trusts_rows = True
        try:
            return self.fit(X)
        finally:
            del self._trusts_rows

    def rows_of_validated(self, X):
        """``rows(X)`` for finite rows, C-contiguous floats or CSR, as wide as those of ``fit``."""
        return self.as_rows(self.admit(X, fitting=False))

    def as_rows(self, X):
        """``rows(X)`` for rows that were admitted."""
        return as_rows(narrow(self.encode_rows(X)))

    def rows_to_learn(self, X, is_validated=False):
        """(rows, inner product) on which a learner works; another form of ``rows`` and ``inner_`` where that is better.

        Both have the same factor space: weights found on the one are weights on the other.
        """
        return (self.rows_of_validated(X) if is_validated else self.rows(X)), self.inner_to_learn

    @property
    def inner_to_learn(self):
        """The inner product of :meth:`rows_to_learn`."""
        return self.inner_

    def kept_weights(self, u):
        """What a model keeps of weights u in factor space."""
        return u

    def fold_kept(self, kept):
        """The predictor on raw input of what :meth:`kept_weights` gave."""
        return self.fold(self.inner_.lift(kept))

    def approximate_kernel(self, X, Y=None):
        """phi(X)' H phi(Y), the kernel that the map implies. Compare it with ``self.kernel_(X, Y)``."""
        left = self.rows(X)
        return self.inner_.gram(left, left if Y is None else self.rows(Y))

    def fold(self, v):
        """The predictor x -> phi(x)' v on raw input, for weights v of shape (features,) or (features, classes)."""
        check_is_fitted(self)
        return MapPredictor(self, v)

    def _checked(self, X, reset):
        """Validated rows: C-contiguous float32/float64 or canonical CSR, inside the kernel's domain."""
        if reset:
            self.check_parameters()
            X = rows_to_fit(self, X)
        else:
            check_is_fitted(self)
        return self.admit(self._validated(X, reset, dtype=[np.float64, np.float32], order="C"), fitting=reset)

    def _validated(self, X, reset, **checks):
        """What scikit-learn makes of X, unless the caller has asked it already."""
        if self._trusts_rows:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, accept_sparse="csr", **checks)

    def admit(self, X, fitting):
        """Validated rows as the map takes them, refused where they leave the kernel's domain."""
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        X = canonical(X)
        if not self._any_range:
            require_range(X, type(self).__name__, fitting=fitting)
        (self.resolved_kernel() if fitting else self.kernel_).check_values(X, "X")
        return X

    def check_parameters(self):
        """Refuse invalid parameters before any row is read."""
        check_parameters(self, self._table)

    def resolved_kernel(self):
        """The kernel object that the parameters stand for; a width may be open."""
        return get_kernel(self.kernel)

    def fitted_kernel(self, X):
        """The kernel on validated rows: widths that are open are measured."""
        return resolve_kernel(self.resolved_kernel(), X, self.n_jobs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_non_negative(self.resolved_kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
