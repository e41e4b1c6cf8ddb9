"""Codebooks, storages and pyramids: closed under mirroring, honest about bytes, twice as fine for parts."""

import numpy as np
import pytest

from mercer import InputError
from mercer.detection.cells.codebook import CellCodebook, flip_channels
from mercer.detection.cells.pyramid import Pyramid, PyramidShape, build_pyramid
from mercer.detection.cells.storage import ByteCells, CodedCells, DenseCells, cells_as
from mercer.detection.model.word_kernel import rbf_features
from mercer.vision import hog
from tests.detection.scenes import scenes

SHAPE = PyramidShape(interval=3, padding=2, smallest=(6, 4))


@pytest.fixture(scope="module")
def book():
    cells = np.concatenate([hog(image, truncation=True).reshape(-1, 32) for image in scenes(0)[0]])
    return CellCodebook.learn(cells, 64, np.random.RandomState(0))


def photo(rng, shape=(90, 117, 3)):
    """Noise with structure at several sizes, of a width that is no multiple of a cell."""
    coarse = np.kron(rng.integers(0, 120, (shape[0] // 9, shape[1] // 9, 3)), np.ones((9, 9, 1)))
    return (coarse + rng.integers(0, 100, shape)).astype(np.uint8)


def test_a_codebook_is_closed_under_mirroring_and_keeps_a_word_for_padding(book):
    np.testing.assert_array_equal(flip_channels(book.words), book.words[book.mirror])
    np.testing.assert_array_equal(book.mirror[book.mirror], np.arange(64))
    assert book.words[0].tolist() == [0.0] * 31 + [1.0]
    assert (book.mirror[:2] == [0, 1]).all()


def test_features_of_words_have_the_kernel_and_are_mirrored_with_them(book):
    features, z = rbf_features(book.words), book.words.astype(np.float64)
    np.testing.assert_array_equal(features[:, :32], book.words)
    np.testing.assert_array_equal(flip_channels(features), features[book.mirror])
    smooth = features[:, 32:].astype(np.float64)
    size = (z[1:] ** 2).sum(axis=1).mean()
    square = ((z[:, None] - z) ** 2).sum(axis=2)
    n = len(z) - 1
    width = square[1:, 1:].sum() / n**2
    np.testing.assert_allclose(smooth @ smooth.T, 0.5 * size * np.exp(-square / width), atol=1e-4 * size)
    few = rbf_features(
        CellCodebook.learn(np.random.default_rng(0).random((900, 32)), 300, np.random.RandomState(0)).words
    )
    assert few.shape == (300, 32 + 64)  # the first words stand for all


def test_features_that_do_not_belong_to_the_words_are_refused(book):
    features = rbf_features(book.words)
    for wrong in (features[:-2], features[:, :31], np.tile(features, (1, 3))):
        with pytest.raises(InputError, match="CellCodebook needs features of its 64 words"):
            CellCodebook(book.words, wrong)
    with pytest.raises(InputError, match="mirrored where the words are"):
        CellCodebook(book.words, features + np.arange(len(features))[:, None])


def test_more_words_are_nearer(book):
    cells = np.concatenate([hog(image, truncation=True).reshape(-1, 32) for image in scenes(1)[0]])
    errors = []
    for n_words in (8, 40, 260):
        learnt = CellCodebook.learn(cells, n_words, np.random.RandomState(0))
        assert learnt.dtype == (np.uint8 if n_words <= 256 else np.uint16)
        errors.append(((learnt.decode(learnt.encode(cells)) - cells) ** 2).sum())
    assert errors[0] > 1.3 * errors[1] > 1.6 * errors[2]


def test_the_pyramid_of_a_mirrored_image_has_mirrored_codes_in_every_bit(book, rng):
    image, storage = photo(rng), CodedCells(book)
    straight = build_pyramid(image, SHAPE, storage)
    turned = build_pyramid(np.ascontiguousarray(image[:, ::-1]), SHAPE, storage)
    for one, other in zip(straight.levels, turned.levels, strict=True):
        np.testing.assert_array_equal(storage.mirrored(one.coarse), other.coarse)
        np.testing.assert_array_equal(storage.mirrored(one.fine), other.fine)


@pytest.mark.parametrize("name", ["dense", "bytes", "codes"])
def test_every_storage_keeps_cells_and_padding(name, book, rng):
    image, storage = photo(rng), cells_as(name, book)
    pyramid = build_pyramid(image, SHAPE, storage)
    assert len(pyramid.levels) >= 3
    for level, (rows, columns) in zip(pyramid.levels, pyramid.grids, strict=True):
        assert level.coarse.shape[:2] == (rows + 4, columns + 4)
        assert level.fine.shape[:2] == (2 * rows + 8, 2 * columns + 8)
        outside = storage.decode(level.fine)[:4]
        assert (outside[..., -1] == 1).all()
        assert (outside[..., :-1] == 0).all()
        assert (storage.decode(level.coarse)[2:-2, 2:-2, -1] == 0).all()
        assert level.cell == (90 / rows, 117 / columns)
    dense = build_pyramid(image, SHAPE, DenseCells())
    assert dense.nbytes == pyramid.nbytes * {"dense": 1, "bytes": 4, "codes": 128}[name]
    if name == "bytes":
        # half a step of a byte; few cells reach beyond the largest value that is kept
        assert np.quantile(np.abs(ByteCells().decode(pyramid.cells) - dense.cells), 0.999) < 0.001
    if name == "codes":
        np.testing.assert_array_equal(
            pyramid.levels[0].coarse[2:-2, 2:-2], book.encode(dense.levels[0].coarse[2:-2, 2:-2])
        )


def test_cells_can_lie_in_a_file(book, rng, tmp_path):
    storage = CodedCells(book)
    pyramid = build_pyramid(photo(rng), SHAPE, storage)
    pyramid.cells.tofile(tmp_path / "cells.bin")
    mapped = Pyramid((90, 117), SHAPE, storage, np.memmap(tmp_path / "cells.bin", np.uint8, "r"))
    for one, other in zip(pyramid.levels, mapped.levels, strict=True):
        np.testing.assert_array_equal(one.fine, other.fine)


def test_an_image_smaller_than_the_root_is_refused(book):
    with pytest.raises(InputError, match="fewer than the"):
        build_pyramid(np.zeros((8, 200), np.uint8), SHAPE, CodedCells(book))
