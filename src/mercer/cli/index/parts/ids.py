"""Ids on the command line and in files: which words are numbers, and which id of an index a word means.

A word that is an integer as Python prints it (``12``, ``-3``) is that number; every other word is a text (``a7``,
``012``). So an id is printed as it was given, and two words are the same id only if they are the same word.
"""

__all__ = ["as_id", "checked_ids", "ids_of_column", "known_ids", "read_ids"]

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError
from mercer._base.tables.limits import Limit
from mercer.cli.framework.checks import check_file

_LARGEST = 2**63


def as_id(word: str) -> int | str:
    """The id that a word stands for.

    >>> [as_id(word) for word in ("12", "-3", "012", "1e3", "a7")]
    [12, -3, '012', '1e3', 'a7']
    """
    try:
        number = int(word)
    except ValueError:
        return word
    return number if str(number) == word and -_LARGEST <= number < _LARGEST else word


def read_ids(file: str):
    """The ids of a file: the lines of a text that are not blank, or an npy array of one dimension."""
    if file != "-":
        check_file(file, "Name a file of ids.")
    if file.lower().endswith(".npy"):
        return _array(file)
    with nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as stream:
        content = Limit.fixed().read(stream, file)
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
    return [as_id(line.strip()) for line in lines if line.strip()]


def _array(file: str):
    from mercer._base.tables.formats.readers import load_array

    ids = load_array(file, Limit.fixed())
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise InputError(
            f"{file} holds an array of shape {ids.shape} and type {ids.dtype}; ids must be integers or strings in one "
            "dimension."
        )
    return ids_of_column(ids)


def ids_of_column(column):
    """Ids from an array of numbers or words."""
    if column.dtype.kind in "iu":
        return column
    return [as_id(value) if isinstance(value, str) else value for value in column.tolist()]


def checked_ids(ids, n_rows: int, where: str):
    """One id per row, each once, as the index takes them."""
    from mercer.search import as_ids, refuse_repeated

    ids = as_ids(ids, n_rows, where)
    refuse_repeated(ids, where)
    return ids


def known_ids(index, ids: Sequence[Any], place: str, file: str | None = None) -> list[Any]:
    """The ids of an index that are meant; a number that is not in it may be there as a text.

    Raises ArgumentError for the first that is not there in either way. ``place`` is the directory of the index,
    ``file`` where the ids come from.
    """
    from mercer.search import as_ids

    wanted = [value if isinstance(value, str) else int(value) for value in as_ids(ids, len(ids), file or place)]
    table = index.rows_.ids
    missing = (table.positions(wanted) < 0).nonzero()[0]
    as_texts = [str(wanted[number]) for number in missing]
    for number, text, position in zip(missing, as_texts, table.positions(as_texts), strict=True):
        if position < 0:
            named = f", listed in {file}" if file else ""
            raise ArgumentError(f"{place} has no row with the id {wanted[number]!r}{named}.")
        wanted[number] = text
    return wanted
