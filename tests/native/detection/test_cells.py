"""Words of cells: the nearest of all, and mirrored words for mirrored cells in every bit."""

import numpy as np
import pytest

from mercer._native.detection.cells import encode_cells
from mercer.detection.cells.codebook import KEPT, SWAPPED, CellCodebook, flip_channels
from tests.reference.detection import cells as twin


def book_of(rng, n_words):
    own = rng.random((1, 32), dtype=np.float32)
    return CellCodebook._of((own + flip_channels(own)) / 2, rng.random((n_words // 2 - 1, 32), dtype=np.float32))


def encoded(function, book, features, first, last):
    codes = np.full(len(features), 77, dtype=book.dtype)
    scratch = np.full((2, 2, book._even.shape[1]), np.nan, np.float32), np.full((2, 64), np.nan, np.float32)
    function(features, SWAPPED, KEPT, book._even, book._odd, *scratch, first, last, codes)
    return codes


@pytest.mark.parametrize("n_words", [4, 70, 256, 512])
def test_codes_are_the_nearest_words(rng, n_words):
    book, features = book_of(rng, n_words), rng.random((101, 32), dtype=np.float32)
    codes = encoded(encode_cells, book, features, 2, 101)
    np.testing.assert_array_equal(codes, encoded(twin.encode_cells, book, features, 2, 101))
    distances = ((features[2:, None].astype(float) - book.words[None, 1:]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(codes[2:], 1 + np.argmin(distances, axis=1))
    assert (codes[:2] == 77).all()


def test_mirrored_cells_have_mirrored_words_in_every_bit(rng):
    book, features = book_of(rng, 256), rng.random((5000, 32), dtype=np.float32)
    features[::7] = (features[::7] + flip_channels(features[::7])) / 2  # cells that are their own mirror images
    codes = book.encode(features)
    np.testing.assert_array_equal(book.encode(flip_channels(features)), book.mirror[codes])
    assert (codes[::7] == 1).all()
