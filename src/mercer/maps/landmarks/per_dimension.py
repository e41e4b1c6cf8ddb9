"""Additive kernels, one column at a time: eigenfunctions of the one-dimensional kernel, tabulated. [perronnin10large]

K(x, y) = sum_j k(x_j, y_j), so a map of the numbers x_j serves: psi_j(x_j) with psi_j(x)' psi_j(y) ~ k(x, y). Column j
has landmarks z (quantiles of its non-zero values), and with k(z, z) = U S U'

    psi_j(x) = S_E^-1/2 U_E' k(z, x)                    the first E eigenfunctions, E = n_components

is tabulated on 0 and a geometric sequence of points and interpolated linearly. Zero maps to zero.

Notation
    symbol    code    meaning                                              shape
    d, E      -       columns; functions per column
    T         POINTS  points per column
    x_t       points  0 and a geometric sequence, per column               (d, T)
    psi(x_t)  tables  values; second side for negative x, if there is one  (sides, d, T, E)
"""

__all__ = ["fit_tables"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.linalg import positive_eigenpairs
from mercer._base.threads import run_blocks, single_threaded
from mercer.maps.landmarks.choice import sample_rows

POINTS = 512  # table points per column
SAMPLE_ROWS = 20_000  # rows from which quantiles are taken
SMALLEST_SHARE = 2.0**-20  # of the largest value of a column: smaller values are interpolated from zero
SMALLEST_VALUE = {"d": 1e-290, "f": 1e-35}  # the largest of a column, at least
BELOW, ABOVE = 0.25, 2.0  # the tables reach from a quarter of the smallest value to twice the largest


def fit_tables(kernel, X, n_components, n_landmarks, *, given=None, random_state, n_jobs=None):
    """(points, tables) of the eigenfunctions of each column.

    Parameters
    ----------
    kernel : an additive kernel with k(x, 0) = 0
    X : validated rows, ndarray or csr_array
    n_components : functions per column; columns of lower rank have zeros in the others
    n_landmarks : quantiles per column
    given : rows whose values are the landmarks, column by column, instead of quantiles
    """
    _require_additive(kernel)
    d = X.shape[1]
    landmarks = _quantiles(X, n_landmarks, random_state) if given is None else _column_values(given)
    landmarks = landmarks.astype(np.float64)
    largest = _largest(X)
    _require_values(largest, X.dtype)
    points = _points(landmarks, largest)
    sides = (1.0,) if kernel.positive_definite_on == "non-negative" else (1.0, -1.0)
    tables = np.zeros((len(sides), d, points.shape[1], n_components), dtype=np.float32)

    def tabulate(j):
        z = landmarks[j]
        values, vectors = positive_eigenpairs(kernel.scalar(z[:, None], z))
        weights = (vectors / np.sqrt(values))[:, :n_components]
        for side, sign in enumerate(sides):
            tables[side, j, :, : weights.shape[1]] = kernel.scalar(sign * points[j][:, None], z) @ weights

    with single_threaded():
        run_blocks(tabulate, range(d), n_jobs)
    return points, tables


# ---------------------------------------------------------------------------------------------------------- helpers


def _require_additive(kernel):
    if not kernel.additive:
        raise InputError(
            f"NystroemMap(per_dimension=True) needs an additive kernel; {kernel!r} is not additive. Use "
            "per_dimension=False."
        )
    if np.any(kernel.scalar(np.array([0.5, 1.0, 2.0]), np.zeros(3))):
        raise InputError(f"NystroemMap(per_dimension=True) needs a kernel with k(x, 0) = 0, which {kernel!r} is not.")


def _require_values(largest, dtype):
    """Refuse columns whose values are all too small for a geometric sequence below them."""
    least = SMALLEST_VALUE[dtype.char]
    small = np.flatnonzero((largest > 0) & (largest < least))
    if len(small):
        raise InputError(
            f"NystroemMap(per_dimension=True) tabulates values of at least {least:g} , but the largest value of "
            f"column {small[0]} is {largest[small[0]]:.6g}. Scale the column, or remove it."
        )


def _quantiles(X, n_landmarks, random_state):
    """Evenly spaced quantiles of the non-zero values of each column, shape (d, n_landmarks).

    A column without non-zero values gets those of all columns together.
    """
    rows = X if X.shape[0] <= SAMPLE_ROWS else X[sample_rows(X.shape[0], SAMPLE_ROWS, random_state)]
    by_column = sparse.csc_array(rows)
    by_column.eliminate_zeros()
    pooled = by_column.data if by_column.nnz else np.ones(1)
    everywhere = _evenly(np.sort(pooled), n_landmarks)
    out = np.empty((X.shape[1], n_landmarks))
    for j in range(X.shape[1]):
        values = by_column.data[by_column.indptr[j] : by_column.indptr[j + 1]]
        out[j] = _evenly(np.sort(values), n_landmarks) if len(values) else everywhere
    return out


def _evenly(values, count):
    """``count`` of the sorted values at evenly spaced ranks, repeated where there are fewer."""
    return values[((np.arange(count) + 0.5) / count * len(values)).astype(np.int64)]


def _column_values(rows):
    """The landmarks of each column from given rows, shape (d, rows)."""
    columns = (rows.toarray() if sparse.issparse(rows) else rows).T
    empty = ~columns.any(axis=1)
    if empty.any():
        everywhere = columns[columns != 0]
        columns = columns.copy()
        columns[empty] = np.resize(everywhere, columns.shape[1]) if len(everywhere) else 1.0
    return columns


def _largest(X):
    """The largest |value| of each column."""
    if sparse.issparse(X):
        return abs(X).max(axis=0).toarray().ravel().astype(np.float64)
    return np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)


def _points(landmarks, largest):
    """0 and a geometric sequence over the range of each column, shape (d, POINTS)."""
    magnitudes = np.abs(landmarks)
    high = np.maximum(magnitudes.max(axis=1), largest)
    low = np.where(magnitudes > 0, magnitudes, np.inf).min(axis=1)
    low = BELOW * np.maximum(low, SMALLEST_SHARE * high)
    steps = np.linspace(0.0, 1.0, POINTS - 1)
    points = np.exp(np.log(low)[:, None] + np.log(ABOVE * high / low)[:, None] * steps)
    return np.hstack([np.zeros((len(low), 1)), points])
