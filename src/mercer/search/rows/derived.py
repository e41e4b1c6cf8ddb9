"""What is derived from the rows of an index and answers for them: code store, few rows, lists, graph and bounds.

Each is made when it is first asked for, and extended after further rows. Rows are the truth: what is missing, cannot be
written or was interrupted is made again. In a directory, lists, graph and bounds are kept beside the rows.
"""

__all__ = ["Derived"]

from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import effective_threads, thread_limit
from mercer.search.effort import DEFAULT_SIZE, measured_curve
from mercer.search.exact.few import FEW_VALUES, FewRows
from mercer.search.exact.files import StoredBounds
from mercer.search.exact.keeping import complete_bounds
from mercer.search.graph.files import StoredGraph
from mercer.search.graph.rows import GraphOfRows, stored_graph
from mercer.search.lists.block import BLOCK_ROWS
from mercer.search.lists.files import StoredBlocks
from mercer.search.lists.store import ListStore
from mercer.search.model.coders import WordCoder
from mercer.search.rows.packing import gathered
from mercer.search.stores import CodeStore, FaissStore, FastScanStore

LISTS_FROM = 2**22  # rows beyond which codes are kept in inverted lists
DRIFT_SHARE = 64  # drift is counted again when so small a part of the rows has changed
_BUILDING = Lock()  # of lists, graphs and bounds: threads may search one index together


@dataclass(eq=False)
class Known:
    """What has been derived so far; None, or nothing, is derived when it is first asked for."""

    store: Any = None
    few: Any = None
    lists: Any = None
    graph: Any = None
    curves: list = field(default_factory=list)  # recall by effort: see `mercer.search.effort`
    drift: tuple = (0, 0.0)  # (positions when it was counted, share of rows that are unlike those of the fit)
    bounds: Any = None
    needs: dict = field(default_factory=dict)  # of neighbors, by how many there are: see exact/relaxed.py

    def lasting(self):
        """What still holds of another snapshot of the same generation."""
        return replace(self, store=None, few=None, needs={})


class Derived:
    """Of the rows of one snapshot.

    Parameters
    ----------
    rows : Collection
    snapshot : Snapshot
    model : SearchModel
    n_lists : int or "auto"
    n_jobs : int or None
    known : Known or None
        What was derived from the same rows before.
    """

    def __init__(self, rows, snapshot, model, n_lists, n_jobs, known=None):
        self._rows, self._snapshot, self._model = rows, snapshot, model
        self._n_lists, self._n_jobs = n_lists, n_jobs
        self.known = known or Known()

    def advanced(self, snapshot, removed):
        """The same after a commit of this process, which removed some positions and may have added others."""
        store = self.known.store if isinstance(self.known.store, FaissStore) else None
        if store is not None:  # lists are found once, and then filled
            new = np.arange(self._snapshot.n_positions, snapshot.n_positions)
            if len(new):
                store.upsert(new, gathered(snapshot, "codes", new))
            store.delete(removed)
        known = replace(self.known.lasting(), store=store, few=self.known.few)
        return Derived(self._rows, snapshot, self._model, self._n_lists, self._n_jobs, known)

    # --------------------------------------------------------------------------------------- codes, and few rows

    @property
    def store(self):
        """What finds candidates of embedded queries."""
        known = self.known
        if known.store is None:
            if self._model.store == "graph":
                known.store = self.graph.store(self._snapshot.removed)
            else:
                known.store = self._inverted(self.n_lists) if self.n_lists else self._scanner()
        return known.store

    @property
    def finds_quickly(self):
        """Whether the store looks at few rows only, so that it finds some that are near before bounds look at all."""
        return self._model.store == "graph" or bool(self._model.keeps_codes and self.n_lists)

    @property
    def n_lists(self):
        """Inverted lists of the codes, 0 for none."""
        n_rows = len(self._rows)
        if self._n_lists != "auto":
            return min(self._n_lists, self._snapshot.n_positions)
        suits = self._model.code in ("pq", "opq") and n_rows >= LISTS_FROM
        return int(4 * np.sqrt(n_rows)) if suits else 0

    def _scanner(self):
        coder = self._model.coder_
        is_packed = isinstance(coder, WordCoder) and coder.packed
        store = (FastScanStore if is_packed else CodeStore)(self._n_jobs)
        store.create(coder)
        store.attach(self._snapshot.segments, self._snapshot.removed)
        return store

    def _inverted(self, n_lists):
        store = FaissStore(n_lists, seed=0, n_jobs=self._n_jobs)
        store.create(self._model.coder_)
        codes = np.concatenate([segment.arrays["codes"] for segment in self._snapshot.segments])
        store.upsert(np.arange(len(codes)), codes)
        store.delete(np.flatnonzero(self._snapshot.removed))
        return store

    @property
    def few(self):
        """All rows, prepared to be looked at one by one, if they are few and dense; else None."""
        vectors, known, n_positions = self._rows.vectors, self.known, self._snapshot.n_positions
        if vectors is None or vectors.is_sparse or n_positions * vectors.width > FEW_VALUES:
            return None
        few = known.few
        if few is None or len(few) < n_positions:
            few = known.few = FewRows(self._rows.measure, self._rows.take(np.arange(n_positions)))
        return few

    # -------------------------------------------------------------------------------------------------- the graph

    @property
    def graph(self):
        """The graph of all positions, read or built at the first search and extended after further rows."""
        known = self.known
        with _BUILDING:
            found = known.graph
            if found is None:
                stored = stored_graph(self._rows)
                found, known.curves = stored or (GraphOfRows.empty(self._model), known.curves)
            known.graph = found.completed(self._snapshot.n_positions, self._rows)
        return known.graph

    def join_graph(self, first, fresh):
        """Embedded rows ``fresh`` of a change, which stand from a position on, join the graph."""
        known = self.known.graph or (GraphOfRows.empty(self._model) if fresh and first == 0 else None)
        if fresh and known is not None and known.n_rows == first:
            with _BUILDING, thread_limit(effective_threads(self._n_jobs)):
                self.known.graph = known.joined(np.concatenate(fresh))

    def carry_graph(self, before, left):
        """Take over the graph of the generation before with the rows ``left`` of it, none of which is embedded again.

        Parameters
        ----------
        before : Derived
        left : positions, then
        """
        graph = before.known.graph
        if graph is None:
            return
        self.known.curves = before.known.curves
        with _BUILDING, thread_limit(effective_threads(self._n_jobs)):
            if len(left) == graph.n_rows:
                self.known.graph = graph.saved(0)
            else:
                self.known.graph = GraphOfRows.empty(self._model).joined(graph.at(left[left < graph.n_rows]))

    def _complete_graph(self):
        """Add committed rows to the graph, and write it when it has grown."""
        with thread_limit(effective_threads(self._n_jobs)):
            found = self.graph
            if found.graph.n_rows and len(self._rows):
                measured_curve(self._rows, DEFAULT_SIZE)
        if found.is_to_be_saved:
            self._save_graph(found)

    def _save_graph(self, found):
        if self._rows.path is not None:
            StoredGraph(self._rows.folder, found.graph.width).save(found.graph, self.known.curves)
            self.known.graph = found.saved(found.graph.n_rows)

    @property
    def curves(self):
        """Recall by effort, as far as it was measured; what a graph has in its file comes with it."""
        return self.known.curves if self._model.store != "graph" or self.graph else []

    @property
    def drift(self):
        """The share of rows that are unlike those of the fit, counted again when enough of them are new."""
        known, n = self.known, self._snapshot.n_positions
        if abs(n - known.drift[0]) * DRIFT_SHARE > n:
            flags = self._rows.flags
            known.drift = n, float(np.count_nonzero(flags & 1)) / max(1, len(flags))
        return known.drift[1]

    # ------------------------------------------------------------------------------------------- lists and bounds

    @property
    def lists(self):
        """The inverted lists of all positions, built at the first search and extended after further rows."""
        known, rows = self.known, self._rows
        with _BUILDING:
            lists = known.lists or ListStore(rows.measure)
            if lists.n_rows < self._snapshot.n_positions:
                files = self._list_files(lists)
                lists = lists.extended(self._snapshot.n_positions, rows.take, files and files.load)
            known.lists = lists
        return lists

    def _list_files(self, lists):
        """Where full blocks of lists are kept, None in memory."""
        rows = self._rows
        return None if rows.path is None else StoredBlocks(rows.folder, rows.vectors.width, len(lists.formula.sums))

    def bounds(self, projection=None):
        """Bounds of all positions for an exact search; None if there are none yet and no ``projection`` says how.

        They are extended after further rows; in a directory they are kept beside the rows.
        """
        known, rows = self.known, self._rows
        with _BUILDING:
            files = None if rows.path is None else StoredBounds(rows.folder)
            known.bounds = complete_bounds(rows, rows.measure, known.bounds, files, projection, self._n_jobs)
            return known.bounds

    # ------------------------------------------------------------------------------------------- all of it together

    def complete(self):
        """Bring up to date what is derived from committed rows: what fails is made when needed."""
        rows, by_lists = self._rows, self._model.store == "lists"
        if by_lists and rows.path is not None and self._snapshot.n_positions >= BLOCK_ROWS:
            lists = self.lists
            files = self._list_files(lists)
            for block in lists.blocks:  # those that have become full
                files.save(block)
        if self._model.store == "graph":
            self._complete_graph()
        if not by_lists and rows.path is not None and rows.vectors is not None:
            with suppress(InputError, OSError):
                self.bounds()

    def save(self):
        """Write what is not written yet."""
        found = self.known.graph
        if found is not None and found.graph.n_rows > found.n_saved and self._rows.is_writable:
            self._save_graph(found)

    def verify(self):
        """Look at all that files have of it."""
        if self._model.store == "graph":
            found = stored_graph(self._rows, verify=True) or (GraphOfRows.empty(self._model), [])
            self.known.graph, self.known.curves = found
        if self._model.store == "lists":
            empty = ListStore(self._rows.measure)
            self._list_files(empty).verify(self._snapshot.n_positions, self._rows.take, empty.formula.sums)

    def sizes(self):
        """Bytes and rows of what there is, without making anything."""
        known = self.known
        return {
            "bounds_bytes": known.bounds.nbytes if known.bounds else 0,
            "lists": self.n_lists if self._model.keeps_codes else 0,
            "lists_bytes": known.lists.nbytes if known.lists else 0,
            "graph_bytes": known.graph.nbytes if known.graph else 0,
            "graph_rows": known.graph.graph.n_rows if known.graph else 0,
        }
