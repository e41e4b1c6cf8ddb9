"""Rules that place grid points: what all of them promise, and that the optimal one is optimal."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError
from mercer.kernels import Chi2, GeneralizedIntersection, Intersection, JensenShannon, Linear
from mercer.maps.grids import points as _grids
from mercer.maps.grids.points import GRID_RULES, given_points, grid_points, sample_magnitudes
from tests.pairs import all_pairs

SAMPLES = {
    "heavy tail": np.random.default_rng(0).lognormal(-4, 1.5, 5000),
    "counts": np.random.default_rng(1).geometric(0.3, 400).astype(float),
    "one value": np.full(30, 0.7),
    "two values": np.array([0.2] * 5 + [0.9]),
    "extremes": np.array([1e-300, 1e-8, 1.0, 1e8, 1e300]),
}


def squared_residuals(kernel, values, grid):
    """min over phi of |Psi(x) - sum_z phi_z Psi(z)|^2, z the neighbors of x, by least squares."""
    total = 0.0
    for x in values:
        c = np.searchsorted(grid, x, side="right")
        z = grid[max(0, c - 1) : c + 1]
        k = kernel.scalar(z, x)
        total += max(kernel.scalar(x, x) - k @ np.linalg.pinv(kernel.scalar(z[:, None], z), hermitian=True) @ k, 0.0)
    return total


@pytest.mark.parametrize(
    ("n_points", "sample", "rule"),
    all_pairs([1, 2, 7, 40], list(SAMPLES), list(GRID_RULES)),
)
def test_points_are_positive_and_ascend_to_the_largest_value(rule, sample, n_points):
    magnitudes = np.sort(SAMPLES[sample])
    points = grid_points(rule, Chi2(), magnitudes, n_points)
    assert 1 <= len(points) <= n_points
    assert points[0] > 0
    assert (np.diff(points) > 0).all()
    assert points[-1] == magnitudes[-1]


@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), JensenShannon(), GeneralizedIntersection(0.5)], ids=repr)
def test_the_optimal_rule_loses_least(kernel):
    magnitudes = np.sort(SAMPLES["heavy tail"])
    grids = {rule: grid_points(rule, kernel, magnitudes, 10) for rule in GRID_RULES}
    lost = {rule: squared_residuals(kernel, magnitudes[::10], grid) for rule, grid in grids.items()}
    assert lost["optimal"] <= 1.01 * min(lost.values())  # it chooses among 256 points, for 1,024 of the values
    assert lost["optimal"] < 0.8 * lost["uniform"]


@pytest.mark.parametrize("kernel", [Chi2(), Intersection()], ids=repr)
@pytest.mark.parametrize("n_points", [1, 2, 4, 8])
def test_among_few_values_the_optimal_rule_finds_the_best_subset(rng, kernel, n_points):
    magnitudes = np.sort(rng.choice(rng.lognormal(0, 1, 9), 60))
    distinct = np.unique(magnitudes)
    subsets = combinations(distinct[:-1], n_points - 1)
    best = min(squared_residuals(kernel, magnitudes, np.array([*subset, distinct[-1]])) for subset in subsets)
    found = grid_points("optimal", kernel, magnitudes, n_points)
    assert squared_residuals(kernel, magnitudes, found) == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rule", ["quantile", "optimal"])
def test_few_different_values_are_all_points(rule):
    magnitudes = np.sort(SAMPLES["counts"])
    distinct = np.unique(magnitudes)
    np.testing.assert_array_equal(grid_points(rule, Intersection(), magnitudes, 40), distinct)


@pytest.mark.parametrize("rule", GRID_RULES)
@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), Linear()], ids=repr)
def test_points_scale_with_the_values(rule, kernel):
    magnitudes = np.sort(SAMPLES["heavy tail"])
    points = grid_points(rule, kernel, magnitudes, 12)
    np.testing.assert_allclose(grid_points(rule, kernel, 2.0**40 * magnitudes, 12), 2.0**40 * points, rtol=1e-12)


def test_a_sample_keeps_the_extreme_values(rng, monkeypatch):
    monkeypatch.setattr(_grids, "SAMPLE_VALUES", 100)
    X = rng.uniform(1, 2, (500, 6)) * (rng.random((500, 6)) < 0.5)
    X[77, 3], X[400, 1] = -1e-3, 50.0
    for rows in (X, sparse.csr_array(X)):
        magnitudes = sample_magnitudes(rows, np.random.RandomState(0))
        assert 40 < len(magnitudes) < 130
        assert (magnitudes[0], magnitudes[-1]) == (1e-3, 50.0)
        assert (np.diff(magnitudes) >= 0).all()


def test_nothing_but_zeros_still_gives_a_grid():
    magnitudes = sample_magnitudes(np.zeros((3, 2)), np.random.RandomState(0))
    assert len(magnitudes) == 0
    assert grid_points("geometric", Chi2(), magnitudes, 5).tolist() == [1.0]


@pytest.mark.parametrize("points", [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [-1.0], [np.nan], [1.0, np.inf]])
def test_points_that_do_not_ascend_from_above_zero_are_refused(points):
    with pytest.raises(InputError, match="finite ascending grid points > 0"):
        given_points(points, "Map")


@pytest.mark.parametrize("points", [[], 1.0, [[1.0, 2.0]]])
def test_points_are_a_list_of_numbers(points):
    with pytest.raises(InputError, match="1-d array of points"):
        given_points(points, "Map")
