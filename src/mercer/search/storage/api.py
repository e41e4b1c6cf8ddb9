"""A log of rows in columns: what both storages of an index, in memory and in a directory, have in common.

Rows get positions 0, 1, 2, ... in the order they are appended. A removed row keeps its position and its bytes until
``rewrite`` builds a new *generation* without it; only there positions change. A storage knows nothing of kernels, ids
or codes.

Changes are transactions: they show when the ``with`` block ends, all of them or none. What is visible is a
:class:`Snapshot`, which never changes afterward: columns, segments and removed rows of one moment belong together, and
whoever holds one may go on using it while rows are added, removed or rewritten.

Ctrl-C may be heard between any two steps, also while a failure is being cleared away. So nothing is believed to have
been cleared away: a change takes the *turn* before its first step and gives it back behind its last, and whoever finds
the turn taken by a change that is over calls :meth:`Storage.settle`, which can be interrupted too, and repeated.
"""

__all__ = ["Removed", "Segment", "Snapshot", "Storage", "Transaction"]

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer.search.storage.blocks import Column, RowWriter

SEGMENT_ROWS = 2**18
SEGMENT_BYTES = 2**28


@dataclass(frozen=True)
class Segment:
    """Consecutive rows, ``first`` to ``first + n_rows``, as large arrays.

    ``arrays`` maps the name of a column to an array with one row each, or to (values, offsets) if it is ragged: row i
    of the segment has ``values[offsets[i]:offsets[i + 1]]``. The arrays are not to be written to.
    """

    first: int
    n_rows: int
    arrays: dict[str, Any]


class Removed:
    """Which positions are removed, as one bool each. Growing is cheap and marking copies, so old views stay true.

    >>> few = Removed(3)
    >>> more = few.changed(5, [1])
    >>> few.flags.tolist(), more.flags.tolist()
    ([False, False, False], [False, True, False, False, False])
    """

    def __init__(self, n_positions: int, buffer: np.ndarray | None = None):
        self._buffer = np.zeros(n_positions, bool) if buffer is None else buffer
        self.flags = self._buffer[:n_positions]

    @cached_property
    def count(self) -> int:
        """How many positions are removed."""
        return int(np.count_nonzero(self.flags))

    def changed(self, n_positions: int, positions) -> "Removed":
        """The flags of ``n_positions`` rows, with those at ``positions`` removed too."""
        buffer = self._buffer
        if n_positions > len(buffer) or len(positions):
            # twice the room, so that adding rows one by one does not copy all flags each time
            room = len(buffer) if n_positions <= len(buffer) else 2 * n_positions
            buffer = np.zeros(room, bool)
            buffer[: len(self.flags)] = self.flags
            buffer[positions] = True
        return Removed(n_positions, buffer)


@dataclass(frozen=True)
class Snapshot:
    """All rows of one moment. ``model`` is what the caller gave to ``rewrite`` beside them, None if it is not known."""

    generation: int
    columns: tuple[Column, ...]
    segments: tuple[Segment, ...]
    removal: Removed
    model: Any = None

    @property
    def n_positions(self) -> int:
        """Rows ever appended in this generation, removed ones included."""
        return len(self.removal.flags)

    @property
    def removed(self) -> np.ndarray:
        """One bool per position: whether the row is removed."""
        return self.removal.flags


class Turn:
    """Whose turn it is to change a storage: one change at a time. Taking it and giving it back are single steps."""

    def __init__(self):
        self._holder: dict[str, tuple[int, object]] = {}

    def take(self, change: object) -> bool:
        """Whether ``change`` has the turn now, which the present thread begins."""
        mine = get_ident(), change
        return self._holder.setdefault("holder", mine) is mine

    def give_back(self) -> None:
        """The turn is free."""
        self._holder.pop("holder", None)

    @property
    def taken(self) -> bool:
        """Whether there is a change, under way or left behind."""
        return bool(self._holder)

    def left_behind(self) -> bool:
        """Whether the turn is that of a change of this thread, or of one that has ended.

        Asked where no change of this thread can be under way: then it was interrupted, and its clearing up too.
        """
        holder = self._holder.get("holder")
        return holder is not None and (holder[0] == get_ident() or holder[0] not in sys._current_frames())


class Transaction:
    """Changes on their way into a storage. Made by :meth:`Storage.transaction`, for a ``with`` statement."""

    def __init__(self, storage: "Storage", who: str):
        self._storage, self._who = storage, who
        self._removed: list[np.ndarray] = []
        self.failed = False  # a call failed inside the block, even if its error was caught there

    def __enter__(self) -> "Transaction":
        self._storage.begin(self, self._who)
        try:
            self._writer = self._storage.row_writer()
        except BaseException:
            self._storage.clear_away()
            raise
        return self

    def __exit__(self, kind, error, traceback) -> None:
        with self._storage.errors("the transaction"):
            try:
                if error is not None:
                    raise error
                self._finish()
            except BaseException:  # Ctrl-C included
                self._storage.clear_away()
                raise
        self._storage.turn.give_back()

    def _finish(self) -> None:
        if self.failed:
            raise InputError("An append failed, so the whole transaction was rolled back. Start a new one.")
        removed = self.newly_removed(self._storage.snapshot.removal)
        if self._writer.touched or len(removed):
            self._storage.commit(self._writer, removed)

    def append(self, arrays: Mapping[str, Any]) -> int:
        """Append rows: an array per column, (values, lengths) for a ragged one. Returns the position of the first.

        A large addition is best given in blocks: each is on its way to the disk when the call returns.
        """
        self.failed = True
        first = self._writer.append(arrays)
        self.failed = False
        return first

    def remove(self, positions) -> None:
        """Remove rows by position, those appended in this transaction included; a removed row may be named again."""
        positions = np.asarray(positions)
        if positions.size == 0:
            return
        if positions.dtype.kind not in "iu" or positions.ndim != 1:
            raise InputError(f"remove needs a list of positions, got {positions.dtype} of shape {positions.shape}.")
        if positions.min() < 0 or positions.max() >= self._writer.n_positions:
            wrong = positions[(positions < 0) | (positions >= self._writer.n_positions)][0]
            raise InputError(f"remove needs positions from 0 to {self._writer.n_positions - 1}, got {wrong}.")
        self._removed.append(positions.astype(np.int64))

    def newly_removed(self, before: Removed) -> np.ndarray:
        """Positions that this transaction removes and that were not removed ``before``, sorted."""
        if not self._removed:
            return np.empty(0, np.int64)
        positions = np.unique(np.concatenate(self._removed))
        known = positions[positions < len(before.flags)]
        return np.concatenate([known[~before.flags[known]], positions[len(known) :]])


class Storage(ABC):
    """What a storage offers, whichever way it keeps its rows.

    A :class:`Transaction` goes through ``begin``, ``row_writer`` and ``commit`` or ``clear_away``, and then gives the
    ``turn`` back; nobody else calls these.
    """

    segment_rows = SEGMENT_ROWS
    segment_bytes = SEGMENT_BYTES
    snapshot: Snapshot

    def __init__(self):
        self.turn = Turn()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of every row."""
        return self.snapshot.columns

    @property
    def n_positions(self) -> int:
        """Rows ever appended in this generation, removed ones included."""
        return self.snapshot.n_positions

    @property
    def removed(self) -> np.ndarray:
        """One bool per position: whether the row is removed."""
        return self.snapshot.removed

    def segments(self) -> list[Segment]:
        """The rows as few large pieces, in order. With ``removed`` use those of one ``snapshot``."""
        return list(self.snapshot.segments)

    def transaction(self, who: str = "transaction") -> Transaction:
        """Changes that show, and are durable, when the ``with`` block ends; if it fails nothing has happened.

        ``who`` is the verb that errors name.
        """
        return Transaction(self, who)

    def rewrite(
        self,
        columns: Iterable[Column],
        batches: Iterable[Mapping[str, Any]],
        write_model: Callable[[Path], None] | None = None,
        header: dict | None = None,
        who: str = "rewrite",
        model: Any = None,
    ) -> None:
        """Replace everything by a new generation, in one step that happens wholly or not at all.

        Parameters
        ----------
        columns : the columns of the new rows
        batches : the new rows, block by block; they may be read from the present segments
        write_model : writes the new model to a path; None keeps the present one
        header : the new header; None keeps the present one
        who : the verb that errors name
        model : what the new snapshot has as its ``model``
        """
        self.begin(batches, who)
        with self.errors("the new generation"):
            try:
                self._rewrite(tuple(columns), batches, write_model, header, model)
            except BaseException:
                self.clear_away()
                raise
        self.turn.give_back()

    def settle(self) -> None:
        """Clear away what an interrupted change has left, so that memory and disk show the same: before it, or after.

        Nothing happens while a change is under way in another thread. Not to be called inside a change.
        """
        if self.turn.taken and self.turn.left_behind():
            self.clear_away()

    def begin(self, change: object, who: str) -> None:
        """Take the turn for a change; refused while another has it."""
        self._check_writable(who)
        if not self.turn.take(change):
            raise InputError(f"{who} cannot start while another transaction of the same storage is active.")

    def clear_away(self) -> None:
        """Undo the present change and give its turn back."""
        self._undo()
        self.turn.give_back()

    def errors(self, what: str) -> AbstractContextManager:
        """Errors that name the place of ``what`` could not be written."""
        return nullcontext()

    @abstractmethod
    def close(self) -> None:
        """Give back files and locks. Snapshots stay usable."""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    @abstractmethod
    def _check_writable(self, name: str) -> None: ...

    @abstractmethod
    def row_writer(self) -> RowWriter:
        """What appends the rows of the present change."""

    @abstractmethod
    def commit(self, writer: RowWriter, removed: np.ndarray) -> None:
        """Make the rows of the present change count, and those at the positions ``removed`` not anymore."""

    @abstractmethod
    def _undo(self) -> None:
        """Be what is committed, in memory and on the disk; can be repeated after it was interrupted."""

    @abstractmethod
    def _rewrite(self, columns, batches, write_model, header, model) -> None: ...
