"""Functions of single values as tables: features of a row, and sums over its columns (what such a map folds to).

    points  (d, T)               per column, 0 and a geometric sequence
    tables  (sides, d, T, E)     E functions per column at its points, 0 at 0; a second side is for negative values

Between points the functions are linear, beyond the last one constant.
"""

__all__ = ["TablePredictor", "check_tables", "encode_by_tables", "fold_tables"]

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.threads import run_blocks
from mercer._native.maps.interpolation import interpolate_dense, interpolate_sparse, sum_interpolated
from mercer.kernels.base import require_non_negative
from mercer.spaces.placement import nonzeros
from mercer.spaces.predictors import Predictor, predictor_class

BLOCK_VALUES = 2**18  # input values per task


def encode_by_tables(X, points, tables, n_jobs=None):
    """Features of validated rows, E per input column: CSR for CSR, dense for dense, in the type of X."""
    (d, _, E), n = tables.shape[1:], X.shape[0]
    arguments = _loop_arguments(points, tables, X.dtype)
    if sparse.issparse(X):
        data = np.empty((X.nnz, E), dtype=X.dtype)

        def fill(part):
            return interpolate_sparse(X.indices[part], X.data[part], *arguments, data[part])

        beyond = run_blocks(fill, _slices(X.nnz, BLOCK_VALUES), n_jobs)
        columns = (X.indices[:, None].astype(np.int64) * E + np.arange(E)).ravel()
        result = sparse.csr_array((data.ravel(), columns, X.indptr.astype(np.int64) * E), shape=(n, d * E))
    else:
        out = np.empty((n, d, E), dtype=X.dtype)

        def fill(rows):
            return interpolate_dense(X[rows], *arguments, out[rows])

        beyond = run_blocks(fill, _slices(n, max(1, BLOCK_VALUES // d)), n_jobs)
        result = out.reshape(n, d * E)
    _warn_beyond(sum(beyond), "NystroemMap")
    return result


def fold_tables(tables, v):
    """Tables of the functions x_j -> psi_j(x_j)' v_j, shape (sides, d, T) or (sides, d, T, classes), in float64."""
    d, E = tables.shape[1], tables.shape[3]
    return np.einsum("sdte,de...->sdt...", tables.astype(np.float64), v.reshape(d, E, *v.shape[1:]))


@predictor_class
class TablePredictor(Predictor):
    """f(x) = sum_j f_j(x_j), each f_j a table on points of its own, linear between them and 0 at 0.

    Parameters
    ----------
    points : array of shape (features, T)
        Per column, 0 and a geometric sequence.
    tables : array of shape (sides, features, T) or (sides, features, T, classes)
        f_j at the points of column j; a second side is for negative values, without it values must be >= 0.

    Examples
    --------
    One column with values at 0, 1 and 2:

    >>> TablePredictor([[0.0, 1.0, 2.0]], [[[0.0, 4.0, 5.0]]])([[0.5], [1.0], [1.5]]).tolist()
    [2.0, 4.0, 4.5]
    """

    points: Any
    tables: Any

    def __post_init__(self):
        self.points = np.ascontiguousarray(self.points, dtype=np.float64)
        self.tables = np.ascontiguousarray(self.tables, dtype=np.float64)
        if self.tables.ndim not in (3, 4):
            raise InputError(f"TablePredictor needs tables of three or four dimensions, got {self.tables.ndim}.")
        check_tables(self.points, self._with_classes(), len(self.points))

    @property
    def n_features_in_(self):
        return len(self.points)

    def scores(self, X):
        self._check_signs(X, "X")
        n, n_values = X.shape[0], X.nnz if sparse.issparse(X) else X.size
        tables = self._with_classes()
        arguments = _loop_arguments(self.points, tables, np.float64)
        out = np.empty((n, tables.shape[3]))

        def fill(part):
            return sum_interpolated(*nonzeros(X, part), *arguments, out[part])

        beyond = run_blocks(fill, _slices(n, max(1, BLOCK_VALUES * n // max(1, n_values))))
        _warn_beyond(sum(beyond), "TablePredictor")
        return out[:, 0] if self.tables.ndim == 3 else out

    def functions(self, j, values):
        """f_j at the values, shape (k,) or (k, C): how column j enters the score."""
        if not 0 <= j < self.n_features_in_:
            raise InputError(
                f"TablePredictor has {self.n_features_in_} functions, counted from 0; it has no function {j}."
            )
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        self._check_signs(values[:, None], "values")
        arguments = _loop_arguments(self.points[j : j + 1], self._with_classes()[:, j : j + 1], np.float64)
        out = np.empty((len(values), arguments[-1].shape[3]))
        interpolate_sparse(np.zeros(len(values), dtype=np.int32), values, *arguments, out)
        return out[:, 0] if self.tables.ndim == 3 else out

    def _with_classes(self):
        return self.tables[..., None] if self.tables.ndim == 3 else self.tables

    def _check_signs(self, X, name):
        if len(self.tables) == 1:
            require_non_negative(X, "TablePredictor", name, "The kernel of the map needs values >= 0.")


def check_tables(points, tables, n_features):
    """Raise ValueError unless compiled loops can trust the arrays."""
    if not isinstance(points, np.ndarray) or points.dtype.char != "d" or points.ndim != 2 or points.shape[1] < 3:
        raise ValueError("points must be a float64 matrix with at least three points per column.")
    if not isinstance(tables, np.ndarray) or tables.dtype.char not in "fd" or tables.ndim != 4 or not tables.size:
        raise ValueError("tables must be an array of floats with four dimensions.")
    if points.shape[0] != n_features or tables.shape[1:3] != points.shape or tables.shape[0] > 2:
        raise ValueError(f"points {points.shape} and tables {tables.shape} do not match {n_features} features.")
    if not (np.all(points[:, 0] == 0) and np.all(np.diff(points, axis=1) > 0) and np.all(np.isfinite(points))):
        raise ValueError("points must start at zero and ascend.")


def _loop_arguments(points, tables, dtype):
    """The arrays that the compiled loops take, in one type."""
    logs = np.log(points[:, [1, -1]])
    inverse_steps = (points.shape[1] - 2) / (logs[:, 1] - logs[:, 0])
    return [np.ascontiguousarray(array, dtype=dtype) for array in (logs[:, 0], inverse_steps, points, tables)]


def _slices(n, size):
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _warn_beyond(count, who):
    if count:
        warnings.warn(
            f"{who}: {count} values exceed twice the largest training value of their column and are clipped to it. "
            "Fit on data that covers their range.",
            ApproximationWarning,
            stacklevel=4,
        )
