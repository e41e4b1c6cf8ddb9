"""HOG features: what each channel means, what leaves them unchanged, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import InputError, UniversalEmbedding
from mercer.vision import HOG, flip_hog, hog, hog_shape
from tests.reference.vision import hog as reference

VARIANTS = ["felzenszwalb", "dalal-triggs"]
BELOW_RIGHT, ABOVE_RIGHT, BELOW_LEFT, ABOVE_LEFT = range(4)


@pytest.fixture
def photo(rng):
    """Smooth shapes with noise: gradients of all directions and lengths, some of them zero."""
    y, x = np.mgrid[:48, :64]
    shapes = [np.sin(x / a + np.cos(y / b)) for a, b in ((5, 7), (3, 11), (9, 4))]
    return np.clip(127 + 90 * np.stack(shapes, axis=2) + rng.normal(0, 4, (48, 64, 3)), 0, 255).astype(np.uint8)


def grating(degrees, size=64):
    """A wave whose crests lie across the direction given."""
    y, x = np.mgrid[:size, :size]
    angle = np.deg2rad(degrees)
    return np.sin(0.3 * (np.cos(angle) * x + np.sin(angle) * y))


def plain_hog(image, cell_size, variant):
    """The features by the twins of the loops."""
    channels = image.shape[2] if image.ndim == 3 else 1
    rows, columns = image.shape[0] // cell_size, image.shape[1] // cell_size
    histograms, factors = np.empty((rows, columns, 18)), np.empty((rows + 1, columns + 1))
    reference.sum_votes(image.reshape(image.shape[0], -1), channels, cell_size, None, None, None, histograms)
    reference.block_factors(histograms, None, factors)
    if variant == "felzenszwalb":
        features = np.empty((rows, columns, 31))
        reference.write_felzenszwalb(histograms, factors, features)
        return features
    features, again = np.empty((rows, columns, 36)), np.empty_like(factors)
    reference.clipped_factors(histograms, factors, again)
    reference.write_dalal_triggs(histograms, factors, again, features)
    return features


# ------------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("cell_size", [8, 6, 5])
def test_features_are_those_of_the_plain_formulas(photo, variant, cell_size):
    for image in (photo, photo[..., 0], photo / np.float32(64), photo.astype(np.int64)):
        got = hog(image, cell_size, variant)
        assert got.dtype == np.float32
        # float32 against float64 throughout; features are at most 1
        np.testing.assert_allclose(got, plain_hog(image, cell_size, variant), atol=1e-6)


def test_shapes_are_those_of_the_cells(photo):
    assert hog(np.zeros((128, 128), np.uint8), variant="dalal-triggs").shape == (16, 16, 36)
    assert hog(photo).shape == (6, 8, 31)
    assert hog_shape((23, 31, 3), 8) == hog(photo[:23, :31]).shape[:2] == (2, 3)
    with_truncation = hog(photo, truncation=True)
    assert with_truncation.shape == (6, 8, 32)
    assert not with_truncation[..., 31].any()
    np.testing.assert_array_equal(with_truncation[..., :31], hog(photo))


@pytest.mark.parametrize("bin", range(9))
def test_a_grating_puts_its_energy_into_its_direction(bin):
    image = grating(20 * bin)
    unsigned = hog(image)[1:-1, 1:-1, 18:27].mean(axis=(0, 1))
    blocks = hog(image, variant="dalal-triggs")[1:-1, 1:-1].mean(axis=(0, 1)).reshape(4, 9)
    assert unsigned.argmax() == bin
    assert (blocks.argmax(axis=1) == bin).all()
    others = np.delete(unsigned, bin)  # differences of pixels turn a direction by less than half a bin
    assert others.max() < 0.05 * unsigned[bin]


def test_a_slope_votes_for_the_way_it_rises():
    y, x = np.mgrid[:32, :32]
    for bin, image in {0: x, 9: -x}.items():
        assert np.flatnonzero(hog(image)[2, 2, :18]).tolist() == [bin]
    for bins, image in {(4, 5): y, (13, 14): -y}.items():  # midway between two directions
        found = hog(image)[2, 2, :18]
        assert tuple(np.flatnonzero(found)) == bins
        assert found[bins[0]] == found[bins[1]]


def test_the_channel_with_the_longest_gradient_votes():
    y, x = np.mgrid[:32, :32]
    image = np.stack([2 * y, 3 * x, -y], axis=2)
    np.testing.assert_array_equal(hog(image), hog(3 * x))
    np.testing.assert_array_equal(hog(np.stack([x, x, x], axis=2)), hog(x))


def test_dalal_triggs_holds_the_descriptors_of_all_blocks(photo):
    features = hog(photo, variant="dalal-triggs").reshape(6, 8, 4, 9)
    corners = [
        features[:-1, :-1, BELOW_RIGHT],
        features[:-1, 1:, BELOW_LEFT],
        features[1:, :-1, ABOVE_RIGHT],
        features[1:, 1:, ABOVE_LEFT],
    ]  # each cell's own quarter of the block that it shares with the other three
    blocks = np.concatenate(corners, axis=2)
    assert blocks.shape == (5, 7, 36)
    np.testing.assert_allclose(np.linalg.norm(blocks, axis=2), 1, atol=1e-6)  # L2-hys ends with a division by the norm


def test_texture_is_the_total_of_a_block(photo):
    signed = hog(photo)
    np.testing.assert_allclose(  # 1/2 sum over blocks and directions, and 0.2357 times the same, one block at a time
        signed[..., :18].sum(axis=2) / 0.5, signed[..., 27:31].sum(axis=2) / 0.2357, rtol=1e-5
    )


def test_a_flat_image_has_no_features():
    for value in (0.0, 0.1 + 0.2, -7.5):
        for variant in VARIANTS:
            assert not hog(np.full((16, 24), value), variant=variant).any()


# -------------------------------------------------------------------------------------------------- invariances


@pytest.mark.parametrize("variant", VARIANTS)
def test_brightness_and_contrast_do_not_matter(photo, variant):
    image = photo.astype(np.float64)
    want = hog(photo, variant=variant)
    np.testing.assert_array_equal(hog(image - 1000, variant=variant), want)
    for scale in (2.0**-8, 3.0, 2.0**20):
        # faint blocks have an energy of at least 1e-2 after scaling by 2^-8: the constant of 1e-9 changes 1e-7 of it
        np.testing.assert_allclose(hog(scale * image, variant=variant), want, atol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("cell_size", [8, 4, 16])
def test_a_mirrored_image_has_mirrored_features_in_every_bit(photo, variant, cell_size):
    for image in (photo, photo[..., 1]):
        features = hog(image, cell_size, variant)
        np.testing.assert_array_equal(flip_hog(features, variant), hog(image[:, ::-1], cell_size, variant))
        np.testing.assert_array_equal(flip_hog(flip_hog(features, variant), variant), features)
        assert not np.array_equal(flip_hog(features, variant), features)


def test_mirrored_floats_have_mirrored_features(photo):
    image = np.log1p(photo)
    # sums of votes in another order: rounding of float64, seen in float32
    np.testing.assert_allclose(flip_hog(hog(image)), hog(image[:, ::-1]), atol=1e-6)


def test_truncation_stays_where_it_is_when_features_are_mirrored(photo):
    padded = np.pad(hog(photo, truncation=True), ((0, 0), (2, 0), (0, 0)))
    padded[:, :2, 31] = 1
    flipped = flip_hog(padded)
    assert (flipped[:, -2:, 31] == 1).all()
    assert not flipped[:, :-2, 31].any()


def test_half_a_turn_exchanges_opposite_directions_and_blocks(photo):
    turned = hog(photo[::-1, ::-1])[::-1, ::-1]
    channels = [*(o + 9 for o in range(9)), *range(9), *range(18, 27), 30, 29, 28, 27]
    np.testing.assert_allclose(turned[..., channels], hog(photo), atol=1e-6)  # other order of sums, in float32


def test_a_shift_by_whole_cells_shifts_the_features(photo):
    features, shifted = hog(photo), hog(photo[8:, 16:])
    # a cell sees pixels up to half a cell beyond its block
    np.testing.assert_array_equal(shifted[2:, 2:], features[3:, 4:])


# ---------------------------------------------------------------------------------------------------- transformer


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_are_the_features_of_each_image(photo, variant):
    stack = np.stack([photo, photo[::-1], photo[:, ::-1]] * 7)
    transformer = HOG(8, variant=variant)
    rows = transformer.fit_transform(stack)
    assert rows.shape == (21, 6 * 8 * transformer.grid_shape_[2])
    assert rows.dtype == np.float32
    for row, image in zip(rows, stack, strict=True):
        np.testing.assert_array_equal(row.reshape(transformer.grid_shape_), hog(image, 8, variant))
    flat = HOG(8, variant=variant, image_shape=(48, 64, 3), n_jobs=1).fit(stack.reshape(21, -1))
    for form in (stack, list(stack), stack.reshape(21, -1), stack.astype(np.float32)):
        np.testing.assert_array_equal(flat.transform(form), rows)
    assert len(flat.get_feature_names_out()) == rows.shape[1]


def test_threads_do_not_change_features(photo):
    stack = np.stack([np.roll(photo, i, axis=1) for i in range(30)])
    few, many = (HOG(n_jobs=n).fit_transform(stack) for n in (1, 3))
    np.testing.assert_array_equal(few, many)


def test_it_stands_in_pipelines_in_front_of_codes():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    descriptors = HOG(2, image_shape=(8, 8))
    assert cross_val_score(make_pipeline(descriptors, RidgeClassifier()), X, y, cv=3).mean() > 0.9
    codes = make_pipeline(clone(descriptors), UniversalEmbedding(n_bits=64, random_state=0)).fit_transform(X)
    assert codes.shape == (500, 8)
    assert codes.dtype == np.uint8


class AnyRow(HOG):
    """HOG of rows of any width, which scikit-learn's checks give: each is seen as an image of three such rows."""

    def _shape_of_rows(self, n_values, shape):
        return 3, n_values

    def _image(self, row):
        return super()._image(np.tile(row, 3))


@parametrize_with_checks([AnyRow(1)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the checks look at the class, hardly at its parameters
@parametrize_with_checks([AnyRow(1, variant="dalal-triggs")])
def test_scikit_learns_checks_of_variants(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros(64), r"\(height, width\) or \(height, width, 3\), got shape \(64,\)"),
        (np.zeros((16, 16, 4)), "alpha"),
        (np.zeros((2, 16, 16, 3)), "got shape"),
        (np.zeros((0, 16)), "with pixels"),
        (np.zeros((7, 16)), "at least one cell of 8 x 8 pixels, got 7 x 16"),
        (np.full((16, 16), np.nan), "finite values .* contains nan"),
        (np.full((16, 16, 3), -np.inf), "contains -inf"),
        (np.full((16, 16), 1e40), r"contains 1e\+40"),
        (np.zeros((16, 16), complex), "real numbers"),
        (np.full((16, 16), "a"), "real numbers"),
    ],
)
def test_images_that_are_none_are_refused(image, words):
    with pytest.raises(InputError, match=words):
        hog(image)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cell_size": 0}, "`cell_size` must be an integer >= 1"),
        ({"cell_size": 8.0}, "`cell_size` must be an integer >= 1"),
        ({"cell_size": True}, "`cell_size` must be an integer >= 1"),
        ({"variant": "sift"}, "`variant` must be one of 'felzenszwalb', 'dalal-triggs'"),
        ({"variant": "dalal-triggs", "truncation": True}, "truncation"),
    ],
)
def test_arguments_without_a_meaning_are_refused(photo, arguments, words):
    with pytest.raises(InputError, match=words):
        hog(photo, **arguments)


def test_the_largest_values_that_are_taken_give_finite_features():
    checks = np.indices((32, 32)).sum(axis=0) // 2 % 2 * 2.0 - 1
    for variant in VARIANTS:
        # 1e30 is not a power of two: rounding of float32
        np.testing.assert_allclose(hog(1e30 * checks, variant=variant), hog(checks, variant=variant), atol=1e-6)


def test_features_of_another_variant_are_not_mirrored(photo):
    for features, variant in ((hog(photo), "dalal-triggs"), (hog(photo, variant="dalal-triggs"), "felzenszwalb")):
        with pytest.raises(InputError, match="flip_hog needs features"):
            flip_hog(features, variant)


@pytest.mark.parametrize(
    ("transformer", "X", "words"),
    [
        (HOG(), np.zeros((3, 256)), "Pass image_shape"),
        (HOG(image_shape=(8, 16)), np.zeros((3, 256)), "rows of 128 values"),
        (HOG(image_shape=(8, 16)), np.zeros((3, 16, 8)), r"shape \(8, 16\)"),
        (HOG(image_shape=8), np.zeros((3, 64)), "image_shape=8"),
        (HOG(image_shape=(8.5, 8)), np.zeros((3, 64)), r"image_shape=\(8.5, 8\)"),
        (HOG(cell_size=9), np.zeros((3, 8, 16)), "at least one cell"),
        (HOG(), [np.zeros((8, 8)), np.zeros((8, 9))], "different shapes"),
        (HOG(), np.full((3, 8, 8), np.nan), "NaN"),
    ],
)
def test_stacks_that_do_not_fit_are_refused(transformer, X, words):
    with pytest.raises(ValueError, match=words):
        transformer.fit(X)


def test_images_of_another_size_than_those_of_the_fit_are_refused():
    transformer = HOG().fit(np.zeros((2, 16, 16)))
    with pytest.raises(InputError, match=r"images of shape \(16, 16\)"):
        transformer.transform(np.zeros((2, 16, 24)))
    with pytest.raises(ValueError, match="256 features"):
        transformer.transform(np.zeros((2, 64)))


@pytest.mark.parametrize("parameters", [{"variant": "dalal-triggs"}, {"cell_size": 4}, {"cell_size": 0}])
def test_parameters_that_changed_after_the_fit_are_refused(parameters):
    transformer = HOG().fit(np.zeros((2, 16, 16))).set_params(**parameters)
    with pytest.raises(InputError, match=r"Call fit again|must be an integer"):
        transformer.transform(np.zeros((2, 16, 16)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("image_shape_", (16, 17)), ("grid_shape_", (3, 2, 31)), ("image_shape_", "16"), ("cell_size", 0)],
)
def test_a_loaded_transformer_that_does_not_fit_together_is_refused(name, value):
    transformer = HOG().fit(np.zeros((2, 16, 16)))
    transformer._check_loaded()
    setattr(transformer, name, value)
    with pytest.raises(ValueError, match=r"must be|does not match|needs"):
        transformer._check_loaded()
