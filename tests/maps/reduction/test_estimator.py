"""ConvexReduction: exact where it can be, optimal by its conditions, and a map like any other."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    ConvexReduction,
    FourierMap,
    HomogeneousMap,
    InputError,
    KernelClassifier,
    NystroemMap,
    SparseAdditiveMap,
    WeightedMinHash,
    thread_limit,
)
from mercer.kernels import (
    RBF,
    Chi2,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    JensenShannon,
    Linear,
    PowerMean,
)
from mercer.maps.reduction import column_groups

HOMOGENEOUS = [
    Linear(),
    Hellinger(),
    Chi2(),
    Intersection(),
    JensenShannon(),
    PowerMean(-3),
    GeneralizedIntersection(0.5),
    2 * Chi2() + Intersection(),
]
FAMILY = np.array([0, 1, 2, 0, 1, 2, 0, 1, 0])  # columns that are multiples of one of three


@pytest.fixture
def X(rng):
    """Histograms with empty bins."""
    X = rng.gamma(0.5, size=(120, 20)) * (rng.random((120, 20)) < 0.8)
    return X / X.sum(axis=1, keepdims=True)


@pytest.fixture
def planted(rng):
    """(rows, factor of each column): nine columns with three shapes."""
    factors = np.array([1.0, 2.0, 0.5, 3.0, 0.1, 1.0, 1.0, 1.0, 0.2])
    return rng.random((80, 3))[:, FAMILY] * factors, factors


def one_dimensional(kernel, X):
    """k(x_i, y_i) of all pairs of rows, shape (n, n, D)."""
    return kernel.scalar(X[:, None, :], X[None, :, :])


# ---------------------------------------------------------------------------------------------------------- exact cases


def test_convex_selection_finds_planted_columns_and_their_weights(planted):
    X, factors = planted
    found = ConvexReduction(n_dims=3, method="convex").fit(X)
    # the largest column of each shape, which stands for the squares of all
    np.testing.assert_array_equal(found.selected_, [1, 3, 5])
    squares = np.bincount(FAMILY, factors**2)
    np.testing.assert_allclose(found.weights_, squares[[1, 0, 2]] / factors[[1, 3, 5]] ** 2, rtol=1e-6)
    assert found.error_ < 1e-6
    np.testing.assert_allclose(found.approximate_kernel(X), X @ X.T, rtol=1e-6)


@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), JensenShannon()], ids=repr)
def test_merging_multiples_loses_nothing_of_a_kernel_of_degree_one(kernel, planted):
    X, _ = planted
    found = ConvexReduction(kernel, n_dims=3).fit(X)
    np.testing.assert_array_equal(found.groups_, FAMILY)
    np.testing.assert_allclose(found.weights_, 1, rtol=1e-9)
    np.testing.assert_allclose(found.approximate_kernel(X, X[:9]), kernel(X, X[:9]), rtol=1e-9)


def test_weights_of_merged_columns_make_up_for_the_degree(planted):
    X, _ = planted
    found = ConvexReduction("linear", n_dims=3, refit=True, n_pairs=500).fit(X)
    np.testing.assert_allclose(found.approximate_kernel(X), X @ X.T, rtol=1e-6)


@pytest.mark.parametrize("kernel", HOMOGENEOUS, ids=repr)
@pytest.mark.parametrize("refit", [True, False])
def test_scaled_rows_have_exactly_the_weighted_kernel(kernel, refit, X):
    found = ConvexReduction(kernel, n_dims=8, method="convex", refit=refit, n_pairs=2000, random_state=0).fit(X)
    expected = one_dimensional(kernel, X[:, found.selected_]) @ found.weights_
    np.testing.assert_allclose(kernel(found.transform(X)), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.approximate_kernel(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("build", [SparseAdditiveMap, lambda kernel: NystroemMap(kernel, per_dimension=True)])
def test_without_homogeneity_the_weights_go_into_the_features(build, X, rng):
    kernel = Chi2() + 3 * Linear()
    found = ConvexReduction(kernel, n_dims=6, method="convex", map=build(kernel), n_pairs=2000, random_state=0).fit(X)
    np.testing.assert_array_equal(found.factors_, 1)
    kept = X[:, found.selected_]
    expected = 0.0
    for g in range(found.n_dims_):
        alone = np.zeros_like(kept)
        alone[:, g] = kept[:, g]
        expected = expected + found.weights_[g] * found.map_.approximate_kernel(alone)
    np.testing.assert_allclose(found.approximate_kernel(X), expected, atol=1e-9)
    v = rng.normal(size=(found.inner_.n_features, 2))
    np.testing.assert_allclose(found.fold(v)(X), found.rows(X).scores(v), atol=1e-9)


def test_the_paper_scales_by_the_root_of_the_linear_weights_whatever_map_follows(X):
    found = ConvexReduction(n_dims=8, method="convex", refit=False, map=HomogeneousMap("chi2")).fit(X)
    scaled = X[:, found.selected_] * np.sqrt(found.weights_)
    np.testing.assert_allclose(found.transform(X), HomogeneousMap("chi2").fit_transform(scaled), atol=1e-12)


# -------------------------------------------------------------------------------------------------------- optimality


@pytest.mark.parametrize("kernel", [Linear(), Hellinger()], ids=repr)
def test_the_weights_of_a_penalty_satisfy_the_conditions_of_the_optimum(kernel, X):
    X = X * np.linspace(0.3, 2, 20)
    others = ~np.eye(len(X), dtype=bool)
    design, values = one_dimensional(kernel, X)[others], kernel(X)[others]
    alpha = 0.3 * (design.T @ values / len(design)).max()
    found = ConvexReduction(kernel, alpha=alpha, method="convex", refit=False).fit(X)
    c = np.zeros(20)
    c[found.selected_] = found.weights_
    assert 3 < len(found.selected_) < 20
    assert found.alpha_ == found.path_["alpha"][-1] == alpha
    # the gradient of: mean (K - design c)^2 + alpha sum(c)
    gradient = -2 * design.T @ (values - design @ c) / len(design) + alpha
    assert np.abs(gradient[found.selected_]).max() < 1e-6 * alpha
    assert gradient.min() > -1e-6 * alpha


def test_refitted_weights_have_the_smaller_error(X):
    plain, refitted = (ConvexReduction(n_dims=8, method="convex", refit=refit).fit(X) for refit in (False, True))
    np.testing.assert_array_equal(plain.selected_, refitted.selected_)
    assert refitted.error_ < plain.error_


@pytest.mark.parametrize("method", ["merge", "supervised", "convex", "energy", "random"])
@pytest.mark.parametrize("n_dims", [1, 7, 20])
def test_there_are_as_many_columns_as_asked_for(method, n_dims, X):
    y = np.argmax(X[:, :3], axis=1)
    found = ConvexReduction(n_dims=n_dims, method=method, random_state=0).fit(X, y)
    assert found.n_dims_ == n_dims
    assert found.transform(X).shape == (120, n_dims)
    if method in ("merge", "supervised"):
        assert len(found.selected_) == 20
        np.testing.assert_allclose(found.transform(X).sum(axis=1), found.factors_[0])  # histograms stay histograms
    else:
        assert len(found.selected_) == n_dims
    if n_dims == 20:
        np.testing.assert_allclose(found.transform(X), X, rtol=1e-4)
        assert found.error_ < 1e-6


def test_a_number_that_no_penalty_gives_is_reached_all_the_same(X):
    twice = np.hstack([X, X])  # columns come in pairs
    assert 7 not in ConvexReduction(n_dims=8, method="convex").fit(twice).path_["n_dims"]
    assert ConvexReduction(n_dims=7, method="convex").fit(twice).n_dims_ == 7


@pytest.mark.parametrize("method", ["merge", "convex", "energy"])
def test_a_tolerance_is_kept_with_few_columns(method, X):
    found = ConvexReduction("hellinger", tolerance=0.1, method=method, refit=False).fit(X)
    assert 0 < found.error_ < 0.11  # measured on drawn pairs, where method="convex" takes all
    fewer = ConvexReduction("hellinger", n_dims=found.n_dims_ - 1, method=method, refit=False).fit(X)
    assert fewer.error_ > 0.09
    assert ConvexReduction(tolerance=0.0, method=method).fit(X).n_dims_ == 20


def test_the_path_goes_from_few_columns_to_the_chosen(X):
    path = ConvexReduction(n_dims=15, method="convex").fit(X).path_
    assert set(path) == {"alpha", "n_dims", "error"}
    assert (np.diff(path["alpha"]) <= 0).all()
    assert (np.diff(path["error"]) < 1e-9).all()  # a smaller penalty never has a larger error
    assert path["n_dims"][0] <= 3
    assert path["n_dims"].max() >= 15
    path = ConvexReduction(n_dims=15).fit(X).path_
    np.testing.assert_array_equal(path["n_dims"], [1, 2, 5, 10, 15])


@pytest.mark.parametrize("pairs", ["uniform", "informative"])
def test_drawn_pairs_choose_nearly_what_all_pairs_do(pairs, X):
    whole = ConvexReduction(n_dims=10, method="convex").fit(X)
    drawn = ConvexReduction(n_dims=10, method="convex", pairs=pairs, n_pairs=7000, random_state=0).fit(X)
    assert len(np.intersect1d(whole.selected_, drawn.selected_)) >= 8
    assert drawn.error_ < 1.3 * whole.error_


def test_merged_synonyms_tell_topics_better_than_selected_words(rng):
    """Each of 20 notions has 10 words, of which a text uses one or two: single words are often missing."""
    notions, y = rng.dirichlet(np.full(20, 0.5), size=6), np.repeat(np.arange(6), 40)
    words = np.repeat(notions, 10, axis=1)[y] * rng.gamma(0.4, size=(240, 200)).round(1)
    X = rng.poisson(20 * words).astype(float)
    X[:, 0] += 1
    train, test = np.arange(240) % 2 == 0, np.arange(240) % 2 == 1
    scores = {}
    for method in ("merge", "supervised", "convex", "random"):
        step = ConvexReduction(n_dims=20, method=method, random_state=0)
        model = make_pipeline(step, KernelClassifier("chi2")).fit(X[train], y[train])
        scores[method] = model.score(X[test], y[test])
    assert min(scores["merge"], scores["supervised"]) > max(scores["convex"], scores["random"]) + 0.03


# ------------------------------------------------------------------------------------------------------ the trial


def texts(rng, n=400):
    """Each of 6 topics has 3 words of its own, among 90 that every text uses: those 3 decide, sums of words do not."""
    y = np.arange(n) % 6
    X = rng.poisson(1.0, size=(n, 108)).astype(float)
    X[:, :18] = rng.poisson(4.0, size=(n, 18)) * (np.arange(18) // 3 == y[:, None])
    return X, y


def test_the_method_is_chosen_by_rows_that_are_left_out(X, rng):
    texts_, topics = texts(rng)
    for rows, y, n_dims in ((texts_, topics, 20), (X, np.argmax(X[:, :3], axis=1), 12)):
        found = ConvexReduction(n_dims=n_dims, random_state=0).fit(rows, y)
        assert set(found.trial_) == {"merge", "convex"}
        assert found.trial_[found.method_] == max(found.trial_.values())
        named = ConvexReduction(n_dims=n_dims, method=found.method_, random_state=0).fit(rows, y)
        np.testing.assert_array_equal(found.groups_, named.groups_)
        np.testing.assert_array_equal(found.weights_, named.weights_)


@pytest.mark.parametrize(
    ("params", "y", "method"),
    [
        ({"n_dims": 5}, None, "merge"),
        ({"n_dims": 5}, np.linspace(0.1, 0.9, 120), "merge"),
        ({"tolerance": 0.5}, np.arange(120) % 2, "merge"),
        ({"alpha": 1e-5}, np.arange(120) % 2, "convex"),
    ],
)
def test_without_a_trial_the_method_follows_from_what_is_asked(params, y, method, X):
    found = ConvexReduction(**params).fit(X, y)
    assert (found.method_, found.trial_) == (method, None)


def test_a_trial_needs_some_rows(X):
    assert ConvexReduction(n_dims=5).fit(X[:30], np.arange(30) % 2).trial_ is None


# ------------------------------------------------------------------------------------------------ as a map among others

MAPS = {
    "none": None,
    "homogeneous": HomogeneousMap("chi2"),
    "sparse-additive": SparseAdditiveMap("intersection"),
    "per-dimension": NystroemMap("js", per_dimension=True),
    "landmarks": NystroemMap("chi2", n_landmarks=30, random_state=0),
    "fourier": FourierMap(RBF(2.0), n_components=64, random_state=0),
    "minhash": WeightedMinHash(64, random_state=0),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("method", ["merge", "convex"])
def test_it_composes_with_every_map(name, method, X, rng, tmp_path):
    found = ConvexReduction(n_dims=12, method=method, map=MAPS[name], n_pairs=3000, random_state=0).fit(X)
    alone = X @ np.eye(21)[found.groups_][:, : found.n_dims_] * found.factors_  # group -1 is the last row of the unit
    if MAPS[name] is None:
        np.testing.assert_allclose(found.transform(X), alone, atol=1e-12)
    else:
        np.testing.assert_allclose(found.approximate_kernel(X), found.map_.approximate_kernel(alone), atol=1e-9)
        assert found.kernel_ == found.map_.kernel_
    v = rng.normal(size=(found.inner_.n_features, 3))
    predictor = found.fold(v)
    np.testing.assert_allclose(predictor(X), found.rows(X).scores(v), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(predictor(sparse.csr_array(X)), predictor(X), rtol=1e-7, atol=1e-7)
    for saved in (found, predictor):
        mercer.save(saved, tmp_path / "saved.mercer")
        for loaded in (mercer.load(tmp_path / "saved.mercer"), pickle.loads(pickle.dumps(saved))):
            call = loaded if saved is predictor else loaded.approximate_kernel
            np.testing.assert_array_equal(call(X), (predictor if saved is predictor else found.approximate_kernel)(X))


@pytest.mark.parametrize("map", [HomogeneousMap("chi2"), SparseAdditiveMap("intersection")], ids=["dense", "sparse"])
def test_learners_take_it_as_their_map(map, X, tmp_path):
    y = np.argmax(X[:, :3], axis=1)
    model = KernelClassifier(map=ConvexReduction(n_dims=15, map=map), multi_class="ovr", C=100.0).fit(X, y)
    assert model.score(X, y) > 0.8
    scores = model.map_.rows(X).scores(model.map_.inner_.lift(model.coef_)) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_shorter_rows_of_another_kernel_are_not_taken_for_features(X):
    y = np.argmax(X[:, :3], axis=1)
    reduction = ConvexReduction("chi2", n_dims=10)
    with pytest.raises(InputError, match=r"whose inner product is not the kernel.*HomogeneousMap\('chi2'\)"):
        KernelClassifier(map=reduction).fit(X, y)
    assert make_pipeline(reduction, KernelClassifier("chi2", C=100.0)).fit(X, y).score(X, y) > 0.8


def test_threads_dense_and_sparse_make_no_difference(X, monkeypatch):
    for kwargs in ({}, {"method": "convex"}, {"method": "convex", "kernel": "chi2", "n_pairs": 3000}):
        found = []
        for n_threads in (1, 2):
            with thread_limit(n_threads):
                fitted = ConvexReduction(n_dims=9, random_state=3, **kwargs).fit(X)
                found.append((fitted.groups_, fitted.weights_, fitted.error_, fitted.transform(X)))
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)
        fitted = ConvexReduction(n_dims=9, random_state=3, **kwargs).fit(sparse.csr_matrix(X))
        np.testing.assert_array_equal(fitted.groups_, found[0][0])
        np.testing.assert_allclose(fitted.transform(sparse.csr_matrix(X)).toarray(), found[0][3], rtol=1e-7)


def test_features_with_signs_are_reduced(rng):
    X = rng.normal(size=(60, 10))
    X[:, 5:] = 2 * X[:, :5]
    found = ConvexReduction(n_dims=5, refit=True, n_pairs=2000, random_state=0, map=None).fit(X)
    np.testing.assert_array_equal(found.groups_, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    np.testing.assert_allclose(found.approximate_kernel(X), X @ X.T, atol=1e-6)
    signed = ConvexReduction(n_dims=5, map=HomogeneousMap("chi2", signed=True)).fit(X)
    exact = Chi2(signed=True)(X)
    assert np.linalg.norm(signed.approximate_kernel(X) - exact) < 0.05 * np.linalg.norm(exact)


def test_columns_without_values_are_left_out(X):
    wide = np.hstack([X, np.zeros((120, 3))])
    for method in ("merge", "convex", "energy", "random"):
        found = ConvexReduction(n_dims=23, method=method).fit(wide)
        assert found.n_dims_ == 20
        np.testing.assert_array_equal(found.selected_, np.arange(20))


# --------------------------------------------------------------------------------------------------- bad input, drawing


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "needs exactly one of n_dims, alpha and tolerance; got none"),
        ({"n_dims": 3, "alpha": 0.1}, "got n_dims and alpha"),
        ({"n_dims": 21}, "cannot keep n_dims=21 columns of rows with n_features=20"),
        ({"n_dims": 0}, "`n_dims` must be an integer >= 1, or None"),
        ({"n_dims": 2.5}, "`n_dims` must be an integer >= 1, or None"),
        ({"alpha": -1.0, "method": "convex"}, "`alpha` must be a number >= 0, or None"),
        ({"alpha": 1e9, "method": "convex"}, "keeps no column.*must be less than"),
        ({"alpha": 0.1, "method": "merge"}, "alpha only with method='convex'"),
        ({"tolerance": np.nan}, "`tolerance` must be a number >= 0, or None"),
        (
            {"n_dims": 3, "method": "best"},
            "`method` must be one of 'auto', 'merge', 'supervised', 'convex', 'energy'",
        ),
        ({"n_dims": 3, "pairs": "some"}, "`pairs` must be one of 'auto', 'all', 'uniform', 'informative'"),
        ({"n_dims": 3, "refit": "yes"}, "`refit` must be True or False, or None"),
        ({"n_dims": 3, "n_pairs": 0}, "`n_pairs` must be an integer >= 1"),
        ({"n_dims": 3, "kernel": "rbf"}, "needs an additive kernel"),
        ({"n_dims": 3, "kernel": "chi2", "method": "convex", "pairs": "all"}, "pairs='all' only for the linear"),
        ({"n_dims": 3, "pairs": "uniform", "method": "merge"}, "pairs='uniform' with method='merge'"),
        ({"n_dims": 3, "kernel": Chi2() + Linear()}, "is not homogeneous"),
        ({"n_dims": 3, "map": "chi2"}, "needs a map of Mercer"),
        ({"n_dims": 3, "method": "supervised"}, "requires y to be passed"),
        (
            {"n_dims": 3, "kernel": Chi2() + Linear(), "map": NystroemMap(Chi2() + Linear(), n_landmarks=20)},
            "mixes",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(params, message, X):
    with pytest.raises(InputError, match=message):
        ConvexReduction(**params).fit(X)


def test_rows_that_say_nothing_are_refused(X):
    with pytest.raises(InputError, match="at least two rows; got n_samples = 1"):
        ConvexReduction(n_dims=2).fit(X[:1])
    with pytest.raises(InputError, match="all of X is 0"):
        ConvexReduction(n_dims=2).fit(np.zeros((5, 4)))
    with pytest.raises(InputError, match="the kernel is 0 on all sampled pairs"):
        ConvexReduction(n_dims=2, refit=True).fit(np.eye(4))
    with pytest.raises(InputError, match=r"Negative values in data.*X\[0, 1\] is -1"):
        ConvexReduction("chi2", n_dims=1, map=FourierMap(RBF(1.0))).fit([[1.0, -1.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="120 rows, but 119 classes"):
        ConvexReduction(n_dims=2, method="supervised").fit(X, np.zeros(119))


def test_more_columns_than_can_all_be_compared_are_reduced_by_every_method(rng):
    """A few shapes stand behind 18,000 columns."""
    wide = rng.random((60, 8))[:, np.arange(18_000) % 8] * rng.uniform(0.5, 2, 18_000)
    for method in ("merge", "convex", "energy"):
        found = ConvexReduction(n_dims=8, method=method, random_state=0).fit(wide)
        assert found.n_dims_ == 8
        if method == "merge":
            np.testing.assert_array_equal(found.groups_, np.arange(18_000) % 8)
        if method == "convex":
            assert found.error_ < 1e-6
            assert len(np.unique(found.selected_ % 8)) == 8  # one of each shape


def test_many_columns_that_no_sampled_row_has_are_left_out(rng, monkeypatch):
    monkeypatch.setattr(column_groups, "WIDEST", 10)
    monkeypatch.setattr(column_groups, "TRUNK", 8)
    X = rng.random((50, 20))
    X[:, 10:] = np.where(np.arange(50)[:, None] < 49, 0.0, 1e-3)  # in the last row only
    monkeypatch.setattr(column_groups, "sample_rows", lambda n, size, random_state: np.arange(size))
    monkeypatch.setattr(column_groups, "PROFILE_BYTES", 8 * 8 * 40)
    found = ConvexReduction(n_dims=4, method="merge").fit(X)
    assert (found.groups_[:8] >= 0).all()
    assert (found.groups_[10:] == -1).all()


def test_a_damaged_file_is_refused(X, tmp_path):
    found = ConvexReduction(n_dims=5).fit(X)
    found.groups_[0] = 7
    mercer.save(found, tmp_path / "bad.mercer")
    with pytest.raises(mercer.ModelFileError, match="groups must be -1 or integers from 0 to 4"):
        mercer.load(tmp_path / "bad.mercer")


@pytest.mark.parametrize("method", ["merge", "convex"])
def test_pictures_are_drawn_without_a_display(method, X):
    pytest.importorskip("matplotlib")
    found = ConvexReduction(n_dims=5, method=method, map=HomogeneousMap("chi2"), n_pairs=1000).fit(X)
    values = found.plot_values(X, n_pairs=50)
    points = values.axes[0].collections[0].get_offsets()
    assert points.shape == (50, 2)
    assert np.abs(points[:, 1] - points[:, 0]).max() < 1  # kernel values of histograms
    path = found.plot_path().axes
    assert len(path[0].lines[0].get_xdata()) > 3
    assert [axes.get_ylabel() for axes in path][1:] == (["remaining columns"] if method == "convex" else [])
    with pytest.raises(InputError, match="at least two rows"):
        found.plot_values(X[:1])


@pytest.mark.slow  # the checks look at the class, which tests/contracts/test_sklearn.py gives them
@parametrize_with_checks(
    [
        ConvexReduction("chi2", tolerance=0.5, method="convex", n_pairs=200),
        ConvexReduction(n_dims=1, method="supervised", map=HomogeneousMap("chi2")),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
