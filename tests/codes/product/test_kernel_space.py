"""Quantizers whose words are means in the feature space of an additive kernel."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import HomogeneousMap, InputError, NystroemMap
from mercer._base.errors import ApproximationWarning
from mercer.codes import ProductQuantizer
from mercer.kernels import CallableKernel, get_kernel


@pytest.fixture
def X(rng):
    """Histograms with small and large bins."""
    H = rng.dirichlet(np.full(16, 0.3), size=12)[rng.integers(0, 12, 1200)] * rng.gamma(2.0, 0.5, (1200, 16))
    return H / H.sum(axis=1, keepdims=True)


def quantizer(kernel, **parameters):
    return ProductQuantizer(**{"block_size": 4, "bits": 8, "kernel": kernel, "random_state": 0, **parameters})


def relative_error(approximate, exact):
    return np.linalg.norm(approximate - exact) / np.linalg.norm(exact)


# measured 0.86, 0.95, 0.87
@pytest.mark.parametrize(("kernel", "share"), [("chi2", 0.9), ("intersection", 0.97), ("js", 0.9)])
def test_codes_in_the_space_of_the_kernel_lose_less_than_codes_of_the_rows(X, kernel, share):
    train, test = X[:1000], X[1000:]
    exact = get_kernel(kernel)(test)
    in_space = quantizer(kernel).fit(train).approximate_kernel(test)
    plain = quantizer("linear").fit(train)
    decoded = np.maximum(plain.inverse_transform(plain.transform(test)), 0)
    mapped = NystroemMap(kernel, per_dimension=True).fit(train).approximate_kernel(decoded)
    assert relative_error(in_space, exact) < share * relative_error(mapped, exact)


@pytest.mark.filterwarnings("ignore:ProductQuantizer")  # columns of digits with few different values
def test_tables_serve_the_intersection_better_than_the_homogeneous_map_of_equal_size():
    X = load_digits().data
    train, test = X[:1000], X[1000:1200]
    exact = get_kernel("intersection")(test)
    homogeneous = HomogeneousMap("intersection", order=1).fit(train)
    codes = ProductQuantizer(12, random_state=0).fit(homogeneous.transform(train))
    other = codes.approximate_kernel(homogeneous.transform(test))
    own = quantizer("intersection").fit(train).approximate_kernel(test)
    assert relative_error(own, exact) < 0.5 * relative_error(other, exact)


def test_words_are_means_of_coordinates_and_reconstructions_means_of_rows(X):
    fitted = quantizer("chi2", bits=3, n_iter=200).fit(X)
    codes = fitted.transform(X)
    coordinates = NystroemMap("chi2", per_dimension=True).fit(X).transform(X.astype("f4"))
    rows = fitted.inverse_transform(codes)
    for k in range(8):
        own = codes[:, 1] == k
        np.testing.assert_allclose(fitted.codebooks_[1][k], coordinates[own, 12:24].mean(axis=0), atol=1e-4)
        np.testing.assert_allclose(rows[own, 4:8], np.tile(X[own, 4:8].mean(axis=0), (own.sum(), 1)), atol=1e-5)


def test_a_word_without_rows_is_reconstructed_by_the_nearest_one():
    from mercer.codes.product.training import means_of_words

    points = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype="f4")
    means = means_of_words(np.array([0, 2, 2], dtype=np.uint8), points, 3, lambda word: 1)
    np.testing.assert_array_equal(means, [[1, 2], [3, 4], [4, 5]])


def test_values_beyond_the_training_range_are_said_and_taken_as_its_end(X):
    fitted = quantizer("chi2").fit(X)
    far, end = np.full((3, 16), 1e4), np.tile(2 * X.max(axis=0), (3, 1))
    with pytest.warns(ApproximationWarning, match="ProductQuantizer: 48 values exceed twice the largest"):
        codes = fitted.transform(far)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(fitted.transform(0.999 * end), codes)


def test_values_outside_the_domain_of_the_kernel_are_refused(X):
    bad = X.copy()
    bad[3, 4] = -1
    for call in (quantizer("chi2").fit, quantizer("chi2").fit(X).transform):
        with pytest.raises(InputError, match=r"needs values >= 0, but X\[3, 4\] is -1"):
            call(bad)


def test_kernels_with_a_value_at_zero_are_refused(X, monkeypatch):
    kernel = get_kernel("chi2")
    monkeypatch.setattr(type(kernel), "scalar", lambda self, x, y: np.ones(np.broadcast(x, y).shape))
    with pytest.raises(InputError, match=r"k\(x, 0\) = 0"):
        quantizer(kernel).fit(X)
    with pytest.raises(InputError, match="an additive kernel"):
        quantizer(CallableKernel(lambda x, y: float(x @ y))).fit(X)
