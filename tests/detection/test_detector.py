"""PartDetector: it finds what it has learned, survives a file, and names what is wrong with its input."""

import copy

import numpy as np
import pytest
from PIL import Image

import mercer
from mercer import InputError
from mercer.detection import PartDetector
from mercer.vision import read_image
from tests.detection.scenes import scenes
from tests.detection.training.test_latent import QUICK


@pytest.fixture(scope="module")
def detector():
    return PartDetector(**QUICK).fit(*scenes(0))


def test_objects_are_found_with_their_parts(detector):
    images, boxes = scenes(1)
    report = detector.evaluate(images, boxes)
    assert report.ap > 0.8
    assert report.n_objects == 10
    assert report.n_images == 15
    found = detector.detect(images[0])
    assert found.parts.shape == (len(found), 2, 4)
    assert (np.diff(found.scores) <= 0).all()


def test_no_other_threshold_than_zero_has_a_larger_f1_on_the_training_images(detector):
    report = detector.evaluate(*scenes(0))
    f1 = 2 * report.recall * report.precision / (report.recall + report.precision + 1e-12)
    n_found = int((report.scores > 0).sum())
    assert n_found
    assert f1[n_found - 1] == f1.max()


def test_the_threshold_is_the_best_one_for_images_that_a_second_training_has_not_seen(detector):
    images, boxes = scenes(0)
    held = [2, 7, 12]  # every fifth image of each kind
    rest = [i for i in range(15) if i not in held]
    assert detector.history_[-1]["step"] == "threshold"
    assert detector.history_[-1]["images"] == len(held)
    assert detector.threshold_ != 0
    report = (
        PartDetector(**QUICK, threshold=0)
        .fit([images[i] for i in rest], [boxes[i] for i in rest])
        .evaluate([images[i] for i in held], [boxes[i] for i in held])
    )
    assert detector.threshold_ == pytest.approx(report.best_threshold, abs=0.5)  # but for the words of cells
    strict = copy.copy(detector)
    strict.threshold_ = float(detector.detect(images[0]).scores[0])
    assert len(detector.detect(images[0])) > len(strict.detect(images[0])) == 0
    fixed = PartDetector(**QUICK, threshold=-0.25).fit(images, boxes)
    assert fixed.threshold_ == -0.25
    for one, other in ((fixed.biases_, detector.biases_), (fixed.roots_[0], detector.roots_[0])):
        np.testing.assert_array_equal(one, other)  # the model itself is learned from all images either way
    few = PartDetector(**QUICK).fit([images[i] for i in (*rest[:4], 13)], [boxes[i] for i in (*rest[:4], 13)])
    assert few.threshold_ == 0


def test_a_detector_that_was_saved_before_it_had_a_threshold_takes_zero(detector, tmp_path):
    old = copy.copy(detector)
    del old.threshold_
    mercer.save(old, tmp_path / "old.mercer")
    loaded, image = mercer.load(tmp_path / "old.mercer"), scenes(1)[0][0]
    np.testing.assert_array_equal(loaded.detect(image).scores, detector.detect(image, 0).scores)


def test_a_mirrored_image_has_mirrored_detections(detector):
    image = scenes(2)[0][0]
    straight, turned = detector.detect(image, -1), detector.detect(image[:, ::-1], -1)
    np.testing.assert_allclose(128 - turned.boxes[:, [2, 0]], straight.boxes[:, [0, 2]], atol=1e-9)
    np.testing.assert_allclose(turned.scores, straight.scores, atol=1e-4)
    np.testing.assert_array_equal(turned.components, straight.components ^ 1)


@pytest.mark.parametrize(
    "parameters",
    [{"codewords": None, "storage": "bytes"}, {"mirrored": False, "n_parts": 0}, {"n_components": 1, "n_parts": 0}],
)
def test_other_storages_and_single_components_learn_too(parameters, tmp_path):
    made = PartDetector(**{**QUICK, **parameters}, cache=tmp_path / "cells").fit(*scenes(0))
    assert made.evaluate(*scenes(1)).ap > 0.6
    assert (tmp_path / "cells" / "cells.bin").stat().st_size > 0


def test_a_saved_detector_finds_the_same(detector, tmp_path):
    mercer.save(detector, tmp_path / "d.mercer")
    loaded, image = mercer.load(tmp_path / "d.mercer"), scenes(1)[0][0]
    for name in ("boxes", "scores", "components", "parts"):
        one, other = (getattr(model.detect(image, -1), name) for model in (detector, loaded))
        np.testing.assert_array_equal(one, other)


def test_models_detections_and_curves_can_be_drawn(detector, tmp_path):
    images, boxes = scenes(1)
    detector.plot_model().savefig(tmp_path / "model.png")
    detector.detect(images[0]).plot(images[0]).figure.savefig(tmp_path / "found.png")
    detector.evaluate(images[:3], boxes[:3]).plot().figure.savefig(tmp_path / "curve.png")
    for name in ("model", "found", "curve"):
        assert read_image(tmp_path / f"{name}.png").std() > 5


BOXES = {
    "of no area": ([[5, 5, 5, 9]], "xmin < xmax"),
    "outside": ([[50, 50, 140, 90]], "inside their images"),
    "of three numbers": ([[1, 2, 3]], "shape"),
    "not finite": ([[1, 2, np.nan, 4]], "xmin < xmax"),
}


@pytest.mark.parametrize(("bad", "words"), BOXES.values(), ids=BOXES)
def test_wrong_boxes_are_refused_with_the_name_of_the_file(bad, words, tmp_path):
    images, boxes = scenes(0)
    Image.fromarray(images[3]).save(tmp_path / "third.png")
    images[3], boxes[3] = tmp_path / "third.png", bad
    with pytest.raises(InputError, match=words) as error:
        PartDetector(**QUICK).fit(images, boxes)
    assert "third.png" in str(error.value)


def test_images_that_cannot_be_used_are_named(detector, tmp_path):
    images, boxes = scenes(0)
    for bad, words in (("missing.png", "missing.png"), (np.zeros((20, 20), np.uint8), "image 0.*root filter needs")):
        with pytest.raises(InputError, match=words):
            PartDetector(**QUICK).fit([bad, *images[1:]], [np.empty((0, 4)), *boxes[1:]])
    with pytest.raises(InputError, match="root filter needs"):
        detector.detect(np.zeros((20, 20), np.uint8))
    with pytest.raises(InputError, match="from 0 to 255"):
        detector.detect(np.full((200, 200), 1000.0))


@pytest.mark.parametrize(
    "wrong", [{"threshold": "a"}, {"threshold": np.nan}, {"max_detections": 0}, {"max_detections": 1.5}]
)
def test_what_detect_is_asked_is_checked(detector, wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"PartDetector.detect: `{name}` must be .*; got "):
        detector.detect(np.zeros((200, 200), np.uint8), **wrong)


def test_images_of_one_kind_only_are_refused():
    images, boxes = scenes(0)
    with pytest.raises(InputError, match="needs images without objects"):
        PartDetector(**QUICK).fit(images[:10], boxes[:10])
    with pytest.raises(InputError, match="none of the images has a box"):
        PartDetector(**QUICK).fit(images[10:], boxes[10:])
    with pytest.raises(InputError, match="15 images and 3"):
        PartDetector(**QUICK).fit(images, boxes[:3])


@pytest.mark.parametrize(
    "wrong",
    [{"n_components": 3}, {"n_parts": -1}, {"codewords": 255}, {"storage": "packed"}, {"kernel": "chi2"},
     {"C": 0}, {"max_overlap": 2}, {"interval": 1.5}, {"threshold": "best"}, {"threshold": np.nan}],
)  # fmt: skip
def test_parameters_are_checked_before_any_work(wrong):
    with pytest.raises(InputError, match=f"PartDetector.*{next(iter(wrong))}"):
        PartDetector(**{**QUICK, **wrong}).fit([], [])
