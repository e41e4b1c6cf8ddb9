"""Data on which numbers run out: nothing fails in a factorization, and what is learned still serves."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import IntersectionSVC, KernelClassifier, KernelClassifierCV, KernelRegressor, NystroemMap
from mercer.learners.solvers.newton import hessian


@pytest.fixture(autouse=True)
def _few_passes_are_enough():
    with warnings.catch_warnings():  # models are judged by their predictions here
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _letters(rng, n, n_classes=26, noise=3):
    """Few columns of small whole numbers, many classes, as of letter recognition."""
    centres = rng.integers(0, 16, (n_classes, 16))
    y = np.arange(n) % n_classes
    return np.clip(centres[y] + rng.integers(-noise, noise + 1, (n, 16)), 0, 15) / 15.0, y


def _learners(**given):
    return [
        KernelClassifier("chi2", max_iter=100, **given),
        KernelClassifier("chi2", loss="logistic", max_iter=100, **given),
        KernelClassifier("rbf", loss="squared_hinge", max_iter=100, **given),
        IntersectionSVC(max_iter=100),
    ]


def test_a_hessian_that_rounding_made_indefinite_still_has_a_descent_direction(rng):
    Z = rng.random((500, 8)) @ rng.random((8, 140))  # 8 directions in 140 columns
    gradient = rng.normal(size=(140, 1))
    for size in (1e6, 1e20, 1e120):
        H = size * (Z.T @ Z)
        H += 1e-7 * np.trace(H) * np.diag(rng.normal(size=140))  # what float32 loses: more than the ridge of 1
        assert np.linalg.eigvalsh(H + np.eye(140))[0] < 0
        direction = -hessian._solver([H + np.eye(140)], 1)(gradient)
        assert np.isfinite(direction).all()
        assert (gradient * direction).sum() < 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_and_repeated_columns_change_no_answer_much(rng, dtype):
    X, y = _letters(rng, 390, 6)
    padded = np.hstack([X, X[:, :3], np.ones((390, 2)), np.zeros((390, 2))]).astype(dtype)
    for plain, padded_learner in zip(_learners(), _learners(), strict=True):
        plain.fit(X[:300], y[:300])
        padded_learner.fit(padded[:300], y[:300])
        assert padded_learner.score(padded[300:], y[300:]) > plain.score(X[300:], y[300:]) - 0.05


def test_repeated_rows_can_be_learned(rng):
    X, y = _letters(rng, 60, 3)
    for learner in _learners():
        assert learner.fit(np.repeat(X, 10, axis=0), np.repeat(y, 10)).score(X, y) > 0.9
    same = np.ones((30, 4))
    for learner in _learners():  # no column says anything
        assert np.isfinite(learner.fit(same, np.arange(30) % 3).decision_function(same)).all()


def test_more_classes_than_rows_of_a_class(rng):
    X, y = _letters(rng, 3 * 40, 40, noise=1)
    for learner in _learners():
        assert learner.fit(X, y).score(X, y) > 0.9


def test_fewer_rows_than_landmarks(rng):
    X, y = _letters(rng, 40, 4, noise=1)
    learner = KernelClassifier(map=NystroemMap("rbf", n_landmarks=1000, random_state=0)).fit(X, y)
    assert learner.map_.landmarks_.shape[0] <= 40
    assert learner.score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_c_over_twelve_decades(rng, loss, solver):
    X, y = _letters(rng, 300, 5, noise=8)
    X = np.hstack([X, X[:, :4]]).astype(np.float32)
    for C in 10.0 ** np.arange(-6, 7, 3):
        learner = KernelClassifier("chi2", C=C, loss=loss, solver=solver, multi_class="ovr", max_iter=50).fit(X, y)
        assert np.isfinite(learner.decision_function(X)).all()
        assert learner.score(X, y) >= 0.2


def test_targets_over_twelve_decades_of_c(rng):
    X = rng.random((200, 6)) @ rng.random((6, 12))
    y = X[:, 0] * X[:, 1]
    for C in 10.0 ** np.arange(-6, 7, 3):
        for loss in ("epsilon_insensitive", "squared"):
            assert np.isfinite(KernelRegressor("chi2", C=C, loss=loss, max_iter=50).fit(X, y).predict(X)).all()


def test_a_regressor_is_advised_to_use_a_loss_that_it_has(rng):
    X = rng.random((60, 3))
    with pytest.warns(ConvergenceWarning, match="such as 'squared'"):
        KernelRegressor("rbf", C=1e6, max_iter=1, solver="bundle", epsilon=0.0).fit(X, X[:, 0] ** 2)
    with pytest.warns(ConvergenceWarning, match="such as 'squared_hinge'"):
        KernelClassifier("rbf", C=1e6, max_iter=1, solver="bundle").fit(X, X[:, 0] > 0.5)


def test_the_path_of_c_ends_where_larger_values_do_not_help(rng):
    X, y = _letters(rng, 26 * 20, 26, noise=6)
    X = np.hstack([X, X[:, :2], np.ones((len(X), 1))]).astype(np.float32)
    found = KernelClassifierCV("chi2", cv=3, max_iter=200, random_state=0).fit(X, y)
    assert len(found.Cs_) < 10
    assert found.scores_.shape == (3, len(found.Cs_))
    assert found.best_index_ == found.scores_.mean(axis=0).argmax()
    scaled = found.Cs_ * np.mean([found.map_.inner_.row_norms(found.map_.rows(X))])
    np.testing.assert_allclose(scaled[0], 0.1, rtol=1e-5)  # float32 rows
    assert scaled[-1] > 5.0  # small values may all give the most frequent class


def test_every_value_of_c_that_is_named_is_tried(rng):
    X, y = _letters(rng, 120, 3, noise=1)
    Cs = [1.0, 10.0, 100.0, 1000.0, 10000.0]
    np.testing.assert_array_equal(KernelClassifierCV("chi2", Cs=Cs, cv=2, max_iter=50).fit(X, y).Cs_, Cs)
