"""Predictors: what ``map.fold(v)`` returns, functions of raw rows that need nothing else.

A predictor is called on raw rows (an array, a data frame, a sparse matrix), which it validates, and gives scores of
shape (n,) or (n, C), in the common type of rows and weights: float32 if both are float32, else float64. It works chunk
by chunk, at boundaries that do not depend on the number of threads, and is saved and loaded by mercer.save and
mercer.load.
"""

__all__ = ["GridPredictor", "LandmarkPredictor", "MapPredictor", "Predictor"]

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.memory import row_chunks
from mercer._base.threads import run_blocks, single_threaded
from mercer._base.validation import as_rows
from mercer._native.spaces.tables import score_windows
from mercer.kernels import Kernel
from mercer.spaces.blocks import width_of
from mercer.spaces.placement import MOST_NEIGHBORS, Placement, nonzeros

predictor_class = dataclass(eq=False, repr=False)
CHUNK_ROWS = 8192  # rows encoded at once, if the working memory allows as many
KERNEL_ROWS, KERNEL_VALUES = 1024, 2**21  # rows and kernel values per task of a LandmarkPredictor
GRID_VALUES = 2**16  # non-zero values per task of a GridPredictor


class Predictor:
    """A function of raw rows: ``predictor(X)`` has shape (n,) or (n, C)."""

    _who: str | None = None

    @property
    def n_features_in_(self) -> int:
        """Width of the raw rows."""
        raise NotImplementedError

    def named(self, who):
        """The same; warnings will name the estimator that it belongs to, which users know."""
        self._who = who
        return self

    def __call__(self, X):
        """Scores of raw rows, shape (n,) or (n, C)."""
        return self.scores(self._checked(X))

    def scores(self, X):
        """Scores of validated rows: finite, C-contiguous floats or canonical CSR, of the right width."""
        raise NotImplementedError

    def get_params(self, deep=True):
        """Constructor arguments by name, which is what a model file keeps."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __reduce__(self):
        return type(self), tuple(self.get_params().values())  # the rest is derived from the arguments

    def __repr__(self):
        return f"{type(self).__name__}({self.n_features_in_} features)"

    def _checked(self, X):
        X = as_rows(X, type(self).__name__)
        if X.shape[1] != self.n_features_in_:
            raise InputError(f"{type(self).__name__} needs rows of {self.n_features_in_} features; got {X.shape[1]}.")
        return X


@predictor_class
class MapPredictor(Predictor):
    """f(x) = phi(x)' v: encode, then score.

    Parameters
    ----------
    map : a fitted map, which has ``rows(X)``, ``rows_of_validated(X)``, ``inner_`` and ``n_features_in_``
    v : weights on its features, shape (D,) or (D, C)

    Examples
    --------
    With the features of a row z as weights, f(x) is K(x, z), here of chi2 and 5/6:

    >>> from mercer import HomogeneousMap
    >>> z = [[0.6, 0.4]]
    >>> mapping = HomogeneousMap("chi2", order=3).fit(z)
    >>> MapPredictor(mapping, mapping.transform(z)[0])([[0.2, 0.8]]).round(2).tolist()
    [0.83]
    """

    map: Any
    v: Any

    def __post_init__(self):
        n_features = self.map.inner_.n_features
        self.v = _weights(self.v, n_features, f"{type(self.map).__name__} has {n_features} features")

    @property
    def n_features_in_(self):
        return self.map.n_features_in_

    def __call__(self, X):
        """Scores of raw rows, shape (n,) or (n, C)."""
        if not hasattr(X, "iloc"):
            return super().__call__(X)
        # a data frame goes to the map as it is, which checks the names of the columns
        return np.concatenate([self.map.rows(X.iloc[part]).scores(self.v) for part in self._chunks(X)])

    def scores(self, X):
        return np.concatenate([self.map.rows_of_validated(X[part]).scores(self.v) for part in self._chunks(X)])

    def _chunks(self, X):
        return row_chunks(X.shape[0], 8 * len(self.v), most=CHUNK_ROWS)


@predictor_class
class LandmarkPredictor(Predictor):
    """f(x) = sum_i coefficients_i K(x, landmark_i).

    Parameters
    ----------
    kernel : the kernel K
    landmarks : rows of shape (M, features), dense or sparse
    coefficients : array of shape (M,) or (M, C)

    Examples
    --------
    >>> from mercer import Linear
    >>> LandmarkPredictor(Linear(), [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])([[5.0, 2.0]]).tolist()
    [3.0]
    """

    kernel: Any
    landmarks: Any
    coefficients: Any

    def __post_init__(self):
        _check_kernel(self.kernel, "LandmarkPredictor")
        self.landmarks = as_rows(self.landmarks, "LandmarkPredictor", "landmarks")
        self.kernel.check_values(self.landmarks, "landmarks")
        n_landmarks = self.landmarks.shape[0]
        self.coefficients = _weights(self.coefficients, n_landmarks, f"there are {n_landmarks} landmarks")

    @property
    def n_features_in_(self):
        return self.landmarks.shape[1]

    def scores(self, X):
        self.kernel.check_values(X, "X")
        n, M = X.shape[0], self.landmarks.shape[0]

        def scored(part):
            return self.kernel.gram_block(X[part], self.landmarks, None) @ self.coefficients

        chunks = row_chunks(n, 8 * M, most=max(1, min(KERNEL_ROWS, KERNEL_VALUES // M)))
        with single_threaded():  # BLAS gives other bits on other numbers of threads
            out = np.concatenate(run_blocks(scored, chunks))
        return out.astype(np.result_type(X.dtype, self.coefficients.dtype), copy=False)


@predictor_class
class GridPredictor(Predictor):
    """f(x) = sum_j f_j(x_j), each f_j given by a table on the points of a grid.

    Between two points f_j is interpolated with the coefficients of the kernel, see :class:`SparseAdditiveMap`: linearly
    for the intersection. f_j(0) = 0.

    Parameters
    ----------
    kernel : additive kernel
    grid : ascending points > 0, of all dimensions
    v : tables, f_j at the points being v[j * points : (j + 1) * points]; shape (D,) or (D, C)
    n_neighbors : points from which a value is interpolated, even

    Examples
    --------
    A table with 1 at the point 1 and 5 at the point 3, linear between them:

    >>> from mercer import Intersection
    >>> GridPredictor(Intersection(), [1.0, 3.0], [1.0, 5.0])([[1.0], [2.0], [3.0]]).round(6).tolist()
    [1.0, 3.0, 5.0]
    """

    kernel: Any
    grid: Any
    v: Any
    n_neighbors: int = 2

    def __post_init__(self):
        _check_kernel(self.kernel, "GridPredictor")
        self.grid = np.ascontiguousarray(self.grid, dtype=np.float64)
        if not self.kernel.additive or self.grid.ndim != 1 or not len(self.grid):
            raise InputError("GridPredictor needs an additive kernel and the points of one grid.")
        if not np.isfinite(self.grid).all() or self.grid[0] <= 0 or (np.diff(self.grid) <= 0).any():
            raise InputError("GridPredictor needs finite, ascending grid points > 0.")
        if not isinstance(self.n_neighbors, (int, np.integer)) or self.n_neighbors < 2 or self.n_neighbors % 2:
            raise InputError(f"GridPredictor needs an even n_neighbors >= 2, got {self.n_neighbors!r}.")
        if self.n_neighbors > MOST_NEIGHBORS:
            raise InputError(
                f"GridPredictor supports windows of at most {MOST_NEIGHBORS} points, got {self.n_neighbors}."
            )
        points = len(self.grid)
        self.v = _weights(self.v, None, "")
        if len(self.v) % points:
            raise InputError(f"GridPredictor has {points} grid points, but tables of {len(self.v)} numbers.")
        self._placement = Placement(self.kernel, self.grid, self.n_neighbors)

    @property
    def n_features_in_(self):
        return len(self.v) // len(self.grid)

    def scores(self, X):
        self.kernel.check_values(X, "X")
        n = X.shape[0]
        n_values = X.nnz if sparse.issparse(X) else X.size
        out = np.empty((n, width_of(self.v)), dtype=np.result_type(X.dtype, self.v.dtype))

        def fill(part):
            out[part], n_above = self._scores(*nonzeros(X, part), self.v)
            return n_above

        n_above = sum(run_blocks(fill, row_chunks(n, 1, most=max(1, GRID_VALUES * n // max(1, n_values)))))
        if n_above:
            those, are, their = (
                ("1 value is", "is", "its") if n_above == 1 else (f"{n_above} values are", "are", "their")
            )
            warnings.warn(
                f"{self._who or 'GridPredictor'}: {those} above the last grid point {self.grid[-1]:.6g} and {are} "
                f"approximated by that point alone. Fit on data that covers {their} range.",
                ApproximationWarning,
                stacklevel=3,
            )
        return out[:, 0] if self.v.ndim == 1 else out

    def functions(self, j, values):
        """f_j at the values, shape (k,) or (k, C): how dimension j enters the score."""
        if not 0 <= j < self.n_features_in_:
            raise InputError(
                f"GridPredictor has {self.n_features_in_} functions, counted from 0; it has no function {j}."
            )
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        self.kernel.check_values(values[:, None], "values")
        points = len(self.grid)
        k = len(values)
        table = self.v[j * points : (j + 1) * points]
        out, _ = self._scores(np.arange(k + 1), np.zeros(k, dtype=np.int32), values, table)
        return out[:, 0] if self.v.ndim == 1 else out

    def _scores(self, starts, columns, values, v):
        """(scores of the rows with these non-zeros, number of values above the grid)."""
        intervals, coefficients, n_above = self._placement.coefficients(values)
        out = np.empty((len(starts) - 1, width_of(v)))
        place = self._placement
        score_windows(
            starts, columns, values, place.odd, intervals, coefficients,
            place.half, len(self.grid), v.reshape(len(v), -1), out,
        )  # fmt: skip
        return out, n_above


def _weights(v, length, why):
    v = np.asarray(v)
    v = np.ascontiguousarray(v, dtype=np.float32 if v.dtype == np.float32 else np.float64)
    if v.ndim not in (1, 2) or (length is not None and len(v) != length):
        wanted = "features" if length is None else length
        raise InputError(
            f"A predictor needs weights of shape ({wanted},) or ({wanted}, classes){': ' if why else ''}{why}; got "
            f"{v.shape}."
        )
    return v


def _check_kernel(kernel, who):
    if not isinstance(kernel, Kernel):
        raise InputError(f"{who} needs a kernel object, got {kernel!r}.")
