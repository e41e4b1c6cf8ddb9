"""The weighting of peaks that spectral entropy similarity asks for. [li21spectral]

Notation
    paper   code      meaning                                        shape
    I       rows      intensities of a spectrum, which sum to 1      (n, d)
    S       entropy   - sum_j I_j log I_j, natural logarithm         (n,)
    w       power     0.25 + 0.25 S where S < 3, else 1              (n,)
    I'                I^w, divided by its sum                        (n, d)

The entropy similarity of two weighted spectra, 1 - (2 S(a/2 + b/2) - S(a) - S(b)) / log 4, is the Jensen-Shannon
kernel of their rows.
"""

__all__ = ["SpectralEntropyWeighting"]

from numbers import Real

import numpy as np
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.validation import canonical, refuse_negative


class SpectralEntropyWeighting(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale rows to sum 1, and flatten rows of low entropy S: x^w with w = (1 + S) / (1 + cutoff).

    S is the entropy of the row, and rows with S >= cutoff keep their values. With the default this is the weighting of
    spectral entropy similarity [li21spectral], w = 0.25 + 0.25 S for S < 3: the Jensen-Shannon kernel of the result is
    that similarity, for peaks that are matched by their bins.

    Parameters
    ----------
    cutoff : float above 0
        Entropy, in nats, above which a row keeps its values.

    Notes
    -----
    Rows may be dense or CSR. Only their width is recorded. Empty rows stay empty.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import JensenShannon
    >>> X = np.array([[90.0, 10.0, 0.0], [60.0, 0.0, 40.0]])
    >>> weighted = SpectralEntropyWeighting().fit_transform(X)
    >>> weighted.round(3).tolist()
    [[0.674, 0.326, 0.0], [0.542, 0.0, 0.458]]
    >>> float(JensenShannon()(weighted)[0, 1].round(3))
    0.603
    """

    def __init__(self, cutoff=3.0):
        self.cutoff = cutoff

    def fit(self, X, y=None):
        """Check the rows; nothing is learned. ``y`` is ignored."""
        if not isinstance(self.cutoff, Real) or not 0 < self.cutoff < np.inf:
            raise InputError(f"SpectralEntropyWeighting needs a cutoff above 0, got {self.cutoff!r}.")
        self._checked(X, reset=True)
        return self

    def transform(self, X):
        """Return the weighted rows, dense or CSR like X, in float32 or float64."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if sparse.issparse(X):
            return self._weighted_csr(X)
        rows = _divided(X.astype(np.float64), X.sum(axis=1, dtype=np.float64)[:, None])
        power = self._power(-xlogy(rows, rows).sum(axis=1))
        rows **= power[:, None]
        return _divided(rows, rows.sum(axis=1, keepdims=True)).astype(X.dtype)

    def _weighted_csr(self, X):
        lengths = np.diff(X.indptr)
        number = np.repeat(np.arange(X.shape[0]), lengths)

        def sums(values):
            return np.bincount(number, weights=values, minlength=X.shape[0])

        rows = X.data.astype(np.float64)
        rows = _divided(rows, sums(rows)[number])
        rows **= self._power(-sums(xlogy(rows, rows)))[number]
        rows = _divided(rows, sums(rows)[number])
        return sparse.csr_array((rows.astype(X.dtype), X.indices, X.indptr), shape=X.shape)

    def _power(self, entropy):
        """w = (1 + S) / (1 + cutoff), at most 1."""
        return np.minimum((1 + entropy) / (1 + self.cutoff), 1.0)

    def _checked(self, X, reset):
        X = canonical(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset))
        values = X.data if sparse.issparse(X) else X
        if (values < 0).any():
            position = int(np.argmax(values.ravel() < 0))
            refuse_negative(X, position, "SpectralEntropyWeighting", hint="Intensities must not be negative.")
        return X

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _divided(values, sums):
    """values / sums, where sums are not zero; there values are zero too."""
    return np.divide(values, sums, out=values, where=sums != 0)
