"""KernelClassifierCV: the scores of a search over single fits, for less work."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

import mercer
from mercer import InputError
from mercer.learners import KernelClassifier, KernelClassifierCV
from mercer.learners import cv as _cv


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    X = X[:240, 16:40] + np.random.default_rng(0).integers(0, 9, (240, 24))  # noise makes C matter
    return X, y[:240]


def test_scores_are_those_of_a_search_over_single_fits(digits):
    X, y = digits
    Cs, folds = [1e-5, 1e-4, 1e-2], StratifiedKFold(2)
    path = KernelClassifierCV(Cs=Cs, cv=folds, tol=1e-4).fit(X, y)
    search = GridSearchCV(KernelClassifier("chi2", tol=1e-4), {"C": Cs}, cv=folds).fit(X, y)
    np.testing.assert_allclose(path.scores_.mean(axis=0), search.cv_results_["mean_test_score"], atol=0.005)
    assert search.best_params_["C"] == path.C_
    assert path.Cs_[path.best_index_] == path.C_
    assert path.score(X, y) == pytest.approx(search.score(X, y), abs=0.005)


def test_the_path_takes_over_what_it_has_learnt(digits, monkeypatch):
    X, y = digits
    calls = []
    solve = _cv.KernelClassifierCV._solve

    def counting(self, problem, choice, start=None):
        found = solve(self, problem, choice, start)
        calls.append((problem.C, start is not None, found.n_iter))
        return found

    monkeypatch.setattr(_cv.KernelClassifierCV, "_solve", counting)
    model = KernelClassifierCV("intersection", Cs=[1e-4, 2e-4, 4e-4], cv=2, solver="bundle").fit(X, y)
    expected = [(1e-4, False), (2e-4, True), (4e-4, True)]
    assert [(C, warm) for C, warm, _ in calls[:6]] == [value for value in expected for _ in range(2)]
    assert calls[6][:2] == (model.C_, False)
    cold = KernelClassifier("intersection", C=4e-4, solver="bundle").fit(X, y)
    assert max(calls[4][2], calls[5][2]) < cold.n_iter_


def test_a_number_of_values_does_not_depend_on_the_scale_of_the_kernel(digits):
    X, y = digits
    small, large = (KernelClassifierCV(Cs=3, cv=2, fit_intercept=False).fit(scale * X, y) for scale in (1e-3, 1e3))
    np.testing.assert_allclose(small.Cs_, 1e6 * large.Cs_, rtol=1e-6)
    np.testing.assert_allclose(small.scores_, large.scores_, atol=0.02)


def test_scoring_sees_classes_decisions_and_probabilities(digits):
    X, y = digits
    y = np.array(["a", "b", "b"])[y]
    options = {"Cs": [1e-3, 1e-2], "cv": KFold(2, shuffle=True, random_state=0)}
    by_name = KernelClassifierCV(scoring="f1_macro", **options).fit(X, y)
    train, test = next(iter(options["cv"].split(X)))
    alone = KernelClassifier("chi2", C=1e-3).fit(X[train], y[train])
    assert by_name.scores_[0, 0] == pytest.approx(f1_score(y[test], alone.predict(X[test]), average="macro"), abs=0.02)
    assert (KernelClassifierCV(scoring="roc_auc", **options).fit(X, y).scores_ > 0.8).all()
    assert (KernelClassifierCV(scoring="neg_log_loss", loss="logistic", **options).fit(X, y).scores_ < 0).all()


def test_rows_of_weight_zero_are_not_there(digits):
    X, y = digits
    weights = np.ones(len(y))
    weights[::4] = 0
    kept = weights > 0
    folds = [(np.arange(120, 240), np.arange(120)), (np.arange(120), np.arange(120, 240))]
    position = np.cumsum(kept) - 1
    fewer = [tuple(position[part[kept[part]]] for part in fold) for fold in folds]
    weighted = KernelClassifierCV(Cs=3, cv=folds).fit(X, y, weights)
    removed = KernelClassifierCV(Cs=3, cv=fewer).fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.scores_, removed.scores_)
    np.testing.assert_array_equal(weighted.coef_, removed.coef_)


def test_a_saved_model_predicts_the_same_bits(digits, tmp_path):
    X, y = digits
    model = KernelClassifierCV(Cs=[0.001, 0.01], cv=2, probability=True).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("Cs", [0, [], [1.0, -1.0], "many", True])
def test_values_of_C_must_be_positive(digits, Cs):
    with pytest.raises(InputError, match="KernelClassifierCV: `Cs` must be an integer >= 1, or numbers > 0; got"):
        KernelClassifierCV(Cs=Cs).fit(*digits)


def test_values_of_C_are_tried_in_ascending_order_and_each_once(digits):
    assert KernelClassifierCV("linear", Cs=[1.0, 0.01, 1.0], cv=2).fit(*digits).Cs_.tolist() == [0.01, 1.0]
