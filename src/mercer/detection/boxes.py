"""Rectangles xmin, ymin, xmax, ymax: how much they overlap, and which of several are kept."""

__all__ = ["areas", "intersections", "overlaps", "suppress"]

import numpy as np


def areas(boxes):
    """Areas (n,) of boxes (n, 4)."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def intersections(first, second):
    """Areas (n, m) of the common parts of boxes (n, 4) and (m, 4)."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    return np.prod(np.maximum(high - low, 0), axis=2)


def overlaps(first, second):
    """Intersection over union, (n, m).

    >>> overlaps(np.array([[0, 0, 2, 2.0]]), np.array([[1, 0, 3, 2.0]])).round(3).tolist()
    [[0.333]]
    """
    common = intersections(first, second)
    union = areas(first)[:, None] + areas(second)[None] - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


def suppress(boxes, scores, limit, most=None):
    """Numbers of the boxes that are kept, best first.

    A box goes if it covers, or is covered by, more than ``limit`` of the smaller of itself and a better one that stays.

    >>> suppress(np.array([[0, 0, 4, 4], [0, 0, 4, 3], [8, 8, 9, 9.0]]), np.array([1.0, 2.0, 0.0]), 0.5).tolist()
    [1, 2]
    """
    order = np.argsort(-scores, kind="stable")
    kept = []
    size = areas(boxes)
    while len(order) and (most is None or len(kept) < most):
        best, rest = order[0], order[1:]
        kept.append(best)
        common = intersections(boxes[best : best + 1], boxes[rest])[0]
        order = rest[common <= limit * np.minimum(size[best], size[rest])]
    return np.array(kept, dtype=np.int64)
