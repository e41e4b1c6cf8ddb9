"""The rows of an index: storage, ids, kept vectors and the store that scans codes, always of one moment."""

__all__ = ["Collection"]

import numpy as np

from mercer._base.errors import InputError
from mercer.search._ids import ID_COLUMNS, IdTable, as_ids, pack_ids
from mercer.search._storage_blocks import Column
from mercer.search._storage_memory import MemoryStorage
from mercer.search._vectors import VectorFormat
from mercer.search.stores import CodeStore, FaissStore

LISTS_FROM = 2**22  # rows beyond which codes are kept in inverted lists
ADD_ROWS = 2**14  # rows encoded at a time


class Collection:
    """Rows by id.

    Parameters
    ----------
    model : SearchModel, fitted
    vectors : VectorFormat or None
    n_lists : int or "auto"
    n_jobs : int or None
    storage : Storage or None
        None: a new one in memory.
    """

    def __init__(self, model, vectors, n_lists="auto", n_jobs=None, storage=None):
        self.model, self.vectors = model, vectors
        self._n_lists, self._n_jobs = n_lists, n_jobs
        self.storage = storage or MemoryStorage(columns_of(model, vectors), {})
        self._view()

    # ------------------------------------------------------------------------------------------------------ one view

    def _view(self):
        """Build everything that is derived from the storage."""
        self.snapshot = self.storage.snapshot
        self.ids = IdTable(self.storage.header.get("highest_id", -1))
        for segment in self.snapshot.segments:
            self.ids.load(segment)
        self.ids.remove(np.flatnonzero(self.snapshot.removed))
        self._store = None

    def refresh(self):
        """See what another process has committed since."""
        if hasattr(self.storage, "refresh") and any(self.storage.refresh()):
            self._view()

    def _advance(self, ids, removed):
        before = self.snapshot.n_positions
        self.snapshot = self.storage.snapshot
        self.ids.remove(removed)
        self.ids.append(ids)
        if isinstance(self._store, FaissStore):  # lists are found once, and then filled
            new = np.arange(before, self.snapshot.n_positions)
            if len(new):
                self._store.upsert(new, self._gather("codes", new))
            self._store.delete(removed)
        else:
            self._store = None

    @property
    def store(self):
        """What scans the codes."""
        if self._store is None:
            self._store = self._scanner() if self._lists == 0 else self._inverted(self._lists)
        return self._store

    @property
    def _lists(self):
        if self._n_lists != "auto":
            return min(self._n_lists, self.snapshot.n_positions)
        suits = self.model.code in ("pq", "opq") and len(self) >= LISTS_FROM
        return int(4 * np.sqrt(len(self))) if suits else 0

    def _scanner(self):
        store = CodeStore(self._n_jobs)
        store.create(self.model.coder_)
        store.attach(self.snapshot.segments, self.snapshot.removed)
        return store

    def _inverted(self, n_lists):
        store = FaissStore(n_lists, seed=0, n_jobs=self._n_jobs)
        store.create(self.model.coder_)
        codes = np.concatenate([segment.arrays["codes"] for segment in self.snapshot.segments])
        store.upsert(np.arange(len(codes)), codes)
        store.delete(np.flatnonzero(self.snapshot.removed))
        return store

    def __len__(self):
        return self.snapshot.n_positions - int(np.count_nonzero(self.snapshot.removed))

    @property
    def alive(self):
        """Bool per position, or None if nothing was removed."""
        removed = self.snapshot.removed
        return ~removed if removed.any() else None

    def column(self, name):
        """A column without ragged rows, of all positions."""
        parts = [segment.arrays[name] for segment in self.snapshot.segments]
        return np.concatenate(parts) if parts else np.empty(0)

    def take(self, positions):
        """Kept rows at positions, float32."""
        return self.vectors.take(self.snapshot.segments, positions)

    # ------------------------------------------------------------------------------------------------------- changes

    def new_ids(self, ids, n_rows, who):
        """Checked ids of new rows: those given, or whole numbers after the largest so far."""
        if ids is None:
            first = self.ids.highest + 1
            if first + n_rows > 2**63:
                raise InputError(f"{who} has no whole numbers of 64 bits left after the id {first - 1}. Give ids.")
            return np.arange(first, first + n_rows)
        return as_ids(ids, n_rows, who)

    def append(self, X, ids, replaced, who):
        """Add validated rows; remove the positions ``replaced`` in the same step."""
        with self.storage.transaction(who) as transaction:
            for start in range(0, X.shape[0], ADD_ROWS):
                part = slice(start, start + ADD_ROWS)
                transaction.append(self._packed(X[part], ids[part], who))
            transaction.remove(replaced)
        self._advance(ids, replaced)

    def _packed(self, X, ids, who):
        Z, lost = self.model.embed(X)
        flags = (lost > self.model.residual_limit_).astype(np.uint8)
        arrays = {"codes": self.model.coder_.encode(Z), **pack_ids(ids)}
        if self.vectors:
            kept, exact = self.vectors.pack(X, who)
            arrays.update(kept)
            flags |= np.uint8(0 if exact else 2)
        return {**arrays, "flags": flags}

    def remove(self, positions, who):
        """Remove rows by position."""
        with self.storage.transaction(who) as transaction:
            transaction.remove(positions)
        self._advance(np.empty(0, dtype=np.int64), positions)

    def batches(self, model=None):
        """The rows that are left, block by block, for a new generation; encoded again by a model if one is given."""
        alive = np.flatnonzero(~self.snapshot.removed)
        for start in range(0, len(alive), ADD_ROWS):
            positions = alive[start : start + ADD_ROWS]
            arrays = {name: self._gather(name, positions) for name in self._names}
            if model is not None:
                Z, lost = model.embed(self.take(positions))
                rounded = arrays["flags"] & np.uint8(2)
                arrays["codes"] = model.coder_.encode(Z)
                arrays["flags"] = rounded | (lost > model.residual_limit_).astype(np.uint8)
            yield arrays

    @property
    def _names(self):
        return [column.name for column in self.snapshot.columns]

    def _gather(self, name, positions):
        parts, lengths = [], []
        for segment in self.snapshot.segments:
            mine = positions[(positions >= segment.first) & (positions < segment.first + segment.n_rows)]
            places = mine - segment.first
            array = segment.arrays[name]
            if isinstance(array, tuple):
                values, offsets = array
                counts = offsets[places + 1] - offsets[places]
                starts = np.concatenate([[0], np.cumsum(counts)])
                parts.append(values[np.arange(starts[-1]) + np.repeat(offsets[places] - starts[:-1], counts)])
                lengths.append(counts)
            else:
                parts.append(array[places])
        return (np.concatenate(parts), np.concatenate(lengths)) if lengths else np.concatenate(parts)

    def rewrite(self, who, model=None, write_model=None):
        """A new generation without removed rows, encoded by another model if one is given; wholly or not at all."""
        columns = columns_of(model or self.model, self.vectors)
        # the largest id may be that of a removed row, whose number must not be given again
        header = {**self.storage.header, "highest_id": self.ids.highest}
        self.storage.rewrite(columns, self.batches(model), write_model, header, who)
        self.model = model or self.model
        self._view()

    def check_known(self, positions, ids, who):
        """Raise for an id that is not in the index."""
        missing = np.flatnonzero(positions < 0)
        if len(missing):
            unknown = np.asarray(ids, dtype=object)[missing[0]]
            raise InputError(f"{who} does not know the id {unknown!r}; nothing was changed.")


def columns_of(model, vectors):
    """Columns of the storage. ``flags``: bit 0, much of the row is lost; bit 1, the kept row is rounded."""
    kept = vectors.columns if vectors else []
    codes = Column("codes", np.dtype(np.uint8), (model.coder_.n_bytes,))
    return [codes, Column("flags", np.dtype(np.uint8)), *ID_COLUMNS, *kept]


def format_of(name, is_sparse, width):
    """The format of kept vectors, or None."""
    return None if name is None else VectorFormat(name, is_sparse, width)
