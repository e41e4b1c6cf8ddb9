"""What a detector is given: images from files or arrays, and boxes, checked once and named in errors."""

__all__ = ["checked_boxes", "name_of", "read"]

import os

import numpy as np

from mercer._base.errors import InputError
from mercer.vision.reading.checks import as_image
from mercer.vision.reading.images import read_image

OUTSIDE = 1.0  # pixels by which a box may reach over the border: annotations count pixels from 0 or from 1


def name_of(source, number):
    """What errors call an image: its path, or its number."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return f"image {number}"


def read(source, number):
    """An image as bytes (H, W, 3) or (H, W), from a path, the bytes of a file or an array."""
    if isinstance(source, str | os.PathLike | bytes | bytearray | memoryview):
        return read_image(source)
    image = as_image(source, f"PartDetector, {name_of(source, number)}:")
    if image.dtype != np.uint8:
        low, high = float(image.min()), float(image.max())
        is_share = high <= 1 and not np.array_equal(image, np.rint(image))  # 1 for white, as other programs have it
        if low < 0 or high > 255 or is_share:
            raise InputError(
                f"PartDetector needs images of values from 0 to 255, but {name_of(source, number)} has values from "
                f"{low:g} to {high:g}. Scale them."
            )
        image = np.rint(image).astype(np.uint8)
    return image


def checked_boxes(images, boxes):
    """Boxes as a list of float64 arrays (n, 4), one per image."""
    if isinstance(images, str | bytes) or not (hasattr(images, "__len__") and hasattr(boxes, "__len__")):
        raise InputError(
            f"PartDetector needs a list of images and a list of the boxes of each, got {type(images).__name__} and "
            f"{type(boxes).__name__}."
        )
    if len(images) != len(boxes):
        raise InputError(
            f"PartDetector needs boxes for every image, none for images without objects; got {len(images)} images and "
            f"{len(boxes)} lists of boxes."
        )
    return [_checked(own, name_of(image, i)) for i, (image, own) in enumerate(zip(images, boxes, strict=True))]


def _checked(boxes, name):
    if boxes is None or len(boxes) == 0:
        return np.empty((0, 4))
    try:
        boxes = np.asarray(boxes, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"PartDetector needs boxes of four numbers, but those of {name} are {boxes!r}.") from None
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InputError(
            f"PartDetector needs boxes of shape (n, 4), xmin ymin xmax ymax; those of {name}: {boxes.shape}."
        )
    for box in boxes:
        if not np.isfinite(box).all() or box[2] <= box[0] or box[3] <= box[1]:
            raise InputError(
                f"PartDetector needs boxes with xmin < xmax and ymin < ymax, but {name} has the box {_said(box)}. "
                "Correct or remove it."
            )
    return boxes


def check_inside(boxes, shape, name):
    """Raise for a box that reaches over the border of its image."""
    height, width = shape[:2]
    for box in boxes:
        if min(box[:2]) < -OUTSIDE or box[2] > width + OUTSIDE or box[3] > height + OUTSIDE:
            raise InputError(
                f"PartDetector needs boxes inside their images, but {name} has {width} x {height} pixels and the box "
                f"{_said(box)}. Correct or remove it."
            )


def _said(box):
    return " ".join(f"{value:g}" for value in box)
