"""What every feature map promises, run over all of them: a new map is tested by being added to CASES."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

import mercer
from mercer import (
    ConvexReduction,
    FourierMap,
    HomogeneousMap,
    InputError,
    KernelPCA,
    NystroemMap,
    ProjectedMap,
    SparseAdditiveMap,
    SparseMap,
    WeightedMinHash,
    thread_limit,
)
from mercer.kernels import RBF, Chi2, ExpChi2, Intersection, JensenShannon, Laplacian, PowerMean
from mercer.maps import MAPS

# name -> (map of the given size, small, large): the relative error must fall from the small size to the large one
CASES = {
    "homogeneous-chi2": (lambda size: HomogeneousMap("chi2", order=size), 1, 4),
    "homogeneous-intersection": (lambda size: HomogeneousMap("intersection", order=size), 1, 4),
    "homogeneous-js": (lambda size: HomogeneousMap("js", order=size), 1, 4),
    "homogeneous-power-mean": (lambda size: HomogeneousMap(PowerMean(-3), order=size), 1, 4),
    "nystroem-chi2": (lambda size: NystroemMap("chi2", n_landmarks=size, random_state=0), 8, 60),
    "nystroem-rbf": (lambda size: NystroemMap(RBF(0.5), n_landmarks=size, random_state=0), 8, 60),
    "nystroem-per-dimension": (lambda size: NystroemMap("js", n_components=size, per_dimension=True), 1, 4),
    "kpca-js": (lambda size: KernelPCA("js", n_components=size, n_landmarks=80, random_state=0), 4, 40),
    "sparse-additive-chi2": (lambda size: SparseAdditiveMap("chi2", n_points=size), 4, 24),
    "sparse-additive-intersection": (lambda size: SparseAdditiveMap("intersection", n_points=size), 4, 24),
    "sparse-additive-js": (lambda size: SparseAdditiveMap("js", n_points=size), 4, 24),
    "sparse-nearest": (lambda size: SparseMap("chi2", n_landmarks=40, n_nonzero=size, random_state=0), 1, 20),
    "sparse-omp": (lambda size: SparseMap("chi2", n_landmarks=40, n_nonzero=size, method="omp", random_state=0), 1, 20),
    "fourier-rbf": (lambda size: FourierMap(RBF(0.5), n_components=size, random_state=0), 16, 1024),
    "fourier-laplacian": (lambda size: FourierMap(Laplacian(0.2), n_components=size, random_state=0), 16, 1024),
    "fourier-exp-chi2": (lambda size: FourierMap(ExpChi2(0.5), n_components=size, random_state=0), 16, 1024),
    "minhash": (lambda size: WeightedMinHash(n_hashes=size, bits=4, random_state=0), 16, 512),
    "reduction": (
        lambda size: ConvexReduction("chi2", n_dims=size, map=HomogeneousMap("chi2", order=3), random_state=0),
        2,
        12,
    ),
    "reduction-convex": (
        lambda size: ConvexReduction("js", n_dims=size, method="convex", map=SparseAdditiveMap("js"), random_state=0),
        2,
        12,
    ),
    "projected": (
        lambda size: ProjectedMap(HomogeneousMap("chi2", order=3), n_components=size, random_state=0),
        8,
        256,
    ),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture
def data(rng):
    """Clustered histograms with empty bins."""
    centres = rng.random((6, 12)) ** 2
    X = centres[rng.integers(0, 6, 150)] * rng.gamma(4, 0.25, (150, 12)) * (rng.random((150, 12)) < 0.8)
    return X / X.sum(axis=1, keepdims=True)


def relative_error(fitted, X):
    K = fitted.kernel_(X)
    return np.linalg.norm(fitted.approximate_kernel(X) - K) / np.linalg.norm(K)


def test_every_registered_map_is_in_the_cases():
    assert {type(build(small)) for build, small, _ in CASES.values()} == set(MAPS.values())


def test_the_error_falls_as_the_map_grows(case, data):
    build, small, large = case
    coarse, fine = (relative_error(build(size).fit(data), data) for size in (small, large))
    assert fine < 0.7 * coarse
    assert fine < 0.2


def test_the_approximate_kernel_is_the_inner_product_of_the_features(case, data):
    build, small, _ = case
    fitted = build(small).fit(data)
    features = fitted.transform(data)
    features = features.toarray() if sparse.issparse(features) else features
    assert features.shape == (len(data), fitted.inner_.n_features) == (len(data), len(fitted.get_feature_names_out()))
    H = fitted.inner_.matrix()
    np.testing.assert_allclose(fitted.approximate_kernel(data, data[:9]), features @ H @ features[:9].T, atol=1e-10)


def test_dense_and_sparse_input_agree(case, data):
    build, _, large = case
    dense = build(large).fit(data)
    same = build(large).fit(sparse.csr_matrix(data))
    K = dense.approximate_kernel(data[:40])
    np.testing.assert_allclose(dense.approximate_kernel(sparse.csr_array(data[:40])), K, atol=1e-9)
    np.testing.assert_allclose(same.approximate_kernel(data[:40]), K, atol=1e-7)


def test_float32_is_kept_and_close_to_float64(case, data):
    build, _, large = case
    double, single = build(large).fit(data), build(large).fit(data.astype("f4"))
    assert single.transform(data.astype("f4")).dtype == np.float32
    assert double.transform(data).dtype == np.float64
    np.testing.assert_allclose(
        double.approximate_kernel(data.astype("f4")), double.approximate_kernel(data), rtol=1e-3, atol=1e-3
    )
    assert abs(relative_error(single, data.astype("f4")) - relative_error(double, data)) < 0.02


def test_one_seed_gives_the_same_bits_on_any_number_of_threads(case, data):
    build, _, large = case
    with thread_limit(1):
        alone = build(large).fit(data).transform(data)
    with thread_limit(2):
        together = build(large).fit(data).transform(data)
    if sparse.issparse(alone):
        assert (alone != together).nnz == 0
    else:
        np.testing.assert_array_equal(alone, together)


def test_rows_do_not_depend_on_their_neighbours_or_on_the_working_memory(case, data):
    build, _, large = case
    fitted = build(large).fit(data)
    whole = fitted.rows(data).toarray()
    with config_context(working_memory=1):
        np.testing.assert_allclose(fitted.rows(data[::-1]).toarray()[::-1], whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.rows(data[70:71]).toarray()[0], whole[70], rtol=1e-9, atol=1e-12)


def test_folded_weights_predict_from_raw_rows(case, data, rng):
    build, _, large = case
    fitted = build(large).fit(data)
    for shape in ((fitted.inner_.n_features,), (fitted.inner_.n_features, 3)):
        v = rng.normal(size=shape)
        np.testing.assert_allclose(fitted.fold(v)(data), fitted.rows(data).scores(v), rtol=1e-7, atol=1e-7)


def test_a_saved_map_gives_the_same_features(case, data, tmp_path):
    build, _, large = case
    fitted = build(large).fit(data)
    path = tmp_path / "map.mercer"
    mercer.save(fitted, path)
    expected = fitted.rows(data).toarray()
    for restored in (mercer.load(path), mercer.load(path, mmap=True), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(restored.rows(data).toarray(), expected)
        np.testing.assert_array_equal(restored.approximate_kernel(data[:5]), fitted.approximate_kernel(data[:5]))
        assert repr(clone(restored)) == repr(clone(fitted))


def test_saved_predictors_predict_the_same(case, data, tmp_path, rng):
    build, small, _ = case
    fitted = build(small).fit(data)
    predictor = fitted.fold(rng.normal(size=(fitted.inner_.n_features, 2)))
    mercer.save(predictor, tmp_path / "p.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "p.mercer")(data), predictor(data))


def test_all_zero_rows_are_mapped_without_nan(case, data):
    build, small, _ = case
    fitted = build(small).fit(data)
    zero = np.zeros((2, data.shape[1]))
    assert np.isfinite(fitted.rows(zero).toarray()).all()
    assert np.isfinite(fitted.approximate_kernel(zero)).all()


@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), JensenShannon()], ids=repr)
@pytest.mark.parametrize("build", [HomogeneousMap, NystroemMap, KernelPCA, SparseAdditiveMap, SparseMap])
def test_negative_values_are_refused_where_the_kernel_does(build, kernel, data):
    bad = data.copy()
    bad[3, 4] = -1
    with pytest.raises(InputError, match=r"needs values >= 0, but X\[3, 4\] is -1"):
        build(kernel).fit(bad)
    with pytest.raises(InputError, match=r"needs values >= 0, but X\[3, 4\] is -1"):
        build(kernel).fit(data).transform(bad)
