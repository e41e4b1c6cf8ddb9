"""Descriptors of large images at a moderate size: what a photograph shows needs no millions of patches."""

__all__ = ["Downscaled"]

import numpy as np

from mercer._base.parameters.vision import MAX_SIDE
from mercer.vision.descriptors.base import Descriptors, LocalDescriptor
from mercer.vision.reading.batches import checked_descriptor
from mercer.vision.reading.images import resize


class Downscaled(LocalDescriptor):
    """Scale images with a side longer than ``max_side`` down, then apply another descriptor.

    The number of patches then depends on the image's proportions only, and so do time and memory. Patches are given
    where they are in the image as it came; smaller images are described as they are. Making images smaller needs
    Pillow (the extra ``vision``).

    Parameters
    ----------
    descriptor : object with a method ``describe(image)``, or None
        None uses ``DenseSIFT()``.
    max_side : int
        Maximum side of an image, in pixels; larger images are scaled down.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.vision import DenseSIFT
    >>> image = np.random.default_rng(0).integers(256, size=(300, 400), dtype=np.uint8)
    >>> sift = DenseSIFT(step=8, sizes=(4,))
    >>> len(sift.describe(image)), len(Downscaled(sift, max_side=100).describe(image))
    (1764, 88)
    >>> found = Downscaled(sift, max_side=100).describe(image)
    >>> found.shape, found.frames[0].tolist()
    ((300, 400), [25.5, 25.5, 16.0])
    """

    def __init__(self, descriptor=None, max_side=640):
        self.descriptor = descriptor
        self.max_side = max_side

    @property
    def n_values(self):
        """Columns of the descriptors."""
        return checked_descriptor(self.descriptor, "Downscaled").n_values

    def _describe(self, image):
        MAX_SIDE.check(self.max_side, "Downscaled")
        descriptor = checked_descriptor(self.descriptor, "Downscaled")
        height, width = image.shape[:2]
        scale = self.max_side / max(height, width)
        if scale >= 1:
            return descriptor.describe(image)
        small = max(1, round(scale * height)), max(1, round(scale * width))
        found = descriptor.describe(resize(image, small))
        ratio = np.array([width / small[1], height / small[0]])
        frames = np.empty_like(found.frames)
        # pixel i of either image covers the numbers from i - 1/2 to i + 1/2
        frames[:, :2] = (found.frames[:, :2] + 0.5) * ratio - 0.5
        frames[:, 2:] = found.frames[:, 2:] * ratio.mean()
        return Descriptors(found.values, frames, (height, width))
