"""Color histograms: colors in their spaces, bins, and parts of images."""

import colorsys

import numpy as np
import pytest

from mercer import InputError
from mercer.vision import ColorHistogram, color_histogram
from mercer.vision.reading.colors import SPACES, to_space

# The corners of RGB in L*a*b* with the white D65, as color tables give them.
LAB_CORNERS = {
    (0, 0, 0): (0, 0, 0),
    (1, 1, 1): (100, 0, 0),
    (1, 0, 0): (53.24, 80.09, 67.20),
    (0, 1, 0): (87.73, -86.18, 83.18),
    (0, 0, 1): (32.30, 79.19, -107.86),
    (1, 1, 0): (97.14, -21.55, 94.48),
    (0, 1, 1): (91.11, -48.09, -14.13),
    (1, 0, 1): (60.32, 98.23, -60.82),
}


@pytest.fixture
def photo(rng):
    return rng.integers(0, 256, (30, 41, 3), dtype=np.uint8)


def all_colours(n=18):
    return np.stack(np.meshgrid(*[np.linspace(0, 1, n)] * 3, indexing="ij"), axis=3).reshape(n * n, n, 3)


# ------------------------------------------------------------------------------------------------------ colors


def test_hsv_is_that_of_the_standard_library():
    colours = all_colours(8)
    want = [[colorsys.rgb_to_hsv(*colour) for colour in row] for row in colours]
    np.testing.assert_allclose(to_space(colours, "hsv"), want, atol=1e-12)


@pytest.mark.parametrize(("rgb", "lab"), LAB_CORNERS.items())
def test_lab_is_that_of_colour_tables(rgb, lab):
    np.testing.assert_allclose(to_space(np.array([[rgb]], dtype=float), "lab")[0, 0], lab, atol=0.01)


def test_lab_is_that_of_opencv():
    cv2 = pytest.importorskip("cv2")
    colours = all_colours().astype(np.float32)
    # OpenCV interpolates in a table, and is off by 0.3 in places
    np.testing.assert_allclose(to_space(colours, "lab"), cv2.cvtColor(colours, cv2.COLOR_RGB2Lab), atol=0.5)


def test_opponent_colours_are_a_rotation():
    colours = all_colours(5)
    turned = to_space(colours, "opponent")
    np.testing.assert_allclose((turned**2).sum(axis=2), (colours**2).sum(axis=2), atol=1e-12)
    np.testing.assert_allclose(to_space(np.full((1, 1, 3), 0.5), "opponent")[0, 0], [0, 0, 0.75**0.5], atol=1e-12)


@pytest.mark.parametrize("space", SPACES)
def test_channels_fill_their_range(space):
    values = to_space(all_colours(), space).reshape(-1, 3)
    low, high = np.array(SPACES[space].low), np.array(SPACES[space].high)
    assert (values >= low - 1e-4).all()  # L* of white is 100 up to the digits of the matrix
    assert (values <= high + 1e-4).all()
    assert (np.ptp(values, axis=0) >= 0.93 * (high - low)).all()  # the ends of a* and b* are whole numbers outside


# ---------------------------------------------------------------------------------------------------- histograms


@pytest.mark.parametrize("bins", [4, (2, 3, 5), (17, 51, 85)])
def test_bins_of_bytes_are_those_of_whole_numbers(photo, bins):
    n_red, n_green, n_blue = (bins,) * 3 if isinstance(bins, int) else bins
    red, green, blue = (
        np.minimum(photo[..., c].astype(int) * n // 255, n - 1) for c, n in enumerate((n_red, n_green, n_blue))
    )  # white belongs to the last bin
    want = np.bincount((blue + n_blue * (green + n_green * red)).ravel(), minlength=n_red * n_green * n_blue)
    np.testing.assert_allclose(color_histogram(photo, bins)[0, 0], want / want.sum(), rtol=1e-6)


@pytest.mark.parametrize("space", SPACES)
def test_parts_are_described_by_themselves(photo, space):
    found = color_histogram(photo, 3, space=space, grid=(4, 3))
    assert found.shape == (4, 3, 27)
    assert found.dtype == np.float32
    assert found.sum() == pytest.approx(1, abs=1e-6)
    rows, columns = np.arange(5) * 30 // 4, np.arange(4) * 41 // 3
    for r in range(4):
        for c in range(3):
            part = photo[rows[r] : rows[r + 1], columns[c] : columns[c + 1]]
            np.testing.assert_allclose(12 * found[r, c], color_histogram(part, 3, space=space)[0, 0], rtol=1e-5)


@pytest.mark.parametrize("space", SPACES)
def test_floats_from_0_to_1_are_the_same_as_bytes(photo, space):
    np.testing.assert_array_equal(
        color_histogram(photo / 255.0, 4, space=space), color_histogram(photo, 4, space=space)
    )


@pytest.mark.parametrize("space", SPACES)
def test_grey_is_a_colour_with_equal_channels(photo, space):
    grey = photo[..., 0]
    want = color_histogram(np.repeat(grey[..., None], 3, axis=2), space=space)
    np.testing.assert_array_equal(color_histogram(grey, space=space), want)
    assert np.count_nonzero(want) <= 6  # of 125: those along the line from black to white


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"space": "cmyk"}, "space to be one of 'rgb', 'hsv', 'lab', 'opponent', got space='cmyk'"),
        ({"bins": 0}, "bins to be an integer from 1 to 256"),
        ({"bins": (4, 4)}, r"three of them; got bins=\(4, 4\)"),
        ({"bins": 2.5}, "bins=2.5"),
        ({"grid": (0, 2)}, "grid to be two integers"),
        ({"grid": (31, 1)}, "one pixel for each histogram, got 30 x 41"),
    ],
)
def test_parameters_that_have_no_meaning_are_refused(photo, parameters, words):
    with pytest.raises(InputError, match=words):
        color_histogram(photo, **parameters)
    with pytest.raises(InputError, match=words):
        ColorHistogram(**parameters).fit([photo]).transform([photo])


def test_floats_beyond_white_are_refused(photo):
    with pytest.raises(InputError, match="floats from 0 to 1; got floats from 0 to 255"):
        color_histogram(photo.astype(float))
