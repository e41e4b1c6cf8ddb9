"""Cutting planes of one problem: R(u) >= <p_t, u> + offset_t, and the Gram matrix between them.

Planes are those of the plain sum of losses, without C, so that a path of C reuses them. A plane may be forgotten when
it has not been needed for a while. When all are in use the two with the smallest weights are merged into their weighted
mean, which is a valid plane and leaves the current weights u = -C sum_t alpha_t p_t as they are.
"""

__all__ = ["Planes"]

import numpy as np

from mercer._base.threads import run_blocks
from mercer._native.learners.planes import combine_planes, dot_planes

IDLE_ITERATIONS = 15  # a plane with weight 0 for so long is forgotten
SEGMENT = 2**16  # coordinates per task


class Planes:
    """Planes of one problem.

    Parameters
    ----------
    width : number of coordinates
    dtype : type in which planes are kept
    most : number of planes kept at most
    n_tilts : number of unregularized intercepts

    Attributes
    ----------
    count : number of planes
    gram : (count, count), inner products of planes
    offsets : (count,)
    tilts : (count, n_tilts), coefficients of the unregularized intercepts
    alpha : (count,), weights of the planes in the last solution
    """

    def __init__(self, width, dtype, most, n_tilts=0):
        self.count, self.most = 0, most
        self._planes = np.empty((min(8, most), width), dtype=dtype)
        self.gram_block = np.zeros((most, most))
        self._offsets, self._tilts, self._alpha = np.zeros(most), np.zeros((most, n_tilts)), np.zeros(most)
        self._idle = np.zeros(most, dtype=np.int64)

    @property
    def gram(self):
        return self.gram_block[: self.count, : self.count]

    @property
    def offsets(self):
        return self._offsets[: self.count]

    @property
    def tilts(self):
        return self._tilts[: self.count]

    @property
    def alpha(self):
        return self._alpha[: self.count]

    @alpha.setter
    def alpha(self, values):
        self._alpha[: self.count] = values
        idle = self._idle[: self.count]
        np.add(idle, 1, out=idle)
        idle[values > 0] = 0

    @property
    def nbytes(self):
        """Memory of the planes that are kept."""
        return self._planes[: self.count].nbytes

    def add(self, p, offset, tilts=()):
        """Keep a further plane, making room where there is none."""
        self._make_room()
        t = self.count
        if t == len(self._planes):
            grown = np.empty((min(self.most, t + t // 2 + 1), self._planes.shape[1]), dtype=self._planes.dtype)
            grown[:t] = self._planes
            self._planes = grown
        self._planes[t] = p
        self._offsets[t], self._tilts[t], self._alpha[t], self._idle[t] = offset, tilts, 0.0, 0
        self.count += 1
        products = self._dots(self._planes[t])
        self.gram_block[t, : t + 1] = self.gram_block[: t + 1, t] = products

    def combine(self, alpha=None):
        """sum_t alpha_t p_t, float64."""
        alpha = np.ascontiguousarray(self.alpha if alpha is None else alpha)
        out = np.empty(self._planes.shape[1])
        planes = self._planes[: self.count]
        run_blocks(lambda part: combine_planes(planes, alpha, part.start, part.stop, out), self._segments())
        return out

    def _dots(self, p):
        planes = self._planes[: self.count]

        def dots(part):
            out = np.zeros(len(planes))
            dot_planes(planes, p, part.start, part.stop, out)
            return out

        return np.sum(run_blocks(dots, self._segments()), axis=0)

    def _segments(self):
        width = self._planes.shape[1]
        return [slice(at, min(at + SEGMENT, width)) for at in range(0, width, SEGMENT)]

    def _make_room(self):
        stale = np.flatnonzero(self._idle[: self.count] > IDLE_ITERATIONS)
        if len(stale):
            self._keep(np.setdiff1d(np.arange(self.count), stale))
        if self.count == self.most:
            idlest = int(np.argmax(self._idle[: self.count]))
            if self._idle[idlest] > 0:
                self._keep(np.delete(np.arange(self.count), idlest))
            else:
                self._merge_smallest()

    def _merge_smallest(self):
        """The two planes of smallest weight become one."""
        i, k = np.argsort(self.alpha, kind="stable")[:2]
        total = self._alpha[i] + self._alpha[k]
        share = np.zeros(self.count)
        share[i], share[k] = (self._alpha[[i, k]] / total) if total > 0 else (0.5, 0.5)
        self._planes[i] = self.combine(share)
        self._offsets[i], self._tilts[i], self._alpha[i] = share @ self.offsets, share @ self.tilts, total
        self.gram_block[i, : self.count] = self.gram_block[: self.count, i] = self._dots(self._planes[i])
        self._keep(np.delete(np.arange(self.count), k))

    def _keep(self, which):
        for target, source in enumerate(which):  # ascending, so nothing is overwritten before it is moved
            if target != source:
                self._planes[target] = self._planes[source]
        count = len(which)
        self.gram_block[:count, :count] = self.gram_block[np.ix_(which, which)]
        for values in (self._offsets, self._tilts, self._alpha, self._idle):
            values[:count] = values[which]
        self.count = count
