"""KernelPCA: the principal components of the data, with the exact norm of what they lose."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition

from mercer import InputError, KernelPCA, ModelFileError, NystroemMap, load, save, thread_limit
from mercer.kernels import RBF, CallableKernel, Chi2, Intersection, JensenShannon, Linear
from mercer.maps.landmarks import kpca as _kpca
from mercer.spaces import LandmarkPredictor


@pytest.fixture
def histograms(rng):
    X = rng.dirichlet(np.full(12, 0.4), size=150)
    return X * (X > 0.01)


def same_up_to_signs(actual, expected, tolerance):
    signs = np.sign((actual * expected).sum(axis=0))
    np.testing.assert_allclose(actual * signs, expected, atol=tolerance)


@pytest.mark.parametrize("kernel", [Chi2(), JensenShannon(), RBF(1.0)], ids=repr)
def test_centred_components_are_those_of_scikit_learn(kernel, histograms):
    ours = KernelPCA(kernel, n_components=10, n_landmarks=150, center=True).fit(histograms)
    theirs = decomposition.KernelPCA(10, kernel="precomputed").fit(kernel(histograms))
    new = np.random.default_rng(5).dirichlet(np.full(12, 0.4), size=40)
    same_up_to_signs(ours.transform(new), theirs.transform(kernel(new, histograms)), 1e-9)
    np.testing.assert_allclose(ours.eigenvalues_ * 150, theirs.eigenvalues_, rtol=1e-9)


def test_components_are_eigenvectors_of_the_gram_matrix_when_every_row_is_a_landmark(histograms):
    fitted = KernelPCA("chi2", n_components=8, n_landmarks=150).fit(histograms)
    K = Chi2()
    values, vectors = np.linalg.eigh(K(histograms))
    values, vectors = values[::-1][:8], vectors[:, ::-1][:, :8]
    new = np.random.default_rng(5).dirichlet(np.full(12, 0.4), size=40)
    same_up_to_signs(fitted.transform(new), K(new, histograms) @ vectors / np.sqrt(values), 1e-10)  # (11)
    np.testing.assert_allclose(fitted.eigenvalues_, values / 150, rtol=1e-10)


def test_components_are_principal_directions_of_the_rows_not_of_the_landmarks(rng):
    # one row in ten lies in a cluster of its own; the landmarks are balanced, so their directions are not the data's
    common, rare = rng.dirichlet(np.full(6, 3.0), size=900), rng.dirichlet(np.full(6, 0.1), size=100)
    X = np.vstack([common, rare])
    landmarks = np.r_[0:50, 900:950]
    of_rows = KernelPCA("chi2", n_components=4, landmarks=landmarks).fit(X)
    of_landmarks = NystroemMap("chi2", n_components=4, landmarks=landmarks).fit(X)
    lost = [(Chi2().diag(X) - (fitted.transform(X) ** 2).sum(axis=1)).mean() for fitted in (of_rows, of_landmarks)]
    assert lost[0] < 0.9 * lost[1]
    # uncorrelated, with the energies that the map reports
    features = of_rows.transform(X)
    np.testing.assert_allclose(features.T @ features / 1000, np.diag(of_rows.eigenvalues_), atol=1e-12)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kernel", [Chi2(), Intersection(), RBF(1.0)], ids=repr)
def test_the_residual_is_the_distance_from_the_span_of_the_components(kernel, center, histograms):
    fitted = KernelPCA(kernel, n_components=6, n_landmarks=30, center=center, random_state=0).fit(histograms)
    # coordinates in which the kernel is an inner product, by dense algebra on all rows together
    values, vectors = np.linalg.eigh(kernel(histograms))
    keep = values > 1e-13 * values[-1]
    psi = vectors[:, keep] * np.sqrt(values[keep])
    landmarks = psi[fitted.landmark_indices_]
    orthonormal = np.linalg.svd(landmarks, full_matrices=False)[2]
    origin = orthonormal.T @ (orthonormal @ psi.mean(axis=0)) if center else 0.0
    inside = (psi - origin) @ orthonormal.T
    directions = np.linalg.svd(inside, full_matrices=False)[2][:6] @ orthonormal
    expected = np.linalg.norm((psi - origin) - (psi - origin) @ directions.T @ directions, axis=1)
    np.testing.assert_allclose(fitted.residual(histograms), expected, atol=1e-7)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_residuals_bound_the_error_of_every_pair(dtype, histograms):
    X = histograms.astype(dtype)
    fitted = KernelPCA("js", n_components=12, n_landmarks=40, random_state=0).fit(X)
    residual = fitted.residual(X)
    assert residual.dtype == np.float64
    error = np.abs(fitted.kernel_(X.astype("f8")) - fitted.approximate_kernel(X))
    assert np.all(error <= np.outer(residual, residual) + {"f4": 2e-6, "f8": 1e-12}[dtype])  # (22)
    assert error.max() > 1e-3


def test_explained_energy_and_residuals_add_up(histograms):
    for center in (False, True):
        fitted = KernelPCA("chi2", n_components=5, n_landmarks=40, center=center, random_state=0).fit(histograms)
        lost = (fitted.residual(histograms) ** 2).mean()
        share = lost / fitted.eigenvalues_.sum() * fitted.explained_energy_.sum()
        assert fitted.explained_energy_.sum() + share == pytest.approx(1, abs=1e-10)
        assert np.all(np.diff(fitted.eigenvalues_) <= 0)


def test_the_residual_of_landmarks_is_zero_and_of_other_rows_is_not(histograms):
    fitted = KernelPCA("chi2", n_components=None, n_landmarks=20, random_state=0).fit(histograms)
    assert fitted.residual(fitted.landmarks_).max() < 1e-6
    others = np.setdiff1d(np.arange(150), fitted.landmark_indices_)
    assert fitted.residual(histograms[others]).min() > 1e-3
    assert fitted.residual(np.zeros((1, 12))).tolist() == [0.0]


def test_a_kernel_that_is_not_positive_definite_has_no_residual(rng):
    X = rng.normal(size=(60, 3))
    not_a_kernel = CallableKernel(lambda X, Y: 1.0 - ((X[:, None] - Y) ** 2).sum(axis=-1) ** 2)
    with pytest.warns(UserWarning, match="not positive definite"):
        fitted = KernelPCA(not_a_kernel, n_components=5, n_landmarks=20, random_state=0).fit(X)
    with pytest.raises(InputError, match=r"for row \d+: the kernel is not positive definite on this data"):
        fitted.residual(X)


def test_components_beyond_the_rank_are_not_made_up(rng):
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 9))
    fitted = KernelPCA(Linear(), n_components=20, n_landmarks=50, random_state=0).fit(X)
    assert fitted.transform(X).shape == (80, 3)
    assert fitted.explained_energy_.sum() == pytest.approx(1)
    centred = KernelPCA(Linear(), n_components=20, center=True).fit(X[:3])
    assert centred.transform(X).shape == (80, 2)  # three points span a plane


def test_directions_come_from_a_sample_of_many_rows(rng, monkeypatch):
    monkeypatch.setattr(_kpca, "DIRECTION_VALUES", 20 * 300)
    X = rng.dirichlet(np.full(8, 0.5), size=2000)
    sampled = KernelPCA("chi2", n_components=3, n_landmarks=20, random_state=0).fit(X)
    monkeypatch.undo()
    exact = KernelPCA("chi2", n_components=3, n_landmarks=20, random_state=0).fit(X)
    assert not np.array_equal(sampled.eigenvalues_, exact.eigenvalues_)
    np.testing.assert_allclose(sampled.eigenvalues_, exact.eigenvalues_, rtol=0.2)


def test_features_and_residuals_have_the_same_bits_on_one_and_two_threads(rng):
    X = rng.dirichlet(np.full(10, 0.5), size=3000).astype("f4")
    for kernel in (Chi2(), RBF(1.0), Linear()):
        results = []
        for threads in (1, 2):
            with thread_limit(threads):
                fitted = KernelPCA(kernel, n_components=8, n_landmarks=64, center=True, random_state=0).fit(X)
                results.append((fitted.normalization_, fitted.transform(X), fitted.residual(X)))
        for alone, together in zip(*results, strict=True):
            np.testing.assert_array_equal(alone, together)


def test_sparse_rows_have_the_components_and_residuals_of_dense_rows(histograms):
    dense = KernelPCA("js", n_components=6, n_landmarks=30, center=True, random_state=0).fit(histograms)
    same = KernelPCA("js", n_components=6, n_landmarks=30, center=True, random_state=0).fit(
        sparse.csr_array(histograms)
    )
    np.testing.assert_allclose(same.transform(histograms), dense.transform(histograms), atol=1e-9)
    np.testing.assert_allclose(same.residual(sparse.csr_array(histograms)), dense.residual(histograms), atol=1e-7)


@pytest.mark.parametrize("center", [False, True])
def test_folded_weights_predict_from_raw_rows(center, histograms, rng):
    fitted = KernelPCA("chi2", n_components=6, n_landmarks=30, center=center, random_state=0).fit(histograms)
    for shape in ((6,), (6, 3)):
        v = rng.normal(size=shape)
        predictor = fitted.fold(v)
        assert isinstance(predictor, LandmarkPredictor) is not center
        np.testing.assert_allclose(predictor(histograms), fitted.transform(histograms) @ v, atol=1e-10)


@pytest.mark.parametrize("center", [False, True])
def test_a_saved_map_has_the_same_components_and_residuals(center, histograms, tmp_path):
    X = sparse.csr_array(histograms)
    fitted = KernelPCA("chi2", n_components=6, n_landmarks=30, center=center, random_state=0).fit(X)
    save(fitted, tmp_path / "map.mercer")
    for restored in (load(tmp_path / "map.mercer"), load(tmp_path / "map.mercer", mmap=True)):
        np.testing.assert_array_equal(restored.transform(X), fitted.transform(X))
        np.testing.assert_array_equal(restored.residual(X), fitted.residual(X))
    if center:
        fitted.mean_ = fitted.mean_[1:]
        save(fitted, tmp_path / "map.mercer")
        with pytest.raises(ModelFileError, match="mean_ must have shape"):
            load(tmp_path / "map.mercer")
