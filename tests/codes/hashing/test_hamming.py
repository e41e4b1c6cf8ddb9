"""hamming_top_k against all distances, sorted by distance and row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import InputError, hamming_top_k, thread_limit
from mercer.codes.hashing import hamming as _hamming


def brute_force(codes, queries, k):
    distances = np.bitwise_count(queries[:, None] ^ codes[None]).sum(axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, order, axis=1), order


def draw_codes(rng, n, n_bytes, n_values):
    """Bytes of few different values have many equal distances."""
    return rng.choice(rng.integers(0, 256, n_values, dtype=np.uint8), (n, n_bytes))


@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 200),
    n_queries=st.integers(0, 70),
    n_bytes=st.integers(1, 40),
    n_values=st.integers(1, 6),
    k=st.integers(1, 210),
    at_once=st.sampled_from([1, 300, 2**22]),
)
def test_the_nearest_codes_are_those_of_brute_force_ties_by_row(seed, n, n_queries, n_bytes, n_values, k, at_once):
    rng = np.random.default_rng(seed)
    codes, queries = draw_codes(rng, n, n_bytes, n_values), draw_codes(rng, n_queries, n_bytes, n_values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_hamming, "RANGE_RESULTS", at_once)
        distances, indices = hamming_top_k(codes, queries, k)
    expected = brute_force(codes, queries, k)
    assert (distances.dtype, indices.dtype) == (np.int32, np.int64)
    assert distances.shape == indices.shape == (n_queries, min(k, n))
    np.testing.assert_array_equal(distances, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


class LastOfEqual:
    """An index that keeps its word and no more: of equal distances it returns the last rows, in falling order."""

    def __init__(self, codes):
        self.codes, self.ntotal = codes, len(codes)

    def search(self, queries, k):
        distances, rows = brute_force(self.codes[::-1], queries, k)
        return distances, self.ntotal - 1 - rows

    def range_search(self, queries, radius):
        found = [self.search(query[None], self.ntotal) for query in queries]
        kept = [(distances[0] < radius) for distances, _ in found]
        limits = np.cumsum([0, *(mask.sum() for mask in kept)])
        parts = zip(found, kept, strict=True)
        pairs = [(distances[0][mask][::-1], rows[0][mask][::-1]) for (distances, rows), mask in parts]
        return limits, np.concatenate([d for d, _ in pairs]), np.concatenate([rows for _, rows in pairs])


@pytest.mark.parametrize("k", [1, 7, 50])
def test_ties_are_by_row_whichever_of_them_the_index_returns(rng, k):
    codes, queries = draw_codes(rng, 50, 2, 3), draw_codes(rng, 20, 2, 3)
    expected = brute_force(codes, queries, k)
    assert not np.array_equal(LastOfEqual(codes).search(queries, k)[1], expected[1])
    found = _hamming._search(LastOfEqual(codes), queries, k)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_threads_do_not_change_the_answer(rng):
    codes, queries = draw_codes(rng, 3000, 8, 40), draw_codes(rng, 100, 8, 40)
    one, two = hamming_top_k(codes, queries, 25, n_jobs=1), hamming_top_k(codes, queries, 25, n_jobs=2)
    with thread_limit(1):
        limited = hamming_top_k(codes, queries, 25)
    for other in (two, limited):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_codes_in_any_order_in_memory_are_read_right(rng):
    codes = draw_codes(rng, 60, 9, 30)
    expected = brute_force(codes[::2, ::3], codes[1:9, ::3], 5)
    found = hamming_top_k(codes[::2, ::3], np.asfortranarray(codes[1:9, ::3]), 5)
    np.testing.assert_array_equal(found[1], expected[1])


CODES = np.zeros((4, 2), dtype=np.uint8)
BAD = {
    "floats": (
        (CODES.astype(float), CODES, 1),
        "needs codes as bytes of packed bits.* type float64",
    ),
    "booleans": ((CODES, CODES.astype(bool), 1), "needs queries as bytes.* type bool"),
    "one code": ((CODES, CODES[0], 1), r"needs queries .* got shape \(2,\)"),
    "no bytes": ((CODES[:, :0], CODES[:, :0], 1), r"bytes >= 1.* got shape \(4, 0\)"),
    "another length": ((CODES, CODES[:, :1], 1), "codes have 2 bytes and queries 1"),
    "no neighbors": ((CODES, CODES, 0), "`k` must be an integer >= 1"),
    "half a neighbor": ((CODES, CODES, 1.5), "`k` must be an integer >= 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_code_is_refused(name):
    arguments, message = BAD[name]
    with pytest.raises(InputError, match=message):
        hamming_top_k(*arguments)


def test_an_empty_base_has_no_neighbours():
    distances, indices = hamming_top_k(CODES[:0], CODES, 3)
    assert distances.shape == indices.shape == (4, 0)
