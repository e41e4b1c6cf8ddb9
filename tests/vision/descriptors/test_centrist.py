"""CENTRIST: what census transforms say, which pixels a histogram counts, and its transformer."""

import numpy as np
import pytest

from mercer import InputError
from mercer.vision import CENTRIST, LocalCENTRIST, centrist
from tests.reference.vision.census import write_census


def census(image):
    codes = np.empty((image.shape[0] - 2, image.shape[1] - 2), dtype=np.uint8)
    write_census(image, codes)
    return codes


@pytest.fixture
def photo(rng):
    return rng.integers(0, 30, (45, 61), dtype=np.uint8)


def test_bits_are_those_of_the_neighbours_that_are_not_brighter():
    image = np.array([[1, 9, 1], [9, 5, 5], [9, 9, 9]])
    assert np.flatnonzero(centrist(image)[0, 0]).tolist() == [0b10101000]
    assert np.flatnonzero(centrist(np.zeros((9, 9)))[0, 0]).tolist() == [255]


def test_the_pedestrian_experiment_is_a_setting(rng):
    """9 x 4 blocks, super-blocks of 2 x 2, 6,144 numbers, 352 pixels in each histogram. [wu10fast] 4.2"""
    window = rng.integers(0, 256, (108, 36), dtype=np.uint8)
    found = centrist(window, (9, 4), superblock=2, normalize=False)
    assert found.shape == (8, 3, 256)
    assert found.size == 6144
    assert (found.sum(axis=2) == 352).all()
    for r, c in [(0, 0), (3, 1), (7, 2)]:
        part = window[12 * r : 12 * r + 24, 9 * c : 9 * c + 18]
        np.testing.assert_array_equal(found[r, c], np.bincount(census(part).ravel(), minlength=256))


@pytest.mark.parametrize(("grid", "superblock"), [((1, 1), 1), ((2, 3), 1), ((4, 5), 3), ((15, 2), 1)])
def test_histograms_are_those_of_the_parts_by_themselves(photo, grid, superblock):
    found = centrist(photo, grid, superblock=superblock, normalize=False)
    rows, columns = (np.arange(n + 1) * side // n for n, side in zip(grid, photo.shape, strict=True))
    for r in range(grid[0] - superblock + 1):
        for c in range(grid[1] - superblock + 1):
            part = photo[rows[r] : rows[r + superblock], columns[c] : columns[c + superblock]]
            np.testing.assert_array_equal(found[r, c], np.bincount(census(part).ravel(), minlength=256))


def test_normalised_histograms_are_shares_that_sum_to_one(photo):
    counts, shares = (centrist(photo, (3, 2), normalize=flag) for flag in (False, True))
    np.testing.assert_allclose(shares, counts / counts.sum(axis=2, keepdims=True) / 6, rtol=1e-6)
    assert shares.sum() == pytest.approx(1, abs=1e-6)


def test_anything_that_keeps_the_order_of_grey_values_changes_nothing(photo):
    want = centrist(photo, (2, 2))
    for image in (photo.astype(float) ** 3, np.log1p(photo), photo - 1e6, photo.astype(np.int64)):
        np.testing.assert_array_equal(centrist(image, (2, 2)), want)
    colours = np.repeat(photo[..., None], 3, axis=2)
    np.testing.assert_array_equal(centrist(colours, (2, 2)), want)


def test_patches_are_described_as_images_by_themselves(photo):
    found = LocalCENTRIST(step=7, sizes=(9, 16)).describe(photo)
    assert found.shape == (45, 61)
    assert len(found) == 6 * 8 + 5 * 7
    for n in (0, 1, 47, 48, len(found) - 1):
        x, y, quarter = found.frames[n]
        size = 4 * quarter
        top, left, size = int(y - (size - 1) / 2), int(x - (size - 1) / 2), int(size)
        want = centrist(photo[top : top + size, left : left + size])[0, 0]
        np.testing.assert_allclose(found.values[n], want, rtol=1e-6)
    assert found.frames[1].tolist() == [11.0, 4.0, 2.25]


# ---------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"grid": (0, 1)}, "grid to be two integers"),
        ({"grid": 3}, "grid=3"),
        ({"superblock": 0}, "superblock to be an integer"),
        ({"grid": (2, 4), "superblock": 3}, "superblock=3"),
        ({"normalize": "l1"}, "normalize to be True or False"),
        ({"grid": (16, 1)}, "at least 3 x 3 pixels for each histogram, got 45 x 61"),
    ],
)
def test_parameters_that_have_no_meaning_are_refused(photo, parameters, words):
    with pytest.raises(InputError, match=words):
        centrist(photo, **parameters)
    with pytest.raises(InputError, match=words):
        CENTRIST(**parameters).fit([photo]).transform([photo])


def test_sizes_without_a_pixel_that_has_neighbours_are_refused(photo):
    with pytest.raises(InputError, match="from 3 to"):
        LocalCENTRIST(sizes=(2,)).describe(photo)
