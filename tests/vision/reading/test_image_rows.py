"""Transformers that describe each image by itself: forms of input, threads, files, scikit-learn's rules."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import InputError, KernelClassifier
from mercer.vision import CENTRIST, ColorHistogram, centrist, color_histogram

CASES = {
    "centrist": (CENTRIST((2, 3)), lambda image: centrist(image, (2, 3))),
    "colours": (
        ColorHistogram(3, space="hsv", grid=(2, 1)),
        lambda image: color_histogram(image, 3, space="hsv", grid=(2, 1)),
    ),
}


@pytest.fixture
def images(rng):
    """Images of different sizes, gray ones among them."""
    shapes = [(20, 31, 3), (44, 12, 3), (25, 25)] * 7
    return [rng.integers(0, 256, shape, dtype=np.uint8) for shape in shapes]


@pytest.mark.parametrize(("transformer", "function"), CASES.values(), ids=CASES)
def test_rows_are_those_of_the_function_in_every_form_of_input(transformer, function, images, tmp_path):
    from PIL import Image

    want = np.stack([function(image).ravel() for image in images])
    paths = [tmp_path / f"{i}.png" for i in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    objects = np.empty(len(images), dtype=object)
    objects[:] = images
    for form in (images, tuple(images), objects, paths, [str(path) for path in paths], np.array(list(map(str, paths)))):
        rows = transformer.fit_transform(form)
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, want)
    assert transformer.grid_shape_ == function(images[0]).shape
    assert len(transformer.get_feature_names_out()) == want.shape[1]


@pytest.mark.parametrize(("transformer", "function"), CASES.values(), ids=CASES)
def test_stacks_and_flat_rows_are_images_of_one_size(transformer, function, rng):
    stack = rng.integers(0, 256, (5, 20, 31, 3), dtype=np.uint8)
    want = np.stack([function(image).ravel() for image in stack])
    np.testing.assert_array_equal(transformer.fit_transform(stack), want)
    flat = clone(transformer).set_params(image_shape=(20, 31, 3)).fit(stack.reshape(5, -1))
    np.testing.assert_array_equal(flat.transform(stack.reshape(5, -1)), want)
    with pytest.raises(ValueError, match="1860 features"):
        flat.transform(np.zeros((2, 64)))


@pytest.mark.parametrize(("transformer", "function"), CASES.values(), ids=CASES)
def test_threads_do_not_change_features(transformer, function, images):
    few, many = (clone(transformer).set_params(n_jobs=n).fit_transform(images) for n in (1, 3))
    np.testing.assert_array_equal(few, many)


@pytest.mark.parametrize(("transformer", "function"), CASES.values(), ids=CASES)
def test_a_saved_transformer_gives_the_same_rows(transformer, function, images, tmp_path):
    mercer.save(transformer.fit(images), tmp_path / "t.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "t.mercer").transform(images), transformer.transform(images))
    transformer = clone(transformer).fit(images)
    transformer._check_loaded()
    transformer.grid_shape_ = (2, 3, 4)
    with pytest.raises(ValueError, match="does not belong"):
        transformer._check_loaded()


def test_they_stand_in_pipelines_in_front_of_learners(rng):
    """Reddish and bluish noise, of different sizes."""
    labels = np.arange(60) % 2
    images = [
        np.clip(rng.normal([0.4 + 0.2 * label, 0.4, 0.6 - 0.2 * label], 0.2, (20 + i, 30, 3)), 0, 1)
        for i, label in enumerate(labels)
    ]
    model = make_pipeline(ColorHistogram(space="opponent"), MinMaxScaler(), KernelClassifier("chi2"))
    assert model.fit(images[:40], labels[:40]).score(images[40:], labels[40:]) > 0.9


class AnyRow(CENTRIST):
    """CENTRIST of rows of any width, which scikit-learn's checks give: each is seen as an image of five such rows."""

    def _shape_of_rows(self, n_values):
        return 1, n_values

    def _fill(self, image, features, who):
        super()._fill(np.tile(image, (5, 3)), features, who)


class AnyColours(ColorHistogram):
    """Colors of such rows, squeezed between 0 and 1."""

    def _shape_of_rows(self, n_values):
        return 1, n_values

    def _fill(self, image, features, who):
        super()._fill(1 / (1 + np.exp(-image)), features, who)


@parametrize_with_checks([AnyRow(), AnyColours()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("transformer", "X", "words"),
    [
        (CENTRIST(), [], "needs at least one image"),
        (CENTRIST(), np.zeros((3, 64)), "cannot infer the shape of images from rows of 64 values"),
        (CENTRIST(image_shape=(8, 9)), np.zeros((3, 64)), r"rows of 72 values for images of shape \(8, 9\), got 64"),
        (CENTRIST(image_shape=8), np.zeros((3, 64)), "image_shape=8"),
        (CENTRIST(), "photo.jpg", "Put it into a list"),
        (CENTRIST(), [np.zeros((8, 8)), np.zeros((8, 8, 4))], "image 1"),
        (CENTRIST(), [np.zeros((8, 8)), np.full((8, 8), np.nan)], "image 1"),
        (CENTRIST((4, 4)), [np.zeros((20, 20)), np.zeros((8, 8))], r"CENTRIST \(image 1\) needs at least 3 x 3"),
        (ColorHistogram(), ["nowhere.png"], "nowhere.png"),
    ],
)
def test_what_is_no_image_is_refused_by_its_place_or_name(transformer, X, words):
    with pytest.raises(ValueError, match=words):
        transformer.fit(X).transform(X)


@pytest.mark.parametrize("parameters", [{"grid": (2, 2)}, {"grid": (0, 2)}])
def test_parameters_that_changed_after_the_fit_are_refused(parameters):
    transformer = CENTRIST().fit([np.zeros((9, 9))]).set_params(**parameters)
    with pytest.raises(InputError, match=r"Call fit again|two integers"):
        transformer.transform([np.zeros((9, 9))])
