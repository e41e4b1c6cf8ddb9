"""All codes, scanned by Mercer's own loop.

faiss has such a scan, `IndexPQ`, which takes one query at a time and knows no filter. Eight queries at a time read the
codes once and add eight numbers with one instruction: measured against it by ``python -m benchmarks search-speed``.
"""

__all__ = ["CodeStore"]

import numpy as np

from mercer._base.threads import run_blocks, single_threaded
from mercer._native.search.scan import CHUNK, LIMITS, scan_codes
from mercer.search.exact.best import best_of_pairs, joined
from mercer.search.model.coders import GROUP, FlatCoder

TASK_ROWS = 2**16
FLAT_ROWS = 4096


class CodeStore:
    """Codes in pieces as they were added (arrays or mapped files), and flags of what was deleted."""

    def __init__(self, n_jobs=None):
        self._n_jobs = n_jobs
        self._coder = None
        self._pieces = []  # (first position, codes)
        self._deleted = np.zeros(0, dtype=bool)

    def create(self, coder):
        """Begin empty."""
        self._coder, self._pieces, self._deleted = coder, [], np.zeros(0, dtype=bool)

    def upsert(self, positions, codes):
        """Codes at consecutive new positions, or new codes of old ones."""
        positions = np.asarray(positions)
        n = len(self._deleted)
        old = positions < n
        for position, code in zip(positions[old].tolist(), codes[old], strict=True):
            self._write(position, code)
        if (~old).any():
            self._pieces.append((n, codes[~old]))
            self._deleted = np.concatenate([self._deleted, np.zeros(int((~old).sum()), dtype=bool)])
        self._deleted[positions[old]] = False

    def _write(self, position, code):
        for place, (first, codes) in enumerate(self._pieces):
            if first <= position < first + len(codes):
                changed = np.array(codes)
                changed[position - first] = code
                self._pieces[place] = first, changed

    def attach(self, segments, removed):
        """Take the codes of the segments of a storage, without a copy."""
        self._pieces = [(segment.first, segment.arrays["codes"]) for segment in segments if segment.n_rows]
        self._deleted = removed

    def delete(self, positions):
        """These rows are not found anymore."""
        self._deleted = self._deleted.copy()
        self._deleted[positions] = True

    def count(self):
        """Rows that can be found."""
        return int(len(self._deleted) - np.count_nonzero(self._deleted))

    def search(self, Z, k, allowed=None):
        """(positions, scores) of the k largest scores; equal ones in the order of positions."""
        Z = np.ascontiguousarray(Z, dtype=np.float32)
        if allowed is None:
            allowed = ~self._deleted if self._deleted.any() else np.empty(0, dtype=bool)
        else:
            allowed = allowed & ~self._deleted
        is_flat = isinstance(self._coder, FlatCoder)
        tables = [None] if is_flat else self._coder.tables(Z)  # of eight queries each

        def scan(task):
            group, first, codes = task
            mask = allowed[first : first + len(codes)] if len(allowed) else allowed
            if is_flat:
                return _best_flat(self._coder.scores(Z, codes), mask, first, k)
            room = _Room(min(k, len(codes)))
            scan_codes(np.ascontiguousarray(codes), tables[group], mask, first, *room.work, *room.best)
            return room.found(group * GROUP, len(Z))

        tasks = [(group, *piece) for group in range(len(tables)) for piece in self._tasks()]
        with single_threaded():
            queries, positions, scores = joined(run_blocks(scan, tasks, self._n_jobs))
        return best_of_pairs(len(Z), k, queries, positions, scores, positions)

    def _tasks(self):
        size = FLAT_ROWS if isinstance(self._coder, FlatCoder) else TASK_ROWS
        return [
            (first + start, codes[start : start + size])
            for first, codes in self._pieces
            for start in range(0, len(codes), size)
        ]


class _Room:
    """What the loop works in and writes to, for the best ``wanted`` rows of eight queries."""

    def __init__(self, wanted):
        self.work = (
            np.empty(CHUNK * GROUP, dtype=np.float32),
            np.empty(CHUNK * GROUP, dtype=np.uint8),
            np.empty(LIMITS, dtype=np.float32),
        )
        scores, rows = np.full((GROUP, wanted), -np.inf, dtype=np.float32), np.full((GROUP, wanted), -1, dtype=np.int64)
        self.best = scores, rows, np.zeros(GROUP, dtype=np.int64)

    def found(self, first_query, n_queries):
        """(queries, positions, scores) of what was written."""
        scores, rows, _ = self.best
        queries = np.repeat(np.arange(GROUP) + first_query, rows.shape[1])
        kept = (rows.ravel() >= 0) & (queries < n_queries)
        return queries[kept], rows.ravel()[kept], scores.ravel()[kept]


def _best_flat(scores, mask, first, k):
    """(queries, positions, scores) of the k largest scores of each query among the rows from ``first`` on."""
    if len(mask):
        scores[:, ~mask] = -np.inf
    # a stable choice: equal scores at the edge go to the smaller position
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(scores, best, axis=1)
    queries, places = np.nonzero(values > -np.inf)
    return queries, best[queries, places] + first, values[queries, places]
