"""Codes in inverted lists, by faiss: a query looks at the lists whose centers are nearest, not at all rows.

The codes are those of the scan (the lists do not enter into them), so an index changes over when it has grown, without
encoding anything again.
"""

__all__ = ["FaissStore"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.faiss_library import load_faiss
from mercer.codes.product.training import train_words
from mercer.search.model.coders import WordCoder

TRAIN_ROWS_PER_LIST = 64
PROBED_QUERIES = 64  # rows as queries that decide how many lists are looked at
WANTED_OVERLAP = 0.99  # of their ten nearest among all lists, found in those looked at
LIST_ITERATIONS = 10


class FaissStore:
    """faiss's `IndexIVFPQ` filled with the codes of a `WordCoder`.

    Parameters
    ----------
    n_lists : int
    n_probe : int or None
        Lists looked at per query. None: as many as find 99 % of what all of them would, measured on stored rows.
    seed : int
    n_jobs : int or None
    """

    def __init__(self, n_lists, n_probe=None, seed=0, n_jobs=None):
        self.n_lists, self.n_probe, self._seed, self._n_jobs = n_lists, n_probe, seed, n_jobs
        self._index = None

    def create(self, coder):
        """Begin empty; lists are found with the first codes."""
        if not isinstance(coder, WordCoder):
            raise InputError("FaissStore stores product-quantized rows. Use code='pq' or code='opq'.")
        self._coder, self._index = coder, None
        self._deleted, self._measured_probes = np.zeros(0, dtype=bool), None

    def upsert(self, positions, codes):
        """Codes of new positions."""
        positions = np.asarray(positions, dtype=np.int64)
        if (positions < len(self._deleted)).any():
            raise InputError("FaissStore accepts new positions only. Delete the row, and add it again.")
        if self._index is None:
            self._train(codes)
        lists = self._lists_of(codes)
        order = np.argsort(lists, kind="stable")
        bounds = np.searchsorted(lists[order], np.arange(self.n_lists + 1))
        invlists = self._index.invlists
        faiss = load_faiss()

        for number in np.flatnonzero(np.diff(bounds)):
            mine = order[bounds[number] : bounds[number + 1]]
            ids, part = np.ascontiguousarray(positions[mine]), np.ascontiguousarray(codes[mine])
            invlists.add_entries(int(number), len(mine), faiss.swig_ptr(ids), faiss.swig_ptr(part))
        self._index.ntotal += len(positions)
        grown = np.zeros(int(positions.max(initial=-1)) + 1, dtype=bool)
        grown[: len(self._deleted)] = self._deleted
        self._deleted = grown
        if self.n_probe is None and self._measured_probes is None:
            self._choose_probes(codes)

    def delete(self, positions):
        """These rows are not found anymore."""
        self._deleted = self._deleted.copy()
        self._deleted[positions] = True

    def count(self):
        """Rows that can be found."""
        return int(len(self._deleted) - np.count_nonzero(self._deleted))

    def search(self, Z, k, allowed=None, n_probe=None):
        """(positions, scores) of the k largest scores in ``n_probe`` lists (None: as many as were chosen).

        Where a filter leaves too few rows in these, more lists are looked at, and all of them where k are not found.
        """
        rotated = self._coder.blocks(Z).reshape(len(Z), -1)
        allowed = self._may_be_found(allowed)
        n_probe = self._probes_for(allowed, n_probe or self.probes)
        positions, scores = self._search(rotated, k, allowed, n_probe)
        short = np.flatnonzero(positions[:, -1] < 0)
        if len(short) and n_probe < self.n_lists:
            positions[short], scores[short] = self._search(rotated[short], k, allowed, self.n_lists)
        return positions, scores

    def _may_be_found(self, allowed):
        """Bool per position, or None if all may be."""
        if not self._deleted.any():
            return allowed
        return ~self._deleted if allowed is None else allowed & ~self._deleted

    def _probes_for(self, allowed, n_probe):
        """Lists to look at: so many that as many rows are seen as without a filter, wherever the filter leaves them."""
        if allowed is None:
            return n_probe
        share = np.count_nonzero(allowed) / max(1, len(allowed))
        return self.n_lists if share == 0 else min(self.n_lists, int(np.ceil(n_probe / share)))

    @property
    def probes(self):
        """Lists looked at for each query."""
        return self.n_probe or self._measured_probes

    def _search(self, rotated, k, allowed, n_probe):
        faiss = load_faiss()

        selector = None
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)
        settings = faiss.SearchParametersIVF(sel=selector, nprobe=n_probe)
        scaled = np.ascontiguousarray(rotated * np.float32(self._coder.scale))
        distances, positions = self._index.search(scaled, k, params=settings)
        # |s q - z|^2 = s^2 |q|^2 - 2 s (<q, z> - |z|^2 / (2 s))
        norms = np.einsum("ij,ij->i", scaled, scaled)
        scores = (norms[:, None] - distances) / np.float32(2 * self._coder.scale)
        scores[positions < 0] = -np.inf
        return positions.astype(np.int64), scores

    def _decoded(self, codes):
        return np.ascontiguousarray(self._coder.decoded(codes).reshape(len(codes), -1))

    def _lists_of(self, codes):
        _, lists = self._index.quantizer.search(self._decoded(codes), 1)
        return lists.ravel()

    def _train(self, codes):
        faiss = load_faiss()

        if len(codes) < self.n_lists:
            raise InputError(f"FaissStore cannot make {self.n_lists} lists of {len(codes)} rows. Use fewer lists.")
        rng = np.random.default_rng(self._seed)
        wanted = min(len(codes), TRAIN_ROWS_PER_LIST * self.n_lists)
        sample = self._decoded(np.asarray(codes[np.sort(rng.choice(len(codes), wanted, replace=False))]))
        centres = train_words(sample, self.n_lists, self._seed, LIST_ITERATIONS)
        words = self._coder.words
        M, _, size = words.shape
        coarse = faiss.IndexFlatL2(M * size)
        coarse.add(np.ascontiguousarray(centres))
        index = faiss.IndexIVFPQ(coarse, M * size, self.n_lists, M, 8)
        index.by_residual = False
        index.use_precomputed_table = -1
        faiss.copy_array_to_vector(np.ascontiguousarray(words).ravel(), index.pq.centroids)
        index.is_trained = True
        self._coarse, self._index = coarse, index  # faiss does not keep the coarse one alive

    def _choose_probes(self, codes):
        rng = np.random.default_rng(self._seed)
        some = np.sort(rng.choice(len(codes), min(PROBED_QUERIES, len(codes)), replace=False))
        queries = self._decoded(np.asarray(codes[some]))
        k = min(10, self.count())
        _, best = self._search(queries, k, None, self.n_lists)
        n_probe = 1
        while n_probe < self.n_lists:
            _, scores = self._search(queries, k, None, n_probe)
            if np.mean(scores >= best[:, -1:] - 1e-6) >= WANTED_OVERLAP:
                break
            n_probe *= 2
        self._measured_probes = min(n_probe, self.n_lists)
