"""Where the root may stand for an annotated object, and the best of these places."""

__all__ = ["best_by_overlap", "best_by_score", "grid_overlaps"]

import numpy as np

from mercer.detection.model.inference import Placements


def grid_overlaps(pyramid, k, shape, margin, box):
    """Intersection over union (R, C) of a box with the windows of a root at all places of level k.

    Windows are without `margin` cells on each side.
    """
    level, padding = pyramid.levels[k], pyramid.shape.padding
    common, sizes, lengths = [], [], []
    for axis in (0, 1):
        cell, inside = level.cell[axis], shape[axis] - 2 * margin
        places = level.coarse.shape[axis] - shape[axis] + 1
        low = (np.arange(places) - padding + margin) * cell
        high = low + inside * cell
        start, stop = box[1 - axis], box[3 - axis]
        common.append(np.maximum(0.0, np.minimum(high, stop) - np.maximum(low, start)))
        sizes.append(inside * cell)
        lengths.append(stop - start)
    both = np.multiply.outer(*common)
    return both / (sizes[0] * sizes[1] + lengths[0] * lengths[1] - both)


def best_by_overlap(pyramid, box, shape, margin):
    """(overlap, level, row, column) of the window that covers a box best."""
    best = (0.0, 0, 0, 0)
    for k in range(len(pyramid.levels)):
        found = grid_overlaps(pyramid, k, shape, margin, box)
        if found.size and found.max() > best[0]:
            r, c = np.unravel_index(int(np.argmax(found)), found.shape)
            best = (float(found[r, c]), k, int(r), int(c))
    return best


def best_by_score(scorer, pyramid, boxes, margin, least):
    """For each box the best placement whose window overlaps it by `least` or more, or None.

    Parameters
    ----------
    scorer : Scorer
    pyramid : Pyramid
    boxes : (n, 4) in pixels
    margin : cells of the root around an object
    least : intersection over union
    """
    best = [(-np.inf, None)] * len(boxes)
    for k, level in enumerate(pyramid.levels):
        near = [b for b, box in enumerate(boxes) if _may_overlap(scorer, level, margin, box, least)]
        if not near:
            continue
        for c, (total, rows, columns) in enumerate(scorer.level_scores(level)):
            for b in near:
                allowed = grid_overlaps(pyramid, k, scorer.components[c].shape, margin, boxes[b]) >= least
                if not allowed.any():
                    continue
                masked = np.where(allowed, total, -np.inf)
                r, x = np.unravel_index(int(np.argmax(masked)), masked.shape)
                if masked[r, x] > best[b][0]:
                    parts = np.stack([rows[:, r, x], columns[:, r, x]], axis=1)
                    best[b] = (float(masked[r, x]), (c, k, r, x, parts))
    return [None if found is None else _single(score, found, scorer.n_parts) for score, found in best]


def _may_overlap(scorer, level, margin, box, least):
    """Whether a window of the level can have an area so near to that of the box."""
    size = (box[2] - box[0]) * (box[3] - box[1])
    for component in scorer.components:
        rows, columns = (n - 2 * margin for n in component.shape)
        window = rows * level.cell[0] * columns * level.cell[1]
        if min(size, window) >= least * max(size, window):
            return True
    return False


def _single(score, found, n_parts):
    c, k, r, x, parts = found
    where = np.array([[c, k, r, x]], dtype=np.int32)
    return Placements(np.array([score], np.float32), where, parts.astype(np.int32).reshape(1, n_parts, 2))
