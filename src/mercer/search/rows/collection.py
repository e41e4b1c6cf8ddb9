"""The rows of an index: storage, ids and kept vectors, always of one moment, and what is derived from them."""

__all__ = ["Collection"]

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.models import save
from mercer.search.columns.blocks import DataBlock, empty_block, read_block, take_stored
from mercer.search.columns.types import NO_COLUMNS, DataTypes, columns_in, python_values, storage_columns
from mercer.search.conditions import parse_condition
from mercer.search.conditions.evaluation import fulfilled
from mercer.search.model.file import load_model
from mercer.search.model.measure import Measure
from mercer.search.rows.checks import check_columns, check_lengths, check_rows, check_taken, damages_named
from mercer.search.rows.derived import Derived
from mercer.search.rows.ids import ID_COLUMNS, IdTable, as_ids, listed_ids, refuse_repeated
from mercer.search.rows.packing import columns_of, new_blocks, old_blocks
from mercer.search.rows.vectors import as_kept
from mercer.search.storage.api import Snapshot
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.search.storage.memory import MemoryStorage

KEPT_MASKS = 8  # conditions whose rows are remembered


@dataclass(eq=False)
class View:
    """A snapshot of a storage and all that is remembered of it."""

    storage: Any
    snapshot: Snapshot
    model: Any
    ids: IdTable
    derived: Derived
    trusted: bool  # all rows were looked at, or written by this process
    data: DataTypes = NO_COLUMNS  # columns beside the rows
    masks: dict = field(default_factory=dict)  # which rows fulfill a condition, by its tree

    @cached_property
    def measure(self):
        """How rows are compared."""
        return Measure.of(self.model)


class Collection:
    """Rows by id.

    What a storage has committed is the truth, and one attribute, ``view``, is all that is remembered of it: a view
    whose snapshot is not that of the storage is not looked at anymore. So a change that is interrupted has happened or
    has not, and memory and disk agree on it, whichever line it had reached: see :meth:`settled`.

    Parameters
    ----------
    model : SearchModel, fitted
    vectors : VectorFormat or None
    n_lists : int or "auto"
    n_jobs : int or None
    storage : Storage or None
        None: a new one in memory.
    trusted : bool
        False looks at rows of a directory each time they are taken.
    """

    def __init__(self, model, vectors, n_lists="auto", n_jobs=None, storage=None, trusted=True):
        self.vectors = vectors
        self._n_lists, self._n_jobs = n_lists, n_jobs
        storage = storage or MemoryStorage(columns_of(model, vectors), {})
        self._moving = None  # a storage in a directory that is being filled with the rows
        self.view = self._new_view(storage, model, trusted)

    # ------------------------------------------------------------------------------------------------------ one view

    storage = property(lambda self: self.view.storage)
    snapshot = property(lambda self: self.view.snapshot)
    model = property(lambda self: self.view.model)
    ids = property(lambda self: self.view.ids)
    data = property(lambda self: self.view.data)
    derived = property(lambda self: self.view.derived)
    measure = property(lambda self: self.view.measure)

    def settled(self):
        """The collection itself, after what an interrupted change has left was cleared away.

        Everything that is asked of an index begins here.
        """
        if self._moving is not None:
            self._settle_move()
        storage = self.view.storage
        storage.settle()
        if self.view.snapshot is not storage.snapshot:
            self.view = self._present(storage)
        return self

    def _settle_move(self):
        if self._moving.is_filled() and self.view.storage is not self._moving:
            self.view = self._new_view(self._moving, self.model, self.view.trusted)
        self._moving = None

    def _present(self, storage):
        """The view of what a storage holds now; what was found out of the same generation is kept."""
        before = self.view
        model, generation = storage.snapshot.model, storage.snapshot.generation
        if model is None:
            same = generation == before.snapshot.generation
            model = before.model if same else load_model(storage, self._n_jobs)
        view = self._new_view(storage, model, before.trusted and not hasattr(storage, "path"))
        if view.snapshot.generation == before.snapshot.generation:
            view.derived.known = before.derived.known.lasting()
        return view

    def _new_view(self, storage, model, trusted):
        snapshot = storage.snapshot  # now: loading a model may have found a still newer generation
        derived = Derived(self, snapshot, model, self._n_lists, self._n_jobs)
        if not hasattr(storage, "path"):
            return View(storage, snapshot, model, _ids_of(storage), derived, True, columns_in(storage.header))
        with damages_named(storage):
            data = columns_in(storage.header)
            check_columns(snapshot.columns, columns_of(model, self.vectors, data))
            check_lengths(snapshot.segments, self.vectors)
            return View(storage, snapshot, model, _ids_of(storage), derived, trusted, data)

    def refresh(self):
        """See what another process has committed since."""
        if hasattr(self.storage, "refresh"):
            self.storage.refresh()
        self.settled()

    def _advance(self, ids, removed):
        """The view behind a commit, without deriving everything again. Interrupted, it leaves the view out of date."""
        view, snapshot = self.view, self.view.storage.snapshot
        view.ids.remove(removed)
        view.ids.append(ids)
        self.view = replace(view, snapshot=snapshot, derived=view.derived.advanced(snapshot, removed), masks={})

    # ------------------------------------------------------------------------------------------------- what there is

    @property
    def by_lists(self):
        """Whether rows are found by inverted lists."""
        return self.model.store == "lists"

    @property
    def by_graph(self):
        """Whether rows are found by a graph."""
        return self.model.store == "graph"

    def close(self):
        """Write what is derived and not written yet, and give back the files."""
        self.derived.save()
        self.storage.close()

    @property
    def is_writable(self):
        """Whether rows can be changed."""
        return self.path is None or self.storage.is_writable

    @property
    def folder(self):
        """Where the files of this generation are."""
        return self.storage.model_path.parent

    def may_be_found(self, allowed):
        """Bool per position, or None if all may be."""
        removed = self.snapshot.removed
        if not self.snapshot.removal.count:
            return allowed
        return ~removed if allowed is None else allowed & ~removed

    def __len__(self):
        return self.snapshot.n_positions - self.snapshot.removal.count

    @property
    def path(self):
        """The directory of the rows, None in memory."""
        return getattr(self.storage, "path", None)

    @property
    def alive(self):
        """Positions of the rows that were not removed."""
        return np.flatnonzero(~self.snapshot.removed)

    @property
    def rounded(self):
        """How many rows are kept rounded."""
        return int(np.count_nonzero(self.flags & 2))

    @property
    def flags(self):
        """Of the rows that were not removed: see `columns_of`."""
        return self.column("flags")[self.alive] if len(self) else np.empty(0, dtype=np.uint8)

    def column_bytes(self):
        """Bytes of each column, by name."""
        sizes = dict.fromkeys((column.name for column in self.snapshot.columns), 0)
        for segment in self.snapshot.segments:
            for name, array in segment.arrays.items():
                sizes[name] += sum(part.nbytes for part in (array if isinstance(array, tuple) else (array,)))
        return sizes

    def kept_bytes(self):
        """Bytes of the rows that are kept beside their codes."""
        others = {"codes", "flags", *(column.name for column in (*ID_COLUMNS, *storage_columns(self.data)))}
        return sum(n_bytes for name, n_bytes in self.column_bytes().items() if name not in others)

    def column(self, name):
        """A column without ragged rows, of all positions."""
        parts = [segment.arrays[name] for segment in self.snapshot.segments]
        return np.concatenate(parts) if parts else np.empty(0)

    def check_kept(self, who):
        """Raise if codes only are kept."""
        if self.vectors is None:
            raise InputError(f"{who} needs the rows, but this index stores codes only (vectors=None).")

    def as_kept(self, X):
        """Validated rows, dense or sparse as the kept ones are."""
        return X if self.vectors is None else as_kept(X, self.vectors.is_sparse)

    def take(self, positions):
        """Kept rows at positions, float32."""
        view = self.view
        rows = self.vectors.take(view.snapshot.segments, positions)
        if not view.trusted:
            with damages_named(view.storage):
                check_taken(rows, self.vectors, view.model.kernel_)
        return rows

    def verify(self):
        """Look at all rows, so that they need not be looked at when they are taken."""
        with damages_named(self.storage):
            check_rows(self, self._n_jobs)
            self.derived.verify()
        self.view.trusted = True

    # ------------------------------------------------------------------------------------------------------- changes

    def new_ids(self, ids, n_rows, who):
        """Checked ids of new rows, each once: those given, or integers after the largest so far."""
        if ids is None:
            first = self.ids.highest + 1
            if first + n_rows > 2**63:
                raise InputError(f"{who} has no 64-bit integers left after the id {first - 1}. Pass ids.")
            return np.arange(first, first + n_rows)
        ids = as_ids(ids, n_rows, who)
        refuse_repeated(ids, who)
        return ids

    def new_data(self, data, n_rows, who, replaced=None):
        """Checked values of the columns for new rows; what a table does not name stays as it is at ``replaced``."""
        before = None if replaced is None else DataBlock(self.data, self._stored(replaced))
        return read_block(data, self.data, n_rows, who, before)

    def append(self, X, ids, replaced, who, data):
        """Add validated rows; remove the positions ``replaced`` in the same step."""
        if data.columns != self.data:
            return self._append_with_columns(X, ids, replaced, who, data)
        first, fresh = self.snapshot.n_positions, []
        with self.storage.transaction(who) as transaction:
            for arrays in new_blocks(self.model, self.vectors, X, ids, data, who, fresh):
                transaction.append(arrays)
            transaction.remove(replaced)
        self._advance(ids, replaced)
        self.derived.join_graph(first, fresh)
        self.derived.complete()

    def _append_with_columns(self, X, ids, replaced, who, data):
        """The same where rows have had no columns so far: a new generation, in which the old rows have no values."""
        model, left = self.model, np.setdiff1d(self.alive, replaced)
        old = (
            {**arrays, **empty_block(data.columns, len(arrays["flags"])).packed()} for arrays in old_blocks(self, left)
        )
        header = self.storage.header | {
            "highest_id": self.ids.highest,
            "data": [{"name": column.name, "type": column.type} for column in data.columns],
        }
        columns = columns_of(model, self.vectors, data.columns)
        before, fresh = self.derived, []
        new = new_blocks(model, self.vectors, X, ids, data, who, fresh)
        self.storage.rewrite(columns, chain(old, new), None, header, who, model)
        self.settled()
        self.derived.carry_graph(before, left)
        self.derived.join_graph(len(left), fresh)
        self.derived.complete()

    def remove(self, positions, who):
        """Remove rows by position."""
        with self.storage.transaction(who) as transaction:
            transaction.remove(positions)
        self._advance(np.empty(0, dtype=np.int64), positions)

    def batches(self):
        """The rows that are left, block by block."""
        return old_blocks(self, self.alive)

    def rewrite(self, who, model=None, write_model=None):
        """A new generation without removed rows, encoded by another model if one is given; wholly or not at all."""
        columns = columns_of(model or self.model, self.vectors, self.data)
        # the largest id may be that of a removed row, whose number must not be given again
        header = {**self.storage.header, "highest_id": self.ids.highest}
        before, alive = self.derived, self.alive
        self.storage.rewrite(columns, old_blocks(self, alive, model), write_model, header, who, model or self.model)
        self.settled()
        if model is None:
            self.derived.carry_graph(before, alive)
        self.derived.complete()

    def move(self, path, header):
        """Go over to a directory, which has all rows that are left or none."""
        before, alive = self.derived, self.alive
        self._moving = storage = DirectoryStorage.at(path)
        try:
            columns = columns_of(self.model, self.vectors, self.data)
            storage.fill(columns, lambda path: save(self.model, path), header, self.batches(), self.model)
        finally:
            self.settled()
        self.derived.carry_graph(before, alive)
        self.derived.complete()

    def known(self, ids, who):
        """Where ids stand, all of which must be in the index."""
        positions = self.ids.positions(ids)
        missing = np.flatnonzero(positions < 0)
        if len(missing):
            unknown = np.asarray(ids, dtype=object)[missing[0]]
            raise InputError(f"{who} found no row with the id {unknown!r}. Nothing was changed.")
        return positions

    def check_new(self, ids, who):
        """Raise for an id that is in the index."""
        known = self.ids.positions(ids) >= 0
        if known.any():
            taken = np.asarray(ids, dtype=object)[int(np.argmax(known))]
            raise InputError(
                f"{who} got the id {taken!r}, which is already in the index. Nothing was added. Use update."
            )

    def _stored(self, positions):
        """What the storage keeps in each column at these positions."""
        return [take_stored(self.snapshot, column, i, positions) for i, column in enumerate(self.data)]

    def values(self, positions):
        """Python's own values of each column at these positions, by name."""
        with damages_named(self.storage):
            pairs = zip(self.data, self._stored(positions), strict=True)
            return {column.name: python_values(column, stored) for column, stored in pairs}

    def fulfilling(self, where, who):
        """Which positions fulfill a condition, as bools."""
        view = self.view
        tree = parse_condition(where, view.data, who)
        if tree not in view.masks:
            mask = fulfilled(tree, view.data, view.snapshot) & ~view.snapshot.removed
            view.masks = dict([*view.masks.items(), (tree, mask)][-KEPT_MASKS:])
            return mask
        return view.masks[tree]

    def allowed(self, filter, who, where=None):
        """Which positions a filter and a condition of a search let through, as bools; None without either."""
        found = self._filtered(filter, f"{who}(filter=)")
        if where is None:
            return found
        mask = self.fulfilling(where, who)
        return mask if found is None else found & mask

    def _filtered(self, filter, who):
        if filter is None:
            return None
        if callable(filter):
            alive = self.alive
            positions = alive[[bool(filter(value)) for value in self.ids.at(alive).tolist()]]
        else:
            positions = self.known(listed_ids(filter, who), who)
        allowed = np.zeros(self.snapshot.n_positions, dtype=bool)
        allowed[positions] = True
        return allowed


def _ids_of(storage):
    table = IdTable(storage.header.get("highest_id", -1))
    for segment in storage.snapshot.segments:
        table.load(segment)
    table.remove(np.flatnonzero(storage.snapshot.removed))
    return table
