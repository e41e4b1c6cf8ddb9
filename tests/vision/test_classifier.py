"""ImageClassifier: what its parts make together, which images it refuses, and whether its explanations add up."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import mercer
from mercer import ConvexReduction, InputError, KernelClassifier
from mercer.vision import (
    BagOfWords,
    DenseSIFT,
    Downscaled,
    FisherVectors,
    ImageClassifier,
    SkippedImagesWarning,
)
from mercer.vision.making import new_encoder
from mercer.vision.reading.batches import as_pictures
from tests.vision.patches import Patches
from tests.vision.textures import textures, write_folder

PYRAMID = ((1, 1), (2, 2), (3, 1))
SIFT = DenseSIFT(sizes=(4,))


def bags(**parameters):
    return BagOfWords(SIFT, **{"n_words": 15, "n_jobs": 1, **parameters})


def fisher(**parameters):
    return FisherVectors(SIFT, n_words=2, n_components=8, n_jobs=1, **parameters)


def model(encoder=None, kernel=None, **parameters):
    return ImageClassifier(encoder or bags(), kernel, **{"C": 10.0, "random_state": 0, "n_jobs": 1, **parameters})


@pytest.fixture(scope="module")
def scene():
    return textures(np.random.default_rng(5))


# -------------------------------------------------------------------------------------------------- what it consists of


@pytest.mark.parametrize("way", ["ovr", "ovo"])
def test_the_report_of_a_training_judges_classifiers_of_the_same_kind(scene, way):
    images, kinds = scene
    found = model(multi_class=way, cv=3, class_weight="balanced")
    report = found.fit_report(images, kinds)
    learner = KernelClassifier("chi2", C=10.0, multi_class=way, class_weight="balanced", random_state=0)
    rows = found.encode(images).features
    expected = cross_val_predict(learner, rows, kinds, cv=3, method="decision_function")
    np.testing.assert_allclose(report.scores, expected)
    np.testing.assert_array_equal(report.predicted, found.classes_[expected.argmax(axis=1)])
    assert report.figures["accuracy"] == (report.predicted == kinds).mean()
    assert report.n_folds == 3
    np.testing.assert_array_equal(found.predict(images), clone(found).fit(images, kinds).predict(images))


def test_mistakes_and_successes_of_a_report_come_with_the_surest_first(scene):
    images, kinds = scene
    report = replace(model(cv=2).fit_report(images, kinds), predicted=np.full(len(kinds), np.unique(kinds)[0]))
    wrong, truth = report.mistakes(), np.searchsorted(np.unique(kinds), kinds)
    assert set(wrong) == set(np.flatnonzero(kinds != report.predicted))
    margins = report.scores.max(axis=1) - report.scores[np.arange(len(kinds)), truth]
    assert (np.diff(margins[wrong]) <= 0).all()
    assert [kinds[i] for i in report.surest(5)] == [np.unique(kinds)[0]]


@pytest.mark.parametrize("reduce", [None, 6])
def test_it_is_encoder_reduction_and_learner_one_after_the_other(scene, reduce):
    images, kinds = scene
    found = model(reduce=reduce).fit(images[:18], kinds[:18])
    encoder = bags(random_state=0).fit(images[:18])
    rows, others = encoder.transform(images[:18]), encoder.transform(images[18:])
    if reduce:
        reduction = ConvexReduction("chi2", n_dims=6, random_state=0).fit(rows)
        rows, others = reduction.transform(rows), reduction.transform(others)
        assert found.classifier_.n_features_in_ == 6
    learner = KernelClassifier("chi2", C=10.0, random_state=0).fit(rows, kinds[:18])
    np.testing.assert_array_equal(found.decision_function(images[18:]), learner.decision_function(others))
    np.testing.assert_array_equal(found.predict(images[18:]), learner.predict(others))
    assert found.score(images[18:], kinds[18:]) == 1
    assert found.classes_.tolist() == ["checks", "slopes", "stripes"]


def test_fisher_vectors_are_reduced_to_selected_words(scene, tmp_path):
    images, kinds = scene
    broken = tmp_path / "broken.png"
    broken.touch()
    encoder = fisher(random_state=0).set_params(n_words=6, power=1.0)
    with pytest.warns(SkippedImagesWarning):
        found = model(encoder, "chi2", reduce=3, strict=False).fit([*images[:18], broken], [*kinds[:18], "checks"])
    full = encoder.fit(images[:18])
    selection = ConvexReduction(n_dims=3, method="convex", random_state=0).fit(full.word_shares(images[:18]))
    chosen = full.restrict(selection.selected_)
    assert found.encoder_.n_words == 3
    assert found.reduction_ is None
    np.testing.assert_allclose(found.encoder_.transform(images[18:]), chosen.transform(images[18:]), atol=1e-6)
    rows = chosen.transform(images[:18])
    learner = KernelClassifier(mercer.Chi2(signed=True), C=10.0, random_state=0).fit(rows, kinds[:18])
    np.testing.assert_array_equal(found.predict(images[18:]), learner.predict(chosen.transform(images[18:])))


def test_c_is_chosen_by_cross_validation_with_as_many_parts_as_there_can_be(scene):
    images, kinds = scene
    found = model(C="auto", cv=5).fit(images[:9], kinds[:9])  # three of each kind
    assert found.classifier_.scores_.shape[0] == 3
    with pytest.raises(InputError, match=f"at least two images per class; class {min(kinds[1:3])} has only one"):
        model(C="auto").fit(images[:4], kinds[:4])
    with pytest.raises(InputError, match="needs images of at least two classes; got none"):
        model().fit([], [])


def test_names_stand_for_encoders_with_moderate_images():
    made = new_encoder(ImageClassifier("bow", cache="rows"), 3)
    assert isinstance(made, BagOfWords)
    assert (made.n_words, made.cache, made.random_state) == (1000, "rows", 3)
    assert isinstance(made.descriptor, Downscaled)
    assert isinstance(new_encoder(ImageClassifier("fisher"), 0), FisherVectors)


def test_the_kernel_between_fisher_vectors_is_linear_or_signed(scene):
    images, kinds = scene
    for kernel, expected in ((None, "Linear()"), ("chi2", "Chi2(signed=True)")):
        found = model(fisher(), kernel).fit(images, kinds)
        assert repr(found.classifier_.map_.kernel_) == expected
        assert found.score(images, kinds) == 1


def test_probabilities_are_there_if_asked_for(scene):
    images, kinds = scene
    assert not hasattr(model(), "predict_proba")
    shares = model(probability=True).fit(images, kinds).predict_proba(images[:5])
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_threads_and_a_generator_as_seed(scene):
    images, kinds = scene
    one, two = (
        model(bags(n_jobs=None), n_jobs=n, random_state=np.random.RandomState(4)).fit(images, kinds) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.decision_function(images), two.decision_function(images))


@pytest.mark.parametrize(
    "parameters",
    [
        {"reduce": 5},
        {"C": "auto", "cv": 2},
        {"encoder": fisher(), "reduce": 1},
        {"encoder": BagOfWords(Downscaled(SIFT, 40), 9)},
    ],
)
def test_a_saved_model_is_the_same_model(scene, tmp_path, parameters):
    images, kinds = scene
    found = model(**parameters).fit(images, kinds)
    mercer.save(found, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.decision_function(images), found.decision_function(images))
    np.testing.assert_array_equal(again.explain(images[0]).patches, found.explain(images[0]).patches)


def test_parts_that_do_not_belong_together_are_not_loaded(scene, tmp_path):
    images, kinds = scene
    found, other = model().fit(images, kinds), model(bags(n_words=9)).fit(images, kinds)
    found.classifier_ = other.classifier_
    mercer.save(found, tmp_path / "m.mercer")
    with pytest.raises(mercer.ModelFileError, match="takes rows of 9 columns, not 15"):
        mercer.load(tmp_path / "m.mercer")


class AnyRows(BagOfWords):
    """Bags of words of rows of any width, which scikit-learn's checks give: each is seen as an image of some rows."""

    def _pictures(self, images, reset):
        X = validate_data(self, images, reset=reset, dtype=np.float64)
        return as_pictures([np.tile(row, (4, 4))[:4] for row in X], "BagOfWords")


class RowClassifier(ImageClassifier):
    """A classifier of such rows."""

    def _fit_encoder(self, images, y):
        images, y = validate_data(self, images, y, dtype=np.float64)
        return super()._fit_encoder(images, y)

    def encode(self, images):
        validate_data(self, images, reset=False, dtype=np.float64)
        return super().encode(images)


@parametrize_with_checks([RowClassifier(AnyRows(Patches(2), 3), C=10.0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------------------------------- images that are bad


def test_images_that_cannot_be_read_are_skipped_by_name_or_refused(tmp_path, rng):
    paths = [*sorted(write_folder(tmp_path / "f", rng, 12).rglob("*.png")), tmp_path / "broken.png"]
    kinds = [*(path.parent.name for path in paths[:-1]), "checks"]
    paths[-1].write_bytes(b"no image")
    every = bags(n_words=9, n_samples=10**6)  # words of all patches, whatever the number of images
    with pytest.raises(InputError, match=r"broken\.png"):
        model(every).fit(paths, kinds)
    with pytest.warns(SkippedImagesWarning, match=r"ImageClassifier skipped 1 of 13 .*broken\.png") as caught:
        found = model(every, strict=False).fit(paths, kinds)
    assert len(caught) == 1
    assert list(found.skipped_) == [12]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = model(every).fit(paths[:12], kinds[:12])
    np.testing.assert_array_equal(found.decision_function(paths[:12]), same.decision_function(paths[:12]))
    with pytest.raises(InputError, match=r"cannot read 1 of the images.*broken\.png"):
        found.predict(paths)
    assert found.encode(paths).kept.tolist() == 12 * [True] + [False]


def test_a_class_without_a_readable_image_is_refused(scene, tmp_path):
    images, kinds = scene
    (tmp_path / "x.png").touch()
    with pytest.raises(InputError, match=r"no image of class lost can be read.*x\.png"):
        model(strict=False).fit([*images, tmp_path / "x.png"], [*kinds, "lost"])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"encoder": "words"}, "`encoder` must be 'bow', 'fisher', or an encoder such as .*; got 'words'"),
        ({"encoder": fisher(), "reduce": 5}, "has 2 words, got reduce=5"),
        ({"reduce": 16}, "has 15 columns, got reduce=16"),
        ({"kernel": "rbf", "reduce": 5}, "only with an additive kernel"),
        ({"reduce": 0}, "`reduce` must be an integer >= 1, or None; got 0"),
        ({"C": -1.0}, "`C` must be a number > 0, or 'auto'; got -1"),
        ({"cv": 1}, "`cv` must be an integer >= 2; got 1"),
        ({"strict": 3}, "`strict` must be True or False; got 3"),
        ({"multi_class": "all"}, "`multi_class` must be one of 'auto', 'ovr', 'ovo'; got 'all'"),
    ],
)
def test_wrong_parameters_are_refused(scene, parameters, words):
    with pytest.raises(InputError, match=words):
        model(**parameters).fit(*scene)


def test_wrong_labels_are_refused(scene):
    images, kinds = scene
    with pytest.raises(InputError, match="24 images and 3 classes"):
        model().fit(images, kinds[:3])
    with pytest.raises(InputError, match="all 24 images are of one class, checks"):
        model().fit(images, ["checks"] * 24)


# -------------------------------------------------------------------------------------------------- large images


def test_large_images_are_described_smaller_and_patches_stay_where_they_are(rng):
    image = np.zeros((300, 400), dtype=np.uint8)
    image[200:, 120:] = rng.integers(256, size=(100, 280))
    small = Downscaled(DenseSIFT(step=4, sizes=(4,)), max_side=100).describe(image)
    same = DenseSIFT(step=4, sizes=(4,)).describe(mercer.vision.resize(image, (75, 100)))
    np.testing.assert_array_equal(small.values, same.values)
    assert small.shape == (300, 400)
    np.testing.assert_allclose(small.frames[:, :2] / 4, same.frames[:, :2] + 0.375)  # (x + 1/2) 4 = 4 x + 2
    x, y, size = small.frames.T
    assert (size == 16).all()
    assert x.min() >= 120 - 48  # patches with contrast, at most half a patch and the smoothing away from it
    assert y.min() >= 200 - 48


def test_images_of_moderate_size_are_described_as_they_are(scene):
    images, _ = scene
    found, same = Downscaled(SIFT, max_side=52).describe(images[0]), SIFT.describe(images[0])
    np.testing.assert_array_equal(found.values, same.values)
    np.testing.assert_array_equal(found.frames, same.frames)
    with pytest.raises(InputError, match="max_side"):
        Downscaled(SIFT, max_side=0).describe(images[0])


# -------------------------------------------------------------------------------------------------- explanations


@pytest.mark.parametrize("kernel", ["chi2", "intersection", "linear"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"pyramid": PYRAMID, "n_nearest": 3}, {"normalize": "l2", "pyramid": PYRAMID}, {"normalize": None},
     {"reduce": 5}, {"reduce": 20, "pyramid": PYRAMID, "n_nearest": 2}],
)  # fmt: skip
def test_the_contributions_of_patches_and_the_constant_are_the_score(scene, kernel, parameters):
    images, kinds = scene
    reduce = parameters.get("reduce")
    encoder = bags(**{name: value for name, value in parameters.items() if name != "reduce"})
    # scores of a class: those of its own column, or means over its pairs
    multi_class = "ovr" if reduce or parameters.get("n_nearest") else "ovo"
    found = model(encoder, kernel, reduce=reduce, multi_class=multi_class).fit(images, kinds)
    learner = found.classifier_
    assert learner.multi_class_ == multi_class
    for image in images[:4]:
        scores = learner.columns_.by_class(learner.predictor_(found.encode([image]).features) + learner.intercept_)[0]
        for label, score in zip(found.classes_, scores, strict=True):
            said = found.explain(image, label)
            assert said.measure == "additive"
            assert said.score == pytest.approx(score, abs=1e-6)
            # the row is float32, whose sums over a group of columns are taken in another order
            assert said.patches.sum() + said.intercept == pytest.approx(score, abs=1e-5)
            assert said.words.sum() + said.intercept == pytest.approx(score, abs=1e-5)
            assert said.heat().sum() == pytest.approx(said.patches.sum(), abs=1e-9)


def test_a_patch_has_the_function_of_its_word_over_the_patches_with_that_word(scene):
    images, kinds = scene
    found = model().fit(images, kinds)
    said, row = found.explain(images[0], "slopes"), found.encode(images[:1]).features[0]
    for word in np.unique(said.word_of_patch):
        alone = np.zeros((1, len(row)), dtype=np.float32)
        alone[0, word] = row[word]
        learner = found.classifier_
        change = learner.columns_.by_class(learner.predictor_(alone) - learner.predictor_(0 * alone))[0, 1]
        which = said.word_of_patch == word
        np.testing.assert_allclose(said.patches[which], change / which.sum(), atol=1e-7)
        assert said.words[word] == pytest.approx(change, abs=1e-6)


def test_of_two_classes_one_speaks_against_the_other(scene):
    images, kinds = scene
    two = kinds != "checks"
    some = [image for image, wanted in zip(images, two, strict=True) if wanted]
    found = model().fit(some, kinds[two])
    first, second = (found.explain(some[0], label) for label in found.classes_)
    assert second.score == pytest.approx(found.decision_function(some[:1])[0])
    assert first.score == -second.score
    np.testing.assert_allclose(first.patches, -second.patches)
    assert found.explain(some[0]).label == found.explain(some[0]).predicted == found.predict(some[:1])[0]


@pytest.mark.parametrize(("encoder", "kernel"), [(fisher(pyramid=((1, 1), (1, 2))), None), (bags(), "rbf")])
def test_what_is_no_sum_is_explained_by_leaving_parts_out(scene, encoder, kernel):
    images, kinds = scene
    found = model(encoder, kernel).fit(images, kinds)
    said = found.explain(images[1])
    assert said.measure == "occlusion"
    learner = found.classifier_

    def score(descriptors):
        row = found.encoder_.encode_image(descriptors, found.encoder_.prepared())[None]
        place = found.classes_.tolist().index(said.label)
        return learner.columns_.by_class(learner.predictor_(row) + learner.intercept_)[0, place]

    everything = SIFT.describe(images[1])
    side = max(everything.shape) / 8
    in_part = ((everything.frames[:, :2] + 0.5) // side == [3, 3]).all(axis=1)
    assert 0 < in_part.sum() < len(in_part)
    rest = type(everything)(everything.values[~in_part], everything.frames[~in_part], everything.shape)
    assert said.patches[in_part].sum() == pytest.approx(score(everything) - score(rest), abs=1e-6)
    if kernel is None:  # the columns of words still add up
        assert said.words.sum() + said.intercept == pytest.approx(said.score, abs=1e-5)


def test_the_patches_that_differ_are_those_that_speak(rng):
    stripes = np.sin(np.arange(64) / 1.5) * np.ones((64, 1))
    noise = lambda: rng.normal(0, 0.5, (64, 64))  # noqa: E731
    images = [np.clip(127 + 80 * (stripes + 0.2 * noise() if i % 2 else noise()), 0, 255) for i in range(20)]
    images = [image.astype(np.uint8) for image in images]
    found = model(bags(n_words=20)).fit(images, ["noise", "stripes"] * 10)
    half = images[1].copy()
    half[:, :32] = images[0][:, :32]
    heat = found.explain(half, "stripes").heat()
    assert heat[:, 36:].sum() > 0 > heat[:, :28].sum()


def test_the_picture_of_an_explanation_is_drawn_for_any_image(scene, tmp_path):
    images, kinds = scene
    found = model().fit(images, kinds)
    colours = np.repeat(images[2][:, :, None], 3, axis=2)
    for image in (images[0], colours, images[1] / 255):
        found.explain(image, "checks").plot(tmp_path / "why.png")
        with Image.open(tmp_path / "why.png") as picture:
            assert picture.width > 1000
    with pytest.raises(InputError, match=r"no class cats to explain\. Classes: checks"):
        found.explain(images[0], "cats")


def test_a_clone_has_the_parameters_and_nothing_learnt(scene):
    found = model(reduce=5).fit(*scene)
    again = clone(found)
    assert again.reduce == 5
    assert not hasattr(again, "encoder_")
