"""Placements as rows to learn from, and the bounded cache of hard negatives.

A row is the cells under the root and under each part, and the displacements of the parts. Placements of a mirrored
component are mirrored back, so that both components of a pair learn the same weights.
"""

__all__ = ["Cache", "ExampleRows", "rows_of"]

from dataclasses import dataclass

import numpy as np


@dataclass
class ExampleRows:
    """n rows of one component.

    Parameters
    ----------
    cells : array (n, M) of codes or (n, M, 32)
    displacements : float32 (n, 4 P)
    keys : int32 (n, k), image and placement: which row this is
    """

    cells: np.ndarray
    displacements: np.ndarray
    keys: np.ndarray

    def __len__(self):
        return len(self.keys)

    def take(self, which):
        """Some of them."""
        return ExampleRows(self.cells[which], self.displacements[which], self.keys[which])

    @classmethod
    def joined(cls, several):
        """All rows of a list that is not empty."""
        return cls(*(np.concatenate([getattr(one, name) for one in several]) for name in FIELDS))

    @property
    def nbytes(self):
        """Memory of what is learned from."""
        return self.cells.nbytes + self.displacements.nbytes


FIELDS = ("cells", "displacements", "keys")


def rows_of(placements, image, pyramid, components, is_mirrored):
    """Rows of placements of one component, or of a mirrored pair.

    Parameters
    ----------
    placements : Placements
    image : number of the image, for the keys
    pyramid : Pyramid
    components : all components, as they were scored
    is_mirrored : for each of them, whether it is the mirror image of the one that learns
    """
    storage = pyramid.storage
    first = components[placements.where[0, 0]] if len(placements) else components[0]
    size = first.parts.shape[1] if first.n_parts else 0
    h, w = first.shape
    M = h * w + first.n_parts * size * size
    cells = np.empty((len(placements), M, *storage.tail), dtype=storage.dtype)
    displacements = np.empty((len(placements), 4 * first.n_parts), dtype=np.float32)
    kinds = placements.where[:, :2]
    for c, k in np.unique(kinds, axis=0):
        which = np.flatnonzero((kinds == (c, k)).all(axis=1))
        level, component = pyramid.levels[k], components[c]
        r, x = placements.where[which, 2], placements.where[which, 3]
        blocks = [_rectangles(level.coarse, r, x, (h, w))]
        for i in range(component.n_parts):
            pr, px = placements.parts[which, i].T
            blocks.append(_rectangles(level.fine, pr, px, (size, size)))
            dy, dx = pr - 2 * r - component.anchors[i, 0], px - 2 * x - component.anchors[i, 1]
            dx = -dx if is_mirrored[c] else dx
            displacements[which, 4 * i : 4 * i + 4] = -np.stack([dx * dx, dx, dy * dy, dy], axis=1)
        if is_mirrored[c]:
            blocks = [storage.mirrored(block) for block in blocks]
        flat = [block.reshape(len(which), -1, *storage.tail) for block in blocks]
        cells[which] = np.concatenate(flat, axis=1)
    numbers = np.full((len(placements), 1), image, dtype=np.int32)
    keys = np.concatenate([numbers, placements.where, placements.parts.reshape(len(placements), -1)], axis=1)
    return ExampleRows(cells, displacements, keys.astype(np.int32))


def _rectangles(grid, rows, columns, shape):
    """Cells (n, h, w, ...) from the corners (rows, columns) on."""
    down, right = np.arange(shape[0])[:, None], np.arange(shape[1])
    return grid[rows[:, None, None] + down, columns[:, None, None] + right]


class Cache:
    """Hard negatives of one component, at most `most` of them, each once.

    Parameters
    ----------
    most : rows
    """

    def __init__(self, most):
        self.most = most
        self._parts = []  # rows as they came; joined when they are asked for
        self._known = set()

    def __len__(self):
        return sum(map(len, self._parts))

    @property
    def rows(self):
        """All rows, or None."""
        if len(self._parts) > 1:
            self._parts = [ExampleRows.joined(self._parts)]
        return self._parts[0] if self._parts else None

    @property
    def nbytes(self):
        """Memory of what is learned from."""
        return sum(part.nbytes for part in self._parts)

    def add(self, rows):
        """Add the rows that are not there yet, as many as there is room for; how many they are."""
        names = [key.tobytes() for key in rows.keys]
        fresh = [i for i, name in enumerate(names) if name not in self._known][: self.most - len(self)]
        if not fresh:
            return 0
        self._known.update(names[i] for i in fresh)
        self._parts.append(rows.take(np.array(fresh)))
        return len(fresh)

    def keep(self, which):
        """Drop all other rows."""
        if self._parts:
            self._parts = [self.rows.take(which)]
            self._known = {key.tobytes() for key in self.rows.keys}

    def clear(self):
        """Drop everything."""
        self._parts, self._known = [], set()
