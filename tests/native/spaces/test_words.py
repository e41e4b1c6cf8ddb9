"""The loops between rows and words against their twins."""

import numpy as np
import pytest

from mercer._native.spaces import words as loops
from tests.reference.spaces import words as twins

SIZES = np.array([8, 3, 1, 12, 4, 7])
N_WORDS = np.array([16, 5, 1, 256, 30, 2])
ENDS = np.cumsum(SIZES)
STARTS, OFFSETS = ENDS - SIZES, np.cumsum(SIZES * N_WORDS) - SIZES * N_WORDS

types = pytest.mark.parametrize(("dtype", "integer"), [(np.float32, np.int32), (np.float64, np.int64)])


def nearest(module, X, flat, integer, first=0, last=6):
    table, distances = np.empty((SIZES.max(), N_WORDS.max()), X.dtype), np.empty(N_WORDS.max(), X.dtype)
    codes = np.full((len(X), len(SIZES)), 99, dtype=np.uint8)
    layout = (flat, SIZES, N_WORDS, OFFSETS, STARTS)
    module.nearest_words(X, *layout, first, last, table, distances, distances.view(integer), codes)
    return codes


@types
def test_rows_are_decoded_block_by_block(rng, dtype, integer):
    flat = rng.standard_normal((SIZES * N_WORDS).sum()).astype(dtype)
    codes = (rng.random((40, len(SIZES))) * N_WORDS).astype(np.uint8)
    outs = [np.full((40, SIZES.sum()), 7.0, dtype=dtype) for _ in range(2)]
    for module, out in zip((loops, twins), outs, strict=True):
        module.decode_words(codes, flat, SIZES, OFFSETS, STARTS, out)
    np.testing.assert_array_equal(*outs)


@types
def test_the_nearest_words_are_found_and_of_equally_near_ones_the_first(rng, dtype, integer):
    # small whole numbers: distances are exact in both types, and many of them are equal
    X = rng.integers(-2, 3, (60, SIZES.sum())).astype(dtype)
    flat = rng.integers(-2, 3, (SIZES * N_WORDS).sum()).astype(dtype)
    expected = nearest(twins, X, flat, integer)
    np.testing.assert_array_equal(nearest(loops, X, flat, integer), expected)
    assert len(np.unique(expected[:, 3])) > 10
    some = nearest(loops, X, flat, integer, 1, 4)
    np.testing.assert_array_equal(some[:, 1:4], expected[:, 1:4])
    assert np.unique(some[:, [0, 4, 5]]) == 99, "blocks outside the range were written"


def test_words_of_more_than_eight_bits_are_found_and_decoded(rng):
    # whole numbers again; a word in every eight is a copy of word 3
    X, words = (rng.integers(-9, 10, (n, 2)).astype(np.float32) for n in (40, 700))
    words[::8] = words[3]
    one, found, decoded = np.zeros(1, dtype=np.int64), [], []
    for module in (loops, twins):
        table, distances = np.empty((2, 700), np.float32), np.empty(700, np.float32)
        codes, out = np.zeros((40, 1), dtype=np.uint16), np.empty((40, 2), np.float32)
        layout = (words.ravel(), one + 2, one + 700, one, one)
        module.nearest_words(X, *layout, 0, 1, table, distances, distances.view(np.int32), codes)
        module.decode_words(codes, words.ravel(), one + 2, one, one, out)
        found.append(codes)
        decoded.append(out)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(*decoded)
    assert found[0].max() > 255


@types
@pytest.mark.parametrize("exponent", [-100, 100])
def test_tiny_and_huge_numbers_have_the_same_words(rng, dtype, integer, exponent):
    X = rng.standard_normal((60, SIZES.sum())).astype(dtype)
    flat = rng.standard_normal((SIZES * N_WORDS).sum()).astype(dtype)
    scaled = nearest(loops, np.ldexp(X, exponent), np.ldexp(flat, exponent), integer)
    np.testing.assert_array_equal(scaled, nearest(loops, X, flat, integer))
