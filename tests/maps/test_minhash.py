"""Weighted minwise hashing: agreement is the min-max kernel, words are small, empty rows are their own kind."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError
from mercer.kernels import MinMax
from mercer.maps.minhash import WeightedMinHash
from mercer.spaces import as_rows

PAIRS = {
    "scaled": ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]),
    "disjoint": ([1.0, 0.0, 2.0], [0.0, 5.0, 0.0]),
    "subset": ([1.0, 1.0, 1.0], [1.0, 0.0, 1.0]),
    "nearly equal": ([1.0, 2.0, 3.0], [1.0, 2.0, 3.1]),
    "many orders of magnitude": ([1e-30, 1e30, 3e29], [1e-20, 9e29, 8e29]),
    "real": ([0.3, 0.11, 0.59], [0.2, 0.5, 0.3]),
}


@pytest.mark.parametrize("bits", [2, 8, 16])
@pytest.mark.parametrize("pair", PAIRS)
def test_the_kernel_is_estimated_without_bias_and_with_the_variance_stated(pair, bits):
    X = np.array(PAIRS[pair])
    K = MinMax()(X)[0, 1]
    n = 20000
    fitted = WeightedMinHash(n, bits=bits, random_state=7).fit(X)
    deviation = np.sqrt((K * (1 - K) + (1 - K) / (2 ** (bits - 1) - 1)) / n)
    estimate = fitted.approximate_kernel(X)
    assert estimate[0, 1] == pytest.approx(K, abs=4 * deviation + 1e-6)
    np.testing.assert_allclose(np.diag(estimate), 1, rtol=1e-12)
    # the spread over groups of hashes is the one stated, not only the mean
    if 0.1 < K < 0.9:
        words = fitted.codes(X).astype(int)
        half = 2 ** (bits - 1)
        agree = np.where(words[0] % half == words[1] % half, np.where(words[0] == words[1], 1, -1), 0)
        assert agree.reshape(200, -1).mean(axis=1).std() == pytest.approx(deviation * np.sqrt(200), rel=0.2)


def test_whole_hashes_agree_as_often_as_the_kernel_says():
    X = np.array(PAIRS["real"])
    words = WeightedMinHash(20000, bits=16, random_state=3).fit(X).codes(X)
    assert (words[0] == words[1]).mean() == pytest.approx(MinMax()(X)[0, 1], abs=4 * 0.0035)


def test_empty_rows_agree_with_each_other_only(rng):
    X = np.vstack([np.zeros((2, 6)), rng.random((30, 6))])
    K = WeightedMinHash(40, bits=3, random_state=0).fit(X).approximate_kernel(X)
    np.testing.assert_allclose(K[:2, :2], 1, rtol=1e-12)
    assert (K[:2, 2:] == 0).all()
    stored_zeros = sparse.csr_array((np.zeros(2), ([0, 0], [1, 4])), shape=(1, 6))
    fitted = WeightedMinHash(40, random_state=0).fit(X)
    np.testing.assert_array_equal(fitted.codes(stored_zeros), fitted.codes(X[:1]))


def test_words_are_the_same_however_the_rows_come(rng):
    X = (rng.poisson(0.4, size=(700, 50))).astype(np.float64)
    fitted = WeightedMinHash(150, random_state=0).fit(X)
    words = fitted.codes(X)
    assert words.dtype == np.uint8
    assert words.shape == (700, 150)
    for other in (X.astype(np.float32), sparse.csr_matrix(X), sparse.csc_array(X.astype(np.float32))):
        np.testing.assert_array_equal(fitted.codes(other), words)
    np.testing.assert_array_equal(fitted.codes(X[612:613]), words[612:613])
    # columns that are empty everywhere change nothing: variates belong to column numbers, not to positions
    wide = sparse.hstack([sparse.csr_array(X), sparse.csr_array((700, 10**6))], format="csr")
    np.testing.assert_array_equal(WeightedMinHash(150, random_state=0).fit(wide).codes(wide), words)
    # more hashes begin with the same ones
    np.testing.assert_array_equal(WeightedMinHash(300, random_state=0).fit(X).codes(X)[:, :150], words)
    assert (WeightedMinHash(150, random_state=1).fit(X).codes(X) != words).mean() > 0.9


def test_memory_does_not_grow_with_columns_times_hashes(monkeypatch, rng):
    import mercer.maps.minhash as module

    X = rng.poisson(0.5, size=(40, 300)).astype(np.float64)
    words = WeightedMinHash(64, random_state=0).fit(X).codes(X)
    monkeypatch.setattr(module, "TABLE_BYTES", 1)  # as if there were very many columns: few hashes at once
    monkeypatch.setattr(module, "ROWS_PER_TASK", 7)
    np.testing.assert_array_equal(WeightedMinHash(64, random_state=0, n_jobs=2).fit(X).codes(X), words)


def test_transform_is_the_words_one_hot(rng):
    X = rng.random((5, 4)).astype(np.float32)
    fitted = WeightedMinHash(12, bits=9, random_state=0).fit(X)
    words, features = fitted.codes(X), fitted.transform(X)
    assert words.dtype == np.uint16
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features.indices.reshape(5, 12), words + 512 * np.arange(12))
    assert (features.data == 1).all()
    np.testing.assert_array_equal(fitted.rows(X).toarray(), features.toarray())
    np.testing.assert_allclose(fitted.inner_.gram(as_rows(features)), fitted.approximate_kernel(X), atol=1e-6)


@pytest.mark.parametrize("wrong", [{"n_hashes": 0}, {"n_hashes": 2.5}, {"bits": 1}, {"bits": 17}])
def test_impossible_sizes_are_refused(wrong):
    name = next(iter(wrong))
    with pytest.raises(InputError, match=f"WeightedMinHash: `{name}` must be"):
        WeightedMinHash(**wrong).fit([[1.0]])
