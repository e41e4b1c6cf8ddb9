"""Images as they are given to a detector."""

from pathlib import Path

import numpy as np
import pytest

from mercer import InputError
from mercer.detection.sources import checked_boxes, read


def test_floats_are_rounded_to_bytes():
    image = np.array([[0.0, 0.4], [254.6, 255.0]])
    np.testing.assert_array_equal(read(image, 0), np.array([[0, 0], [255, 255]], np.uint8))
    np.testing.assert_array_equal(read(np.eye(2), 0), np.eye(2, dtype=np.uint8))


@pytest.mark.parametrize("values", [[-1.0, 3.0], [0.0, 300.0], [0.0, 0.5], [0.25, 1.0]])
def test_other_ranges_are_refused_with_the_number_of_the_image(values):
    with pytest.raises(InputError, match=rf"image 7 has values from {values[0]:g} to {values[1]:g}\. Scale them"):
        read(np.array([values]), 7)


@pytest.mark.parametrize(
    ("images", "boxes"), [("photo.png", [[]]), (Path("photo.png"), [[]]), ([np.eye(2)], None), (b"bytes", [[]] * 5)]
)
def test_images_and_boxes_are_lists(images, boxes):
    with pytest.raises(InputError, match="needs a list of images and a list of the boxes of each, got"):
        checked_boxes(images, boxes)
