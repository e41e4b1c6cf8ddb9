"""Placing values on grids: the loops against (5), solved by the pseudo-inverse."""

import numpy as np
import pytest

from mercer._native.spaces import grid as loops
from mercer.kernels import Chi2
from tests.reference.spaces import grid as twins

GRID = np.array([0.02, 0.03, 0.1, 0.35, 0.4, 2.0])
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample_values(rng, dtype):
    """Values below, between, on and above the points, of both signs."""
    values = np.concatenate([rng.uniform(0, 3, 50), rng.uniform(0, 0.03, 20), GRID, [1e-30, 1e30]])
    return (values * rng.choice([-1, 1], len(values))).astype(dtype)


def both(name, arguments, *outputs):
    """Pairs (loop, twin) of what they leave in the arrays they write, and of what they return."""
    results = []
    for module in (loops, twins):
        written = [output.copy() for output in outputs]
        results.append([*written, getattr(module, name)(*arguments, *written)])
    return [(got, want) for got, want in zip(*results, strict=True) if want is not None]


@dtypes
def test_dense_rows_are_reduced_to_their_non_zeros(rng, dtype):
    X = rng.standard_normal((7, 5)).astype(dtype) * (rng.random((7, 5)) < 0.5)
    X[3] = 0
    found = np.count_nonzero(X)
    for got, want in both("compress_rows", (X,), np.empty(8, int), np.empty(35, "i4"), np.empty(35, dtype)):
        np.testing.assert_array_equal(got[:found], want[:found])


@dtypes
@pytest.mark.parametrize("n_points", [1, 2, 6])
def test_intervals_are_those_of_a_sorted_search(rng, dtype, n_points):
    values = sample_values(rng, dtype)
    for got, want in both("find_intervals", (values, GRID[:n_points]), np.empty(len(values), "i4")):
        np.testing.assert_array_equal(got, want)


@dtypes
@pytest.mark.parametrize("kernel", ["intersection", "chi2"])
@pytest.mark.parametrize("n_points", [1, 2, 6])
def test_closed_forms_solve_the_system_of_two_equations(rng, dtype, kernel, n_points):
    grid = GRID[:n_points]
    values = sample_values(rng, dtype)
    intervals = np.searchsorted(grid, np.abs(values).astype(np.float64), side="right").astype("i4")
    for got, want in both(f"{kernel}_coefficients", (values, intervals, grid), np.full((len(values), 2), np.nan)):
        # the pseudo-inverse of the closest two points loses three digits
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


def test_windows_are_multiplied_by_their_own_matrix(rng):
    inverses, kernel_values = rng.standard_normal((7, 4, 4)), rng.standard_normal((30, 4))
    intervals = rng.integers(0, 7, 30).astype("i4")
    for got, want in both("solve_windows", (kernel_values, intervals, inverses), np.empty((30, 4))):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


@dtypes
@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("half", [1, 2])
def test_features_are_written_without_zeros(rng, dtype, odd, half):
    starts = np.array([5, 8, 8, 11, 12])  # a block from the middle of a matrix; its second row is empty
    columns, values = np.array([0, 2, 9, 1, 2, 3, 0], "i4"), rng.standard_normal(7).astype(dtype)
    intervals = rng.integers(0, 7, 7).astype("i4")
    coefficients = rng.standard_normal((7, 2 * half))
    coefficients[intervals + half > 6, 1:] = 0.0
    coefficients[0] = [1.0, *[0.0] * (2 * half - 1)]
    coefficients[1, 0] = 1e-60  # zero in float32
    arguments = (starts, columns, values, odd, intervals, coefficients, half, 6)
    size = coefficients.size
    outputs = np.zeros(5, int), np.zeros(size, "i4"), np.zeros(size, dtype)
    for got, want in both("scatter_coefficients", arguments, *outputs):
        np.testing.assert_array_equal(got, want)


def test_residuals_between_candidate_points_are_those_of_the_projection(rng):
    z, x = np.sort(rng.uniform(0.01, 1, 12)), np.sort(rng.uniform(0, 1, 60))
    gram, cross = (Chi2().scalar(z[:, None], other) for other in (z, x))
    arguments = gram, cross, x, rng.random(60), np.searchsorted(z, x, side="right")
    for got, want in both("interval_residuals", arguments, np.zeros((13, 12))):
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_points_that_add_nothing_to_each_other_are_no_obstacle(rng):
    z, x = np.sort(rng.uniform(0.01, 1, 5)), np.sort(rng.uniform(0, 1, 20))
    costs = np.zeros((6, 5))
    # the linear kernel: all points are one direction, and nothing is ever lost
    loops.interval_residuals(
        np.outer(z, z), np.outer(z, x), x * x, np.ones(20), np.searchsorted(z, x, side="right"), costs
    )
    assert not costs.any()
