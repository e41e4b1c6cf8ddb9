"""How a model begins: shapes of roots from the boxes, which way each object faces, and parts from the energy of a root.

[felzenszwalb10object] Sec. 5.2
"""

__all__ = ["PART_SIZE", "aspect_groups", "choose_parts", "root_shape", "sides_of"]

import numpy as np

from mercer._base.linalg import eigh_descending
from mercer.detection.cells.codebook import CHANNELS
from mercer.detection.cells.pyramid import CELL
from mercer.detection.model.components import Component

PART_SIZE = 6  # fine cells of a side of a part
SMALL = 20  # per cent of the boxes that may be smaller than the root
MOST_CELLS = 75  # of a root, without its margin
DEFORMATION = (0.1, 0.0, 0.1, 0.0)  # what displacements of new parts cost


def aspect_groups(boxes, n_groups):
    """The group of each box: equally many of similar width / height."""
    ratios = (boxes[:, 2] - boxes[:, 0]) / (boxes[:, 3] - boxes[:, 1])
    groups = np.empty(len(boxes), dtype=np.int64)
    for g, part in enumerate(np.array_split(np.argsort(ratios, kind="stable"), n_groups)):
        groups[part] = g
    return groups


def root_shape(boxes, margin):
    """(rows, columns) of coarse cells: the median shape of the boxes, at a size that most of them reach."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    ratio = float(np.median(widths / heights))
    cells = min(float(np.percentile(widths * heights, SMALL)) / CELL**2, MOST_CELLS)
    rows, columns = np.sqrt(cells / ratio), np.sqrt(cells * ratio)
    return tuple(max(3, round(float(n))) + 2 * margin for n in (rows, columns))


def sides_of(features, mirrored):
    """Which way objects face: True for those to be mirrored so that all face the same way.

    Features are those of an object and of its mirror image, (n, d). What differs between them is largest along the
    first principal component of their differences, and its sign is the side.
    """
    odd = features.astype(np.float64) - mirrored
    if len(odd) < 2 or not odd.any():
        return np.zeros(len(odd), dtype=bool)
    _, vectors = eigh_descending(odd @ odd.T)
    return vectors[:, 0] < 0


def choose_parts(root, n_parts):
    """A component with parts where the root has most energy.

    The root at twice the resolution is covered greedily by squares with the largest sums of squared positive weights;
    what a part covers is not counted again.
    """
    fine = np.repeat(np.repeat(root, 2, axis=0), 2, axis=1)
    energy = (np.maximum(fine[..., :CHANNELS], 0) ** 2).sum(axis=2)  # of gradients: features of words have no sign
    parts, anchors = [], []
    for _ in range(n_parts):
        sums = np.lib.stride_tricks.sliding_window_view(energy, (PART_SIZE, PART_SIZE)).sum(axis=(2, 3))
        row, column = np.unravel_index(int(np.argmax(sums)), sums.shape)
        own = np.s_[row : row + PART_SIZE, column : column + PART_SIZE]
        parts.append(fine[own] / 2)
        anchors.append((row, column))
        energy[own] = 0
    return Component(
        root=root,
        parts=np.array(parts, dtype=np.float32).reshape(n_parts, PART_SIZE, PART_SIZE, root.shape[2]),
        anchors=np.array(anchors, dtype=np.int64).reshape(n_parts, 2),
        deformations=np.tile(np.array(DEFORMATION), (n_parts, 1)),
        bias=0.0,
    )
