"""KernelClassifier() and KernelRegressor(): what they choose, what they keep, and what they refuse."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.svm import SVC

import mercer
from mercer import RBF, ColumnScaling, InputError, KernelClassifier, KernelRegressor, TrialPlan
from mercer.learners.auto.ridge.landmarks import RidgeFit
from mercer.learners.auto.trials import Judge


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))  # rows of one writer stand together
    X, y = X[order], y[order]
    return X[:400], y[:400], X[400:1000], y[400:1000]


@pytest.fixture(scope="module")
def model(data):
    return KernelClassifier(random_state=0).fit(*data[:2])


def test_nothing_given_is_at_least_as_accurate_as_the_rival_as_it_comes(data, model):
    X, y, X_test, y_test = data
    assert model.score(X_test, y_test) >= SVC().fit(X, y).score(X_test, y_test) - 0.005
    assert abs(model.plan_.score - model.score(X_test, y_test)) < 0.03  # an estimate of the score on other rows


def test_the_prediction_is_the_most_likely_class_on_every_row(data, model):
    X_test = data[2]
    p = model.predict_proba(X_test)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_test))
    X, y = data[0], data[1] > 4
    two = KernelClassifier(random_state=0).fit(X, y)
    odds = two.decision_function(X_test)
    np.testing.assert_allclose(odds, np.log(two.predict_proba(X_test)[:, 1] / two.predict_proba(X_test)[:, 0]))
    np.testing.assert_array_equal(odds > 0, two.predict(X_test))


def test_the_plan_tells_every_trial(model):
    plan = model.plan_
    text = str(plan)
    assert f"{len(plan.trials)} candidates in" in text
    assert "closed-form leave-one-out" in text
    assert {row[1] for row in plan.trials} >= {"rbf", "laplacian", "exp-chi2", "chi2", "intersection", "linear"}
    assert all(0 <= row[6] <= 1 for row in plan.trials)
    axes = model.plot_trials().axes[0]
    assert sum(len(points.get_offsets()) for points in axes.collections) == len(plan.trials)


def test_a_seed_gives_one_model_and_a_file_the_same_bits(data, model, tmp_path):
    X, y, X_test, _ = data
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X_test), model.decision_function(X_test))
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.decision_function(X_test), model.decision_function(X_test))
    np.testing.assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    assert str(loaded.plan_) == str(model.plan_)


def test_what_the_caller_fixes_stays_fixed(data):
    X, y = data[:2]
    fixed = KernelClassifier(RBF(0.001), C="auto", scaling="none", random_state=0).fit(X, y)
    assert fixed.kernel_ == RBF(0.001)
    assert fixed.machine_.scaling.kind == "none"
    open_width = KernelClassifier("rbf", C="auto", random_state=0).fit(X, y)
    assert {row[1] for row in open_width.plan_.trials} == {"rbf"}
    assert len({row[2] for row in open_width.plan_.trials}) > 2
    given = KernelClassifier(C=3.0, scaling="unit", random_state=0).fit(X, y)
    np.testing.assert_allclose(given.C_, 3.0)
    assert {row[0].removesuffix(", weighted by relevance") for row in given.plan_.trials} == {
        "columns scaled to [0, 1]"
    }


def test_the_scale_of_columns_and_rows_does_not_matter(data, rng):
    X, y, X_test, y_test = data
    factors = 10.0 ** rng.integers(-6, 6, X.shape[1])
    scaled = KernelClassifier(random_state=0).fit(X * factors, y)
    assert scaled.score(X_test * factors, y_test) > 0.93


def test_values_beyond_those_of_training_are_taken(data, model):
    assert np.isfinite(model.predict_proba(-1000 * data[2])).all()


def test_sparse_rows_stay_sparse(data):
    X, y, X_test, y_test = data
    model = KernelClassifier(random_state=0).fit(sparse.csr_array(X), y)
    assert all(sparse.issparse(part.predictor.landmarks) for part in model.machine_.parts)
    assert model.score(sparse.csr_array(X_test), y_test) > 0.93


def test_rows_of_a_group_do_not_vouch_for_each_other(rng):
    # each group is a point with a label of its own at random: rows of a group tell its label, other groups do not
    centers, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    groups = np.repeat(np.arange(40), 6)
    X, y = centers[groups] + 0.01 * rng.normal(size=(240, 3)), labels[groups]
    assert KernelClassifier(random_state=0).fit(X, y).plan_.score > 0.95
    assert KernelClassifier(random_state=0).fit(X, y, groups=groups).plan_.score < 0.75
    with pytest.raises(InputError, match="`groups` must contain at least two groups"):
        KernelClassifier().fit(X, y, groups=np.zeros(240))
    with pytest.raises(InputError, match="`groups` applies only to trials"):
        KernelClassifier("rbf").fit(X, y, groups=groups)


def test_labels_are_learned_side_by_side(data):
    X, y, X_test, y_test = data
    marks, marks_test = (np.column_stack([z % 2, z > 4, z == 3]).astype(int) for z in (y, y_test))
    model = KernelClassifier(random_state=0).fit(X, marks)
    assert model.predict(X_test).shape == marks_test.shape
    assert (model.predict(X_test) == marks_test).mean() > 0.95
    assert model.predict_proba(X_test).shape == marks_test.shape


def test_class_weights_move_predictions_towards_the_class(rng):
    X = np.vstack([rng.normal(size=(180, 2)), rng.normal(size=(20, 2)) + 1.0])
    y = np.repeat([0, 1], [180, 20])
    plain, balanced = (KernelClassifier(class_weight=w, random_state=0).fit(X, y) for w in (None, "balanced"))
    assert balanced.predict(X).mean() > plain.predict(X).mean() + 0.1


def test_numbers_are_predicted_in_any_unit():
    X, y = load_diabetes(return_X_y=True)
    found = KernelRegressor(random_state=0).fit(X[:300], y[:300])
    assert found.score(X[300:], y[300:]) > 0.45  # measured 0.52
    assert found.plan_.score_name == "R2"
    shifted = KernelRegressor(random_state=0).fit(X[:300], 1e9 * y[:300] + 1e12)
    np.testing.assert_allclose((shifted.predict(X[300:]) - 1e12) / 1e9, found.predict(X[300:]), rtol=1e-5)
    both = KernelRegressor(random_state=0).fit(X[:300], np.column_stack([y, -y])[:300])
    assert both.predict(X[300:]).shape == (142, 2)


def test_a_number_that_never_changes_is_predicted_exactly(rng):
    X = rng.normal(size=(40, 3))
    model = KernelRegressor(random_state=0).fit(X, np.full(40, 3.0))
    assert set(model.predict(rng.normal(size=(20, 3)))) == {3.0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "logistic"}, "`loss` applies only to a named kernel or map"),
        ({"solver": "dual"}, "`solver` applies only to a named kernel"),
        ({"storage": "disk"}, "`storage` applies only to a named kernel"),
        ({"scaling": "units"}, "`scaling` must be one of 'none', 'unit', .* Did you mean 'unit'"),
        ({"budget": 0}, "`budget` must be a number > 0, or None; got 0."),
        ({"kernel": "chi2", "budget": 3.0}, "`budget` applies only to an automatic fit"),
        ({"kernel": "chi2", "scaling": "unit"}, "`scaling` applies only to an automatic fit"),
    ],
)
def test_what_an_automatic_fit_would_ignore_is_refused(data, parameters, message):
    with pytest.raises(InputError, match=message):
        KernelClassifier(**parameters).fit(*data[:2])


def test_a_named_kernel_after_an_automatic_fit_leaves_nothing_of_it(data):
    X, y, X_test, _ = data
    model = KernelClassifier(scaling="unit", budget=1e-6, random_state=0).fit(X, y)
    model.set_params(kernel="chi2", scaling=None, budget=None).fit(X, y)
    expected = KernelClassifier("chi2", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X_test), expected.decision_function(X_test))
    with pytest.raises(InputError, match="There are no trials"):
        model.plot_trials()


def test_ids_are_no_classes(monkeypatch):
    from mercer.learners.auto import door

    monkeypatch.setattr(door, "available_memory", lambda: 2**24)
    with pytest.raises(
        InputError, match=r"would need 0.1 GiB of memory for 1,000 columns of scores of 1,000 rows\. Use"
    ):
        KernelClassifier().fit(np.random.default_rng(0).random((1000, 2)), np.arange(1000))


def test_a_budget_is_kept(data):
    X, y = data[:2]
    hurried = KernelClassifier(budget=1e-6, random_state=0).fit(X, y)
    assert len(hurried.plan_.trials) == 1  # the first is always made


@pytest.mark.parametrize("kind", ["none", "unit", "standard", "ranks", "rows"])
def test_scaled_columns_are_what_the_name_says(kind, rng):
    X = rng.gamma(0.5, size=(200, 3)) * [1, 10, 100]
    X[:, 2] = 7.0
    found = ColumnScaling(kind).fit(X).transform(X)
    ordered = np.argsort(X[:, 0])
    expected = {
        "none": X,
        "unit": (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1),
        "standard": (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1),
        "rows": X / X.sum(axis=1, keepdims=True),
    }
    if kind == "ranks":
        assert (np.diff(found[ordered, 0]) >= 0).all()
        assert abs(np.median(found[:, 0]) - 0.5) < 0.02
        assert (found[:, 2] == 0.5).all()  # of a constant column every rank is shared
    else:
        np.testing.assert_allclose(found, expected[kind], atol=1e-12)
    if kind != "ranks":
        np.testing.assert_allclose(ColumnScaling(kind).fit(X).transform(sparse.csr_array(X)).shape, X.shape)


def test_where_nothing_is_learned_the_plan_says_so_and_shows_what_was_chosen():
    rng = np.random.default_rng(0)
    X, y = (rng.random((199, 64)) < 0.2).astype(np.float64), np.arange(199) % 20 == 0
    model = KernelClassifier(random_state=0).fit(X, y)
    plan = model.plan_
    assert plan.score <= plan.largest_class == pytest.approx(np.mean(~y))
    assert "note" in str(plan)
    assert plan.summary.endswith("no better than the largest class alone")
    shown = str(plan).partition("of each kind:")[2]
    assert f"{model.kernel_.name}, {plan.columns} (" in shown
    useful = KernelClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] > 0).plan_
    assert "note" not in str(useful)
    assert useful.summary.endswith("on left-out rows")


def test_the_chosen_kind_is_listed_even_where_six_others_score_higher():
    rows = [[f"columns {i}", "rbf", 1.0, 100, 100, 0.1, 0.9 - i / 100, 0.1] for i in range(9)]
    plan = TrialPlan("KernelClassifier", 100, 2, 1, "columns 8", "RBF(gamma=1.0)", 100, 0.1, 0.8, trials=rows)
    shown = str(plan).partition("of each kind:")[2].splitlines()[1:]
    assert len(shown) == 6
    assert "rbf, columns 8" in shown[-1]


@pytest.mark.parametrize(
    ("error_of", "expected"),
    [
        (lambda penalty: 0.5 + 1e-6 * penalty, 1e-4),  # flat: no step pays
        (lambda penalty: 0.5 + penalty, 1e-6),  # until none pays
        (lambda penalty: 1.2 + penalty if penalty < 0.5 else 1.01, 1.0),  # worse than the mean: the nearest to it
    ],
)
def test_penalties_do_not_run_to_their_limit_for_next_to_nothing(error_of, expected):
    class Ridge:
        least_penalty = 1e-13

        def fit(self, targets, penalty):
            return RidgeFit(penalty, targets * (1 - error_of(penalty) ** 0.5), None, None)

    targets = np.array([[1.0], [-1.0]] * 8)
    found = Judge(targets, None, np.ones(16)).descend(Ridge(), 1e-4, 100.0)
    assert found.penalty == pytest.approx(expected)
