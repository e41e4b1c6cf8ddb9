"""Sums of table entries and histograms of words against numpy's indexing."""

import numpy as np
import pytest

from mercer._native.detection import word_rows as native
from tests.reference.detection import word_rows as twin


@pytest.mark.parametrize(("dtype", "n_words"), [(np.uint8, 256), (np.uint16, 400)])
@pytest.mark.parametrize("n_blocks", [3, 8, 21])
def test_rows_score_the_entries_of_their_words(rng, dtype, n_words, n_blocks):
    codes = rng.integers(0, n_words, (n_blocks, 40)).astype(dtype)
    tables = rng.normal(size=(n_blocks, n_words)).astype(np.float32)
    got, want = np.full(40, np.nan), np.full(40, np.nan)
    for loop, out in ((native.score_words, got), (twin.score_words, want)):
        loop(codes, tables, 5, 33, out)
    np.testing.assert_allclose(got, want, atol=1e-5)
    assert np.isnan(got[:5]).all()
    assert np.isnan(got[33:]).all()


@pytest.mark.parametrize(("dtype", "n_words"), [(np.uint8, 256), (np.uint16, 400)])
def test_words_are_counted_with_their_slopes(rng, dtype, n_words):
    codes = rng.integers(0, n_words, (11, 40)).astype(dtype)
    codes[:, ::2] = 7  # the same word over and over
    which, slopes = np.flatnonzero(rng.random(40) < 0.7), rng.normal(size=40).astype(np.float32)
    got, want = (np.zeros((11, n_words), np.float32) for _ in range(2))
    native.count_words(codes, which, slopes[which], 2, 11, got)
    twin.count_words(codes, which, slopes[which], 2, 11, want)
    np.testing.assert_allclose(got, want, atol=1e-5)
    assert not got[:2].any()
