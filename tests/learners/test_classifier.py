"""KernelClassifier: the exact machine where the map is exact, one model whatever the storage, clear errors."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

import mercer
from mercer import RBF, HomogeneousMap, InputError, NystroemMap, SparseAdditiveMap, get_kernel, thread_limit
from mercer._base.tables import open_rows
from mercer.codes import ProductQuantizer
from mercer.learners import KernelClassifier, KernelClassifierCV
from mercer.learners import base as _base

TIGHT = {"tol": 1e-6, "max_iter": 3000}


@pytest.fixture(scope="module")
def digits():
    """Four digits by their middle rows, 120 to learn from and 120 others; counts from 0 to 16."""
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:120, 16:48], y[:120], X[120:240, 16:48], y[120:240]


@pytest.fixture(autouse=True)
def one_thread():
    """The problems are small: threads would only wait for each other."""
    with thread_limit(1):
        yield


@pytest.fixture(scope="module")
def ten_digits():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=700, random_state=0, stratify=y)
    return X, y, X_test, y_test


# ------------------------------------------------------------------------------------------------- the exact machine


@pytest.mark.parametrize(("name", "C"), [("linear", 0.01), ("intersection", 0.01), ("hellinger", 0.01), ("rbf", 1.0)])
def test_pairs_are_the_exact_kernel_machine_where_the_default_map_is_exact(digits, name, C):
    X, y, X_test, _ = digits
    model = KernelClassifier(name, C=C, loss="hinge", multi_class="ovo", intercept_scaling=None, **TIGHT).fit(X, y)
    kernel = model.map_.kernel_
    exact = SVC(kernel="precomputed", C=C, tol=1e-8, decision_function_shape="ovo").fit(kernel(X), y)
    scores = model.predictor_(X_test) + model.intercept_
    # scikit-learn's pairs are positive for the first class; a gap of 1e-6 leaves about its root in the scores
    np.testing.assert_allclose(scores, -exact.decision_function(kernel(X_test, X)), atol=5e-3)
    exact.decision_function_shape = "ovr"
    np.testing.assert_allclose(model.decision_function(X_test), exact.decision_function(kernel(X_test, X)), atol=5e-3)


def test_one_against_the_rest_is_a_machine_per_class(digits):
    X, y, X_test, _ = digits
    kernel = get_kernel("intersection")
    options = {"C": 0.01, "loss": "hinge", "multi_class": "ovr", "intercept_scaling": None}
    model = KernelClassifier("intersection", **options, **TIGHT).fit(X, y)
    for c in range(4):
        alone = SVC(kernel="precomputed", C=0.01, tol=1e-8).fit(kernel(X), y == c)
        expected = alone.decision_function(kernel(X_test, X))
        np.testing.assert_allclose(model.decision_function(X_test)[:, c], expected, atol=5e-3)
    assert (model.predict(X_test) == model.decision_function(X_test).argmax(axis=1)).all()


def test_joint_losses_are_those_of_liblinear_and_of_multinomial_regression(digits):
    X, y, X_test, _ = digits
    X, X_test = X / 16, X_test / 16
    joint = KernelClassifier("linear", loss="crammer_singer", fit_intercept=False, **TIGHT).fit(X, y)
    other = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(joint.decision_function(X_test), other.decision_function(X_test), atol=0.02)
    joint = KernelClassifier("linear", loss="multinomial", fit_intercept=False, **TIGHT).fit(X, y)
    other = LogisticRegression(fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(joint.predict_proba(X_test), other.predict_proba(X_test), atol=5e-3)


def test_an_empty_string_in_an_array_is_a_class_as_in_scikit_learn(digits):
    X, y, _, _ = digits
    words = np.where(y < 2, "", "large")
    model = KernelClassifier("chi2", random_state=0).fit(X, words)
    assert model.classes_.tolist() == ["", "large"]
    assert (model.predict(X) == words).mean() > 0.9


def test_two_classes_have_one_column_and_one_score_per_row(digits):
    X, y, X_test, _ = digits
    few = y < 2
    for loss, columns in (("hinge", 1), ("crammer_singer", 2)):
        model = KernelClassifier("chi2", loss=loss).fit(X[few], np.array(["no", "yes"])[y[few]])
        assert model.coef_.shape == (224, columns)
        decision = model.decision_function(X_test)
        assert decision.shape == (120,)
        assert (model.predict(X_test) == np.where(decision > 0, "yes", "no")).all()


@pytest.mark.parametrize("name", ["chi2", "intersection"])
def test_the_default_is_as_accurate_as_the_exact_machine(ten_digits, name):
    X, y, X_test, y_test = ten_digits
    kernel = get_kernel(name)
    exact = SVC(kernel="precomputed").fit(kernel(X), y).score(kernel(X_test, X), y_test)
    model = KernelClassifier(name).fit(X, y)
    assert model.multi_class_ == "ovo"
    assert model.gap_ <= 1e-3
    assert model.score(X_test, y_test) >= exact - 0.005


# -------------------------------------------------------------------------------------- one model, however it is kept


def test_expansions_of_a_quantiser_give_the_same_model(digits):
    X, y, X_test, _ = digits
    X, X_test = X.astype("f4"), X_test.astype("f4")
    quantizer = ProductQuantizer(block_size=4, bits=5, random_state=0)
    delayed, immediate, dense = (
        KernelClassifier(map=quantizer, C=0.01, expansion=expansion, tol=1e-5).fit(X, y)
        for expansion in ("delayed", "immediate", "dense")
    )
    expected = delayed.predictor_(X_test) + delayed.intercept_
    assert (delayed.plan_.rows, delayed.plan_.inner) == ("CodeRows of uint8", "BlockFactor")
    assert immediate.plan_.inner == dense.plan_.inner == "Identity"
    for other in (immediate, dense):
        np.testing.assert_allclose(other.predictor_(X_test) + other.intercept_, expected, atol=0.03)
        np.testing.assert_allclose(other.objective_, delayed.objective_, rtol=2e-5)


@pytest.mark.parametrize("map", [None, SparseAdditiveMap("js", random_state=0), ProductQuantizer(4, bits=5)])
def test_rows_on_disk_and_sources_give_the_same_bits(digits, map, tmp_path):
    X, y, X_test, _ = digits
    X, X_test = X.astype("f4"), X_test.astype("f4")
    np.save(tmp_path / "X.npy", X)
    options = {"kernel": "chi2", "map": map, "random_state": 0, "tol": 0.01}
    expected = KernelClassifier(**options).fit(X, y)
    for source in (X, np.load(tmp_path / "X.npy", mmap_mode="r"), open_rows(tmp_path / "X.npy")):
        stored = KernelClassifier(**options, storage="disk").fit(source, y)
        assert stored.plan_.storage == "disk"
        np.testing.assert_array_equal(stored.coef_, expected.coef_)
        kept = KernelClassifier(**options, storage="memory").fit(source, y)
        np.testing.assert_array_equal(kept.coef_, expected.coef_)
    np.save(tmp_path / "T.npy", X_test)
    np.testing.assert_array_equal(
        expected.decision_function(open_rows(tmp_path / "T.npy")), expected.decision_function(X_test)
    )


def test_sparse_rows_stay_sparse_and_give_the_same_model(digits):
    X, y, X_test, _ = digits
    dense, csr = (
        KernelClassifier("chi2", tol=1e-5).fit(X, y),
        KernelClassifier("chi2", tol=1e-5).fit(sparse.csr_matrix(X), y),
    )
    assert csr.plan_.rows.startswith("CSRRows")
    np.testing.assert_allclose(
        csr.decision_function(sparse.csr_array(X_test)), dense.decision_function(X_test), atol=0.05
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_do_not_change_a_bit(digits, n_jobs):
    X, y, *_ = digits
    alone = KernelClassifier("intersection", random_state=0, tol=0.01).fit(X, y)
    np.testing.assert_array_equal(
        KernelClassifier("intersection", random_state=0, tol=0.01, n_jobs=n_jobs).fit(X, y).coef_, alone.coef_
    )


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier("chi2", probability=True, random_state=0),
        KernelClassifier("intersection", multi_class="ovr", random_state=0),
        KernelClassifier("rbf", loss="multinomial", random_state=0),
        KernelClassifier("rbf", probability=True, random_state=0),
        KernelClassifier(map=ProductQuantizer(4, bits=4, random_state=0), tol=0.01),
    ],
    ids=["chi2", "intersection", "rbf", "exact", "quantiser"],
)
def test_a_saved_model_predicts_the_same_bits_without_the_training_rows(digits, tmp_path, model):
    X, y, X_test, _ = digits
    names = np.array(["zero", "one", "two", "three"])
    model.fit(X, names[y])
    mercer.save(model, tmp_path / "m.mercer")
    for again in (mercer.load(tmp_path / "m.mercer"), pickle.loads(pickle.dumps(model))):
        assert str(again.plan_) == str(model.plan_)
        np.testing.assert_array_equal(again.decision_function(X_test), model.decision_function(X_test))
        np.testing.assert_array_equal(again.predict(X_test), model.predict(X_test))
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(again.predict_proba(X_test), model.predict_proba(X_test))


def test_a_model_on_codes_keeps_weights_of_factors_not_of_words(digits, tmp_path):
    X, y, *_ = digits
    X = np.hstack([X.astype("f4")] * 8)  # 256 columns
    model = KernelClassifier(map=ProductQuantizer(2, bits=7, n_iter=2, random_state=0), C=1e-4, tol=0.1).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    n_words, columns = model.map_.inner_.n_features, model.coef_.shape[1]
    assert (tmp_path / "m.mercer").stat().st_size < 8 * n_words * columns


# -------------------------------------------------------------------------------------------------------- weights


def test_a_weight_of_two_is_a_row_twice_and_of_zero_none(digits, rng):
    X, y, X_test, _ = digits
    weights = rng.integers(0, 3, len(y))
    options = {"kernel": "chi2", "loss": "logistic", "tol": 1e-7, "C": 0.1}
    weighted = KernelClassifier(**options).fit(X, y, sample_weight=weights)
    repeated = KernelClassifier(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)
    np.testing.assert_allclose(weighted.decision_function(X_test), repeated.decision_function(X_test), atol=5e-3)
    # a map that learns from rows does not see those of weight 0: one of them would move the grid
    X_far = np.vstack([X, 1000 * X[:1]])
    model = KernelClassifier("intersection", tol=0.01, random_state=0)
    expected = model.fit(X, y).coef_
    np.testing.assert_array_equal(model.fit(X_far, np.append(y, 0), np.append(np.ones(120), 0)).coef_, expected)


def test_class_weights_are_weights_of_rows(digits):
    X, y, *_ = digits
    few = np.concatenate([np.flatnonzero(y > 0), np.flatnonzero(y == 0)[:5]])
    X, y = X[few], y[few]
    options = {"kernel": "chi2", "tol": 0.01, "C": 0.01}
    counts = np.bincount(y)
    for given, each in (({0: 3.0, 2: 0.5}, [3, 1, 0.5, 1]), ("balanced", len(y) / (4 * counts))):
        by_class = KernelClassifier(class_weight=given, **options).fit(X, y)
        by_row = KernelClassifier(**options).fit(X, y, sample_weight=np.asarray(each)[y])
        np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


# ------------------------------------------------------------------------------------------- labels, plots, trivia


def test_an_indicator_matrix_means_a_problem_per_label():
    X, Y = make_multilabel_classification(120, 10, n_classes=3, random_state=0)
    together = KernelClassifier("chi2", loss="logistic", tol=1e-5).fit(X, Y)
    assert together.predict(X).shape == (120, 3)
    for k in range(3):
        alone = KernelClassifier("chi2", loss="logistic", tol=1e-5).fit(X, Y[:, k])
        np.testing.assert_allclose(together.decision_function(X)[:, k], alone.decision_function(X), atol=0.05)
        np.testing.assert_allclose(together.predict_proba(X)[:, k], alone.predict_proba(X)[:, 1], atol=0.01)


@pytest.mark.parametrize(
    "map",
    [
        HomogeneousMap("chi2"),
        SparseAdditiveMap("js"),
        NystroemMap("chi2", 3, per_dimension=True),
        NystroemMap("chi2", n_landmarks=9),
    ],
)
def test_the_functions_of_the_columns_add_up_to_the_scores(digits, map, tmp_path):
    from mercer.learners.functions_plot import functions

    X, y, X_test, _ = digits
    model = KernelClassifier(map=map, multi_class="ovr", tol=0.1).fit(X[:, 10:18], y)
    X_test = np.minimum(X_test[:20, 10:18], X[:, 10:18].max(axis=0))
    total = functions(model, np.arange(8), np.ascontiguousarray(X_test.T)).sum(axis=0) + model.intercept_
    np.testing.assert_allclose(total, model.decision_function(X_test), atol=1e-9)
    figure = model.plot_functions(features=[0, 5], path=tmp_path / "f.png")
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title(loc="left") for axis in shown] == ["column 0", "column 5"]
    assert (tmp_path / "f.png").stat().st_size > 0


def test_empty_rows_and_constant_columns_are_no_obstacle(digits):
    X, y, *_ = digits
    X = np.column_stack([X, np.zeros(120), np.ones(120)])
    X[:10] = 0
    assert KernelClassifier("intersection").fit(X, y).score(X[10:], y[10:]) > 0.99
    nothing = KernelClassifier("chi2").fit(np.zeros((6, 2)), [0, 0, 0, 0, 1, 1])
    assert nothing.predict(np.zeros((1, 2))).tolist() == [0]  # the more frequent class


# --------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "KernelClassifier: `C` must be a number > 0, 'auto', or None; got 0."),
        ({"C": -1.0}, "`C` must be a number > 0, 'auto', or None; got -1."),
        ({"tol": 0.0}, "`tol` must be a number > 0; got 0."),
        ({"max_iter": 0}, "`max_iter` must be an integer >= 1; got 0."),
        ({"loss": "hinj"}, "`loss` must be one of 'hinge', .* Did you mean 'hinge'"),
        ({"loss": "squared"}, "`loss` must be one of .*'multinomial', or None; got 'squared'"),
        ({"solver": "liblinear"}, "`solver` must be one of 'auto', .*; got 'liblinear'"),
        ({"kernel": "chi3"}, "Did you mean 'chi2'"),
        ({"multi_class": "all"}, "`multi_class` must be one of 'auto', 'ovr', 'ovo'; got 'all'"),
        ({"storage": "cloud"}, "`storage` must be one of 'auto', 'memory', 'disk'; got 'cloud'"),
        ({"expansion": "later"}, "`expansion` must be one of 'delayed', 'immediate', 'dense'; got 'later'"),
        ({"kernel": "chi2", "expansion": "dense"}, "applies only to quantizers"),
        ({"map": SVC()}, "needs a map or a quantizer"),
        ({"intercept_scaling": 0}, "`intercept_scaling` must be a number > 0, or None; got 0"),
        ({"class_weight": "equal"}, "class_weight' parameter"),
        *(
            ({"class_weight": {0: 1.0, 1: value}}, rf"`class_weight\[1\]` must be a number >= 0; got {got}")
            for value, got in ((np.nan, "nan"), (np.inf, "inf"), (-1.0, "-1"), ("2", "'2'"), (None, "None"))
        ),
        *(({name: np.nan}, f"`{name}` must be .*; got nan") for name in ("C", "tol", "max_iter", "intercept_scaling")),
        *(({name: np.inf}, f"`{name}` must be .*; got inf") for name in ("C", "tol", "max_iter", "intercept_scaling")),
    ],
)
def test_parameters_that_cannot_be_used_are_named(digits, parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelClassifier(**parameters).fit(*digits[:2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, np.zeros(len(y))), "number of classes has to be greater than one.* only one class"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (np.where(X == 16, np.nan, X), y), "contains NaN"),
        (lambda X, y: (-X, y), "Negative values in data"),
        (lambda X, y: (X, y + 0.5), "Unknown label type"),
        (lambda X, y: (X, None), "requires y to be passed"),
    ],
)
def test_data_that_cannot_be_used_is_refused(digits, change, message):
    with pytest.raises(ValueError, match=message):
        KernelClassifier("chi2").fit(*change(*digits[:2]))


@pytest.mark.parametrize(
    "model", [KernelClassifier("chi2"), KernelClassifierCV(), mercer.IntersectionSVC(), mercer.KernelRegressor("chi2")]
)
@pytest.mark.parametrize(("value", "message"), [(np.nan, "NaN"), (np.inf, "infinity"), (-1.0, "Negative values")])
def test_weights_of_rows_that_are_no_weights_are_refused(digits, model, value, message):
    X, y = digits[:2]
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=np.where(np.arange(len(y)) == 3, value, 1.0))


def test_weights_whose_product_is_no_number_are_refused(digits):
    X, y = digits[:2]
    with pytest.raises(InputError, match="product of sample_weight and class_weight"):
        KernelClassifier("chi2", class_weight=dict.fromkeys(np.unique(y), 1e200)).fit(
            X, y, sample_weight=np.full(len(y), 1e200)
        )


def test_doors_that_do_not_exist_say_what_opens_them(digits):
    X, y, *_ = digits
    model = KernelClassifier("rbf", tol=0.1).fit(X, y)
    with pytest.raises(AttributeError, match="has probabilities only with"):
        model.predict_proba(X)
    with pytest.raises(InputError, match=r"which RBF.* additive kernel"):
        model.plot_functions()


def test_an_unfinished_fit_says_how_far_it_came(digits):
    with pytest.warns(
        ConvergenceWarning,
        match=r"KernelClassifier stopped after max_iter=2 with relative gap .*e.* > tol=1e-06. Raise",
    ):
        model = KernelClassifier("intersection", max_iter=2, tol=1e-6).fit(*digits[:2])
    assert model.gap_ > 1e-6
    assert len(model.history_["gap"]) >= model.n_iter_


def test_an_interrupted_fit_keeps_the_best_model_so_far(digits, monkeypatch):
    X, y, *_ = digits

    def interrupted(*args, **kwargs):
        return replace(run(*args, **kwargs), interrupted=True)

    run = _base.run
    monkeypatch.setattr(_base, "run", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after .* best model so far is kept"):
        model = KernelClassifier("chi2", tol=0.1).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(KeyboardInterrupt):  # halfway through the values of C there is no model to keep
        KernelClassifierCV(Cs=2, cv=2).fit(X, y)


@pytest.mark.parametrize("name", ["coef_", "intercept_", "classes_", "map_", "plan_", "multi_class_", "feature_range_"])
def test_files_whose_parts_do_not_fit_are_refused(digits, tmp_path, name):
    model = KernelClassifier("chi2", tol=0.1).fit(*digits[:2])
    wrong = {"map_": model.plan_, "plan_": "none", "multi_class_": "joint"}
    setattr(model, name, wrong[name] if name in wrong else getattr(model, name)[:-1])
    mercer.save(model, tmp_path / "m.mercer")
    with pytest.raises(mercer.ModelFileError, match="does not describe a valid KernelClassifier"):
        mercer.load(tmp_path / "m.mercer")


@pytest.mark.parametrize("name", ["machine_", "intercept_", "plan_", "link_", "n_features_in_"])
def test_files_of_exact_machines_whose_parts_do_not_fit_are_refused(digits, tmp_path, name):
    model = KernelClassifier("rbf", probability=True).fit(*digits[:2])
    other = KernelClassifier("rbf", probability=True).fit(digits[0][:, :5], digits[1] > 1)
    wrong = {"plan_": "none", "intercept_": model.intercept_[:-1], "n_features_in_": 3}
    setattr(model, name, wrong[name] if name in wrong else getattr(other, name))
    mercer.save(model, tmp_path / "m.mercer")
    with pytest.raises(mercer.ModelFileError, match="does not describe a valid KernelClassifier"):
        mercer.load(tmp_path / "m.mercer")


def test_few_rows_of_a_named_kernel_learn_on_its_exact_values(digits):
    X, y, X_test, _ = digits
    model = KernelClassifier(RBF(1e-3), C=2.0).fit(X, y)
    assert not hasattr(model, "map_")
    assert "exact kernel values" in str(model.plan_)
    svc = SVC(C=2.0, gamma=1e-3).fit(X, y)
    # SVC has an intercept that costs nothing
    assert (model.predict(X_test) == svc.predict(X_test)).mean() > 0.98
    assert abs(model.machine_.landmarks.shape[0] - len(svc.support_)) < 0.2 * len(svc.support_)
    assert str(KernelClassifier(RBF(1e-3), C=2.0).plan(X, y)) == str(model.plan_)
    for given in ({"loss": "logistic"}, {"solver": "bundle"}, {"intercept_scaling": None}):
        mapped = KernelClassifier("rbf", tol=0.1, **given).fit(X, y)
        assert mapped.map_.kernel_.name == "rbf"
    mapped.set_params(intercept_scaling=1.0).fit(X, y)
    assert not hasattr(mapped, "map_")


@pytest.mark.parametrize("kernel", ["rbf", "chi2"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_weight_is_a_number_of_equal_rows_to_the_last_bit(digits, rng, kernel, is_sparse):
    X, y, X_test, _ = digits
    counts = rng.integers(0, 3, len(y))
    again = rng.permutation(np.repeat(np.arange(len(y)), counts))
    make = sparse.csr_array if is_sparse else np.asarray
    model = KernelClassifier(kernel, random_state=0, tol=0.01)
    weighted = model.fit(make(X), y, sample_weight=counts).decision_function(X_test)
    np.testing.assert_array_equal(model.fit(make(X[again]), y[again]).decision_function(X_test), weighted)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("given", [{"probability": True}, {"loss": "logistic"}])
@pytest.mark.parametrize("kernel", ["rbf", "chi2"])
def test_the_largest_probability_is_predicted(digits, multi_class, given, kernel):
    X, y, X_test, _ = digits
    for classes in (y, y > 1):
        model = KernelClassifier(kernel, multi_class=multi_class, tol=0.01, random_state=0, **given).fit(X, classes)
        p = model.predict_proba(X_test)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_test))
