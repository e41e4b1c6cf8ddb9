"""Bounds of kernel values for all rows, and the search through them. [bourrier15explicit] App. A

A row is dropped at the first level at which its bound is below the threshold, as in [ramani25panorama]. What a bound is
made of, and why it holds, is in `mercer.search.exact.directions`. Distances rank by 2 K(q, x) - K(x, x): half of it is
the bound less K(x, x) / 2. Thresholds are lowered by what float64 may lose of a final score and float32 of a threshold.
"""

__all__ = ["Bounds"]

import numpy as np

from mercer._base.threads import run_blocks, single_threaded
from mercer._native.lanes import STRIDE
from mercer._native.search.bounded import keep_candidates
from mercer.search.exact.best import joined
from mercer.search.exact.chunk import CHUNK_ROWS, Chunk
from mercer.search.exact.directions import Coded

PAIRS_PER_TASK = 2**21  # queries times rows
CODED_ROWS = 2**14  # projected at a time
LEFT_TOGETHER = 128  # strips times queries that go from level to level together: products of 16 KB
HALF = 0.5 * (1 - 1e-6)  # of the squared norm of a row, less what float32 may add to it
DOUBLE_ROUNDING = 1e-9  # of K(q, q): how far float64 may move a final score
SINGLE_ROUNDING = 1e-6  # of a threshold
LEAST = 1e-36  # and that much at least: float32 ends there


class Bounds:
    """Bytes of rows by position.

    Parameters
    ----------
    directions : Directions, fitted
    chunks : sequence of Chunk, which begin at multiples of CHUNK_ROWS
    n_jobs : int or None
    """

    def __init__(self, directions, chunks=(), n_jobs=None):
        self.directions, self.chunks, self._n_jobs = directions, list(chunks), n_jobs

    @property
    def n_rows(self):
        return self.chunks[-1].stop if self.chunks else 0

    @property
    def nbytes(self):
        return sum(chunk.nbytes for chunk in self.chunks)

    @property
    def n_components(self):
        return self.directions.n_components

    def extended(self, n_rows, take, load=None):
        """Bounds of further positions too; the old ones stay as they are, for those who search them.

        Parameters
        ----------
        n_rows : int, of which there are to be bounds
        take : positions -> stored rows
        load : (directions, first, n_rows, take) -> Chunk or None
            Where chunks may be found that were made before.
        """
        chunks = list(self.chunks)
        while (stop := chunks[-1].stop if chunks else 0) < n_rows:
            if chunks and chunks[-1].n_rows < CHUNK_ROWS:
                found = chunks.pop()
            else:
                found = None if load is None else load(self.directions, stop, n_rows, take)
            first = stop if found is None else found.first
            chunks.append(self._grown(found, first, min(first + CHUNK_ROWS, n_rows), take))
        return Bounds(self.directions, chunks, self._n_jobs)

    def _grown(self, chunk, first, stop, take):
        """The chunk that begins at ``first`` with all rows up to ``stop``; None: it has none yet."""
        begin = first if chunk is None else chunk.stop
        if begin == stop:
            return chunk
        widths, parts = self.directions.widths, []
        for start in range(begin, stop, CODED_ROWS):
            parts.append(self.directions.coded(take(np.arange(start, min(start + CODED_ROWS, stop)))))
        if chunk is None:
            return Chunk.of(first, Coded.of_parts(parts), widths)
        grown = Chunk.of(first, Coded.of_parts([chunk.coded(widths), *parts]), widths)
        grown.stored_rows = chunk.stored_rows
        return grown

    # ---------------------------------------------------------------------------------------------------- searching

    def candidates(self, aim, objectives, part, allowed=None):
        """(queries, rows, bounds) of the pairs whose bounds reach the objectives, without loose rows.

        Parameters
        ----------
        aim : Aim of the queries
        objectives : float64 (Q,), of which a row must reach as much
        part : function from a chunk to the (first, last) of its strips that are looked at
        allowed : bool (n_rows,) or None
        """
        n_queries, room = len(aim.factors), _Room()
        limits = np.full(n_queries, np.inf, dtype=np.float32)  # queries beyond the last reach nothing
        limits[: len(objectives)] = self.limits(aim, objectives)

        def scan(task):
            chunk, wanted, first, last = task
            with room.of(n_queries, last - first) as scratch:
                count = keep_candidates(
                    aim.factors, aim.undone, chunk.strips, self.directions.level_ends, wanted, first, last, aim.slopes,
                    aim.intercepts, self._half, chunk.norms, limits, *scratch,
                )  # fmt: skip
                *_, found, bounds = scratch
                return (
                    found[:count, 0].astype(np.int64),
                    found[:count, 1] + np.int64(chunk.first),
                    bounds[:count].copy(),
                )

        tasks, at_once = [], max(1, PAIRS_PER_TASK // n_queries // STRIDE)
        for chunk in self.chunks:
            first, last = part(chunk)
            if first < last:
                wanted = chunk.wanted(allowed)
                tasks += [(chunk, wanted, start, min(start + at_once, last)) for start in range(first, last, at_once)]
        return joined(run_blocks(scan, tasks, self._n_jobs))

    def loose(self, aim, allowed=None):
        """(queries, rows, bounds) of all pairs with rows that bytes do not say well enough."""
        loose = [chunk for chunk in self.chunks if len(chunk.loose)]
        rows = np.concatenate([np.empty(0, np.int64), *(chunk.first + chunk.loose.astype(np.int64) for chunk in loose)])
        if not len(rows):
            return joined([])
        plain = np.concatenate([chunk.plain for chunk in loose])
        norms = np.concatenate([chunk.norms[chunk.loose] for chunk in loose]).astype(np.float64)
        if allowed is not None:
            plain, norms, rows = (part[allowed[rows]] for part in (plain, norms, rows))
        with single_threaded():  # threads of BLAS that wait for more take the time of the loops after it
            products = aim.plain @ plain.T.astype(np.float64)
        bounds = (products - self._half * norms) * norms
        queries = np.repeat(np.arange(len(bounds)), len(rows))
        return queries, np.tile(rows, len(bounds)), bounds.ravel().astype(np.float32)

    @property
    def _half(self):
        return np.float32(HALF if self.directions.measure.is_distance else 0.0)

    def limits(self, aim, objectives):
        """What bounds must reach for an objective, float32; as large as it is by rounding, never larger."""
        if self.directions.measure.is_distance:  # objective = 2 (K - K(x, x) / 2) - K(q, q)
            objectives = (objectives + aim.energy) / 2 - DOUBLE_ROUNDING * aim.energy
        with np.errstate(over="ignore"):
            lowered = (objectives - SINGLE_ROUNDING * np.abs(objectives) - LEAST).astype(np.float32)
        return np.clip(lowered, np.finfo(np.float32).min, np.finfo(np.float32).max)


class _Room:
    """What `keep_candidates` writes to, one per thread: fresh memory for each task would cost a tenth of the time."""

    def __init__(self):
        self._free = []

    def of(self, n_queries, n_strips):
        return _Lent(self._free, n_queries, n_strips)


class _Lent:
    def __init__(self, free, n_queries, n_strips):
        self._free, self._n_queries, self._most = free, n_queries, STRIDE * n_strips * n_queries

    def __enter__(self):
        arrays = self._free.pop() if self._free else None
        if arrays is None or len(arrays[-1]) < self._most:
            most = self._most
            together = max(1, LEFT_TOGETHER // self._n_queries) * self._n_queries
            arrays = (
                np.empty(STRIDE * together, np.int32),
                np.empty(together, np.uint32),
                np.empty((together, 2), np.int32),
                np.empty((most, 2), np.int32),
                np.empty(most, np.float32),
            )
        self._arrays = arrays
        return arrays

    def __exit__(self, *failure):
        self._free.append(self._arrays)
