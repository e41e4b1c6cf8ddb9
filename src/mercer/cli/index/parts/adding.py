"""Rows of a file into an index: looked through once before anything is done, then added block by block.

Every block is on the disk when the next one is begun. Whatever ends the work early, the rows that were added stay, and
it is said how many they are and how to go on.
"""

__all__ = ["RowsToAdd", "add_rows", "check_rows", "open_rows_to_add", "with_columns"]

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import typer

from mercer._base.errors import InputError, MercerError
from mercer._base.tables import ArgumentError, RowSource
from mercer.cli.framework.errors import INTERRUPTED
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import answer_json, note, progress
from mercer.cli.index.parts.columns import typed_columns
from mercer.cli.index.parts.files import open_rows_for
from mercer.cli.index.parts.ids import checked_ids, ids_of_column, read_ids
from mercer.cli.models.learning import blaming

BLOCK_ROWS = 2**16  # rows added at a time
BLOCK_BYTES = 2**26  # memory of such a block, as float64


@dataclass(frozen=True)
class RowsToAdd:
    """Rows, their ids, and how many of them are left out at the start."""

    data: RowSource
    ids: Any
    skip: int = 0
    columns: Any = None  # beside the rows, as the index takes them

    @property
    def n_rows(self) -> int:
        """Rows that are to be added."""
        return self.data.shape[0] - self.skip

    def blocks(self, what: str) -> Iterator[tuple[Any, slice]]:
        """Pairs (rows, slice of the file) from the first row that is not left out, with a display of the progress."""
        from mercer._base.progress import track

        size = max(1, min(BLOCK_ROWS, BLOCK_BYTES // (8 * self.data.shape[1])))
        first, _ = next(self.data.blocks(size=1))
        if hasattr(first, "indptr"):  # few of the columns are there
            size = BLOCK_ROWS
        total = ceil(self.data.shape[0] / size)
        for rows, part in track(self.data.blocks(size=size), what, total=total):
            start = max(part.start, self.skip)
            if start < part.stop:
                yield rows[start - part.start :], slice(start, part.stop)


def open_rows_to_add(
    settings: Settings,
    x: str,
    ids: str | None,
    keep: str | None,
    rules: dict[str, Any],
    index: Any = None,
    skip: int = 0,
) -> RowsToAdd:
    """The rows of a file with the ids that ``--id`` or ``--ids`` says, all of them checked against each other."""
    if x == "-" and ids == "-":
        raise ArgumentError("DATA and --ids cannot both be standard input. Read one of them from a file.")
    if ids is not None and rules["id"] is not None:
        raise ArgumentError("--id and --ids cannot be combined. Use only one of them.")
    if ids is not None and ids != "-" and not Path(ids).is_file():
        what = f"{ids} is a directory" if Path(ids).is_dir() else f"There is no file {ids}"
        raise ArgumentError(f"{what}. --ids needs a file of ids. Name a column of {x} with --id.")
    wanted = tuple(name.strip() for name in keep.split(",")) if keep else ()
    data = open_rows_for(settings, x, rules | {"needs_labels": False, "keep": wanted}, index)
    if skip >= data.shape[0]:
        raise ArgumentError(f"--skip {skip} skips all of the {data.shape[0]} rows of {data.name}.")
    if ids is not None:
        found = checked_ids(read_ids(ids), data.n_rows_in_file, ids)
        if data.kept is not None:
            found = [found[i] for i in data.kept] if isinstance(found, list) else found[data.kept]
    elif rules["id"] is not None:
        where = f"The column {rules['id']} of {data.name}"
        found = checked_ids(ids_of_column(data.ids), data.shape[0], where)
    else:
        found = None
    return RowsToAdd(data, found, skip)


def with_columns(given: RowsToAdd, index: Any) -> RowsToAdd:
    """The same rows with their columns, which must fit those that the index has."""
    if given.data.data is None:
        return given
    table = typed_columns(given.data.data, index.columns_, given.data.name)
    return replace(given, columns=index.rows_.new_data(table, given.data.shape[0], given.data.name))


def check_rows(kernel: Any, given: RowsToAdd) -> None:
    """Read all rows once: a number that is not finite or not in the kernel's domain is found before rows are added."""
    from mercer.kernels import get_kernel

    domain = get_kernel(kernel)
    with blaming(given.data):
        for rows, _ in given.blocks("Checking rows"):
            domain.check_values(rows, given.data.name)


def check_unknown(index, given: RowsToAdd) -> None:
    """Refuse ids that the index has."""
    if given.ids is None:
        return
    wanted = given.ids[given.skip :]
    taken = (index.rows_.ids.positions(wanted) >= 0).nonzero()[0]
    if len(taken):
        raise InputError(
            f"The index already holds {len(taken)} of the ids, the first of which is {wanted[int(taken[0])]}. Nothing "
            "was added. Remove these rows first, or use other ids."
        )


def add_rows(settings: Settings, index, given: RowsToAdd, place: str) -> int:
    """Add all rows, block by block; how many they are."""
    before = len(index)
    check_unknown(index, given)
    try:
        with progress(settings), blaming(given.data):
            for rows, part in given.blocks("Adding rows"):
                columns = None if given.columns is None else given.columns[part]
                index.add(rows, None if given.ids is None else given.ids[part], columns)
    except KeyboardInterrupt:
        _say_how_to_go_on(settings, index, given, place, before)
        raise typer.Exit(INTERRUPTED) from None
    except MercerError as error:
        added = _added(index, place, before)
        if not added:
            raise
        raise InputError(f"{error} {_stay(given, place, added)}") from error
    return given.n_rows


def _added(index, place: str, before: int) -> int:
    """Rows that were added, as the disk tells: what an interrupted call did is not known to its caller."""
    from mercer import KernelIndex

    index.close()
    with KernelIndex.open(place, verify=False) as found:
        return len(found) - before


def _say_how_to_go_on(settings: Settings, index, given: RowsToAdd, place: str, before: int) -> None:
    added = _added(index, place, before)
    answer_json(settings, {"index": place, "added": added, "skip": given.skip + added, "interrupted": True})
    note(settings, _stay(given, place, added))
    sys.stdout.flush()


def _stay(given: RowsToAdd, place: str, added: int) -> str:
    done = given.skip + added
    ids = "" if given.ids is None else " and the same ids"
    ids += "" if given.data.kept is None else " and --missing drop-rows"
    return (
        f"The first {done} of {given.data.shape[0]} rows are in {place}. Continue with: mercer index add {place} "
        f"{given.data.name} --skip {done}{ids}."
    )
