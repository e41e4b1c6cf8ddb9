"""The loops over bins against plain sums of the textbook formulas."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.kernels import gram
from mercer.kernels.engine import bin_sums
from tests.reference.kernels import gram as reference
from tests.reference.kernels import pairs

# loop -> (textbook formula, parameter, needs every bin, takes signs)
CASES = {
    "minimum": (pairs.minimum_pair, 0.0, False, False),
    "chi2": (pairs.chi2_pair, 0.0, False, False),
    "jensen-shannon": (pairs.jensen_shannon_double_pair, 0.0, False, False),
    "power-mean": (pairs.power_mean_double_pair, 3.0, False, False),
    "common-part": (pairs.common_part_pair, 0.0, False, True),
    "difference": (pairs.difference_pair, 0.0, True, True),
    "chi2-distance": (pairs.chi2_distance_pair, 1e-37, True, False),
}


def histograms(rng, n, d, density, dtype, signs=False):
    X = rng.random((n, d)) * (rng.random((n, d)) < density)
    if signs:
        X *= rng.choice([-1, 1], size=X.shape)
    X[n // 2] = 0
    return X.astype(dtype)


def tolerance(dtype, d):
    # positive terms only: the relative error of a term plus that of a sum in groups of eight
    return np.finfo(dtype).eps * (8 + d / 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("n", "m", "d", "density"), [(3, 5, 1, 1.0), (140, 300, 77, 0.6), (9, 40, 1100, 0.04)])
def test_a_dense_block_is_the_sum_of_the_formula(rng, name, dtype, n, m, d, density):
    formula, param, keep_zeros, signs = CASES[name]
    X, Y = histograms(rng, n, d, density, dtype, signs), histograms(rng, m, d, density, dtype, signs)
    expected = reference.bin_sums(formula, X, Y, param)
    got = bin_sums(name, X, Y, param=param, keep_zeros=keep_zeros)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=tolerance(dtype, d), atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "signed"),
    [
        (name, signed)
        for name, (_, _, keep_zeros, signs) in CASES.items()
        for signed in (False, True)
        if not keep_zeros and not (signs and signed)
    ],
)
@pytest.mark.parametrize("density", [0.03, 0.3])  # column lists, tiles
def test_sparse_rows_give_the_same_sums(rng, name, dtype, density, signed):
    formula, param, _, signs = CASES[name]
    X = histograms(rng, 60, 120, density, dtype, signs or signed)
    Y = histograms(rng, 80, 120, density, dtype, signs or signed)
    expected = reference.bin_sums(formula, X, Y, param, signed)
    for left in (X, sparse.csr_array(X)):
        for right in (Y, sparse.csr_array(Y)):
            got = bin_sums(name, left, right, param=param, signed=signed)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=200 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 4, 7])
def test_the_loop_of_minima_adds_to_its_place_only(rng, dtype, n):
    X, tile = histograms(rng, n, 8, 0.9, dtype), histograms(rng, 9, 21, 0.9, dtype)
    got, expected = np.ones((n + 2, 30), dtype=dtype), np.ones((n + 2, 30), dtype=dtype)
    gram.accumulate_minimum(X, tile, tile, dtype(1), got, 1, 3)
    reference.accumulate_minimum(X, tile, tile, 1, expected, 1, 3)
    np.testing.assert_allclose(got, expected, rtol=tolerance(dtype, 8))


@pytest.mark.parametrize("keep_zeros", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_packing_follows_the_plain_loops(rng, dtype, keep_zeros):
    X, band = histograms(rng, 7, 45, 0.3, dtype), 16
    bands = 3

    def packed(function, *rows):
        starts = np.zeros((bands, len(X) + 1), dtype=np.int64)
        bins, values = np.zeros(1000, dtype=np.int32), np.zeros(1000, dtype=dtype)
        used = function(*rows, starts, bins, values)
        return used, starts, bins[:used], values[:used]

    expected = packed(reference.pack_dense_rows, X, band, keep_zeros)
    for got, want in zip(packed(gram.pack_dense_rows, X, band, keep_zeros), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    if not keep_zeros:
        S, cursor = sparse.csr_array(X), np.empty(len(X), dtype=np.int64)
        rows = (S.indptr, S.indices, S.data, band, cursor)
        assert packed(reference.pack_sparse_rows, *rows)[0] == expected[0]
        for got, want in zip(packed(gram.pack_sparse_rows, *rows), expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [[], [0.0], [-0.0, 0.0], [3.0, 0.0, 1e-45], [1.0, -2.0, -3.0, 0.0], [1e38, -1e-30]])
def test_the_range_of_magnitudes(values, dtype):
    bits = np.array(values, dtype=dtype).view(f"u{np.dtype(dtype).itemsize}")
    assert tuple(map(int, gram.magnitude_range(bits))) == reference.magnitude_range(bits)
