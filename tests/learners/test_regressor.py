"""KernelRegressor: support vector and ridge regression where the map is exact, several targets at once."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.svm import SVR

import mercer
from mercer import InputError, get_kernel
from mercer.learners import IntersectionSVR, KernelRegressor

TIGHT = {"tol": 1e-6, "max_iter": 3000}


@pytest.fixture
def data(rng):
    """An additive function of four columns with 16 different values each, and noise."""
    X = rng.integers(1, 17, (150, 4)) / 16
    return X, np.sqrt(X[:, 0]) - X[:, 1] ** 2 + np.abs(X[:, 2] - 0.5) + 0.05 * rng.normal(size=150)


@pytest.mark.parametrize("name", ["linear", "intersection"])
def test_support_vector_regression_is_the_exact_one_where_the_map_is_exact(data, name):
    X, y = data
    kernel = get_kernel(name)
    s = y.std()  # C and epsilon of SVR are in the unit of y
    model = KernelRegressor(name, C=1 / s, intercept_scaling=None, epsilon=0.05 / s, **TIGHT).fit(X, y)
    exact = SVR(kernel="precomputed", epsilon=0.05, tol=1e-8).fit(kernel(X), y)
    # the root of the gap
    np.testing.assert_allclose(model.predict(X), exact.predict(kernel(X)), atol=5e-3)


def test_the_squared_loss_is_kernel_ridge_regression(data, rng):
    X, y = data
    Y, weights = np.column_stack([y, -3 * y + X[:, 3]]), rng.random(len(y)) + 0.5
    K = get_kernel("intersection")(X)
    model = KernelRegressor("intersection", loss="squared", C=5.0, fit_intercept=False, **TIGHT)
    alpha = np.linalg.solve(K + np.diag(1 / (5.0 * weights)), Y)
    np.testing.assert_allclose(model.fit(X, Y, weights).predict(X), K @ alpha, atol=2e-3)


def test_several_targets_are_single_ones_side_by_side(data):
    X, y = data
    Y = np.column_stack([y, 2 * y, X[:, 3]])
    together = KernelRegressor("chi2", **TIGHT).fit(X, Y)
    assert together.predict(X).shape == Y.shape
    assert together.plan_.n_columns == 3
    for k in range(3):
        alone = KernelRegressor("chi2", **TIGHT).fit(X, Y[:, k])
        assert alone.predict(X).shape == y.shape
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=5e-3)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared"])
def test_the_zero_of_the_targets_does_not_matter(data, loss):
    X, y = data
    near, far = (KernelRegressor("chi2", loss=loss, **TIGHT).fit(X, y + shift) for shift in (0.0, 1e4))
    # the root of the gap, as above: which point within it a fit ends at depends on the rounding of the processor
    np.testing.assert_allclose(far.predict(X) - 1e4, near.predict(X), atol=5e-3)
    assert near.score(X, y) > 0.5


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "absolute", "squared"])
@pytest.mark.parametrize("learner", [KernelRegressor, IntersectionSVR])
def test_the_unit_of_the_targets_does_not_matter(data, rng, loss, learner):
    X, y = data
    weights = rng.integers(1, 4, len(y))
    kernel = "chi2" if learner is KernelRegressor else "intersection"
    plain = learner(kernel=kernel, loss=loss, **TIGHT).fit(X, y, weights)
    for unit in (1e-9, 1e6, 1e180):
        scaled = learner(kernel=kernel, loss=loss, **TIGHT).fit(X, unit * y, weights)
        # the root of the gap, as above
        np.testing.assert_allclose(scaled.predict(X) / unit, plain.predict(X), atol=5e-3)
        np.testing.assert_allclose(scaled.C_, plain.C_)
    without = learner(kernel=kernel, loss=loss, fit_intercept=False, **TIGHT)
    small, large = (without.fit(X, unit * (y + 2), weights).predict(X) / unit for unit in (1e-6, 1e6))
    np.testing.assert_allclose(small, large, atol=5e-3)


def test_constant_targets_are_predicted_as_they_are(data):
    X, _ = data
    for value in (0.0, 0.1, -1e9):
        for learner in (KernelRegressor("chi2"), IntersectionSVR()):
            np.testing.assert_allclose(learner.fit(X, np.full(len(X), value)).predict(X), value, rtol=1e-12)


def test_the_defaults_serve_targets_in_any_unit():
    X, y = load_diabetes(return_X_y=True)
    assert IntersectionSVR().fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4  # measured 0.48
    X = X - X.min(axis=0)
    assert KernelRegressor("chi2").fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4


def test_a_saved_model_predicts_the_same_bits(data, tmp_path):
    X, y = data
    for targets in (y, np.column_stack([y, -y])):
        model = KernelRegressor("rbf", random_state=0).fit(X, targets)
        mercer.save(model, tmp_path / "m.mercer")
        np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(X), model.predict(X))


def test_what_cannot_be_used_is_refused(data):
    X, y = data
    with pytest.raises(
        InputError,
        match=r"KernelRegressor: `loss` must be one of .*'absolute', 'squared', or None; got 'hinge'",
    ):
        KernelRegressor("chi2", loss="hinge").fit(X, y)
    with pytest.raises(InputError, match="`epsilon` must be a number >= 0; got -1"):
        KernelRegressor("chi2", epsilon=-1).fit(X, y)
    with pytest.raises(InputError, match="`C` must be a number > 0, 'auto', or None; got 0"):
        KernelRegressor("chi2", C=0).fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        KernelRegressor("chi2").fit(X, np.where(y > 0, y, np.nan))
