"""Predictors of scaled rows as functions of raw rows, one or several together."""

__all__ = ["PanelPredictor", "ScaledPredictor"]

from typing import Any

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import single_threaded
from mercer.kernels import needs_non_negative
from mercer.learners.auto.scaling import ColumnScaling
from mercer.spaces import CellPredictor, LandmarkPredictor
from mercer.spaces.predictors import Predictor, predictor_class


@predictor_class
class ScaledPredictor(Predictor):
    """f(x) = predictor(scaling(x)).

    If the kernel of the predictor needs values >= 0, negative values count as 0, because trials chose the kernel.

    Parameters
    ----------
    scaling : fitted ColumnScaling
    predictor : LandmarkPredictor or CellPredictor of scaled rows
    dtype : ``"float32"`` or ``"float64"``, in which scaled rows are compared

    Examples
    --------
    >>> from mercer import ColumnScaling, LandmarkPredictor, Linear
    >>> scaling = ColumnScaling("unit").fit([[0.0], [10.0]])
    >>> ScaledPredictor(scaling, LandmarkPredictor(Linear(), [[1.0]], [3.0]))([[5.0]]).tolist()
    [1.5]
    """

    scaling: Any
    predictor: Any
    dtype: str = "float64"

    def __post_init__(self):
        if not isinstance(self.scaling, ColumnScaling) or not isinstance(
            self.predictor, (LandmarkPredictor, CellPredictor)
        ):
            raise InputError("ScaledPredictor needs a fitted ColumnScaling and a LandmarkPredictor or CellPredictor.")
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"`dtype` must be 'float32' or 'float64'; got {self.dtype!r}.")
        if self.scaling.n_features_in_ != self.predictor.n_features_in_:
            raise InputError("ScaledPredictor needs a scaling and a predictor with the same number of columns.")

    @property
    def n_features_in_(self):
        return self.scaling.n_features_in_

    @property
    def parts(self):
        """The predictor itself: see :class:`PanelPredictor`."""
        return [self]

    @property
    def kernel(self):
        """What scaled rows are compared by."""
        return self.predictor.kernel

    def scores(self, X):
        scaled = self.scaling.of_validated(X).astype(self.dtype)
        if needs_non_negative(lambda: self.predictor.kernel):
            values = scaled.data if sparse.issparse(scaled) else scaled
            np.maximum(values, 0, out=values)
        return self.predictor.scores(scaled).astype(np.float64, copy=False)


@predictor_class
class PanelPredictor(Predictor):
    """f(x) = sum of several predictors.

    Parameters
    ----------
    parts : list of ScaledPredictor, of equally many columns; the best one first

    Examples
    --------
    >>> from mercer import ColumnScaling, LandmarkPredictor, Linear
    >>> scaling = ColumnScaling("unit").fit([[0.0], [10.0]])
    >>> one = ScaledPredictor(scaling, LandmarkPredictor(Linear(), [[1.0]], [3.0]))
    >>> PanelPredictor([one, one])([[5.0]]).tolist()
    [3.0]
    """

    parts: Any

    def __post_init__(self):
        if not self.parts or not all(isinstance(part, ScaledPredictor) for part in self.parts):
            raise InputError("PanelPredictor needs a list of ScaledPredictors.")
        shapes = {(part.n_features_in_, np.shape(part.predictor.coefficients)[1:]) for part in self.parts}
        if len(shapes) > 1:
            raise InputError("PanelPredictor needs predictors with the same number of columns and scores.")

    @property
    def n_features_in_(self):
        return self.parts[0].n_features_in_

    @property
    def kernel(self):
        """The kernel of the best predictor, for scaled rows."""
        return self.parts[0].kernel

    def scores(self, X):
        with single_threaded():  # once for all: to set it takes as long as the arithmetic of a few rows
            return sum(part.scores(X) for part in self.parts)
