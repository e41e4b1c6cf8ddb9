"""Where the objects of a model are: scores of all placements of a pyramid, and the best of them.

    score(component, level, r, c) = bias + F_0 . coarse(r, c) + sum_i max over places p of
                                    F_i . fine(p) - d_i . (dx^2, dx, dy^2, dy),   (dy, dx) = p - (2 (r, c) + v_i)

[felzenszwalb10object] (1)-(7). The maxima over places come from `mercer._native.detection.distance_transform`.
"""

__all__ = ["Placements", "Scorer", "part_windows", "windows_of"]

from dataclasses import dataclass

import numpy as np

from mercer._base.threads import run_blocks
from mercer._native.detection.distance_transform import place_part
from mercer.detection.model.filters import FilterBank


@dataclass
class Placements:
    """n placements of components in one pyramid.

    Parameters
    ----------
    scores : float32 (n,)
    where : int32 (n, 4), component, level, row and column of the root in coarse cells with padding
    parts : int32 (n, P, 2), rows and columns of the parts in fine cells with padding
    """

    scores: np.ndarray
    where: np.ndarray
    parts: np.ndarray

    def __len__(self):
        return len(self.scores)

    def take(self, which):
        """Some of them, by number or mask."""
        return Placements(self.scores[which], self.where[which], self.parts[which])

    @classmethod
    def joined(cls, several, n_parts):
        """All placements of a list."""
        if not several:
            none = np.empty(0, np.float32), np.empty((0, 4), np.int32), np.empty((0, n_parts, 2), np.int32)
            return cls(*none)
        fields = ("scores", "where", "parts")
        return cls(*(np.concatenate([getattr(one, name) for one in several]) for name in fields))


class Scorer:
    """Components, prepared for one kind of cells.

    Parameters
    ----------
    components : list of Component, with equally many parts each
    storage : how cells are kept
    """

    def __init__(self, components, storage):
        self.components = components
        self.n_parts = components[0].n_parts
        self.roots = FilterBank([one.root for one in components], storage)
        self.parts = FilterBank([part for one in components for part in one.parts], storage) if self.n_parts else None

    def level_scores(self, level):
        """For each component: scores (R, C) of all places of its root, and places (P, R, C) of its parts."""
        roots = self.roots.scores(level.coarse)
        parts = self.parts.scores(level.fine) if self.n_parts else []
        found = []
        for k, component in enumerate(self.components):
            total = roots[k] + np.float32(component.bias)
            own = parts[k * self.n_parts : (k + 1) * self.n_parts]
            found.append((total, *self._add_parts(component, own, total)))
        return found

    def _add_parts(self, component, scores, total):
        """Add the best scores of the parts to those of the root; rows and columns of their places."""
        R, C = total.shape
        rows, columns = (np.empty((self.n_parts, R, C), dtype=np.int32) for _ in range(2))
        if not self.n_parts or not total.size:
            return rows, columns
        Y, X = scores[0].shape
        longest = max(Y, X)
        scratch = (
            np.empty(longest, np.int32),
            np.empty(longest),
            np.empty(longest),
            np.empty(longest),
            np.empty((C, Y), np.float32),
            np.empty((C, Y), np.int32),
            np.empty(max(R, C)),
            np.empty(max(R, C), np.int32),
        )
        best = np.empty((R, C), dtype=np.float32)
        for i in range(self.n_parts):
            place_part(scores[i], component.deformations[i], component.anchors[i], *scratch, best, rows[i], columns[i])
            total += best
        return rows, columns

    def best(self, pyramid, threshold, most=None, allowed=None, n_jobs=1):
        """The placements above a threshold, best first.

        Parameters
        ----------
        pyramid : Pyramid
        threshold : scores at or below it are left out
        most : placements at most, or None
        allowed : None, or a function (component, level, shape) -> bool array of this shape, of places that count
        n_jobs : threads, which take a level each
        """
        parts = run_blocks(lambda k: self._above(pyramid, k, threshold, allowed), range(len(pyramid.levels)), n_jobs)
        joined = Placements.joined([one for found in parts for one in found], self.n_parts)
        order = np.argsort(-joined.scores, kind="stable")
        return joined.take(order if most is None else order[:most])

    def _above(self, pyramid, k, threshold, allowed):
        """Placements of one level, for each component."""
        found = []
        for c, (total, rows, columns) in enumerate(self.level_scores(pyramid.levels[k])):
            above = total > threshold
            if not above.any():
                continue
            if allowed is not None:
                above &= allowed(c, k, total.shape)
            r, x = np.nonzero(above)
            where = np.stack([np.full_like(r, c), np.full_like(r, k), r, x], axis=1).astype(np.int32)
            parts = np.stack([rows[:, r, x].T, columns[:, r, x].T], axis=2)
            found.append(Placements(total[r, x], where, parts))
        return found


def windows_of(placements, pyramid, components, margin=0):
    """Boxes (n, 4) in pixels, xmin ymin xmax ymax, of the roots without `margin` cells on each side."""
    cells = np.array([level.cell for level in pyramid.levels])  # height, width
    shapes = np.array([component.shape for component in components])
    component, k, r, c = placements.where.T
    h, w = cells[k].T
    padding = pyramid.shape.padding
    top, left = r - padding + margin, c - padding + margin
    rows, columns = (shapes[component] - 2 * margin).T
    return np.stack([left * w, top * h, (left + columns) * w, (top + rows) * h], axis=1)


def part_windows(placements, pyramid, part_size):
    """Boxes (n, P, 4) in pixels of the parts."""
    cells = np.array([level.cell for level in pyramid.levels])[placements.where[:, 1]] / 2  # of fine cells
    h, w = cells[:, :1], cells[:, 1:]
    padding = 2 * pyramid.shape.padding
    top, left = placements.parts[..., 0] - padding, placements.parts[..., 1] - padding
    return np.stack([left * w, top * h, (left + part_size) * w, (top + part_size) * h], axis=2)
