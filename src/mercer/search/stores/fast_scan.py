"""Codes of words of four bits, scanned by faiss with tables that fit into registers. [andre15cache]

faiss rounds the tables of a query to 8 bits, so its order is only nearly that of the scores: more than twice as many
rows as are wanted come back, and Mercer's own tables give their scores.
"""

__all__ = ["FastScanStore"]

import numpy as np

from mercer._base.faiss_library import load_faiss
from mercer._base.threads import run_blocks, single_threaded
from mercer.codes.product.training import calling_thread_only
from mercer.search.exact.best import best_of_pairs
from mercer.search.model.coders import GROUP, WORDS
from mercer.search.stores.codes import CodeStore

SPARE, FEWEST_SPARE = 2, 32  # rows asked for: so many per row wanted, and so many more
MOST_ASKED = 4096  # rows per query, beyond which a scan takes less memory, and soon less time
TASK_QUERIES = 4 * GROUP
BLOCK = 32  # rows that faiss lays out together


class FastScanStore(CodeStore):
    """A `CodeStore` that asks faiss's `IndexPQFastScan` where all rows are looked for, and scans by itself otherwise.

    faiss knows neither masks nor deleted rows; while few were deleted, those that it returns are dropped. It keeps a
    copy of the codes in an order of its own.
    """

    def create(self, coder):
        """Begin empty."""
        super().create(coder)
        self._index = None

    def upsert(self, positions, codes):
        """Codes at consecutive new positions, or new codes of old ones."""
        super().upsert(positions, codes)
        self._index = None

    def attach(self, segments, removed):
        """Take the codes of the segments of a storage, without a copy until they are searched."""
        super().attach(segments, removed)
        self._index = None

    def search(self, Z, k, allowed=None):
        """(positions, scores) of the k largest scores found; equal ones in the order of positions."""
        wanted = SPARE * k + FEWEST_SPARE
        if allowed is not None or wanted >= min(self.count(), MOST_ASKED):
            return super().search(Z, k, allowed)
        Z = np.ascontiguousarray(Z, dtype=np.float32)
        if self._index is None:
            self._index = _fast_index(self._coder, self._all_codes())
        starts = range(0, len(Z), TASK_QUERIES)
        with single_threaded():
            found = run_blocks(
                lambda start: self._nearest(Z[start : start + TASK_QUERIES], wanted), starts, self._n_jobs
            )
        positions, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if ((positions >= 0).sum(axis=1) < k).any():  # deleted rows took the places
            return super().search(Z, k)
        queries, places = np.nonzero(positions >= 0)
        positions, scores = positions[queries, places], scores[queries, places]
        return best_of_pairs(len(Z), k, queries, positions, scores, positions)

    def _all_codes(self):
        return np.concatenate([np.asarray(codes) for _, codes in self._pieces])

    def _nearest(self, Z, wanted):
        """(positions, scores) of so many rows for each query, -1 for deleted ones."""
        coder = self._coder
        scaled = np.ascontiguousarray(coder.blocks(Z).reshape(len(Z), -1) * np.float32(coder.scale))
        with calling_thread_only():
            # |s q - z|^2 = s^2 |q|^2 - 2 s (<q, z> - |z|^2 / (2 s)): the nearest have the largest scores
            _, positions = self._index.search(scaled, wanted)
        positions[self._deleted[positions]] = -1
        return positions, self._scores(coder.tables(Z), positions)

    def _scores(self, tables, positions):
        """Sums of table entries, float32 (queries, rows)."""
        codes = self._codes_at(positions)
        of_queries = tables.transpose(0, 3, 1, 2).reshape(-1, tables.shape[1] * WORDS)[: len(positions)]
        entries = codes + WORDS * np.arange(codes.shape[2])
        found = np.take_along_axis(of_queries, entries.reshape(len(codes), -1), axis=1)
        return found.reshape(codes.shape).sum(axis=2)

    def _codes_at(self, positions):
        """Codes of positions of any shape, of one that is -1 some code."""
        flat = np.maximum(positions.ravel(), 0)
        codes = np.empty((len(flat), self._coder.n_bytes), dtype=np.uint8)
        pieces = np.searchsorted([first for first, _ in self._pieces], flat, side="right") - 1
        for number in np.unique(pieces):
            mine = pieces == number
            first, piece = self._pieces[number]
            codes[mine] = piece[flat[mine] - first]
        return codes.reshape(*positions.shape, -1)


def _fast_index(coder, codes):
    """faiss's index of packed codes: its layout of them is ours."""
    faiss = load_faiss()
    words = coder.block_words
    M, _, size = words.shape
    plain = faiss.IndexPQ(M * size, M, 4)
    faiss.copy_array_to_vector(np.ascontiguousarray(words).ravel(), plain.pq.centroids)
    plain.is_trained = True
    faiss.copy_array_to_vector(np.ascontiguousarray(codes).ravel(), plain.codes)
    plain.ntotal = len(codes)
    return faiss.IndexPQFastScan(plain, BLOCK)
