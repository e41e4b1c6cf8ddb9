"""The loops of weighted minwise hashing, and the counters they draw from, against the textbook."""

import numpy as np
import pytest
from scipy import stats

from mercer._native import counter
from mercer._native.jit import jit
from mercer._native.maps import minhash
from tests.reference import counter as plain_counter
from tests.reference.maps import minhash as reference

# without compilation numpy remarks that 64-bit products wrap around, as they should
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
KEY = np.uint64(12345)


@jit
def many_bits(key, first, out):
    for i in range(out.shape[0]):
        out[i] = counter.bits_of(key, first + i)


@jit
def many_uniforms(key, first, out):
    for i in range(out.shape[0]):
        out[i] = counter.uniform_of(key, first + i)


def test_counters_give_splitmix64():
    got = np.empty(50, dtype=np.uint64)
    many_bits(KEY, np.int64(-20), got)
    assert got.tolist() == [plain_counter.bits_of(KEY, i) for i in range(-20, 30)]
    many_bits(np.uint64(1234567), 0, got)  # the first outputs known for this seed
    assert got[:3].tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_uniforms_are_uniform_along_and_across_streams():
    along, across = np.empty(20000), np.empty(20000)
    many_uniforms(KEY, 0, along)
    for stream in range(len(across)):
        many_uniforms(np.uint64(plain_counter.bits_of(KEY, stream)), 7, across[stream : stream + 1])
    for sample in (along, across):
        assert stats.kstest(sample, "uniform").pvalue > 0.01
        assert abs(np.corrcoef(sample[1:], sample[:-1])[0, 1]) < 0.03
    assert along.min() > 0
    assert along.max() < 1


@pytest.fixture
def rows(rng):
    """CSR rows with an empty row, a row of stored zeros, and odd and even numbers of non-zeros."""
    counts = np.array([0, 1, 2, 7, 30, 3])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    places = np.concatenate([np.sort(rng.permutation(40)[:count]) for count in counts]).astype(np.int32)
    logs = np.log(rng.gamma(0.3, size=len(places))).astype(np.float32)
    logs[indptr[5] :] = -np.inf
    columns = np.sort(rng.permutation(10**6)[:40])
    return indptr, places, logs, columns


@pytest.mark.parametrize("H", [1, 16, 37])
def test_every_step_agrees_with_its_twin(rows, H):
    indptr, places, logs, columns = rows
    tables, plain = (np.empty((len(columns), 3, H), dtype=np.float32) for _ in range(2))
    minhash.fill_variates(KEY, columns, 5, tables)
    reference.fill_variates(KEY, columns, 5, plain)
    np.testing.assert_allclose(tables, plain, rtol=1e-6)

    best, plain_best = (np.empty((6, H), dtype=np.int32) for _ in range(2))
    scratch = np.empty((2, H), dtype=np.float32), np.empty((2, H), dtype=np.int32)
    minhash.pick_columns(indptr, places, logs, tables, *scratch, best)
    reference.pick_columns(indptr, places, logs, tables, *scratch, plain_best)
    np.testing.assert_array_equal(best, plain_best)
    assert (best[[0, 5]] == -1).all()

    for dtype, n_buckets in ((np.uint8, 127), (np.uint16, 2**15 - 1), (np.uint8, 1)):
        words, plain_words = (np.empty((6, H), dtype=dtype) for _ in range(2))
        arguments = KEY, 5, indptr, places, logs, columns, tables, best, n_buckets
        minhash.reduce_to_words(*arguments, words)
        reference.reduce_to_words(*arguments, plain_words)
        np.testing.assert_array_equal(words, plain_words)
        assert words.max() <= 2 * n_buckets
        assert (words[[0, 5]] == n_buckets).all()


def test_variates_have_the_distributions_of_the_paper():
    tables = np.empty((300, 3, 60), dtype=np.float32)
    minhash.fill_variates(KEY, np.arange(300), 0, tables)
    rate, shift, offset = (tables[:, part].ravel().astype(np.float64) for part in range(3))
    assert stats.kstest(rate, stats.gamma(2).cdf).pvalue > 0.01
    assert stats.kstest(shift, "uniform").pvalue > 0.01
    assert stats.kstest(np.exp(offset - rate * (shift - 1)), stats.gamma(2).cdf).pvalue > 0.01
    assert abs(np.corrcoef(rate, shift)[0, 1]) < 0.03
