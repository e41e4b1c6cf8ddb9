"""What a local descriptor gives: rows of numbers, where each stands in the image, and how large the image is."""

__all__ = ["Descriptors", "LocalDescriptor", "checked_sizes", "checked_step", "joined"]

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from mercer._base.errors import InputError
from mercer._base.parameters.vision import STEP
from mercer.vision.reading.checks import as_image
from mercer.vision.reading.colors import to_gray


@dataclass(frozen=True, eq=False)
class Descriptors:
    """Descriptors of the patches of one image.

    Attributes
    ----------
    values : ndarray of shape (n, n_values), float32
        One row per patch; none if the image is too small for a patch.
    frames : ndarray of shape (n, 3), float32
        x and y of the center of each patch, in pixels (0, 0 is the center of the upper left pixel), and a quarter of
        its side: the size of a bin of SIFT.
    shape : tuple
        (height, width) of the image.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.vision import DenseSIFT
    >>> found = DenseSIFT(step=8, sizes=(4,)).describe(np.random.default_rng(0).random((32, 32)))
    >>> found.values.shape == (len(found), 128), found.frames.shape == (len(found), 3), found.shape
    (True, True, (32, 32))
    """

    values: np.ndarray
    frames: np.ndarray
    shape: tuple

    def __len__(self):
        return len(self.values)


class LocalDescriptor(BaseEstimator, ABC):
    """What all local descriptors share: an image in, :class:`Descriptors` out. Nothing is learned.

    A subclass has ``n_values``, the number of columns, and writes ``_describe``.
    """

    n_values: int

    def describe(self, image):
        """The descriptors of an image.

        Parameters
        ----------
        image : array of shape (H, W) or (H, W, 3)
            Bytes, or floats with 1 for white. Colors become gray (luma of ITU-R 601).

        Returns
        -------
        Descriptors
        """
        return self._describe(to_gray(as_image(image, type(self).__name__)))

    @abstractmethod
    def _describe(self, image):
        """The descriptors of a checked gray image."""


def joined(parts, n_values, shape):
    """:class:`Descriptors` of pairs (values, frames), one after another."""
    values = [np.empty((0, n_values), np.float32), *(values for values, _ in parts)]
    frames = [np.empty((0, 3), np.float32), *(frames for _, frames in parts)]
    return Descriptors(np.concatenate(values), np.concatenate(frames), tuple(map(int, shape)))


def checked_step(step, who):
    """The distance of patches as an int >= 1."""
    STEP.check(step, who)
    return int(step)


def checked_sizes(sizes, who, least, most):
    """Sizes as a tuple of ints, at least one of them; a single number is one size."""
    given = (sizes,) if isinstance(sizes, Integral) else sizes
    given = tuple(given) if isinstance(given, tuple | list | range | np.ndarray) else ()
    whole = all(isinstance(size, Integral) and not isinstance(size, bool) and least <= size <= most for size in given)
    if not given or not whole:
        raise InputError(f"{who} needs sizes to be integers, in pixels, from {least} to {most}, got sizes={sizes!r}.")
    return tuple(map(int, given))
