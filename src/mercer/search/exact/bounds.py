"""Bounds of kernel values for all rows, and the search through them. [bourrier15explicit] App. A

A row is dropped at the first level at which its bound is below the threshold, as in [ramani25panorama]. What a bound is
made of, and why it holds, is in `mercer.search.exact.directions`. Distances rank by 2 K(q, x) - K(x, x): half of it is
the bound less K(x, x) / 2. Thresholds are lowered by what float64 may lose of a final score and float32 of a threshold.
"""

__all__ = ["Bounds"]

import numpy as np

from mercer._base.threads import run_blocks, single_threaded
from mercer._native.lanes import ROWS, STRIDE
from mercer._native.search.bounded import keep_candidates
from mercer.search.exact.best import joined
from mercer.search.exact.chunk import CHUNK_ROWS, Chunk
from mercer.search.exact.directions import WIDTHS, Coded

PAIRS_PER_TASK = 2**21  # queries times rows
MARKED_PAIRS = 2**16  # that go on to the next level together
CODED_ROWS = 2**14  # projected at a time
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

    @property
    def widths(self):
        """Bytes of each level."""
        return WIDTHS[: len(self.directions.ends)]

    def extended(self, n_rows, take):
        """Bounds of further positions too; the old ones stay as they are, for those who search them."""
        chunks = list(self.chunks)
        while (first := chunks[-1].stop if chunks else 0) < n_rows:
            grown = chunks.pop() if chunks and chunks[-1].n_rows < CHUNK_ROWS else None
            begin = first if grown is None else grown.first
            parts = [] if grown is None else [grown.coded(self.widths)]
            stop = min(begin + CHUNK_ROWS, n_rows)
            parts += [
                self.directions.coded(take(np.arange(start, min(start + CODED_ROWS, stop))))
                for start in range(first, stop, CODED_ROWS)
            ]
            chunks.append(Chunk.of(begin, Coded.of_parts(parts), self.widths))
        return Bounds(self.directions, chunks, self._n_jobs)

    # ---------------------------------------------------------------------------------------------------- searching

    def candidates(self, aim, objectives, part, allowed=None):
        """(queries, rows, bounds) of the pairs whose bounds reach the objectives; bounds as they are compared.

        Parameters
        ----------
        aim : Aim of the queries
        objectives : float64 (Q,), of which a row must reach as much
        part : function from a chunk to the (first, last) of its strips that are looked at
        allowed : bool (n_rows,) or None
        """
        limits, room = self.limits(aim, objectives), _Room()
        arguments = _Arguments(aim, limits, self.directions)

        def scan(task):
            chunk, wanted, first, last = task
            with room.of(arguments.n_queries, last - first) as (products, marked, sums, found, bounds):
                count = keep_candidates(
                    arguments.queries, chunk.strips, wanted, first, last, arguments.rest, chunk.rest, arguments.ends,
                    arguments.slopes, arguments.intercepts, arguments.half, chunk.norms, arguments.limits, products,
                    marked, sums, found, bounds,
                )  # fmt: skip
                return found[:count, 0].astype(np.int64), found[:count, 1] + np.int64(chunk.first), bounds[:count].copy()

        tasks, parts = [], []
        at_once = max(1, PAIRS_PER_TASK // arguments.n_queries // STRIDE)
        for chunk in self.chunks:
            first, last = part(chunk)
            if first == last:
                continue
            wanted = chunk.wanted(allowed)
            tasks += [(chunk, wanted, start, min(start + at_once, last)) for start in range(first, last, at_once)]
            if len(chunk.loose):
                rows, bounds = chunk.loose_bounds(aim, self.directions.margin, arguments.half, first, last, allowed)
                left, places = np.nonzero(bounds >= limits[:, None])
                parts.append((left, rows[places], bounds[left, places].astype(np.float32)))
        with single_threaded():
            parts += run_blocks(scan, tasks, self._n_jobs)
        return joined(parts)

    def limits(self, aim, objectives):
        """What bounds must reach for an objective, float32; as large as it is by rounding, never larger."""
        if self.directions.measure.is_distance:  # objective = 2 (K - K(x, x) / 2) - K(q, q)
            objectives = (objectives + aim.energy) / 2 - DOUBLE_ROUNDING * aim.energy
        with np.errstate(over="ignore"):
            lowered = (objectives - SINGLE_ROUNDING * np.abs(objectives) - LEAST).astype(np.float32)
        return np.clip(lowered, np.finfo(np.float32).min, np.finfo(np.float32).max)


class _Arguments:
    """Queries as `keep_candidates` takes them; those beyond the last reach nothing."""

    def __init__(self, aim, limits, directions):
        n = len(limits)
        self.n_queries = -(-n // ROWS) * ROWS
        more = (0, self.n_queries - n)
        factors = np.pad(aim.factors, (more, (0, 0)))
        self.queries = np.ascontiguousarray(factors[:, : directions.split])
        self.rest = np.ascontiguousarray(factors[:, directions.split :])
        self.ends = np.asarray(directions.tail_places + 1 - directions.split, dtype=np.int64)
        self.slopes = np.pad(aim.slopes, more).astype(np.float32)
        self.intercepts = np.pad(aim.intercepts, ((0, 0), more)).astype(np.float32)
        self.limits = np.pad(limits, more, constant_values=np.float32(np.inf))
        self.half = np.float32(HALF if directions.measure.is_distance else 0.0)


class _Room:
    """What `keep_candidates` writes to, one per thread: fresh memory for each task would cost a tenth of the time."""

    def __init__(self):
        self._free = []

    def of(self, n_queries, n_strips):
        return _Lent(self._free, n_queries, n_strips)


class _Lent:
    def __init__(self, free, n_queries, n_strips):
        self._free, self._sizes = free, (max(MARKED_PAIRS, STRIDE * n_queries), STRIDE * n_strips * n_queries)

    def __enter__(self):
        marked, most = self._sizes
        arrays = self._free.pop() if self._free else None
        if arrays is None or len(arrays[-1]) < most:
            arrays = (
                np.empty(ROWS * STRIDE, np.int32),
                np.empty((marked, 2), np.int32),
                np.empty(marked, np.int32),
                np.empty((most, 2), np.int32),
                np.empty(most, np.float32),
            )
        self._arrays = arrays
        return arrays

    def __exit__(self, *failure):
        self._free.append(self._arrays)

