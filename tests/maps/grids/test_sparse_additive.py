"""SparseAdditiveMap: the coefficients of the paper, exact on the grid, honest beyond it, better with every point."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, ModelFileError, SparseAdditiveMap, load, save
from mercer._base.errors import ApproximationWarning
from mercer.datasets import load_pendigits
from mercer.kernels import (
    RBF,
    Chi2,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    JensenShannon,
    Linear,
    PowerMean,
    SumKernel,
)
from mercer.maps.grids import sparse_additive as _sparse_additive
from mercer.spaces import BlockFactor, CumulativeSum, GridPredictor

KERNELS = [
    Chi2(),
    Intersection(),
    JensenShannon(),
    Hellinger(),
    Linear(),
    PowerMean(-3),
    PowerMean(-np.inf),
    GeneralizedIntersection(0.5),
    Chi2() + 0.5 * Linear(),
]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
GRID = np.array([0.05, 0.2, 0.3, 0.7])


@pytest.fixture
def histograms(rng):
    """Rows that sum to 1, a third of the bins empty, values over four orders of magnitude."""
    X = rng.lognormal(-2, 1.5, (200, 15)) * (rng.random((200, 15)) < 0.7)
    return X / X.sum(axis=1, keepdims=True)


def relative_error(fitted, X):
    K = fitted.kernel_(X)
    return np.linalg.norm(fitted.approximate_kernel(X) - K) / np.linalg.norm(K)


def on_grid(kernel, x, **params):
    """Features of one value on GRID, as a dense vector."""
    return SparseAdditiveMap(kernel, grid=GRID, **params).fit([[0.5]]).transform([[x]]).toarray()[0]


# ------------------------------------------------------------------------------------------------- the coefficients


def test_a_value_between_two_points_has_the_coefficients_of_the_paper():
    np.testing.assert_allclose(on_grid("intersection", 0.6), [0, 0, 0.25, 0.75])
    a, b, x = 0.3, 0.7, 0.6
    np.testing.assert_allclose(on_grid("chi2", x), 2 * (a + b) * x / ((a + x) * (b + x)) * np.array([0, 0, 0.25, 0.75]))


@kernels
def test_below_the_first_point_there_is_one_neighbour(kernel):
    for x in (0.049, 0.01, 1e-9):
        z = GRID[0]
        np.testing.assert_allclose(on_grid(kernel, x), [kernel.scalar(z, x) / kernel.scalar(z, z), 0, 0, 0], rtol=1e-12)


@kernels
def test_above_the_last_point_there_is_one_neighbour_and_a_warning(kernel):
    fitted = SparseAdditiveMap(kernel, grid=GRID).fit([[0.5, 0.1]])
    with pytest.warns(ApproximationWarning, match=r"2 of 3 nonzero values are above .* 0\.7 and") as caught:
        features = fitted.transform(np.array([[0.9, 0.7], [0.0, 8.0]])).toarray()
    assert len(caught) == 1
    z = GRID[-1]
    wanted = [kernel.scalar(z, x) / kernel.scalar(z, z) for x in (0.9, 8.0)]
    np.testing.assert_allclose([features[0, 3], features[1, 7]], wanted, rtol=1e-12)
    assert np.count_nonzero(features) == 3


@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), PowerMean(-1)], ids=repr)
def test_closed_forms_and_the_general_solve_agree(kernel, histograms):
    closed = SparseAdditiveMap(kernel, grid=[0.001, 0.01, 0.1, 0.2, 1.0]).fit(histograms)
    general = SparseAdditiveMap(SumKernel((kernel,)), grid=[0.001, 0.01, 0.1, 0.2, 1.0]).fit(histograms)
    assert isinstance(general.inner_, BlockFactor)
    np.testing.assert_allclose(
        closed.transform(histograms).toarray(), general.transform(histograms).toarray(), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(closed.inner_.matrix(), general.inner_.matrix(), atol=1e-12)


def test_only_the_intersection_has_the_geometry_of_a_cumulative_sum(histograms):
    assert isinstance(SparseAdditiveMap("intersection").fit(histograms).inner_, CumulativeSum)
    assert isinstance(SparseAdditiveMap(GeneralizedIntersection(2.0)).fit(histograms).inner_, CumulativeSum)
    assert isinstance(SparseAdditiveMap("chi2").fit(histograms).inner_, BlockFactor)


@kernels
def test_the_kernel_is_exact_between_values_that_are_points(kernel, rng):
    X = rng.choice([0.0, *GRID], size=(40, 6))
    fitted = SparseAdditiveMap(kernel, grid=GRID).fit(X)
    np.testing.assert_allclose(fitted.approximate_kernel(X), kernel(X), rtol=1e-12, atol=1e-12)
    assert fitted.residual(X).max() < 1e-6  # the root of rounding


@kernels
def test_the_diagonal_is_that_of_a_projection(kernel, histograms):
    fitted = SparseAdditiveMap(kernel, n_points=6).fit(histograms)
    diagonal, exact = fitted.inner_.row_norms(fitted.rows(histograms)), kernel.diag(histograms)
    assert (diagonal <= exact * (1 + 1e-9)).all()
    np.testing.assert_allclose(fitted.residual(histograms) ** 2, exact - diagonal, atol=1e-12)


def test_the_diagonal_of_the_intersection_misses_a_parabola_between_points():
    fitted = SparseAdditiveMap("intersection", grid=GRID).fit([[0.5]])
    x = np.linspace(0.001, 0.7, 60)
    c = np.searchsorted(GRID, x, side="right")
    a, b = np.concatenate([[0], GRID])[c], np.append(GRID, 1.0)[c]
    np.testing.assert_allclose(fitted.residual(x[:, None]) ** 2, (x - a) * (b - x) / (b - a), atol=1e-12)


def test_below_the_first_point_the_intersection_with_larger_values_is_exact():
    fitted = SparseAdditiveMap("intersection", grid=GRID).fit([[0.5]])
    small, large = np.array([[1e-6], [0.01], [0.049]]), np.array([[0.05], [0.1], [0.65]])
    np.testing.assert_allclose(fitted.approximate_kernel(small, large), np.repeat(small, 3, axis=1), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Hellinger()], ids=repr)
def test_kernels_of_one_dimension_are_exact_on_any_grid(kernel, histograms):
    fitted = SparseAdditiveMap(kernel, grid=[0.3], n_neighbors=4).fit(histograms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        assert relative_error(fitted, histograms) < 1e-12


# ------------------------------------------------------------------------------------------------------- the features


def test_features_hold_two_numbers_per_value_and_no_zeros(histograms):
    histograms[7] = 0
    X = sparse.csr_array(histograms)
    X.data[:5] = 0.0  # stored zeros
    fitted = SparseAdditiveMap("chi2", n_points=8).fit(X)
    features = fitted.transform(X)
    assert features.has_canonical_format
    assert (features.data != 0).all()
    assert (np.diff(features.indptr) <= 2 * np.diff(sparse.csr_array(X.toarray()).indptr)).all()
    assert features[[7]].nnz == 0
    assert features.shape == (200, 15 * 8)


@kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_rows_in_blocks_of_any_size_have_the_same_bits(kernel, dtype, histograms, monkeypatch):
    X = histograms.astype(dtype)
    fitted = SparseAdditiveMap(kernel, n_points=8, n_jobs=2).fit(X)
    whole = fitted.transform(X)
    assert whole.dtype == dtype
    monkeypatch.setattr(_sparse_additive, "BLOCK_VALUES", 64)
    for rows in (X, sparse.csr_array(X)):
        features = fitted.transform(rows)
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(features, name), getattr(whole, name))


@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), JensenShannon(), Linear(), PowerMean(-2)], ids=repr)
def test_signed_values_have_features_with_signs(kernel, rng):
    X = rng.standard_normal((100, 5)) * (rng.random((100, 5)) < 0.8)
    fitted = SparseAdditiveMap(kernel, n_points=16, signed=True).fit(X)
    np.testing.assert_array_equal(fitted.transform(-X).toarray(), -fitted.transform(X).toarray())
    assert fitted.kernel_(X).min() < 0  # values of opposite sign count against each other
    assert relative_error(fitted, X) < 0.03


def test_a_kernel_of_magnitudes_ignores_signs(rng):
    X = rng.standard_normal((50, 5))
    fitted = SparseAdditiveMap(GeneralizedIntersection(0.7), n_points=16).fit(X)
    np.testing.assert_array_equal(fitted.transform(-X).toarray(), fitted.transform(X).toarray())
    assert relative_error(fitted, X) < 0.03


def test_folded_weights_are_one_function_per_column(histograms, rng):
    fitted = SparseAdditiveMap("js", n_points=8, n_neighbors=4).fit(histograms)
    v = rng.standard_normal((15 * 8, 2))
    predictor = fitted.fold(v)
    assert isinstance(predictor, GridPredictor)
    one_column = np.zeros((20, 15))
    one_column[:, 4] = np.linspace(0, 0.3, 20)
    np.testing.assert_allclose(predictor.functions(4, one_column[:, 4]), fitted.transform(one_column) @ v, atol=1e-12)


# ----------------------------------------------------------------------------------------------------------- the error


@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), JensenShannon(), PowerMean(-3)], ids=repr)
def test_the_error_of_the_default_falls_with_every_doubling(kernel, histograms):
    new = np.random.default_rng(1).permuted(histograms, axis=1)
    errors = []
    for n_points in (4, 8, 16, 32):
        fitted = SparseAdditiveMap(kernel, n_points=n_points).fit(histograms)
        assert fitted.grid_errors_[fitted.grid_choice_] == min(fitted.grid_errors_.values())
        errors.append(relative_error(fitted, new))
    assert all(fine < 0.7 * coarse for coarse, fine in pairwise(errors))  # measured: 0.25 to 0.62
    assert errors[-1] < 0.01


def test_uniform_grids_are_poor_where_histograms_live(histograms):
    coarse, fine = (SparseAdditiveMap("js", n_points=m).fit(histograms).grid_errors_ for m in (8, 16))
    assert set(fine) == {"uniform", "quantile", "geometric", "optimal"}
    assert fine["uniform"] > 5 * min(fine.values())
    assert fine["uniform"] > coarse["uniform"]  # more points, larger error


@pytest.mark.parametrize("kernel", [Chi2(), JensenShannon()], ids=repr)
def test_more_neighbours_lose_less(kernel, histograms):
    lost = [
        np.mean(SparseAdditiveMap(kernel, n_points=10, n_neighbors=P).fit(histograms).residual(histograms) ** 2)
        for P in (2, 4, 6)
    ]
    assert lost[0] > 3 * lost[1] > 3 * lost[2]


def test_two_neighbours_are_all_that_the_intersection_needs(histograms):
    two, four = (SparseAdditiveMap("intersection", n_neighbors=P).fit_transform(histograms) for P in (2, 4))
    np.testing.assert_array_equal(two.toarray(), four.toarray())


@kernels
@pytest.mark.parametrize("n_neighbors", [2, 4])
def test_the_residual_bounds_the_error_of_the_kernel(kernel, n_neighbors, histograms):
    fitted = SparseAdditiveMap(kernel, n_points=5, grid="quantile", n_neighbors=n_neighbors).fit(histograms)
    r, R = fitted.residual(histograms), np.sqrt(fitted.inner_.row_norms(fitted.rows(histograms)))
    error = np.abs(fitted.approximate_kernel(histograms) - kernel(histograms))
    assert (error <= np.outer(r, R) + np.outer(R, r) + np.outer(r, r) + 1e-7).all()


def test_the_choice_of_rows_repeats_with_the_seed(rng):
    X = rng.lognormal(0, 2, (3000, 3))
    grids = [SparseAdditiveMap("chi2", n_points=8, random_state=seed).fit(X) for seed in (5, 5, 6)]
    np.testing.assert_array_equal(grids[0].grid_, grids[1].grid_)
    assert grids[0].grid_errors_ == grids[1].grid_errors_ != grids[2].grid_errors_


def test_a_training_value_never_lies_above_the_grid(rng):
    X = rng.lognormal(0, 3, (3000, 3)).astype("f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        for grid in ("uniform", "quantile", "geometric", "optimal"):
            SparseAdditiveMap("chi2", grid=grid, n_points=6).fit_transform(X)


def test_data_without_values_has_empty_features():
    fitted = SparseAdditiveMap("js").fit(np.zeros((4, 3)))
    assert fitted.transform(np.zeros((2, 3))).nnz == 0
    assert not fitted.approximate_kernel(np.zeros((2, 3))).any()


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": RBF()}, "needs an additive kernel.*Use SparseMap"),
        ({"kernel": Linear() + GeneralizedIntersection()}, "mixes both"),
        ({"kernel": GeneralizedIntersection(), "signed": True}, "has no signed form"),
        ({"n_points": 0}, "`n_points` must be an integer >= 1"),
        ({"n_neighbors": 3}, "an even n_neighbors"),
        (
            {"grid": "even"},
            "`grid` must be 'auto', 'uniform', 'quantile', 'geometric'",
        ),
        ({"grid": [2.0, 1.0]}, "finite ascending grid points"),
        ({"grid": [0.1, 1.0], "n_points": 6}, "n_points=6 and a grid of points"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params, message):
    with pytest.raises(InputError, match=message):
        SparseAdditiveMap(**params).fit([[0.5, 0.2]])


@pytest.mark.parametrize("wrong", [lambda g: g[::-1].copy(), lambda g: g[:-1], lambda g: g.astype("f4"), lambda g: -g])
def test_a_file_with_another_grid_is_refused(wrong, histograms, tmp_path):
    fitted = SparseAdditiveMap("chi2", n_points=4).fit(histograms)
    fitted.grid_ = wrong(fitted.grid_)
    save(fitted, tmp_path / "m.mercer")
    with pytest.raises(ModelFileError, match="does not describe a valid SparseAdditiveMap"):
        load(tmp_path / "m.mercer")


# --------------------------------------------------------------------------------------------------------- real data


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")  # two of the test values are larger
@pytest.mark.parametrize(("kernel", "bound"), [("chi2", 7e-4), ("intersection", 3.5e-3), ("js", 2.5e-4)])
def test_sixteen_points_suffice_for_pen_strokes(kernel, bound):
    # measured on all 7,494 rows: 5.2e-4, 2.6e-3 and 1.7e-4
    train, test = load_pendigits("train")[0][:2000], load_pendigits("test")[0][:500]
    rows = [X / X.sum(axis=1, keepdims=True) for X in (train, test)]
    fitted = SparseAdditiveMap(kernel, n_points=16).fit(rows[0])
    assert relative_error(fitted, rows[1]) < bound
