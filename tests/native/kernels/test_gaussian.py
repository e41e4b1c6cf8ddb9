"""Gaussian values from products: the exponential of every size of exponent, and the pairs that are uncertain."""

import numpy as np

from mercer._native.kernels import gaussian as native
from tests.reference.kernels import gaussian as reference

BOUNDS = np.float32(1e-3), np.float32(5e-3)


def sides(rng):
    return [(100 * rng.random(size) ** 3).astype(np.float32) for size in (30, 40)]


def test_values_and_uncertain_pairs_are_those_of_the_twin(rng):
    left, right = sides(rng)
    products = ((rng.random((30, 40)) - 0.9) * (left[:, None] + right)).astype(np.float32)
    products[0] = -1000.0  # exponents below zero are rounding
    got, want = products.copy(), products.astype(np.float64)
    count = native.finish_gaussian(got, left, right, *BOUNDS)
    assert count == reference.finish_gaussian(want, left, right, *BOUNDS)
    np.testing.assert_allclose(got, want, rtol=3e-5, atol=1e-37)  # 2 roundings of an exponent up to 200
    assert 0 < count < got.size
    found, expected = np.empty((2, count), np.int64), np.empty((2, count), np.int64)
    native.find_uncertain(got, left, right, *BOUNDS, *found)
    reference.find_uncertain(want, left, right, *BOUNDS, *expected)
    np.testing.assert_array_equal(found, expected)


def test_the_exponential_has_all_digits_of_single_precision():
    t = np.linspace(0, 80, 10_001, dtype=np.float32)[None]
    values = t.copy()
    native.finish_gaussian(values, np.zeros(1, np.float32), np.zeros(t.shape[1], np.float32), *BOUNDS)
    np.testing.assert_allclose(values, reference.exp_minus_single(t), rtol=1e-5)  # t * log2(e) is rounded once
    assert values[0, 0] == 1


def test_what_is_no_number_is_uncertain():
    block = np.array([[np.nan, -np.inf, 0.0]], np.float32)
    norms = np.array([np.inf], np.float32), np.array([0.0, np.inf, 0.0], np.float32)
    assert native.finish_gaussian(block, *norms, *BOUNDS) == 3
