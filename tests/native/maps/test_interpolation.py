"""Interpolation in tables against numpy's interp."""

import numpy as np
import pytest

from mercer._native.maps.interpolation import interpolate_dense, interpolate_sparse, sum_interpolated
from tests.reference.maps import interpolation as reference


@pytest.fixture(params=["f4", "f8"])
def tables(request, rng):
    """(first_logs, inverse_steps, points, tables) of four columns with different ranges, two sides, three functions."""
    low, high = np.array([1e-4, 0.1, 1.0, 5.0]), np.array([1.0, 0.2, 1e3, 5e5])
    points = np.hstack([np.zeros((4, 1)), np.geomspace(low, high, 20, axis=1)])
    values = rng.normal(size=(2, 4, 21, 3))
    values[:, :, 0] = 0
    steps = 19 / np.log(high / low)
    return tuple(array.astype(request.param) for array in (np.log(low), steps, points, values))


@pytest.fixture
def values(tables, rng):
    """Rows with zeros, both signs, exact table points, values below the first point and beyond the last."""
    _, _, points, _ = tables
    X = rng.uniform(-1.3, 1.3, size=(200, 4)) * points[:, -1] * rng.random((200, 4)) ** 6
    X[:21] = points.T
    X[21:30] = 0
    X[30] = 0.5 * points[:, 1]
    X[31:34] = 7 * points[:, -1]
    return X.astype(points.dtype)


def tolerance(tables):
    return 200 * np.finfo(tables[2].dtype).eps  # intervals of a tenth of an octave magnify rounding of x tenfold


def test_dense_interpolation_is_numpys(tables, values):
    got, expected = np.full((200, 4, 3), np.nan, tables[2].dtype), np.empty((200, 4, 3))
    assert interpolate_dense(values, *tables, got) == reference.interpolate_dense(values, *tables, expected) >= 12
    np.testing.assert_allclose(got, expected, atol=tolerance(tables))


def test_sparse_interpolation_is_numpys(tables, values):
    columns = np.tile(np.arange(4, dtype=np.int32), 200)
    got, expected = np.full((800, 3), np.nan, tables[2].dtype), np.empty((800, 3))
    arguments = columns, values.ravel(), *tables
    assert interpolate_sparse(*arguments, got) == reference.interpolate_sparse(*arguments, expected) >= 12
    np.testing.assert_allclose(got, expected, atol=tolerance(tables))


def test_sums_of_rows_are_sums_of_their_entries(tables, values):
    columns = np.tile(np.arange(4, dtype=np.int32), 200)
    starts = np.array([5, 5, 9, 405, 805])  # an empty row; entries counted from the middle of a longer list
    got, expected = np.full((4, 3), np.nan), np.empty((4, 3))
    arguments = starts, columns, values.ravel(), *tables
    assert sum_interpolated(*arguments, got) == reference.sum_interpolated(*arguments, expected) >= 12
    np.testing.assert_allclose(got, expected, atol=100 * tolerance(tables))


def test_one_side_serves_both_signs(tables, values):
    one_sided = *tables[:3], tables[3][:1].copy()
    got, mirrored = np.empty((200, 4, 3), tables[2].dtype), np.empty((200, 4, 3), tables[2].dtype)
    interpolate_dense(values, *one_sided, got)
    interpolate_dense(-values, *one_sided, mirrored)
    np.testing.assert_array_equal(got, mirrored)
