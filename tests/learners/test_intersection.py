"""IntersectionSVC and IntersectionSVR against exact machines on unary codes, and what they say about what they did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

import mercer
from mercer import InputError, IntersectionSVC, IntersectionSVR, LevelQuantizer, thread_limit
from mercer.kernels import get_kernel
from tests.reference.learners.descent.level import algorithm_2

FIRST = slice(0, 80)


def unary(X, v):
    """B(x) of [wu10fast] (4)."""
    return (X[:, :, None] > np.arange(v)).reshape(len(X), -1).astype(float)


@pytest.fixture
def histograms(rng):
    """Counts of three kinds of rows, with empty bins and an empty row; the test rows have values never seen before."""
    centres = rng.gamma(0.7, 6.0, (3, 9))
    y = rng.integers(0, 3, 140)
    X = rng.poisson(centres[y])
    X[:80] += X[:80] % 2  # training rows have even counts only
    X[3] = 0
    return X, np.array(["ash", "fir", "oak"])[y]


def exact_objective(coef, X, signs, C, loss, weights):
    margins = np.maximum(0, 1 - signs * (X @ coef))
    losses = margins if loss == "hinge" else margins**2
    return 0.5 * coef @ coef + C * weights @ losses


@pytest.mark.parametrize("kind", ["dense", "csr", "bytes"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_it_is_the_exact_machine_on_unary_codes(histograms, rng, loss, weighted, kind):
    X, y = histograms
    v, C = int(X[FIRST].max()), 0.01
    weights = rng.uniform(0.2, 2.0, 80) if weighted else None
    given = {"dense": X, "csr": sparse.csr_array(X.astype(float)), "bytes": X.astype(np.uint8)}[kind]
    model = IntersectionSVC(C, loss=loss, multi_class="ovr", tol=1e-9, max_iter=100_000).fit(
        given[FIRST], y[FIRST], sample_weight=weights
    )
    exact = LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-10, max_iter=1_000_000, dual=True)
    exact.fit(unary(X[FIRST], v), y[FIRST], sample_weight=weights)
    values = [
        exact_objective(coef, unary(X[FIRST], v), np.where(y[FIRST] == name, 1, -1), C, loss,
                        np.ones(80) if weights is None else weights)
        for coef, name in zip(exact.coef_, exact.classes_, strict=True)
    ]  # fmt: skip
    np.testing.assert_allclose(model.objective_, values, rtol=1e-6)
    np.testing.assert_allclose(model.dual_objective_, values, rtol=1e-6)
    # on rows with levels that no training row had, and above all of them
    expected = unary(np.minimum(X, v), v) @ exact.coef_.T
    np.testing.assert_allclose(model.decision_function(given), expected, atol=2e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_it_ends_where_algorithm_2_as_written_ends(histograms, loss):
    X, y = histograms
    X, signs = X[FIRST], np.where(y[FIRST] == "oak", 1, -1)
    T, alpha = algorithm_2(X, signs, 0.01, loss)
    model = IntersectionSVC(0.01, loss=loss, tol=1e-8, max_iter=100_000).fit(X, signs)
    np.testing.assert_allclose(model.decision_function(X), T[np.arange(X.shape[1]), X].sum(axis=1), atol=1e-3)
    bend = 1 / 0.02 if loss == "squared_hinge" else 0.0
    Q = unary(X, X.max()) * signs[:, None]
    dual = alpha.sum() - 0.5 * (alpha @ Q) @ (alpha @ Q) - 0.5 * bend * alpha @ alpha
    assert model.dual_objective_[0] == pytest.approx(dual, rel=1e-6)


def test_an_unregularised_intercept_is_that_of_libsvm(histograms):
    X, y = histograms
    y = (y == "fir").astype(int)
    K = get_kernel("intersection")(X.astype(float), X[FIRST].astype(float))
    exact = SVC(kernel="precomputed", C=0.05, tol=1e-8).fit(K[FIRST], y[FIRST])
    model = IntersectionSVC(0.05, loss="hinge", fit_intercept=True, intercept_scaling=None, tol=1e-6)
    model.fit(X[FIRST], y[FIRST])
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(K), atol=0.02)


def test_the_primal_problem_has_the_same_solution(histograms):
    X, y = histograms
    models = [IntersectionSVC(solver=name, tol=1e-6, max_iter=10_000).fit(X, y) for name in ("icd", "primal")]
    np.testing.assert_allclose(*(model.objective_ for model in models), rtol=1e-5)
    assert [model.plan_.solver for model in models] == ["icd", "newton"]


def test_crammer_singer_agrees_with_liblinear(histograms):
    X, y = histograms
    X, y, C = X[FIRST], y[FIRST], 0.02
    model = IntersectionSVC(C, multi_class="crammer_singer", tol=1e-7, max_iter=100_000).fit(X, y)
    B = unary(X, X.max())
    exact = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(B, y)
    scores = B @ exact.coef_.T
    own = scores[np.arange(len(y)), np.searchsorted(exact.classes_, y)]
    others = np.where(y[:, None] == exact.classes_, -np.inf, scores).max(axis=1)
    value = 0.5 * (exact.coef_**2).sum() + C * np.maximum(0, 1 + others - own).sum()
    np.testing.assert_allclose(model.objective_, value, rtol=1e-5)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=5e-3)


@pytest.mark.parametrize("kernel", ["chi2", "hellinger", "js", mercer.PowerMean(-3)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_other_kernels_of_levels_by_the_same_sweep(histograms, kernel, make):
    X, y = histograms
    X, y = X[FIRST].astype(float), (y[FIRST] == "ash").astype(int)
    model = IntersectionSVC(0.01, kernel=kernel, loss="hinge", tol=1e-7, max_iter=100_000).fit(make(X), y)
    K = get_kernel(kernel)(X)
    b = np.linalg.lstsq(K, model.decision_function(make(X)), rcond=None)[0]
    np.testing.assert_allclose(K @ b, model.decision_function(make(X)), atol=1e-4)
    signs = np.where(y == 1, 1, -1)
    # the exact machine without intercept: one row more, of weight zero, would be no other problem
    value = 0.5 * b @ K @ b + 0.01 * np.maximum(0, 1 - signs * (K @ b)).sum()
    assert model.objective_[0] == pytest.approx(value, rel=1e-4)
    assert model.gap_ <= 1e-7
    assert model.plan_.solver == "icd"


def test_an_intercept_is_a_constant_column(histograms):
    X, y = histograms
    model = IntersectionSVC(0.01, fit_intercept=True, intercept_scaling=3.0, tol=1e-8, max_iter=100_000).fit(X, y)
    wider = np.hstack([X, np.full((len(X), 1), 9)])  # min(9, 9) = 3 * 3
    same = IntersectionSVC(0.01, tol=1e-8, max_iter=100_000).fit(wider, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(wider), atol=1e-3)


def test_one_seed_gives_the_same_bits_on_any_number_of_threads(rng):
    X, y = rng.integers(0, 90, (4000, 30)), rng.integers(0, 4, 4000)
    models = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            models.append(IntersectionSVC(random_state=3).fit(X, y))
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


# ------------------------------------------------------------------------------------------------- kernel="auto", plan


def test_auto_takes_the_linear_kernel_where_it_is_as_good_and_the_intersection_where_not(rng):
    X, w = rng.standard_normal((1500, 20)), rng.standard_normal(20)
    linear = IntersectionSVC(kernel="auto", random_state=0).fit(X, X @ w > 0)
    assert linear.kernel_ == get_kernel("linear")
    assert linear.trial_scores_["linear"] > linear.trial_scores_["intersection"]
    assert linear.score(X, X @ w > 0) > 0.97
    bent = IntersectionSVC(kernel="auto", random_state=0).fit(X, np.abs(X).sum(axis=1) > 16)
    assert bent.kernel_ == get_kernel("intersection")
    assert "bins" in bent.plan_.levels
    assert "100 bins from" in str(bent.plan_)


def test_the_linear_kernel_is_liblinear_on_scaled_columns(rng):
    X = rng.standard_normal((200, 5)) * [1, 10, 100, 0.1, 1] + 3
    y = (X[:, 0] + X[:, 1] / 10 > 3.3).astype(int)
    scaled = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1
    exact = LinearSVC(fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(scaled, y)
    model = IntersectionSVC(kernel="linear", tol=1e-9, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(scaled), atol=1e-3)


@pytest.mark.parametrize(
    ("X", "options", "text"),
    [
        (np.array([[0, 3], [1, 900]]), {}, "100 bins for each column"),
        (np.array([[0, 3], [1, 9]]), {}, "integers as levels, up to 9"),
        (np.array([[0, 3], [1, 2000]]), {"binning": "global"}, "100 bins from 0 to 1850 for all columns"),
        (np.array([[-1.0, 3], [1, 2]]), {"bins": 50}, "50 bins from -1 to 2.925 for all columns"),
        (np.array([[0, 3], [1, 9]]), {"binning": "adaptive"}, "100 quantile bins for each column"),
        (np.array([[0, 3], [1, 60000]]), {"bins": None}, "integers as levels, up to 60,000"),
    ],
)
def test_the_plan_says_how_values_became_levels(X, options, text):
    assert IntersectionSVC(**options).fit(X, [0, 1]).plan_.levels == text


# ---------------------------------------------------------------------------------------------------- bad input, ends


@pytest.mark.parametrize(
    ("options", "X", "y", "message"),
    [
        ({"bins": None}, [[0, 70000], [1, 2]], [0, 1], "from 0 to 65,535 as levels, got 70000"),
        ({"bins": None}, [[0, -3], [1, 2]], [0, 1], "got -3"),
        ({"bins": None}, [[0, 0.5], [1, 2]], [0, 1], "got fractions"),
        (
            {"bins": 0},
            [[0, 1], [1, 2]],
            [0, 1],
            "IntersectionSVC: `bins` must be an integer >= 1 and <= 65,535, 'auto', or None; got",
        ),
        (
            {"bins": 70000},
            [[0, 1], [1, 2]],
            [0, 1],
            "IntersectionSVC: `bins` must be an integer >= 1 and <= 65,535, 'auto', or None; got",
        ),
        ({"binning": "equal"}, [[0, 1], [1, 2]], [0, 1], "`binning` must be one of"),
        ({"kernel": "rbf"}, [[0, 1], [1, 2]], [0, 1], "additive"),
        ({"multi_class": "all"}, [[0, 1], [1, 2]], [0, 1], "`multi_class` must be one of"),
        (
            {"loss": "logistic"},
            [[0, 1], [1, 2]],
            [0, 1],
            "`loss` must be one of 'squared_hinge', 'hinge'; got 'logistic'",
        ),
        (
            {"solver": "bundle"},
            [[0, 1], [1, 2]],
            [0, 1],
            "`solver` must be one of 'auto', 'icd', 'primal'; got 'bundle'",
        ),
        ({"C": 0}, [[0, 1], [1, 2]], [0, 1], "`C` must be a number > 0, or None; got 0"),
        ({}, [[0, 1], [1, 2]], [1, 1], "only one class"),
    ],
)
def test_bad_input_is_named(options, X, y, message):
    with pytest.raises(InputError, match=message):
        IntersectionSVC(**options).fit(np.array(X), y)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        IntersectionSVC().fit([[0, np.nan], [1, 2]], [0, 1])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_constant_columns_and_rows_without_values_are_no_obstacle(make):
    X = np.array([[0.0, 5.0], [0.0, 5.0], [0.0, 5.0], [0.0, 5.0]])
    model = IntersectionSVC().fit(make(X), [0, 0, 0, 1])
    assert (model.predict(make(X)) == 0).all()
    empty = IntersectionSVC(fit_intercept=True).fit(make(np.zeros((4, 2))), [0, 0, 0, 1])
    assert (empty.predict(make(np.zeros((2, 2)))) == 0).all()


def test_larger_values_at_prediction_count_as_the_largest(histograms):
    X, y = histograms
    model = IntersectionSVC().fit(X, y)
    beyond = X[:5].copy()
    beyond[:, 2] = X[:, 2].max()
    same = model.decision_function(beyond)
    beyond[:, 2] = 10**6
    np.testing.assert_array_equal(model.decision_function(beyond), same)


def test_too_few_passes_are_said(histograms):
    X, y = histograms
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        IntersectionSVC(C=10.0, tol=1e-12, max_iter=1).fit(X, y)


def test_tables_that_would_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr("mercer.learners.fitting.levels.MOST_TABLES", 1000)
    with pytest.raises(InputError, match="fewer bins"):
        IntersectionSVC().fit(np.random.default_rng(0).random((50, 20)), np.arange(50) % 2)


# --------------------------------------------------------------------------------------------------- files, functions


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("options", [{}, {"kernel": "chi2"}, {"kernel": "linear"}, {"binning": "adaptive"}], ids=str)
def test_a_saved_model_predicts_the_same(histograms, tmp_path, make, options):
    X, y = histograms
    X = make(X - 4.0 * (np.arange(9) == 2))  # a column with negative values
    model = IntersectionSVC(**options).fit(X[FIRST], y[FIRST])
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert str(loaded.plan_) == str(model.plan_)


def test_its_functions_are_its_tables(histograms):
    pytest.importorskip("matplotlib")
    X, y = histograms
    model = IntersectionSVC(multi_class="ovr").fit(X, y)
    figure = model.plot_functions(features=[2])
    lines = figure.axes[0].get_lines()
    assert len(lines) >= 3
    x, curve = lines[0].get_data()
    levels = np.floor(x).astype(int)
    rows = np.zeros((len(x), X.shape[1]))
    rows[:, 2] = levels
    np.testing.assert_allclose(curve, model.decision_function(rows)[:, 0] - model.decision_function(0 * rows)[:, 0])


# ---------------------------------------------------------------------------------------------------------- regression


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "absolute", "squared"])
def test_regression_is_that_of_unary_codes(rng, loss, make):
    X = rng.integers(0, 12, (90, 5))
    y = np.sin(X[:, 0]) + np.sqrt(X[:, 1]) + 0.1 * rng.standard_normal(90)
    options = {"loss": loss, "C": 0.05, "tol": 1e-7, "max_iter": 100_000}
    model = IntersectionSVR(**options).fit(make(X.astype(float)), y)
    exact = mercer.KernelRegressor("linear", **options, solver="bundle").fit(unary(X, 12), y)
    np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-5)
    np.testing.assert_allclose(model.predict(make(X.astype(float))), exact.predict(unary(X, 12)), atol=5e-3)
    assert model.plan_.solver == "icd"


# --------------------------------------------------------------------------------------------------------- the levels


def test_dense_and_sparse_levels_of_counts_are_one_kernel(histograms):
    X = histograms[0].astype(float)
    dense, csr = LevelQuantizer().fit(X[FIRST]), LevelQuantizer().fit(sparse.csr_array(X[FIRST]))
    K = get_kernel("intersection")(np.minimum(X, X[FIRST].max(axis=0)), X[FIRST])
    np.testing.assert_allclose(dense.approximate_kernel(X, X[FIRST]), K, atol=1e-9)
    # levels between those of training are exact, levels above count as the highest
    np.testing.assert_allclose(csr.approximate_kernel(sparse.csr_array(X), sparse.csr_array(X[FIRST])), K, atol=1e-5)


@given(
    counts=arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 6)), elements=st.integers(0, 300)),
    others=arrays(np.int64, st.tuples(st.integers(1, 5), st.just(6)), elements=st.integers(0, 400)),
)
def test_levels_of_any_counts_have_the_intersection_kernel(counts, others):
    others = others[:, : counts.shape[1]]
    K = get_kernel("intersection")(np.minimum(others, counts.max(axis=0)).astype(float), counts.astype(float))
    for make in (np.asarray, sparse.csr_array):
        quantizer = LevelQuantizer(bins=None).fit(make(counts))
        np.testing.assert_allclose(quantizer.approximate_kernel(make(others), make(counts)), K, rtol=1e-5, atol=1e-4)


def test_levels_follow_the_formula(rng):
    X = rng.standard_normal((400, 3))
    low, high = X.min(), np.percentile(X, 97.5)
    expected = np.clip(np.floor(100 * (X - low) / (high - low)), 0, 100)
    np.testing.assert_array_equal(LevelQuantizer().fit_transform(X), expected)


def test_sparse_percentiles_are_of_the_values_and_signs_make_columns():
    X = sparse.random_array((300, 40), density=0.01, random_state=np.random.default_rng(0), format="csr")
    X.data = X.data * np.where(np.arange(X.nnz) % 3 == 0, -1, 1)
    quantizer = LevelQuantizer(10).fit(X)
    levels = quantizer.transform(X)
    assert levels.shape == (300, 80)
    assert quantizer.widths_[0] == pytest.approx(np.percentile(np.abs(X.data), 97.5))
    full = X.toarray()
    for part, sign in ((slice(0, 40), 1), (slice(40, 80), -1)):
        expected = np.clip(np.floor(10 * np.maximum(sign * full, 0) / quantizer.widths_[0]), 0, 10)
        np.testing.assert_array_equal(levels.toarray()[:, part], expected)


def test_a_second_fit_forgets_the_first(rng):
    X = sparse.random_array((30, 4), density=0.5, random_state=rng, format="csr")
    both = LevelQuantizer(10).fit(X).fit(-X)
    np.testing.assert_array_equal(both.transform(-X).toarray(), LevelQuantizer(10).fit(-X).transform(-X).toarray())
    assert both.transform(-X).nnz > 0


def test_adaptive_bins_hold_about_equally_many_values(rng):
    X = rng.gamma(0.5, 10, (1000, 2))
    levels = LevelQuantizer(10, "adaptive").fit_transform(X)
    counts = np.bincount(levels[:, 0])
    assert counts[counts > 0].max() <= 110
    assert np.corrcoef(np.argsort(np.argsort(X[:, 0])), levels[:, 0])[0, 1] > 0.98


def test_columns_of_histograms_are_on_one_scale_though_rare_bins_hold_little(rng):
    counts = rng.poisson(np.geomspace(0.02, 60, 50), (500, 50))
    assert np.ptp(counts, axis=0).max() > 10 * np.ptp(counts, axis=0).min()
    assert LevelQuantizer().fit(counts).rule_ == "whole numbers"
    assert LevelQuantizer().fit(sparse.csr_array(counts)).rule_ == "whole numbers"
    measured = rng.random((500, 5)) * [1, 1000, 5, 20, 3]
    assert LevelQuantizer().fit(measured).rule_ == "column"


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_whole_numbers_stay_what_they_are(rng, dtype):
    X = rng.integers(0, 200 if dtype == np.uint8 else 900, (60, 8)).astype(dtype)
    levels = LevelQuantizer().fit(X).transform(X)
    assert levels.dtype == dtype
    assert np.shares_memory(levels, X), "a copy was made of what are levels already"
    np.testing.assert_array_equal(
        IntersectionSVC().fit(X, np.arange(60) % 3).decision_function(X),
        IntersectionSVC().fit(X.astype(float), np.arange(60) % 3).decision_function(X.astype(float)),
    )


def test_c_follows_the_mean_energy_of_the_rows_unless_it_is_given(rng):
    X, y = rng.integers(0, 20, (120, 5)), rng.integers(0, 3, 120)
    weights = rng.integers(1, 4, 120)
    energy = np.average(X.sum(axis=1), weights=weights)  # sum_j min(x_j, x_j), of whole numbers as they are
    for learner in (IntersectionSVC, IntersectionSVR):
        np.testing.assert_allclose(learner().fit(X, y, weights).C_, 3 / energy)
        assert learner(0.25).fit(X, y, weights).C_ == 0.25
    assert IntersectionSVC(kernel="linear").fit(X, y).C_ == 1.0
    assert IntersectionSVC(0.25, kernel="linear").fit(X, y).C_ == 250.0


def test_the_default_serves_rows_that_sum_to_one():
    X, y = load_digits(return_X_y=True)
    X = X / X.sum(axis=1, keepdims=True)
    scores = [IntersectionSVC(bins=4).fit(rows[:1000], y[:1000]).score(rows[1000:], y[1000:]) for rows in (X, 1e-5 * X)]
    assert scores[0] == scores[1] > 0.9
