"""Colors as gray values and as points of other color spaces.

RGB is that of sRGB screens throughout. Bytes have 255 for white, floats 1.
"""

__all__ = ["SPACES", "to_gray", "to_space"]

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LUMA = (0.299, 0.587, 0.114)  # ITU-R 601
LUMA_BYTES = (19595, 38470, 7471)  # the same times 2^16, as Pillow rounds them
# Linear RGB to XYZ of IEC 61966-2-1; the sums of rows are XYZ of white.
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


@dataclass(frozen=True)
class Space:
    """A color space: how colors (H, W, 3) of RGB from 0 to 1 get there, and the ends of its three channels."""

    convert: Callable
    low: tuple
    high: tuple


def to_gray(image):
    """A checked image as gray values: uint8 for bytes, the same as Pillow's; floats of the same type for floats."""
    if image.ndim == 2:
        return image
    if image.dtype == np.uint8:
        red, green, blue = (image[..., c].astype(np.uint32) * LUMA_BYTES[c] for c in range(3))
        return ((red + green + blue + 0x8000) >> 16).astype(np.uint8)
    red, green, blue = (image[..., c] * image.dtype.type(LUMA[c]) for c in range(3))
    return red + green + blue


def to_space(image, space):
    """A checked image in one of :data:`SPACES`: float64 of shape (H, W, 3). Gray is a color with equal channels."""
    rgb = image / 255.0 if image.dtype == np.uint8 else image.astype(np.float64)
    if rgb.ndim == 2:
        rgb = np.repeat(rgb[..., None], 3, axis=2)
    return SPACES[space].convert(rgb)


def _hsv(rgb):
    """Hue as a part of a full turn, (max - min) / max, max; gray has hue 0, black saturation 0."""
    red, green, blue = np.moveaxis(rgb, 2, 0)
    most, least = rgb.max(axis=2), rgb.min(axis=2)
    spread = most - least
    divisor = np.where(spread > 0, spread, 1)
    hue = np.where(
        most == red,
        (green - blue) / divisor,
        np.where(most == green, (blue - red) / divisor + 2, (red - green) / divisor + 4),
    )
    saturation = spread / np.where(most > 0, most, 1)
    return np.stack([np.where(spread > 0, hue / 6 % 1, 0), saturation, most], axis=2)


def _lab(rgb):
    """CIE L*a*b* with the white point of the screen (D65)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((np.maximum(rgb, 0) + 0.055) / 1.055) ** 2.4)
    relative = linear @ (XYZ / XYZ.sum(axis=1, keepdims=True)).T
    x, y, z = np.moveaxis(
        np.where(relative > (6 / 29) ** 3, np.cbrt(relative), relative * (29 / 6) ** 2 / 3 + 4 / 29), 2, 0
    )
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=2)


def _opponent(rgb):
    """(R - G) / sqrt 2, (R + G - 2 B) / sqrt 6, (R + G + B) / sqrt 3: red against green, yellow against blue, light."""
    red, green, blue = np.moveaxis(rgb, 2, 0)
    return np.stack(
        [(red - green) / np.sqrt(2), (red + green - 2 * blue) / np.sqrt(6), (red + green + blue) / np.sqrt(3)], axis=2
    )


# The ends of a* and b* are those of the colors that RGB has, a little outwards.
SPACES = {
    "rgb": Space(lambda rgb: rgb, (0, 0, 0), (1, 1, 1)),
    "hsv": Space(_hsv, (0, 0, 0), (1, 1, 1)),
    "lab": Space(_lab, (0, -87, -108), (100, 99, 95)),
    "opponent": Space(_opponent, (-(0.5**0.5), -((2 / 3) ** 0.5), 0), (0.5**0.5, (2 / 3) ** 0.5, 3**0.5)),
}
