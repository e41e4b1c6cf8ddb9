"""A descriptor simple enough to be followed by hand, and images for it."""

import numpy as np
from sklearn.base import BaseEstimator

from mercer import InputError
from mercer.vision import Descriptors


class Patches(BaseEstimator):
    """Squares of ``side`` pixels, side by side, as rows of their gray values."""

    def __init__(self, side=4, offset=0.0):
        self.side = side
        self.offset = offset

    def describe(self, image):
        image = np.asarray(image, dtype=np.float32)
        if image.ndim == 3:
            image = image.mean(axis=2)
        if image.max() > 1e6:
            raise InputError("Patches needs values up to 1e6.")
        side, (height, width) = self.side, image.shape
        rows, columns = height // side, width // side
        cut = image[: rows * side, : columns * side].reshape(rows, side, columns, side).swapaxes(1, 2)
        y, x = np.divmod(np.arange(rows * columns), columns)
        centre = (side - 1) / 2
        frames = np.stack([side * x + centre, side * y + centre, np.full(len(x), side)], axis=1).astype(np.float32)
        return Descriptors(cut.reshape(-1, side * side) + np.float32(self.offset), frames, (height, width))


def pictures(rng, n=12, height=40, width=48):
    """Smooth patterns with noise, of sizes that differ a little."""
    found = []
    for i in range(n):
        y, x = np.mgrid[: height + 4 * (i % 3), : width - 4 * (i % 2)]
        waves = np.sin(x / (2 + i % 4)) + np.cos(y / (3 + i % 5))
        found.append(np.clip(127 + 50 * waves + rng.normal(0, 8, x.shape), 0, 255).astype(np.uint8))
    return found
