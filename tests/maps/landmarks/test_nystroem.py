"""NystroemMap on rows: exact on the landmarks, the textbook formula elsewhere, careful with rank and precision."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, ModelFileError, NystroemMap, load, save
from mercer._base.errors import ApproximationWarning
from mercer.kernels import RBF, CallableKernel, Chi2, Intersection, JensenShannon, Laplacian, Linear, MinMax
from mercer.spaces import LandmarkPredictor

KERNELS = [Chi2(), Intersection(), JensenShannon(), MinMax(), RBF(2.0), Laplacian(0.5), Chi2() + Linear()]


@pytest.fixture
def histograms(rng):
    X = rng.dirichlet(np.full(12, 0.4), size=200)
    return X * (X > 0.01)


def relative_error(fitted, X):
    K = fitted.kernel_(X)
    return np.linalg.norm(fitted.approximate_kernel(X) - K) / np.linalg.norm(K)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_with_every_row_as_a_landmark_the_kernel_is_exact(kernel, histograms):
    fitted = NystroemMap(kernel, n_landmarks=200).fit(histograms)
    assert relative_error(fitted, histograms) < 1e-12
    fitted = NystroemMap(kernel, n_landmarks=200).fit(histograms.astype("f4"))
    assert relative_error(fitted, histograms.astype("f4")) < 1e-5


@pytest.mark.parametrize("rule", ["uniform", "kmeans++", "rpcholesky"])
def test_the_features_give_the_formula_of_nystroem(rule, histograms):
    fitted = NystroemMap("chi2", n_landmarks=30, landmarks=rule, random_state=0).fit(histograms)
    K, Z = Chi2(), histograms[fitted.landmark_indices_]
    expected = K(histograms, Z) @ np.linalg.pinv(K(Z), hermitian=True) @ K(Z, histograms)
    np.testing.assert_allclose(fitted.approximate_kernel(histograms), expected, atol=1e-10)
    np.testing.assert_array_equal(fitted.landmarks_, Z)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_error_falls_as_landmarks_are_added(kernel, histograms):
    errors = [
        np.mean([relative_error(NystroemMap(kernel, n_landmarks=M, random_state=s).fit(histograms), histograms)
                 for s in range(3)])
        for M in (10, 40, 120)
    ]  # fmt: skip
    assert errors[0] > 1.3 * errors[1] > 1.3**2 * errors[2]


def test_fewer_components_are_the_leading_directions_of_the_landmarks(histograms):
    whole = NystroemMap("chi2", n_landmarks=40, random_state=0).fit(histograms)
    part = NystroemMap("chi2", n_components=7, n_landmarks=40, random_state=0).fit(histograms)
    assert part.transform(histograms).shape == (200, 7)
    np.testing.assert_allclose(part.transform(histograms), whole.transform(histograms)[:, :7], atol=1e-12)
    values = np.linalg.eigvalsh(Chi2()(part.landmarks_))[::-1]
    np.testing.assert_allclose(part.eigenvalues_, values[:7], rtol=1e-10)
    # the energy of the landmarks along a direction is its eigenvalue
    np.testing.assert_allclose((part.transform(part.landmarks_) ** 2).sum(axis=0), values[:7], rtol=1e-10)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_repeated_landmarks_do_no_harm(dtype, histograms):
    X = histograms[:10].astype(dtype)
    fitted = NystroemMap("chi2", landmarks=np.repeat(X, 20, axis=0)).fit(histograms.astype(dtype))
    assert fitted.transform(X).shape == (10, 10)
    assert relative_error(fitted, X) < {"f4": 1e-5, "f8": 1e-12}[dtype]


def test_directions_that_float32_cannot_resolve_are_left_out(rng):
    X = rng.normal(size=(400, 2))
    smooth = RBF(0.05)  # eigenvalues fall by an order of magnitude every few directions
    double = NystroemMap(smooth, n_landmarks=300, landmarks="uniform", random_state=0).fit(X)
    single = NystroemMap(smooth, n_landmarks=300, landmarks="uniform", random_state=0).fit(X.astype("f4"))
    assert len(single.eigenvalues_) < len(double.eigenvalues_) < 300
    assert relative_error(double, X) < 1e-7
    assert relative_error(single, X.astype("f4")) < 1e-4
    # a map fitted in double precision computes in double precision, whatever it is given
    np.testing.assert_allclose(
        double.transform(X.astype("f4")), double.transform(X.astype("f4").astype("f8")), rtol=1e-6, atol=1e-6
    )


def test_all_zero_rows_have_one_feature_that_is_zero(histograms):
    fitted = NystroemMap("chi2").fit(np.zeros((5, 12)))
    np.testing.assert_array_equal(fitted.transform(histograms), np.zeros((200, 1)))


def test_sparse_landmarks_serve_sparse_and_dense_rows(histograms, tmp_path):
    fitted = NystroemMap("chi2", n_landmarks=30, random_state=0).fit(sparse.csr_matrix(histograms))
    assert isinstance(fitted.landmarks_, sparse.csr_array)
    dense = NystroemMap("chi2", n_landmarks=30, random_state=0).fit(histograms).transform(histograms)
    for X in (histograms, sparse.csr_array(histograms)):
        np.testing.assert_allclose(fitted.transform(X), dense, atol=1e-9)
    save(fitted, tmp_path / "map.mercer")
    restored = load(tmp_path / "map.mercer")
    assert isinstance(restored.landmarks_, sparse.csr_array)
    np.testing.assert_array_equal(restored.transform(histograms), fitted.transform(histograms))


def test_folded_weights_are_coefficients_of_the_landmarks(histograms, rng):
    fitted = NystroemMap("chi2", n_landmarks=30, random_state=0).fit(histograms)
    for shape in ((30,), (30, 4)):
        v = rng.normal(size=shape)
        predictor = fitted.fold(v)
        assert isinstance(predictor, LandmarkPredictor)
        np.testing.assert_allclose(predictor(histograms), fitted.transform(histograms) @ v, atol=1e-9)
    with pytest.raises(InputError, match=r"fold needs weights of shape \(30,\) or \(30, classes\), got \(29,\)"):
        fitted.fold(np.ones(29))


def test_the_kernel_matrix_is_never_formed_whole(rng, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, rng.random((20_000, 8)).astype("f4"))
    X = np.load(path, mmap_mode="r")
    fitted = NystroemMap("chi2", n_components=4, n_landmarks=512, landmarks="uniform", random_state=0, n_jobs=2).fit(X)
    fitted.transform(X[:2000])
    tracemalloc.start()
    features = fitted.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert features.shape == (20_000, 4)
    assert peak < 12 * 2**20  # the matrix of kernel values would take 40 MiB


def test_a_kernel_that_is_not_positive_definite_is_reported(rng):
    X = rng.normal(size=(30, 3))
    sigmoid = CallableKernel(lambda X, Y: np.tanh(X @ Y.T - 1))
    with pytest.warns(ApproximationWarning, match="is not positive definite on the landmarks"):
        NystroemMap(sigmoid).fit(X)


@pytest.mark.parametrize("wrong", [{"n_components": 0}, {"n_components": 1.5}, {"n_landmarks": -3}])
def test_sizes_must_be_positive_whole_numbers(wrong, histograms):
    for per_dimension in (False, True):
        with pytest.raises(InputError, match=f"NystroemMap: `{next(iter(wrong))}` must be an integer >= 1, or None"):
            NystroemMap("chi2", per_dimension=per_dimension, **wrong).fit(histograms)


def test_refitting_the_other_way_leaves_nothing_behind(histograms):
    fitted = NystroemMap("chi2", n_landmarks=20, random_state=0).fit(histograms)
    fitted.set_params(per_dimension=True).fit(histograms)
    assert fitted.transform(histograms).shape == (200, 36)
    fitted.set_params(per_dimension=False).fit(histograms)
    assert fitted.transform(histograms).shape == (200, 20)


def test_a_model_file_with_parts_that_do_not_fit_is_refused(histograms, tmp_path):
    path = tmp_path / "map.mercer"
    breakages = {
        "normalization_": lambda W: W[:-1],
        "landmarks_": lambda Z: -Z,
        "n_features_in_": lambda d: d + 1,
    }
    for name, damage in breakages.items():
        fitted = NystroemMap("chi2", n_landmarks=20, random_state=0).fit(histograms)
        setattr(fitted, name, damage(getattr(fitted, name)))
        save(fitted, path)
        with pytest.raises(ModelFileError, match="does not describe a valid NystroemMap"):
            load(path)
