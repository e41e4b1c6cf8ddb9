"""Predictors: functions of raw rows against the features, kernels and tables they are made of."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse

import mercer
from mercer import Chi2, GeneralizedIntersection, Intersection, JensenShannon
from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.threads import thread_limit
from mercer.maps.grids.sparse_additive import SparseAdditiveMap
from mercer.spaces import GridPredictor, Identity, LandmarkPredictor, MapPredictor, as_rows

tails = pytest.mark.parametrize("tail", [(), (1,), (4,)])
GRID = np.array([0.05, 0.1, 0.25, 0.3, 0.7, 1.0])


def histograms(n, d=6, dtype=np.float64, seed=0):
    X = np.random.default_rng(seed).dirichlet(np.full(d, 0.5), size=n)
    X[X < 0.02] = 0.0
    return X.astype(dtype)


def predictors(tail=()):
    """One of each kind, for 6 features, with the weights it was given."""
    rng = np.random.default_rng(1)
    map = SparseAdditiveMap("chi2", grid=GRID).fit(histograms(50))
    v = rng.standard_normal((map.inner_.n_features, *tail))
    coefficients = rng.standard_normal((9, *tail))
    return {
        "map": (MapPredictor(map, v), v),
        "landmarks": (LandmarkPredictor(Chi2(), histograms(9, seed=2), coefficients), coefficients),
        "grid": (GridPredictor(Chi2(), GRID, v), v),
    }


names = pytest.mark.parametrize("name", ["map", "landmarks", "grid"])


@tails
def test_a_map_predictor_scores_the_features(tail):
    predictor, v = predictors(tail)["map"]
    X = histograms(40)
    np.testing.assert_allclose(predictor(X), predictor.map.transform(X) @ v, rtol=1e-12, atol=1e-12)


def test_a_data_frame_reaches_the_map_as_a_data_frame():
    class Frame:
        """What matters of a data frame: rows by position, and names that only the map can check."""

        def __init__(self, values):
            self.values, self.shape = values, values.shape

        @property
        def iloc(self):
            return self

        def __getitem__(self, part):
            return Frame(self.values[part])

    class FrameMap:
        inner_, n_features_in_ = Identity(2), 2

        def rows(self, X):
            assert isinstance(X, Frame)
            return as_rows(X.values)

    X = np.arange(6.0).reshape(3, 2)
    with sklearn.config_context(working_memory=2 * 16 / 2**20):  # two rows at a time
        assert MapPredictor(FrameMap(), [1.0, 10.0])(Frame(X)).tolist() == (X @ [1, 10]).tolist()


@tails
def test_a_landmark_predictor_sums_kernel_values(tail):
    predictor, coefficients = predictors(tail)["landmarks"]
    X = histograms(40)
    np.testing.assert_allclose(predictor(X), Chi2()(X, histograms(9, seed=2)) @ coefficients, rtol=1e-12, atol=1e-12)


@tails
@pytest.mark.parametrize(
    "kernel", [Chi2(), Intersection(), GeneralizedIntersection(beta=0.5), JensenShannon()], ids=repr
)
@pytest.mark.parametrize("n_neighbors", [2, 4])
def test_a_grid_predictor_is_the_sparse_map_without_its_features(tail, kernel, n_neighbors):
    X = histograms(40)
    map = SparseAdditiveMap(kernel, grid=GRID, n_neighbors=n_neighbors).fit(X)
    v = np.random.default_rng(1).standard_normal((map.inner_.n_features, *tail))
    predictor = GridPredictor(map.kernel_, map.grid_, v, n_neighbors)
    np.testing.assert_allclose(predictor(X), map.transform(X) @ v, rtol=1e-11, atol=1e-11)


def test_a_signed_grid_predictor_is_odd():
    kernel = Chi2(signed=True)
    X = histograms(40) * np.where(np.arange(6) % 2, 1.0, -1.0)
    v = np.random.default_rng(1).standard_normal(6 * len(GRID))
    predictor = GridPredictor(kernel, GRID, v)
    np.testing.assert_allclose(predictor(-X), -predictor(X), rtol=1e-12)
    map = SparseAdditiveMap(kernel, grid=GRID).fit(X)
    np.testing.assert_allclose(predictor(X), map.transform(X) @ v, rtol=1e-11, atol=1e-12)


@tails
def test_the_functions_of_a_grid_predictor_add_up_to_it(tail):
    predictor, _ = predictors(tail)["grid"]
    X = histograms(40)
    total = sum(predictor.functions(j, X[:, j]) for j in range(6))
    np.testing.assert_allclose(total, predictor(X), rtol=1e-11, atol=1e-12)
    assert not predictor.functions(3, [0.0]).any()


def test_the_functions_of_the_intersection_are_piecewise_linear():
    v = np.random.default_rng(1).standard_normal(2 * len(GRID))
    predictor = GridPredictor(Intersection(), GRID, v)
    values = np.linspace(0, 1, 50)
    expected = np.interp(values, [0, *GRID], [0, *v[len(GRID) :]])
    np.testing.assert_allclose(predictor.functions(1, values), expected, atol=1e-12)


def test_values_above_the_grid_are_counted_in_a_warning():
    predictor, _ = predictors()["grid"]
    X = np.full((1, 6), 0.1)
    X[0, 2] = 5.0
    with pytest.warns(ApproximationWarning, match="1 value is above the last grid point 1 and is "):
        predictor(X)


@names
@tails
def test_dense_sparse_chunked_and_float32_rows_give_the_same(name, tail):
    predictor, _ = predictors(tail)[name]
    X = histograms(40, dtype=np.float32)
    expected = predictor(X.astype(np.float64))
    assert expected.shape == (40, *tail)
    assert expected.dtype == np.float64
    np.testing.assert_allclose(predictor(sparse.csr_matrix(X.astype(np.float64))), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(predictor(X), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(predictor(X.tolist()), expected)
    with sklearn.config_context(working_memory=1e-3):
        np.testing.assert_allclose(predictor(X.astype(np.float64)), expected, rtol=1e-11, atol=1e-12)


@names
def test_the_type_of_the_scores_is_the_common_type_of_rows_and_weights(name):
    predictor, weights = predictors()[name]
    parameters = predictor.get_params()
    last = list(parameters)[{"map": 1, "landmarks": 2, "grid": 2}[name]]
    single = type(predictor)(**{**parameters, last: weights.astype(np.float32)})
    assert single(histograms(5, dtype=np.float32)).dtype == np.float32
    assert single(histograms(5)).dtype == np.float64
    assert predictor(histograms(5, dtype=np.float32)).dtype == np.float64


@names
@tails
def test_scores_have_the_same_bits_on_one_and_two_threads(name, tail):
    predictor, _ = predictors(tail)[name]
    X = histograms(20_000)
    scores = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            scores.append(predictor(X))
    np.testing.assert_array_equal(*scores)


@names
def test_a_predictor_survives_a_pickle_and_a_model_file(name, tmp_path):
    predictor, _ = predictors()[name]
    X = histograms(30)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(predictor))(X), predictor(X))
    mercer.save(predictor, tmp_path / "predictor.mercer")
    loaded = mercer.load(tmp_path / "predictor.mercer")
    assert loaded.n_features_in_ == 6
    np.testing.assert_array_equal(loaded(X), predictor(X))


@names
def test_rows_of_another_width_are_refused(name):
    predictor, _ = predictors()[name]
    with pytest.raises(ValueError, match=r"rows of 6 features; got 5"):
        predictor(histograms(3, d=5))


@names
def test_values_outside_the_kernel_are_refused(name):
    predictor, _ = predictors()[name]
    with pytest.raises(InputError, match=r"needs values >= 0, but X\[1, 0\] is -1"):
        predictor(np.array([[0.5] * 6, [-1.0] * 6]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LandmarkPredictor(Chi2(), np.ones((3, 2)), np.ones(4)), r"\(3,\).*there are 3 landmarks; got \(4,\)"),
        (lambda: LandmarkPredictor("chi2", np.ones((3, 2)), np.ones(3)), "needs a kernel object, got 'chi2'"),
        (lambda: LandmarkPredictor(Chi2(), -np.ones((3, 2)), np.ones(3)), r"landmarks\[0, 0\] is -1"),
        (lambda: GridPredictor(Chi2(), [0.1, 0.2], np.ones(5)), "2 grid points, but tables of 5"),
        (lambda: GridPredictor(Chi2(), [0.2, 0.1], np.ones(4)), "finite, ascending grid points > 0"),
        (lambda: GridPredictor(mercer.RBF(), [0.1], np.ones(4)), "additive kernel"),
        (lambda: GridPredictor(Chi2(), [0.1], np.ones(4), n_neighbors=3), "even n_neighbors >= 2, got 3"),
        (lambda: GridPredictor(Chi2(), [0.1], np.ones(4)).functions(4, [1.0]), "it has no function 4"),
        (lambda: MapPredictor(predictors()["map"][0].map, np.ones(7)), "SparseAdditiveMap has 36 features; got .7,."),
    ],
)
def test_what_does_not_fit_is_refused_in_words(make, message):
    with pytest.raises(InputError, match=message):
        make()
