"""What the functions on images check at their door."""

__all__ = ["as_image", "check_cell_size", "check_image_shape", "check_values", "whole_pair"]

from numbers import Integral

import numpy as np

from mercer._base.errors import InputError
from mercer._base.parameters.vision import CELL_SIZE

LARGEST = 1e30  # its squares and their sums fit into float64, histograms of it into float32


def as_image(image, who):
    """An image as a C-contiguous array of shape (H, W) or (H, W, 3): uint8, float32 or float64; the rest as float64."""
    image = np.asarray(image)
    check_image_shape(image.shape, who)
    if image.dtype.kind not in "buif":
        raise InputError(f"{who} needs an image of real numbers; got type {image.dtype}.")
    if image.dtype not in (np.uint8, np.float32, np.float64):
        image = image.astype(np.float64)
    check_values(image, who)
    return np.ascontiguousarray(image)


def check_image_shape(shape, who):
    """Raise unless the shape is (H, W) or (H, W, 3), without a zero."""
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3):
        raise InputError(
            f"{who} needs an image of shape (height, width) or (height, width, 3), got shape {tuple(shape)}. Drop an "
            "alpha channel and axes of length 1."
        )
    if 0 in shape:
        raise InputError(f"{who} needs an image with pixels, got shape {tuple(shape)}.")


def check_values(values, who):
    """Raise for NaN, infinity and values whose squares would overflow."""
    if values.dtype == np.uint8 or values.size == 0:
        return
    low, high = values.min(), values.max()
    if not (low >= -LARGEST and high <= LARGEST):  # false for NaN too
        worst = low if not low >= -LARGEST else high
        raise InputError(
            f"{who} needs finite values of at most {LARGEST:g} in magnitude, but the image contains {worst:g}. "
            "Replace or scale them."
        )


def check_cell_size(cell_size, who):
    """Raise unless the cell size is an integer >= 1."""
    CELL_SIZE.check(cell_size, who)


def whole_pair(size, who, name="size"):
    """(height, width) as a pair of ints, both >= 1."""
    try:
        height, width = size
    except (TypeError, ValueError):
        height = width = None
    for value in (height, width):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise InputError(f"{who} needs {name} to be two integers (height, width) >= 1; got {name}={size!r}.")
    return int(height), int(width)
