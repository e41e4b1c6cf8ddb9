"""The parts of a model: components, each a root and its parts, and how a mirrored pair follows from one of them.

Notation ([felzenszwalb10object] Sec. 3)
    paper        code           meaning                                                         shape
    F_0          root           filter of the root on coarse cells                              (h, w, r)
    F_i          parts          filters of the parts on fine cells                              (P, s, s, r)
    v_i          anchors        row, column of a part where the root is at (0, 0), fine cells   (P, 2)
    d_i          deformations   what (dx^2, dx, dy^2, dy) cost; the squares at least LEAST      (P, 4)
    b            bias
The r numbers of a filter at a cell are weights of its 32 channels, or of features of words, which begin with these.
"""

__all__ = ["LARGEST", "LEAST", "Component", "mirrored_component"]

from dataclasses import dataclass

import numpy as np

from mercer._base.files.loaded import FLOATS, checked_array
from mercer.detection.cells.codebook import flip_channels

LARGEST = 1e12  # of a weight: sums of products of two of them are numbers of float32
LEAST = 0.01  # cost of a squared displacement of one fine cell, at least: keeps a part near its place


@dataclass
class Component:
    """One view of an object. See the notation of the module."""

    root: np.ndarray
    parts: np.ndarray
    anchors: np.ndarray
    deformations: np.ndarray
    bias: float

    @property
    def n_parts(self):
        return len(self.parts)

    @property
    def shape(self):
        """(rows, columns) of the root in coarse cells."""
        return self.root.shape[:2]

    def check_loaded(self, n_parts, part_size, n_channels):
        """Raise ValueError unless what a file gave is what compiled loops expect."""
        within = {"lowest": -LARGEST, "highest": LARGEST}
        if not checked_array(self, "root", FLOATS, shape=(None, None, n_channels), **within).size:
            raise ValueError("root must have at least one cell.")
        checked_array(self, "parts", FLOATS, shape=(n_parts, part_size, part_size, n_channels), **within)
        reach = 2 * max(self.shape)
        checked_array(self, "anchors", "int64", shape=(n_parts, 2), lowest=-reach, highest=reach)
        costs = checked_array(self, "deformations", "float64", shape=(n_parts, 4), **within)
        if not (costs[:, ::2] >= LEAST / 2).all():  # LEAST itself is met up to rounding
            raise ValueError(f"squared displacements must cost {LEAST} or more.")


def mirrored_component(component):
    """The same view seen in a mirror; its parts have the same numbers."""
    width = 2 * component.root.shape[1]
    part_width = component.parts.shape[2]
    anchors = component.anchors.copy()
    anchors[:, 1] = width - part_width - anchors[:, 1]
    deformations = component.deformations.copy()
    deformations[:, 1] *= -1
    return Component(
        root=flip_channels(component.root[:, ::-1]),
        parts=flip_channels(component.parts[:, :, ::-1]),
        anchors=anchors,
        deformations=deformations,
        bias=component.bias,
    )
