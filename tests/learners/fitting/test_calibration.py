"""Probabilities: the most likely ones, of pairs too, the largest predicted, and right as often as they say."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from mercer import InputError
from mercer.learners import KernelClassifier
from mercer.learners.fitting.calibration import fit_sigmoids, stratified_folds
from mercer.learners.fitting.softmax import fit_softmax
from mercer.learners.fitting.targets import class_columns


def test_the_sigmoid_of_a_label_is_the_most_likely_one(rng):
    scores = rng.normal(size=(40_000, 2)) * [1.0, 50.0]
    signs = np.where(rng.random((40_000, 2)) < expit([2.0, 0.1] * scores - 0.5), 1, -1)
    weights = rng.random(40_000) + 0.5
    found = fit_sigmoids(scores, signs, weights)
    for k in range(2):
        plain = LogisticRegression(C=1e6, tol=1e-10).fit(scores[:, k : k + 1], signs[:, k], weights)
        # one row of 40,000 speaks against an offset, and one is of any class: measured 6e-4
        np.testing.assert_allclose(found[:, k], [plain.coef_[0, 0], plain.intercept_[0]], rtol=1e-3)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_separated_and_equal_scores_have_finite_sigmoids(size):
    scores = size * np.array([[-2.0, 1], [-1, 1], [1, 1], [2, 1]])
    slopes, offsets = fit_sigmoids(scores, np.array([[-1, -1], [-1, -1], [1, -1], [1, 1]]), np.ones(4))
    p = expit(slopes * scores + offsets)
    assert np.isfinite([slopes, offsets]).all()
    assert (p[:2, 0] < 0.5).all()
    assert (p[2:, 0] > 0.5).all()
    assert (p[:, 1] < 0.5).all()


@pytest.mark.parametrize(("n_classes", "sign"), [(2, 1), (5, 1), (3, -1)])
def test_the_softmax_of_classes_is_the_most_likely_one(rng, n_classes, sign):
    n, n_columns = 300, 1 if n_classes == 2 else n_classes
    codes, weights = rng.integers(0, n_classes, n), rng.random(n) + 0.5
    own = 2.0 * codes[:, None] - 1 if n_columns == 1 else 2.0 * np.eye(n_classes)[codes]
    scores = sign * own + rng.normal(size=(n, n_columns))  # with -1 no slope > 0 is good, and offsets alone remain
    found, total = fit_softmax(scores, codes, weights), weights.sum()

    def loss(alpha, beta):
        """Of one more row in all that is of any class, and a prior row against offsets."""
        logits = alpha * scores + beta
        likely = log_softmax(np.hstack([np.zeros((n, 1)), logits]) if n_columns == 1 else logits, axis=1)
        share = 1 / (total + 1)
        mixed = (1 - share) * likely[np.arange(n), codes] + share * likely.mean(axis=1)
        return -weights @ mixed / total + beta @ beta / (2 * total)

    best = minimize(
        lambda at: loss(np.exp(at[0]), at[1:]), np.zeros(1 + n_columns), method="BFGS", options={"gtol": 1e-9}
    )
    assert found.slope > 0
    np.testing.assert_allclose(loss(found.slope, found.offsets), best.fun, atol=1e-6)  # slopes of 1e-6 for none
    np.testing.assert_allclose(found.log_loss, loss(found.slope, found.offsets), rtol=1e-12)


@pytest.mark.parametrize("scores", [np.full((30, 1), 0.3), np.zeros((30, 3)), np.full((30, 3), 1e300)])
def test_equal_scores_tell_the_shares_of_the_classes(scores):
    codes = np.repeat([0, 1], [10, 20])
    p = fit_softmax(scores, codes, np.ones(30)).probabilities(scores)
    np.testing.assert_allclose(p[:, :2], np.tile([1 / 3, 2 / 3], (30, 1)), atol=0.05)  # a row in 30 is of any class


def test_coupling_finds_the_probabilities_that_all_pairs_agree_on(rng):
    p = rng.dirichlet(np.ones(5), size=40)
    columns = class_columns("ovo", 5)
    q = p[:, columns.second] / (p[:, columns.second] + p[:, columns.first])
    np.testing.assert_allclose(columns.probabilities(q), p, atol=1e-6)
    q = rng.integers(0, 2, q.shape).astype(float)  # pairs that contradict each other, and are certain
    found = columns.probabilities(q)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_rows_are_right_about_as_often_as_they_say(multi_class):
    X, y = make_classification(
        3000, 6, n_informative=5, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.1, random_state=0
    )
    X = np.minimum(X - X.min(axis=0), (X - X.min(axis=0))[:450].max(axis=0))
    options = {"C": 0.1, "multi_class": multi_class, "tol": 0.01, "random_state": 0}
    model = KernelClassifier("intersection", probability=True, **options).fit(X[:450], y[:450])
    p = model.predict_proba(X[450:])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # measured 0.05; scikit-learn's SVC(probability=True) is off by as much
    assert expected_calibration_error(p, y[450:]) < 0.07
    np.testing.assert_array_equal(model.predict(X[450:]), p.argmax(axis=1))


def expected_calibration_error(p, y):
    """Mean |confidence - accuracy| over ten bins of the confidence."""
    confidence, is_right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((10 * confidence).astype(int), 9)
    return sum(abs(confidence[bins == b].sum() - is_right[bins == b].sum()) for b in range(10)) / len(p)


def test_scores_that_are_log_odds_need_no_sigmoid():
    X, y = make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
    for multi_class in ("ovr", "ovo"):
        model = KernelClassifier("linear", loss="logistic", multi_class=multi_class).fit(X, y)
        q = expit(model.predictor_(X) + model.intercept_)
        np.testing.assert_array_equal(model.predict_proba(X), model.columns_.probabilities(q))
        np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_folds_need_two_rows_of_every_class():
    assert len(stratified_folds(np.repeat([0, 1], [3, 9]), 0, "it")) == 3
    with pytest.raises(InputError, match="at least two rows of every class"):
        KernelClassifier("chi2", probability=True).fit(np.eye(5), [0, 0, 0, 0, 1])
