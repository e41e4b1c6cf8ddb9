"""What a detector finds in an image."""

__all__ = ["Detections"]

from dataclasses import dataclass

import numpy as np


@dataclass
class Detections:
    """The objects found in an image, best first.

    Attributes
    ----------
    boxes : (n, 4), xmin ymin xmax ymax in pixels
    scores : (n,)
    components : (n,), the component of each detection
    parts : (n, P, 4), boxes of the parts
    """

    boxes: np.ndarray
    scores: np.ndarray
    components: np.ndarray
    parts: np.ndarray

    def __len__(self):
        return len(self.scores)

    def __array__(self, dtype=None, copy=None):
        """A line for each: xmin ymin xmax ymax score."""
        return np.column_stack([self.boxes, self.scores]).astype(dtype or np.float64, copy=False)

    def tolist(self):
        """Convert to one list per detection."""
        return np.asarray(self).tolist()

    def plot(self, image, ax=None):
        """Draw the boxes over the image; needs matplotlib."""
        from mercer.detection.plots import plot_detections

        return plot_detections(self, image, ax)
