"""NystroemMap(per_dimension=True): tabulated eigenfunctions of the one-dimensional kernel, column by column."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, ModelFileError, NystroemMap, load, save
from mercer._base.errors import ApproximationWarning
from mercer.kernels import RBF, Chi2, GeneralizedIntersection, Intersection, JensenShannon, Linear, PowerMean
from mercer.maps.landmarks import per_dimension as _per_dimension
from mercer.maps.tables import TablePredictor

HISTOGRAM_KERNELS = [Chi2(), Intersection(), JensenShannon(), PowerMean(-3), GeneralizedIntersection(0.5)]
# measured with 5 functions per column: chi2 2e-4, js 5e-5, power mean 4e-3, intersection 2e-2, its root 5e-2
LARGEST_ERROR = dict(zip(HISTOGRAM_KERNELS, [5e-4, 2e-2, 2e-4, 6e-3, 6e-2], strict=True))


@pytest.fixture
def histograms(rng):
    X = rng.dirichlet(np.full(8, 0.5), size=300)
    return X * (X > 1e-3)


def relative_error(fitted, X):
    K = fitted.kernel_(X)
    return np.linalg.norm(fitted.approximate_kernel(X) - K) / np.linalg.norm(K)


@pytest.mark.parametrize("kernel", HISTOGRAM_KERNELS, ids=repr)
def test_a_few_functions_per_column_approximate_the_kernel_and_more_do_better(kernel, histograms):
    errors = [
        relative_error(NystroemMap(kernel, n_components=E, per_dimension=True).fit(histograms), histograms)
        for E in (1, 2, 5)
    ]
    assert errors[0] > 1.5 * errors[1] > 1.5**2 * errors[2]
    assert errors[2] < LARGEST_ERROR[kernel]


def test_tables_are_the_eigenfunctions_to_the_precision_of_interpolation(histograms):
    fitted = NystroemMap("chi2", n_components=4, landmarks=np.arange(50), per_dimension=True).fit(histograms)
    features = fitted.transform(histograms).reshape(300, 8, 4)
    for j in (0, 7):
        z, x = histograms[:50, j], histograms[:, j]
        values, vectors = np.linalg.eigh(Chi2().scalar(z[:, None], z))
        values, vectors = values[::-1][:4], vectors[:, ::-1][:, :4]
        exact = Chi2().scalar(x[:, None], z) @ vectors / np.sqrt(values)
        signs = np.sign((exact * features[:, j]).sum(axis=0))
        assert np.abs(features[:, j] * signs - exact).max() < 2e-4 * np.abs(exact).max()


def test_zero_maps_to_zero_and_sparse_rows_stay_sparse(histograms):
    fitted = NystroemMap("js", n_components=3, per_dimension=True).fit(histograms)
    encoded = fitted.transform(sparse.csr_array(histograms))
    assert isinstance(encoded, sparse.csr_array)
    assert encoded.nnz == 3 * np.count_nonzero(histograms)
    dense = fitted.transform(histograms)
    np.testing.assert_array_equal(encoded.toarray(), dense)
    assert not dense.reshape(300, 8, 3)[histograms == 0].any()
    from_sparse = NystroemMap("js", n_components=3, per_dimension=True).fit(sparse.csr_matrix(histograms))
    np.testing.assert_array_equal(from_sparse.transform(histograms), dense)


@pytest.mark.parametrize("kernel", [Chi2(signed=True), Linear(), GeneralizedIntersection(0.7)], ids=repr)
def test_values_with_signs_are_mapped_as_their_kernel_wants(kernel, rng):
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.7)
    fitted = NystroemMap(kernel, n_components=12, per_dimension=True).fit(X)
    assert relative_error(fitted, X) < 0.02
    # also for a sign that training did not show
    fitted = NystroemMap(kernel, n_components=12, per_dimension=True).fit(np.abs(X))
    assert relative_error(fitted, X) < 0.02


def test_values_between_and_below_the_training_values_are_mapped_too(histograms):
    fitted = NystroemMap("chi2", n_components=6, per_dimension=True).fit(histograms)
    low = histograms[histograms > 0].min()
    values = np.geomspace(1e-3 * low, 1.5 * histograms.max(axis=0).min(), 60)
    X = np.zeros((60, 8))
    X[:, 3] = values
    error = np.abs(fitted.approximate_kernel(X) - Chi2()(X)) / np.sqrt(np.outer(values, values))
    assert error[np.ix_(values > low, values > low)].max() < 0.15  # measured 0.12, at the lowest value
    assert error.max() < 1.01  # far below all training values the features are too small, never too large


def test_a_column_that_was_empty_in_training_is_mapped_like_the_others(histograms):
    training = histograms.copy()
    training[:, 2] = 0
    fitted = NystroemMap("chi2", n_components=6, per_dimension=True).fit(training)
    assert relative_error(fitted, histograms) < 0.02


def test_values_beyond_the_tables_are_clipped_and_counted(histograms):
    fitted = NystroemMap("chi2", per_dimension=True).fit(histograms)
    largest = histograms.max(axis=0)
    with pytest.warns(ApproximationWarning, match="NystroemMap: 3 values exceed twice the largest training value"):
        clipped = fitted.transform(np.vstack([10 * largest * (np.arange(8) < 3), largest]))
    np.testing.assert_allclose(clipped[0, :9], fitted.transform(1.999999 * largest[None])[0, :9], rtol=1e-4)


def test_float32_rows_give_float32_features_close_to_float64(histograms):
    fitted = NystroemMap("chi2", per_dimension=True).fit(histograms)
    single = fitted.transform(histograms.astype("f4"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, fitted.transform(histograms), atol=2e-6)


def test_many_rows_are_represented_by_a_sample(rng, monkeypatch):
    monkeypatch.setattr(_per_dimension, "SAMPLE_ROWS", 200)
    X = rng.dirichlet(np.full(5, 0.5), size=3000)
    fitted = NystroemMap("chi2", n_components=5, per_dimension=True, random_state=0).fit(X)
    assert relative_error(fitted, X[:500]) < 2e-3
    assert np.all(fitted.points_[:, -1] == pytest.approx(2 * X.max(axis=0)))  # the range is that of all rows


def test_folded_weights_are_one_function_per_column(histograms, rng, tmp_path):
    fitted = NystroemMap("chi2", per_dimension=True).fit(histograms)
    for shape in ((24,), (24, 3)):
        v = rng.normal(size=shape)
        predictor = fitted.fold(v)
        assert isinstance(predictor, TablePredictor)
        scores = predictor(histograms)
        np.testing.assert_allclose(scores, fitted.transform(histograms) @ v, atol=1e-12)
        np.testing.assert_allclose(predictor(sparse.csr_array(histograms)), scores, atol=1e-15)
        np.testing.assert_allclose(sum(predictor.functions(j, histograms[:, j]) for j in range(8)), scores, atol=1e-12)
        save(predictor, tmp_path / "predictor.mercer")
        np.testing.assert_array_equal(load(tmp_path / "predictor.mercer")(histograms), scores)
    with pytest.raises(InputError, match=r"TablePredictor needs values >= 0, but X\[0, 0\] is -1"):
        predictor(-np.ones((1, 8)))
    with pytest.raises(InputError, match="has 8 functions, counted from 0; it has no function 8"):
        predictor.functions(8, [0.1])


def test_folded_functions_know_negative_values(rng):
    X = rng.normal(size=(100, 4))
    fitted = NystroemMap(Chi2(signed=True), per_dimension=True).fit(X)
    v = rng.normal(size=12)
    np.testing.assert_allclose(fitted.fold(v)(X), fitted.transform(X) @ v, atol=1e-12)
    np.testing.assert_allclose(fitted.fold(v).functions(1, [-0.5]), -fitted.fold(v).functions(1, [0.5]), atol=1e-7)


def test_kernels_that_are_not_sums_over_columns_are_refused(histograms):
    with pytest.raises(InputError, match=r"per_dimension=True\) needs an additive kernel.*Use per_dimension=False"):
        NystroemMap(RBF(1.0), per_dimension=True).fit(histograms)
    with pytest.raises(InputError, match="`landmarks` must be 'uniform', 'kmeans"):
        NystroemMap("chi2", landmarks="quantile", per_dimension=True).fit(histograms)


def test_tables_in_a_model_file_must_fit_together(histograms, tmp_path):
    path = tmp_path / "map.mercer"
    damages = {
        "points_": lambda points: points[:, ::-1].copy(),
        "tables_": lambda tables: tables[:, :, :-1].copy(),
    }
    fitted = NystroemMap("chi2", per_dimension=True).fit(histograms)
    save(fitted, path)
    np.testing.assert_array_equal(load(path, mmap=True).transform(histograms), fitted.transform(histograms))
    for name, damage in damages.items():
        fitted = NystroemMap("chi2", per_dimension=True).fit(histograms)
        setattr(fitted, name, damage(getattr(fitted, name)))
        save(fitted, path)
        with pytest.raises(ModelFileError, match="does not describe a valid NystroemMap"):
            load(path)
