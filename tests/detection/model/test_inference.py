"""Scores and placements: tables against dense filters, placements against their definition, mirrors and shifts."""

import numpy as np
import pytest

from mercer.detection.cells.codebook import CellCodebook, flip_channels
from mercer.detection.cells.pyramid import Pyramid, PyramidShape, build_pyramid
from mercer.detection.cells.storage import CodedCells, DenseCells
from mercer.detection.model.components import Component, mirrored_component
from mercer.detection.model.filters import FilterBank
from mercer.detection.model.inference import Scorer, part_windows, windows_of

SHAPE = PyramidShape(interval=2, padding=2, smallest=(5, 3))


@pytest.fixture
def storage(rng):
    own = rng.random((1, 32), dtype=np.float32) / 5
    return CodedCells(CellCodebook._of((own + flip_channels(own)) / 2, rng.random((63, 32), dtype=np.float32) / 5))


@pytest.fixture
def components(rng):
    one = Component(
        root=rng.normal(size=(5, 3, 32)).astype(np.float32),
        parts=rng.normal(size=(2, 6, 6, 32)).astype(np.float32),
        anchors=np.array([[0, 0], [3, 1]]),
        deformations=np.array([[0.3, 0.1, 0.2, 0.0], [0.05, -0.2, 0.1, 0.1]]),
        bias=-0.7,
    )
    return [one, mirrored_component(one)]


def image_of(rng, shape=(96, 120)):
    return rng.integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("shapes", [[(6, 6)] * 12, [(15, 5)] * 2, [(7, 3)], [(3, 2), (4, 6), (3, 2), (3, 2), (3, 2)]])
def test_scores_by_tables_are_those_of_dense_filters_on_decoded_cells(rng, storage, shapes):
    grid = rng.integers(0, 128, (19, 23)).astype(np.uint8)
    filters = [rng.normal(size=(*shape, 32)).astype(np.float32) for shape in shapes]
    tables = FilterBank(filters, storage).scores(grid)
    dense = FilterBank(filters, DenseCells()).scores(storage.decode(grid))
    for one, other, filter in zip(tables, dense, filters, strict=True):
        h, w = filter.shape[:2]
        windows = np.lib.stride_tricks.sliding_window_view(storage.decode(grid), (h, w), axis=(0, 1))
        expected = np.einsum("yxchw,hwc->yx", windows, filter.astype(float))
        np.testing.assert_allclose(one, expected, atol=1e-4)
        np.testing.assert_allclose(other, expected, atol=1e-4)


def test_a_grid_smaller_than_a_filter_has_no_places(rng, storage):
    filters = [np.zeros((6, 6, 32), np.float32)]
    assert FilterBank(filters, storage).scores(np.zeros((5, 9), np.uint8))[0].size == 0
    assert FilterBank(filters, DenseCells()).scores(np.zeros((5, 9, 32), np.float32))[0].size == 0


def test_placements_score_what_their_root_and_parts_do(rng, storage, components):
    pyramid = build_pyramid(image_of(rng), SHAPE, storage)
    found = Scorer(components, storage).best(pyramid, -np.inf, 40)
    assert (np.diff(found.scores) <= 0).all()
    for score, (c, k, r, x), places in zip(found.scores, found.where, found.parts, strict=True):
        component, level = components[c], pyramid.levels[k]
        expected = component.bias + (storage.decode(level.coarse[r : r + 5, x : x + 3]) * component.root).sum()
        for i, (y, z) in enumerate(places):
            dy, dx = y - 2 * r - component.anchors[i, 0], z - 2 * x - component.anchors[i, 1]
            expected += (storage.decode(level.fine[y : y + 6, z : z + 6]) * component.parts[i]).sum()
            expected -= component.deformations[i] @ [dx * dx, dx, dy * dy, dy]
        assert score == pytest.approx(expected, abs=1e-4)


def test_a_mirrored_image_has_mirrored_boxes(rng, storage, components):
    image = image_of(rng)
    scorer, boxes, parts, scores = Scorer(components, storage), [], [], []
    for one in (image, np.ascontiguousarray(image[:, ::-1])):
        pyramid = build_pyramid(one, SHAPE, storage)
        found = scorer.best(pyramid, -np.inf, 50)
        scores.append(found.scores)
        boxes.append(windows_of(found, pyramid, components))
        parts.append(part_windows(found, pyramid, 6))
    # sums run in another order
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)
    for straight, turned in (boxes, parts):
        np.testing.assert_allclose(120 - turned[..., [2, 1, 0, 3]][..., ::2], straight[..., ::2], atol=1e-9)
        np.testing.assert_allclose(turned[..., 1::2], straight[..., 1::2], atol=1e-9)


def test_an_image_shifted_by_whole_cells_has_shifted_boxes(rng, storage, components):
    """At the size of the image itself; others are resampled between pixels."""
    inside = image_of(rng, (96, 96))
    shape = PyramidShape(interval=1, padding=2, smallest=(17, 17))
    found = []
    for x, y in ((24, 24), (40, 32)):
        image = np.full((160, 160), 128, np.uint8)
        image[y : y + 96, x : x + 96] = inside
        pyramid = build_pyramid(image, shape, storage)
        placements = Scorer(components, storage).best(pyramid, -np.inf)
        boxes = windows_of(placements, pyramid, components)
        own = (placements.where[:, 1] == 0) & (boxes[:, :2] >= [x + 16, y + 16]).all(axis=1)
        own &= (boxes[:, 2:] <= [x + 80, y + 80]).all(axis=1)
        keys = np.lexsort([*boxes[own].T, placements.where[own, 0]])
        found.append((boxes[own][keys] - [x, y, x, y], placements.scores[own][keys]))
    assert len(found[0][1]) > 40
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-4)


def test_memory_mapped_cells_are_scored_like_others(rng, storage, components, tmp_path):
    pyramid = build_pyramid(image_of(rng), SHAPE, storage)
    pyramid.cells.tofile(tmp_path / "cells")
    mapped = Pyramid((96, 120), SHAPE, storage, np.memmap(tmp_path / "cells", np.uint8, "r"))
    scorer = Scorer(components, storage)
    np.testing.assert_array_equal(scorer.best(pyramid, 0.0).scores, scorer.best(mapped, 0.0).scores)
