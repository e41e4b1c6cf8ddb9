"""Dense SIFT: where descriptors stand, what they hold, what leaves them unchanged, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from sklearn.base import clone

import mercer
from mercer import InputError
from mercer.vision import DenseSIFT, LocalCENTRIST, dense_sift, read_image
from tests.reference.vision import sift as reference


def photo_of(rng, shape=(60, 72)):
    """Noise of all frequencies, the low ones strongest, as in photographs; bytes."""
    noise = sum(4**k * ndimage.gaussian_filter(rng.normal(size=shape), 2**k / 2) for k in range(4))
    low, high = noise.min(), noise.max()
    return (255 * (noise - low) / (high - low)).round().astype(np.uint8)


@pytest.fixture
def photo(rng):
    return photo_of(rng)


def plain_descriptor(image, x, y, size):
    """The descriptor with its middle at (x, y), straight from its definition."""
    smooth = ndimage.gaussian_filter(image.astype(float), size / 6, mode="nearest", truncate=4)
    votes = np.empty((*image.shape, 8))
    reference.write_votes(smooth, None, None, None, votes)
    reach = int(2.5 * size)
    votes = np.pad(votes, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    rows, columns = (np.arange(-reach, side + reach) for side in image.shape)

    def weights(pixels, centre):
        tents = [np.maximum(0, 1 - np.abs(pixels - centre - (b - 1.5) * size) / size) for b in range(4)]
        return np.stack(tents) * np.exp(-0.5 * ((pixels - centre) / (2 * size)) ** 2)

    bins = np.einsum("iy,jx,yxo->ijo", weights(rows, y), weights(columns, x), votes, optimize=True)
    return reference.unit(np.minimum(reference.unit(bins), 0.2)).ravel()


def cosines(a, b):
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


# ------------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("size", [3, 4, 7])
def test_with_a_gaussian_window_they_are_those_of_the_definition(photo, size):
    found = dense_sift(photo, 5, (size,), window="gaussian", contrast=0)
    for n in [0, 7, len(found) // 2, len(found) - 1]:
        x, y, _ = found.frames[n]
        # float32 throughout; values are at most 0.2 / 0.4
        np.testing.assert_allclose(found.values[n], plain_descriptor(photo, x, y, size), atol=3e-6)


@pytest.mark.parametrize("sizes", [(2,), (4, 6), (5, 10)])
def test_a_flat_window_gives_nearly_the_same(photo, sizes):
    flat, exact = (dense_sift(photo, 3, sizes, window=window, contrast=0) for window in ("flat", "gaussian"))
    np.testing.assert_array_equal(flat.frames, exact.frames)
    assert cosines(flat.values, exact.values).mean() >= 0.97
    assert not np.allclose(flat.values, exact.values, atol=1e-3)


def test_opencv_describes_the_same_bins(rng):
    cv2 = pytest.importorskip("cv2")
    image = photo_of(rng, (120, 120))
    found = dense_sift(image, 8, (8,), window="gaussian", contrast=0)
    points = [cv2.KeyPoint(float(x), float(y), size / 1.5, 0.0) for x, y, size in found.frames]
    _, theirs = cv2.SIFT_create().compute(image, points)
    theirs = theirs.reshape(-1, 4, 4, 8)[..., -np.arange(8) % 8].reshape(-1, 128)  # its angles go up, ours go down
    # it smooths by sigma = 1.6, here it is 1.33; bins rounded to bytes
    assert cosines(found.values, theirs).mean() > 0.99


def test_a_slope_votes_for_the_way_it_rises():
    y, x = np.mgrid[:40, :40] / 60.0
    for direction, image in enumerate([x, x + y, y, y - x, -x, -x - y, -y, x - y]):
        values = dense_sift(image, 8, (4,)).values.reshape(4, 4, 16, 8)[
            1:3, 1:3
        ]  # smoothing bends slopes at the border
        shares = values.sum(axis=2) / values.sum(axis=(2, 3))[..., None]
        np.testing.assert_allclose(shares[..., direction], 1, atol=1e-5)


def test_bins_go_row_by_row():
    image = np.zeros((30, 30))
    image[6:, :] = np.linspace(0, 1, 24)[:, None] * (np.arange(30) > 14)  # gradients below and to the right
    values = dense_sift(image, 30, (6,), contrast=0).values.reshape(4, 4, 8)
    energy = values.sum(axis=2)
    assert energy[3, 3] > 5 * energy[0, 3]
    assert energy[3, 3] > 5 * energy[3, 0]


def test_norms_are_one_or_zero(photo):
    photo[:, 36:] = 90
    found = dense_sift(photo, contrast=0)
    norms = np.linalg.norm(found.values, axis=1)
    assert ((np.abs(norms - 1) < 1e-6) | (norms == 0)).all()
    assert (norms == 0).any()
    assert found.values.dtype == found.frames.dtype == np.float32
    assert found.values.min() >= 0


# -------------------------------------------------------------------------------------------------------- places


@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    step=st.integers(1, 9),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    window=st.sampled_from(["flat", "gaussian"]),
)
def test_descriptors_stand_wherever_their_bins_have_their_middles_inside(shape, step, sizes, window):
    image = np.arange(shape[0] * shape[1], dtype=float).reshape(shape) % 7
    found = dense_sift(image, step, sizes, window=window, contrast=0)
    assert found.shape == shape
    want = []
    for size in sizes:
        start = 3 * (max(sizes) - size) // 2
        ys, xs = (range(start, side - 3 * size, step) for side in shape)
        want += [[x + 1.5 * size, y + 1.5 * size, size] for y in ys for x in xs]
    assert found.frames.tolist() == want
    assert found.values.shape == (len(want), 128) == (len(found), 128)
    assert np.isfinite(found.values).all()


def test_sizes_share_their_centres(photo):
    found = dense_sift(photo, 4, (4, 6, 10), contrast=0)
    centres = [{tuple(frame[:2]) for frame in found.frames if frame[2] == size} for size in (4, 6, 10)]
    assert centres[2] <= centres[1] <= centres[0]


def test_flat_places_are_left_out_by_their_contrast(photo):
    photo[:, 30:] = photo[:, 30:] // 64 + 100  # a fortieth of the contrast and less
    everything, some = (dense_sift(photo, contrast=contrast) for contrast in (0, 0.005))
    assert 0 < len(some) < len(everything)
    where = {tuple(frame): n for n, frame in enumerate(everything.frames)}
    kept = [where[tuple(frame)] for frame in some.frames]
    np.testing.assert_array_equal(some.values, everything.values[kept])
    assert sorted(kept) == kept
    assert some.frames[:, 0].mean() < everything.frames[:, 0].mean()
    assert len(dense_sift(np.full((50, 50), 7, np.uint8))) == 0
    assert len(dense_sift(photo, contrast=10)) == 0


def test_contrast_is_the_weighted_mean_of_gradients_where_white_is_one():
    image = np.tile(np.arange(80) / 100, (80, 1))  # a slope of 0.01
    # the weights of pixels sum to size^2 times the mean of the window, in each bin; the mean is over (3 size + 1)^2
    window = np.exp(-0.5 * (np.add.outer([-1.5, -0.5, 0.5, 1.5], np.arange(-7, 8) / 8) / 2) ** 2)
    contrast = 0.01 * window.mean(axis=1).sum() ** 2 * 8**2 / 25**2
    for pixels, margin in ((image, 0.001), ((image * 255).round().astype(np.uint8), 0.01)):  # rounded slopes
        kept, left_out = (dense_sift(pixels, 28, (8,), contrast=(1 + m) * contrast) for m in (-margin, margin))
        assert [40.0, 40.0, 8.0] in kept.frames.tolist()
        assert [40.0, 40.0, 8.0] not in left_out.frames.tolist()


# -------------------------------------------------------------------------------------------------- invariances


@pytest.mark.parametrize("window", ["flat", "gaussian"])
def test_brightness_and_contrast_do_not_matter(photo, window):
    want = dense_sift(photo, window=window, contrast=0).values
    for image in (photo / 255, photo / 2.0**40 - 7, photo * 3.0**50, photo.astype(np.int64)):
        # offsets and scales are taken out in float64; votes are rounded to 2^-24 of the largest there can be
        np.testing.assert_allclose(dense_sift(image, window=window, contrast=0).values, want, atol=2e-4)


@pytest.mark.parametrize("window", ["flat", "gaussian"])
def test_mirrors_and_quarter_turns_permute_the_values(photo, window):
    image = photo[:61, :61][:49, :49]  # 49 = 25 + 4 * 6 pixels: places are symmetric
    values = dense_sift(image, 4, (8,), window=window, contrast=0).values.reshape(7, 7, 4, 4, 8)
    mirrored = dense_sift(image[:, ::-1], 4, (8,), window=window, contrast=0).values.reshape(7, 7, 4, 4, 8)
    # (row, column) of frames and of bins turned over; direction k becomes 180 degrees - k
    np.testing.assert_allclose(
        mirrored[:, ::-1, :, ::-1, (4 - np.arange(8)) % 8], values, atol=1e-5
    )  # other roundings in float32
    turned = dense_sift(np.rot90(image), 4, (8,), window=window, contrast=0).values.reshape(7, 7, 4, 4, 8)
    back = np.rot90(np.rot90(turned, -1, axes=(0, 1)), -1, axes=(2, 3))
    np.testing.assert_allclose(back[..., (np.arange(8) + 6) % 8], values, atol=1e-5)


def test_a_shift_by_steps_shifts_the_descriptors(photo):
    values = dense_sift(photo, 4, (4,), contrast=0).values
    shifted = dense_sift(photo[8:, 12:], 4, (4,), contrast=0).values
    values, shifted = values.reshape(12, 15, 128), shifted.reshape(10, 12, 128)
    # frames three steps inside have no pixel within the reach of bins, gradient and smoothing at the border
    np.testing.assert_allclose(shifted[2:-2, 2:-2], values[4:-2, 5:-2], atol=1e-6)


def test_colours_become_grey_as_when_read(rng, tmp_path):
    image = pytest.importorskip("PIL.Image")
    colours = np.stack([photo_of(rng) for _ in range(3)], axis=2)
    image.fromarray(colours).save(tmp_path / "a.png")
    want = dense_sift(read_image(tmp_path / "a.png", mode="gray"))
    np.testing.assert_array_equal(dense_sift(colours).values, want.values)
    # bytes of gray are rounded, floats are not
    assert cosines(dense_sift(colours / 255, contrast=0).values, dense_sift(colours, contrast=0).values).mean() > 0.999


def test_threads_do_not_change_descriptors(photo):
    few, many = (DenseSIFT(n_jobs=n).describe(photo) for n in (1, 3))
    np.testing.assert_array_equal(few.values, many.values)
    np.testing.assert_array_equal(few.frames, many.frames)


# --------------------------------------------------------------------------------------------------- the estimator


@pytest.mark.parametrize("descriptor", [DenseSIFT(3, (4, 5), window="gaussian", contrast=0.0), LocalCENTRIST(4, (8,))])
def test_local_descriptors_are_cloned_and_saved(descriptor, photo, tmp_path):
    want = descriptor.describe(photo)
    mercer.save(descriptor, tmp_path / "d.mercer")
    for copy in (clone(descriptor), mercer.load(tmp_path / "d.mercer")):
        assert copy.get_params() == descriptor.get_params()
        np.testing.assert_array_equal(copy.describe(photo).values, want.values)
    assert want.values.shape[1] == descriptor.n_values


def test_the_function_and_the_estimator_agree(photo):
    want = dense_sift(photo)
    found = DenseSIFT().describe(photo)
    np.testing.assert_array_equal(found.values, want.values)
    np.testing.assert_array_equal(found.frames, want.frames)


@pytest.mark.parametrize("descriptor", [DenseSIFT(), LocalCENTRIST()])
def test_an_image_without_room_for_a_patch_has_no_descriptors(descriptor):
    for shape in [(1, 1), (1, 200), (200, 12), (12, 12, 3)]:
        found = descriptor.describe(np.zeros(shape, dtype=np.uint8))
        assert found.values.shape == (0, descriptor.n_values)
        assert found.frames.shape == (0, 3)
        assert found.shape == shape[:2]


# -------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"step": 0}, "`step` must be an integer >= 1"),
        ({"step": 2.5}, "`step` must be an integer >= 1"),
        ({"sizes": ()}, "sizes to be integers, in pixels, from 1 to 256"),
        ({"sizes": (4, 0)}, r"sizes=\(4, 0\)"),
        ({"sizes": (257,)}, "257"),
        ({"sizes": "4"}, "sizes='4'"),
        ({"window": "round"}, "`window` must be one of 'flat', 'gaussian'"),
        ({"contrast": -1}, "`contrast` must be a number >= 0"),
        ({"contrast": np.nan}, "`contrast` must be a number >= 0"),
    ],
)
def test_parameters_that_have_no_meaning_are_refused(parameters, words):
    for describe, who in ((DenseSIFT(**parameters).describe, "DenseSIFT"), (dense_sift, "dense_sift")):
        more = parameters if describe is dense_sift else {}
        with pytest.raises(InputError, match=words) as caught:
            describe(np.zeros((50, 50)), **more)
        assert who in str(caught.value)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros(64), "got shape"),
        (np.zeros((40, 40, 4)), "alpha"),
        (np.full((40, 40), np.nan), "finite values"),
        (np.array([["a"] * 40] * 40), "real numbers"),
    ],
)
def test_what_is_no_image_is_refused(image, words):
    for descriptor in (DenseSIFT(), LocalCENTRIST()):
        with pytest.raises(InputError, match=words):
            descriptor.describe(image)
