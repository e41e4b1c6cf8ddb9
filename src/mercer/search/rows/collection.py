"""The rows of an index: storage, ids, kept vectors and the store that scans codes, always of one moment."""

__all__ = ["Collection", "columns_of", "format_of"]

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.models import save
from mercer._base.progress import track
from mercer._base.threads import effective_threads, thread_limit
from mercer.search.columns.blocks import DataBlock, empty_block, read_block, take_stored
from mercer.search.columns.types import NO_COLUMNS, DataTypes, columns_in, python_values, storage_columns
from mercer.search.conditions import parse_condition
from mercer.search.conditions.evaluation import fulfilled
from mercer.search.effort import DEFAULT_SIZE, measured_curve
from mercer.search.exact.few import FEW_VALUES, FewRows
from mercer.search.exact.files import StoredBounds
from mercer.search.exact.keeping import complete_bounds
from mercer.search.graph.files import StoredGraph
from mercer.search.graph.rows import GraphOfRows, halves, stored_graph, unit_of
from mercer.search.lists.block import BLOCK_ROWS
from mercer.search.lists.files import StoredBlocks
from mercer.search.lists.store import ListStore
from mercer.search.model.coders import WordCoder
from mercer.search.model.file import load_model
from mercer.search.model.measure import Measure
from mercer.search.rows.checks import check_columns, check_lengths, check_rows, check_taken, damages_named
from mercer.search.rows.ids import ID_COLUMNS, IdTable, as_ids, listed_ids, pack_ids, refuse_repeated
from mercer.search.rows.vectors import VectorFormat, as_kept
from mercer.search.storage.api import Snapshot
from mercer.search.storage.blocks import Column
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.search.storage.memory import MemoryStorage
from mercer.search.stores import CodeStore, FaissStore, FastScanStore

LISTS_FROM = 2**22  # rows beyond which codes are kept in inverted lists
ADD_ROWS = 2**14  # rows encoded at a time
KEPT_MASKS = 8  # conditions whose rows are remembered
DRIFT_SHARE = 64  # drift is counted again when so small a part of the rows has changed
_BUILDING = Lock()  # of lists, graphs and bounds: threads may search one index together


@dataclass(eq=False)
class View:
    """A snapshot of a storage and all that is derived from it. What is None is derived when it is first asked for."""

    storage: Any
    snapshot: Snapshot
    model: Any
    ids: IdTable
    trusted: bool  # all rows were looked at, or written by this process
    data: DataTypes = NO_COLUMNS  # columns beside the rows
    store: Any = None
    lists: Any = None
    few: Any = None  # of few dense rows: all of them, prepared
    graph: Any = None
    curves: list = field(default_factory=list)  # recall by effort: see `mercer.search.effort`
    drift: tuple = (0, 0.0)  # (positions when it was counted, share of rows that are unlike those of the fit)
    bounds: Any = None
    relaxed: dict = field(default_factory=dict)  # needs of neighbors, by how many there are: see exact/relaxed.py
    masks: dict = field(default_factory=dict)  # which rows fulfill a condition, by its tree

    @cached_property
    def measure(self):
        """How rows are compared."""
        return Measure.of(self.model)


class Collection:
    """Rows by id.

    What a storage has committed is the truth, and one attribute, ``view``, is all that is remembered of it: a view
    whose snapshot is not that of the storage is not looked at any more. So a change that is interrupted has happened or
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
        self._fresh = []  # embedded rows of the present change, for the graph
        self._moving = None  # a storage in a directory that is being filled with the rows
        self.view = self._new_view(storage, model, trusted)

    # ------------------------------------------------------------------------------------------------------ one view

    storage = property(lambda self: self.view.storage)
    snapshot = property(lambda self: self.view.snapshot)
    model = property(lambda self: self.view.model)
    ids = property(lambda self: self.view.ids)
    data = property(lambda self: self.view.data)
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
            self.view = self._derived(storage)
        return self

    def _settle_move(self):
        if self._moving.is_filled() and self.view.storage is not self._moving:
            self.view = self._new_view(self._moving, self.model, self.view.trusted)
        self._moving = None

    def _derived(self, storage):
        """The view of what a storage holds now; what was found out of the same generation is kept."""
        before = self.view
        model, generation = storage.snapshot.model, storage.snapshot.generation
        if model is None:
            same = generation == before.snapshot.generation
            model = before.model if same else load_model(storage, self._n_jobs)
        view = self._new_view(storage, model, before.trusted and not hasattr(storage, "path"))
        if view.snapshot.generation == before.snapshot.generation:
            view.bounds, view.lists = before.bounds, before.lists
            view.graph, view.curves, view.drift = before.graph, before.curves, before.drift
        return view

    def _new_view(self, storage, model, trusted):
        snapshot = storage.snapshot  # now: loading a model may have found a still newer generation
        if not hasattr(storage, "path"):
            return View(storage, snapshot, model, _ids_of(storage), True, columns_in(storage.header))
        with damages_named(storage):
            data = columns_in(storage.header)
            check_columns(snapshot.columns, columns_of(model, self.vectors, data))
            check_lengths(snapshot.segments, self.vectors)
            return View(storage, snapshot, model, _ids_of(storage), trusted, data)

    def refresh(self):
        """See what another process has committed since."""
        if hasattr(self.storage, "refresh"):
            self.storage.refresh()
        self.settled()

    def _advance(self, ids, removed):
        """The view behind a commit, without deriving everything again. Interrupted, it leaves the view out of date."""
        view, snapshot = self.view, self.view.storage.snapshot
        before = view.snapshot.n_positions
        view.ids.remove(removed)
        view.ids.append(ids)
        store = view.store if isinstance(view.store, FaissStore) else None
        if store is not None:  # lists are found once, and then filled
            new = np.arange(before, snapshot.n_positions)
            if len(new):
                store.upsert(new, _gathered(snapshot, "codes", new))
            store.delete(removed)
        self.view = replace(view, snapshot=snapshot, store=store, masks={}, relaxed={})

    @property
    def store(self):
        """What scans the codes."""
        view = self.view
        if view.store is None:
            if self.by_graph:
                view.store = self.graph.store(view.snapshot.removed)
            else:
                view.store = self._inverted(self.n_lists) if self.n_lists else self._scanner()
        return view.store

    @property
    def few(self):
        """All rows, prepared to be looked at one by one, if they are few and dense; else None."""
        view = self.view
        n_positions = view.snapshot.n_positions
        if self.vectors is None or self.vectors.is_sparse or n_positions * self.vectors.width > FEW_VALUES:
            return None
        few = view.few
        if few is None or len(few) < n_positions:
            few = view.few = FewRows(view.measure, self.take(np.arange(n_positions)))
        return few

    @property
    def has_codes(self):
        """Whether codes are kept."""
        return self.model.keeps_codes

    @property
    def finds_quickly(self):
        """Whether the store looks at few rows only, so that it finds some that are near before bounds look at all."""
        return self.by_graph or bool(self.has_codes and self.n_lists)

    @property
    def by_lists(self):
        """Whether rows are found by inverted lists."""
        return self.model.store == "lists"

    @property
    def by_graph(self):
        """Whether rows are found by a graph."""
        return self.model.store == "graph"

    @property
    def graph(self):
        """The graph of all positions, read or built at the first search and extended after further rows."""
        view = self.view
        with _BUILDING:
            found = view.graph
            if found is None:
                stored = stored_graph(self)
                found, view.curves = stored or (GraphOfRows.empty(view.model), view.curves)
            view.graph = found.completed(view.snapshot.n_positions, self)
        return view.graph

    def _extend_graph(self):
        """Add committed rows to the graph, and write it when it has grown: what fails is made when needed."""
        if self.by_graph:
            with thread_limit(effective_threads(self._n_jobs)):
                found = self.graph
                if found.graph.n_rows and len(self):
                    measured_curve(self, DEFAULT_SIZE)
            if found.is_to_be_saved:
                self._save_graph(found)

    def _save_graph(self, found):
        if self.path is not None:
            StoredGraph(self.folder, found.graph.width).save(found.graph, self.view.curves)
            self.view.graph = found.saved(found.graph.n_rows)

    def _join_graph(self, first):
        """The rows of the present change, which begin at a position, join the graph; they are embedded already."""
        fresh, self._fresh = self._fresh, []
        view = self.view
        known = view.graph or (GraphOfRows.empty(view.model) if fresh and first == 0 else None)
        if fresh and known is not None and known.n_rows == first:
            with _BUILDING, thread_limit(effective_threads(self._n_jobs)):
                view.graph = known.joined(np.concatenate(fresh))

    def _carry_graph(self, before, left):
        """The graph of a generation with the rows ``left`` of the view before, none of which is embedded again."""
        if before is None or before.graph is None:
            return
        self.view.curves, before = before.curves, before.graph
        with _BUILDING, thread_limit(effective_threads(self._n_jobs)):
            if len(left) == before.n_rows:
                self.view.graph = before.saved(0)
            else:
                vectors = before.at(left[left < before.n_rows])
                self.view.graph = GraphOfRows.empty(self.model).joined(vectors)

    def close(self):
        """Write what is derived and not written yet, and give back the files."""
        found = self.view.graph
        if found is not None and found.graph.n_rows > found.n_saved and self.is_writable:
            self._save_graph(found)
        self.storage.close()

    @property
    def is_writable(self):
        """Whether rows can be changed."""
        return self.path is None or self.storage.is_writable

    @property
    def curves(self):
        """Recall by effort, as far as it was measured; what a graph has in its file comes with it."""
        return self.view.curves if not self.by_graph or self.graph else []

    @property
    def folder(self):
        """Where the files of this generation are."""
        return self.storage.model_path.parent

    @property
    def drift(self):
        """The share of rows that are unlike those of the fit, counted again when enough of them are new."""
        view, n = self.view, self.snapshot.n_positions
        if abs(n - view.drift[0]) * DRIFT_SHARE > n:
            flags = self.flags
            view.drift = n, float(np.count_nonzero(flags & 1)) / max(1, len(flags))
        return view.drift[1]

    @property
    def lists(self):
        """The inverted lists of all positions, built at the first search and extended after further rows."""
        view = self.view
        with _BUILDING:
            lists = view.lists or ListStore(view.measure)
            if lists.n_rows < view.snapshot.n_positions:
                files = self._list_files(lists)
                lists = lists.extended(view.snapshot.n_positions, self.take, files and files.load)
            view.lists = lists
        return lists

    def bounds(self, projection=None):
        """Bounds of all positions for an exact search; None if there are none yet and no ``projection`` says how.

        They are extended after further rows; in a directory they are kept beside the rows.
        """
        with _BUILDING:
            files = None if self.path is None else StoredBounds(self.folder)
            view = self.view
            view.bounds = complete_bounds(self, view.measure, view.bounds, files, projection, self._n_jobs)
            return view.bounds

    def _list_files(self, lists):
        """Where full blocks of lists are kept, None in memory."""
        if self.path is None:
            return None
        return StoredBlocks(self.folder, self.vectors.width, len(lists.formula.sums))

    def _derive(self):
        """Bring up to date what is derived from committed rows: what fails is made when needed."""
        self._save_lists()
        self._extend_graph()
        if not self.by_lists and self.path is not None and self.vectors is not None:
            with suppress(InputError, OSError):
                self.bounds()

    def _save_lists(self):
        """Write the blocks of lists that have become full. The rows are committed: what fails is made when needed."""
        if self.by_lists and self.path is not None and self.snapshot.n_positions >= BLOCK_ROWS:
            lists = self.lists
            files = self._list_files(lists)
            for block in lists.blocks:
                files.save(block)

    def may_be_found(self, allowed):
        """Bool per position, or None if all may be."""
        removed = self.snapshot.removed
        if not self.snapshot.removal.count:
            return allowed
        return ~removed if allowed is None else allowed & ~removed

    @property
    def n_lists(self):
        """Inverted lists of the codes, 0 for none."""
        if self._n_lists != "auto":
            return min(self._n_lists, self.snapshot.n_positions)
        suits = self.model.code in ("pq", "opq") and len(self) >= LISTS_FROM
        return int(4 * np.sqrt(len(self))) if suits else 0

    def _scanner(self):
        coder = self.model.coder_
        is_packed = isinstance(coder, WordCoder) and coder.packed
        store = (FastScanStore if is_packed else CodeStore)(self._n_jobs)
        store.create(coder)
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
        sizes = dict.fromkeys(self._names, 0)
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
            raise InputError(f"{who} needs the rows, and this index keeps codes only (vectors=None).")

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
            if self.by_graph:
                found = stored_graph(self, verify=True) or (GraphOfRows.empty(self.model), [])
                self.view.graph, self.view.curves = found
            if self.by_lists:
                empty = ListStore(self.measure)
                self._list_files(empty).verify(self.snapshot.n_positions, self.take, empty.formula.sums)
        self.view.trusted = True

    # ------------------------------------------------------------------------------------------------------- changes

    def new_ids(self, ids, n_rows, who):
        """Checked ids of new rows, each once: those given, or whole numbers after the largest so far."""
        if ids is None:
            first = self.ids.highest + 1
            if first + n_rows > 2**63:
                raise InputError(f"{who} has no whole numbers of 64 bits left after the id {first - 1}. Give ids.")
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
        first = self.snapshot.n_positions
        with self.storage.transaction(who) as transaction:
            for arrays in self._blocks(X, ids, who, data):
                transaction.append(arrays)
            transaction.remove(replaced)
        self._advance(ids, replaced)
        self._join_graph(first)
        self._derive()

    def _append_with_columns(self, X, ids, replaced, who, data):
        """The same where rows have had no columns so far: a new generation, in which the old rows have no values."""
        model, left = self.model, np.setdiff1d(self.alive, replaced)
        old = (
            {**arrays, **empty_block(data.columns, len(arrays["flags"])).packed()}
            for arrays in self.batches(positions=left)
        )
        header = self.storage.header | {
            "highest_id": self.ids.highest,
            "data": [{"name": column.name, "type": column.type} for column in data.columns],
        }
        columns = columns_of(model, self.vectors, data.columns)
        new = self._blocks(X, ids, who, data)
        before = self.view
        self.storage.rewrite(columns, chain(old, new), None, header, who, model)
        self.settled()
        self._carry_graph(before, left)
        self._join_graph(len(left))
        self._derive()

    def _blocks(self, X, ids, who, data):
        """New rows as a storage takes them, some at a time."""
        self._fresh = []
        for start in track(range(0, X.shape[0], ADD_ROWS), "Adding rows"):
            part = slice(start, start + ADD_ROWS)
            yield {**self._packed(X[part], ids[part], who), **data[part].packed()}

    def _packed(self, X, ids, who):
        arrays, flags = pack_ids(ids), np.zeros(X.shape[0], dtype=np.uint8)
        if self.model.embeds:
            Z, flags = _embedded(self.model, X)
            if self.has_codes:
                arrays["codes"] = self.model.coder_.encode(Z)
            if self.by_graph:
                self._fresh.append(halves(Z, unit_of(self.model)))
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

    def batches(self, model=None, positions=None):
        """The rows that are left, block by block, for a new generation; encoded again by a model if one is given."""
        alive = self.alive if positions is None else positions
        for start in range(0, len(alive), ADD_ROWS):
            positions = alive[start : start + ADD_ROWS]
            arrays = {name: _gathered(self.snapshot, name, positions) for name in self._names}
            if model is not None and model.embeds:
                rounded = arrays["flags"] & np.uint8(2)
                Z, far = _embedded(model, self.take(positions))
                if model.keeps_codes:
                    arrays["codes"] = model.coder_.encode(Z)
                arrays["flags"] = rounded | far
            yield arrays

    @property
    def _names(self):
        return [column.name for column in self.snapshot.columns]

    def rewrite(self, who, model=None, write_model=None):
        """A new generation without removed rows, encoded by another model if one is given; wholly or not at all."""
        columns = columns_of(model or self.model, self.vectors, self.data)
        # the largest id may be that of a removed row, whose number must not be given again
        header = {**self.storage.header, "highest_id": self.ids.highest}
        before, alive = None if model else self.view, self.alive
        self.storage.rewrite(columns, self.batches(model), write_model, header, who, model or self.model)
        self.settled()
        self._carry_graph(before, alive)
        self._derive()

    def move(self, path, header):
        """Go over to a directory, which has all rows that are left or none."""
        before, alive = self.view, self.alive
        self._moving = storage = DirectoryStorage.at(path)
        try:
            columns = columns_of(self.model, self.vectors, self.data)
            storage.fill(columns, lambda path: save(self.model, path), header, self.batches(), self.model)
        finally:
            self.settled()
        self._carry_graph(before, alive)
        self._derive()

    def known(self, ids, who):
        """Where ids stand, all of which must be in the index."""
        positions = self.ids.positions(ids)
        missing = np.flatnonzero(positions < 0)
        if len(missing):
            unknown = np.asarray(ids, dtype=object)[missing[0]]
            raise InputError(f"{who} does not know the id {unknown!r}; nothing was changed.")
        return positions

    def check_new(self, ids, who):
        """Raise for an id that is in the index."""
        known = self.ids.positions(ids) >= 0
        if known.any():
            taken = np.asarray(ids, dtype=object)[int(np.argmax(known))]
            raise InputError(f"{who} was given the id {taken!r}, which is in the index; nothing was added. Use update.")

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


def columns_of(model, vectors, data=()):
    """Columns of the storage. ``flags``: bit 0, much of the row is lost; bit 1, the kept row is rounded."""
    kept = vectors.columns if vectors else []
    codes = [Column("codes", np.dtype(np.uint8), (model.coder_.n_bytes,))] if model.keeps_codes else []
    return [*codes, Column("flags", np.dtype(np.uint8)), *ID_COLUMNS, *kept, *storage_columns(data)]


def format_of(name, is_sparse, width):
    """The format of kept vectors, or None."""
    return None if name is None else VectorFormat(name, is_sparse, width)


def _embedded(model, X):
    """(embedded rows, flags of those of which much is lost)."""
    Z, lost = model.embed(X)
    return Z, (lost > model.residual_limit_).astype(np.uint8)


def _ids_of(storage):
    table = IdTable(storage.header.get("highest_id", -1))
    for segment in storage.snapshot.segments:
        table.load(segment)
    table.remove(np.flatnonzero(storage.snapshot.removed))
    return table


def _gathered(snapshot, name, positions):
    """A column at ascending positions, as it is appended to a storage."""
    parts, lengths = [], []
    for segment in snapshot.segments:
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
