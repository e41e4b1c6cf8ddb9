"""What a quantizer folds weights of the factor space into."""

__all__ = ["CodePredictor"]

from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer.spaces import Design
from mercer.spaces.predictors import CHUNK_ROWS, Predictor, predictor_class


@predictor_class
class CodePredictor(Predictor):
    """f(x) = phi(x)' F' u: encode the row, and score it by the weights of the factor space.

    Parameters
    ----------
    quantizer : a fitted ProductQuantizer
    u : weights, shape (r,) or (r, C)

    Examples
    --------
    What a classifier that learned on codes predicts with:

    >>> import numpy as np
    >>> from mercer import ProductQuantizer
    >>> X = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    >>> quantizer = ProductQuantizer(block_size=4, bits=4, random_state=0).fit(X)
    >>> CodePredictor(quantizer, np.ones(quantizer.inner_.n_factors))(X[:5]).shape
    (5,)
    """

    quantizer: Any
    u: Any

    def __post_init__(self):
        u, r = np.asarray(self.u), self.quantizer.inner_.n_factors
        if u.ndim not in (1, 2) or len(u) != r:
            raise InputError(f"CodePredictor needs u of shape ({r},) or ({r}, classes), got {u.shape}.")
        self.u = np.ascontiguousarray(u, dtype=np.float32 if u.dtype == np.float32 else np.float64)

    @property
    def n_features_in_(self):
        return self.quantizer.n_features_in_

    def __call__(self, X):
        """Scores of raw rows, shape (n,) or (n, C)."""
        if not hasattr(X, "iloc"):
            return super().__call__(X)
        # a data frame goes to the quantizer as it is, which checks the names of the columns
        return self._scores_of_parts(X.iloc, len(X), self.quantizer.rows, np.float64)

    def scores(self, X):
        return self._scores_of_parts(X, X.shape[0], self.quantizer.rows_of_validated, X.dtype)

    def _scores_of_parts(self, X, n, encode, dtype):
        u = self.u.astype(np.float32, copy=False)
        scores = [self._scores(encode(X[start : start + CHUNK_ROWS]), u) for start in range(0, n, CHUNK_ROWS)]
        is_single = self.u.dtype == dtype == np.float32
        return np.concatenate(scores).astype(np.float32 if is_single else np.float64, copy=False)

    def _scores(self, codes, u):
        # scores of every word pay if there are more rows than words
        expansion = "delayed" if len(codes) > codes.n_words.max() else "immediate"
        return Design(*self.quantizer.expanded_rows(codes, expansion), self.quantizer.n_jobs).scores(u)
