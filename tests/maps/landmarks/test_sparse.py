"""SparseMap: the projection on few landmarks, from the dense projection down to one landmark."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, ModelFileError, NystroemMap, SparseMap, load, save
from mercer.kernels import RBF, Chi2, Intersection, MinMax

METHODS = ["omp", "mp", "nearest", "lasso"]
methods = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def clusters(rng):
    """Rows around twelve centers, some bins empty."""
    centres = rng.dirichlet(np.full(10, 0.5), 12)
    X = centres[rng.integers(0, 12, 240)] * rng.gamma(3, 1 / 3, (240, 10))
    return X * (X > 0.005)


def relative_error(fitted, X):
    K = fitted.kernel_(X)
    return np.linalg.norm(fitted.approximate_kernel(X) - K) / np.linalg.norm(K)


@methods
@pytest.mark.parametrize("kernel", [Chi2(), RBF(2.0), MinMax()], ids=repr)
def test_with_every_landmark_allowed_it_is_the_nystroem_map(method, kernel, clusters):
    dense = NystroemMap(kernel, n_landmarks=30, random_state=0).fit(clusters)
    fitted = SparseMap(kernel, 30, n_nonzero=30, method=method, random_state=0).fit(clusters)
    np.testing.assert_array_equal(fitted.landmark_indices_, dense.landmark_indices_)
    np.testing.assert_allclose(fitted.approximate_kernel(clusters), dense.approximate_kernel(clusters), atol=1e-9)


@pytest.mark.parametrize("kernel", [Chi2(), RBF(2.0), MinMax()], ids=repr)
def test_orthogonal_pursuit_finds_all_landmarks_among_their_copies(kernel, clusters):
    Z = clusters[:30]
    dense = NystroemMap(kernel, landmarks=Z).fit(clusters)
    fitted = SparseMap(kernel, n_nonzero=30, landmarks=np.vstack([Z, Z])).fit(clusters)
    np.testing.assert_allclose(fitted.approximate_kernel(clusters), dense.approximate_kernel(clusters), atol=1e-9)


@methods
@pytest.mark.parametrize("as_sparse", [False, True])
def test_rows_have_few_landmarks_in_order_and_without_zeros(method, as_sparse, clusters):
    X = sparse.csr_array(clusters) if as_sparse else clusters
    fitted = SparseMap("chi2", 40, n_nonzero=5, method=method, random_state=0).fit(X)
    features = fitted.transform(X)
    assert features.shape == (240, 40)
    counts = np.diff(features.indptr)
    assert counts.max() == 5
    assert (features.data != 0).all()
    for i in range(240):
        assert (np.diff(features.indices[features.indptr[i] : features.indptr[i + 1]]) > 0).all()


@methods
@pytest.mark.parametrize("kernel", [Chi2(), RBF(2.0), Intersection()], ids=repr)
def test_coefficients_project_on_the_span_of_the_landmarks_of_a_row(method, kernel, clusters):
    fitted = SparseMap(kernel, 40, n_nonzero=4, method=method, random_state=0).fit(clusters)
    features, cross, gram = fitted.transform(clusters).toarray(), kernel(clusters, fitted.landmarks_), fitted.gram_
    for phi, k in zip(features, cross, strict=True):
        S = np.flatnonzero(phi)
        np.testing.assert_allclose(phi[S], np.linalg.solve(gram[np.ix_(S, S)], k[S]), rtol=1e-7, atol=1e-9)


@methods
def test_the_residual_is_the_distance_in_feature_space_and_bounds_the_error(method, clusters):
    fitted = SparseMap("chi2", 40, n_nonzero=4, method=method, random_state=0).fit(clusters)
    phi, K = fitted.transform(clusters).toarray(), fitted.kernel_
    r = fitted.residual(clusters)
    kept = np.einsum("ij,jk,ik->i", phi, fitted.gram_, phi)
    sq_distance = K.diag(clusters) - 2 * np.einsum("ij,ij->i", phi, K(clusters, fitted.landmarks_)) + kept
    np.testing.assert_allclose(r**2, sq_distance, atol=1e-10)
    R = np.sqrt(kept)
    error = np.abs(fitted.approximate_kernel(clusters) - K(clusters))
    assert (error <= np.outer(r, R) + np.outer(R, r) + np.outer(r, r) + 1e-9).all()


@pytest.mark.parametrize("kernel", [Chi2(), RBF(2.0), Intersection()], ids=repr)
def test_pursuit_loses_less_than_taking_the_nearest(kernel, clusters):
    lost = {
        method: np.mean(SparseMap(kernel, 60, 5, method, random_state=0).fit(clusters).residual(clusters) ** 2)
        for method in METHODS
    }
    assert lost["omp"] <= lost["mp"] <= lost["nearest"]
    assert lost["omp"] <= lost["lasso"] <= lost["nearest"]


@methods
def test_the_error_falls_with_more_landmarks_and_with_more_per_row(method, clusters):
    def error(n_landmarks, n_nonzero):
        return relative_error(SparseMap("chi2", n_landmarks, n_nonzero, method, random_state=0).fit(clusters), clusters)

    assert error(20, 8) < error(20, 3) < error(20, 1)
    assert error(120, 4) < error(40, 4) < error(10, 4)


def test_one_nearest_landmark_is_scaled_to_fit(clusters):
    fitted = SparseMap(RBF(3.0), 25, n_nonzero=1, method="nearest", random_state=0).fit(clusters)
    nearest = fitted.kernel_.distance(clusters, fitted.landmarks_).argmin(axis=1)
    features = fitted.transform(clusters)
    np.testing.assert_array_equal(features.indices, nearest)
    np.testing.assert_allclose(features.data, fitted.kernel_(clusters, fitted.landmarks_)[range(240), nearest])


@pytest.mark.parametrize("method", ["omp", "mp"])
def test_a_landmark_is_its_own_code(method, clusters):
    fitted = SparseMap("chi2", 25, n_nonzero=6, method=method, random_state=0).fit(clusters)
    np.testing.assert_allclose(fitted.transform(fitted.landmarks_).toarray(), np.eye(25), atol=1e-12)


@methods
def test_repeated_and_empty_landmarks_do_no_harm(method, clusters):
    Z = np.vstack([clusters[:10], clusters[:10], np.zeros((1, 10)), 0.5 * clusters[:2]])
    fitted = SparseMap("chi2", n_nonzero=8, method=method, landmarks=Z).fit(clusters)
    once = SparseMap("chi2", n_nonzero=8, method=method, landmarks=np.vstack([Z[:10], Z[21:]])).fit(clusters)
    features = fitted.transform(clusters)
    assert np.isfinite(features.data).all()
    assert np.abs(features.data).max() < 1e3
    if method == "omp":  # the others may choose the same landmark twice, and then have less to work with
        np.testing.assert_allclose(fitted.residual(clusters), once.residual(clusters), atol=1e-6)


def test_empty_rows_have_empty_features(clusters):
    clusters[[3, 8]] = 0
    for X in (clusters, sparse.csr_array(clusters)):
        for method in METHODS:
            features = SparseMap("chi2", 30, n_nonzero=4, method=method, random_state=0).fit(X).transform(X)
            assert features[[3, 8]].nnz == 0


@methods
def test_float32_rows_give_the_kernel_of_float64_rows(method, clusters):
    fitted = SparseMap("chi2", 40, n_nonzero=20, method=method, random_state=0).fit(clusters.astype("f4"))
    features = fitted.transform(clusters.astype("f4"))
    assert features.dtype == np.float32
    # other landmarks may win where two are equally good: the quality is the same, not each number
    single = np.linalg.norm(fitted.approximate_kernel(clusters.astype("f4")) - fitted.kernel_(clusters))
    double = np.linalg.norm(fitted.approximate_kernel(clusters) - fitted.kernel_(clusters))
    assert single == pytest.approx(double, rel=0.02)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "greedy"}, "`method` must be one of 'omp', 'mp', 'nearest', 'lasso'"),
        ({"n_nonzero": 0}, "`n_nonzero` must be an integer >= 1"),
        ({"alpha": 0.0}, "`alpha` must be a number > 0 and < 1"),
        ({"alpha": "small"}, "`alpha` must be a number > 0 and < 1"),
        ({"alpha": 0.5}, "alpha=0.5 with method='omp'"),
        ({"landmarks": "best"}, "`landmarks` must be 'uniform', 'kmeans"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params, message, clusters):
    with pytest.raises(InputError, match=message):
        SparseMap(**params).fit(clusters)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gram_", np.eye(9)),
        ("gram_", np.eye(10, dtype="f4")),
        ("landmarks_", np.ones((10, 9))),
        ("landmarks_", -np.ones((10, 10))),
        ("method", "greedy"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(name, value, clusters, tmp_path):
    fitted = SparseMap("chi2", 10, n_nonzero=2, random_state=0).fit(clusters)
    setattr(fitted, name, value)
    save(fitted, tmp_path / "m.mercer")
    with pytest.raises(ModelFileError, match="does not describe a valid SparseMap"):
        load(tmp_path / "m.mercer")
