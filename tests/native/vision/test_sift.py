"""Loops of dense SIFT against filters of scipy, arctan2, matrices of tents and frames one by one."""

import numpy as np
import pytest

from mercer._native.vision import sift as native
from tests.reference.vision import sift as reference

MODULES = (native, reference)


def picture(rng, shape):
    """Values from 0 to 1 of few levels, with a flat part: gradients straight along axes and diagonals, and none."""
    image = rng.integers(0, 5, shape).astype(np.float32) / 4
    image[: shape[0] // 2, shape[1] // 2 :] = 0.5
    return image


@pytest.mark.parametrize("shape", [(20, 31), (1, 9), (5, 1), (40, 3)])
@pytest.mark.parametrize("reach", [0, 1, 4, 9])
def test_blur_is_a_correlation_along_both_axes_that_continues_the_border(rng, shape, reach):
    image, kernel = rng.random(shape, dtype=np.float32), rng.random(reach + 1, dtype=np.float32)
    got, want = np.full((2, *shape), np.nan, dtype=np.float32)
    for module, out in zip(MODULES, (got, want), strict=True):
        module.blur(image, kernel, np.empty(shape[1] + 2 * reach, dtype=np.float32), out)
    # two sums of positive terms in float32
    np.testing.assert_allclose(got, want, rtol=4e-6)


@pytest.mark.parametrize("shape", [(20, 31), (1, 9), (5, 1), (2, 2)])
def test_votes_are_shared_linearly_between_the_two_nearest_directions(rng, shape):
    for image in (picture(rng, shape), rng.random(shape, dtype=np.float32)):
        got, want = np.full((2, *shape, 8), np.nan, dtype=np.float32)
        for module, out in zip(MODULES, (got, want), strict=True):
            scratch = np.empty((2, shape[1]), dtype=np.float32)
            module.write_votes(image, np.empty(shape[1], dtype=np.int32), *scratch, out)
        # angles from 0 to 8 in float32, times a length of at most 1.5
        np.testing.assert_allclose(got, want, atol=4e-6)


CASES = {
    "every fourth place": ((40, 56), 4, 4, 0, (11, 12)),
    "a start inside": ((40, 56), 4, 2, 6, (9, 17)),
    "neighbouring places": ((30, 26), 3, 1, 2, (20, 24)),
    "bins of one pixel": ((9, 10), 1, 1, 0, (9, 10)),
    "bins wider than the image": ((7, 9), 12, 3, 1, (2, 3)),
    "one place": ((5, 1), 2, 2, 0, (1, 1)),
}


@pytest.mark.parametrize(("shape", "size", "spacing", "begin", "places"), CASES.values(), ids=CASES)
def test_bins_are_sums_under_tents(rng, shape, size, spacing, begin, places):
    image = picture(rng, shape)
    width = shape[1]
    shift = int(np.ceil(np.log2(size**2)))
    scale = np.float32(2.0 ** np.floor(np.log2(2**31 / (1.4143 * size**2))))
    scratch = (
        np.empty((3, width), dtype=np.float32),
        np.empty((2 * size + 1, 8 * width), dtype=np.uint32),
        np.empty(8 * width, dtype=np.uint32),
        np.empty(8 * (2 * size + (places[1] - 1) * spacing + 1), dtype=np.uint32),
    )
    got, want = np.full((2, *places, 8), np.nan, dtype=np.float32)
    native.bin_flat(image, size, spacing, begin, scale, shift, np.float32(2.0**shift / scale), *scratch, got)
    reference.bin_flat(image, size, spacing, begin, None, None, 1.0, *scratch, want)
    # angles are good to 1e-6 of 45 degrees; sums over rows are rounded to 2^(shift - 30) of the largest there can be
    np.testing.assert_allclose(got, want, atol=4e-6 * size**4)
    assert (got[want == 0] <= 4e-6 * size**2).all()


def test_flat_places_beside_strong_gradients_have_no_votes_at_all(rng):
    image = np.zeros((90, 60), dtype=np.float32)
    image[10:40] = rng.random((30, 60), dtype=np.float32)
    scratch = (
        np.empty((3, 60), dtype=np.float32),
        np.empty((9, 480), dtype=np.uint32),
        np.empty(480, dtype=np.uint32),
        np.empty(8 * 61, dtype=np.uint32),
    )
    grid = np.full((20, 14, 8), np.nan, dtype=np.float32)
    native.bin_flat(image, 4, 4, 0, np.float32(2.0**26), 4, np.float32(1), *scratch, grid)
    assert (grid[4:8].sum(axis=2) > 0).all()
    assert not grid[12:].any()  # places from row 48 on reach no row before 45


@pytest.fixture
def grid(rng):
    """Cells with an empty corner and a few very strong ones."""
    cells = (rng.exponential(size=(14, 17, 8)) ** 3).astype(np.float32)
    cells[:7, :7] = 0
    return cells


def test_sums_of_cells_and_of_frames(grid):
    weights = np.array([0.5, 1, 2, 0.25], dtype=np.float32)
    sums = []
    for module in MODULES:
        masses, energies = np.full((2, 14, 17), np.nan, dtype=np.float32)
        module.sum_cells(grid, masses, energies)
        frames = np.full((3, 4), np.nan, dtype=np.float32)
        module.frame_sums(energies, weights, 2, 3, frames)
        sums.append((masses, energies, frames))
    for got, want in zip(*sums, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6)  # 16 positive terms in float32


def test_descriptors_are_normalised_cut_off_and_normalised_again(grid):
    weights = np.array([0.5, 1, 2, 0.25], dtype=np.float32)
    energies = np.empty((6, 9), dtype=np.float32)
    reference.frame_sums((grid.astype(float) ** 2).sum(axis=2), weights**2, 1, 2, energies)
    frames = np.array([0, 3, 9, 53, 20])
    got, want = np.full((2, len(frames), 128), np.nan, dtype=np.float32)
    native.write_sift(grid, weights, 1, 2, energies, frames, got)
    reference.write_sift(grid, weights, 1, 2, energies, frames, want)
    np.testing.assert_allclose(got, want, atol=2e-7)
    assert not got[0].any()  # an empty frame stays empty
