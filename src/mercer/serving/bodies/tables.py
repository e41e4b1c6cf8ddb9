"""A whole table as csv: read by the rules of rows in JSON, and written again with what the model says beside each row.

Cells are separated by commas, semicolons or tabs, as the first line tells. A heading names the columns, which are
matched as those of JSON are; without one they are taken by position. The lines of the answer are those that came, each
with further cells at its end.
"""

__all__ = ["CSV", "CsvTable", "lines_of", "read_csv"]

import csv
import io
import math
import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mercer._base.tables.rules import is_missing
from mercer.serving.bodies.columns import picker, places_of, shown_names
from mercer.serving.http.faults import Fault

CSV = "text/csv"
_SEPARATORS = (",", ";", "\t")
_SPECIAL = ('"', "\n", "\r")


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A table as it came, and the numbers in it.

    Parameters
    ----------
    heading : names of the columns, or None
    lines : text of each row, without the end of its line
    separator : between cells
    numbers : float64 array of shape (rows, n_features), in the order of the model
    """

    heading: list[str] | None
    lines: list[str]
    separator: str
    numbers: np.ndarray

    def with_columns(self, names, columns):
        """The bytes of the table with further columns at its end; a name that is taken gets a number."""
        taken = set(self.heading or ())
        pieces = []
        if self.heading is not None:
            names = [_free(name, taken) for name in names]
            pieces.append(_line([*self.heading, *names], self.separator))
        for line, *cells in zip(self.lines, *columns, strict=True):
            pieces.append(line + self.separator + _line(cells, self.separator))
        return ("\n".join(pieces) + "\n").encode()


def read_csv(body, table, n_features):
    """The `CsvTable` of a body, checked against the model or index that will answer: ``table`` of ``read_query``."""
    columns, others = table.columns, table.other_columns
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Fault(400, "csv", "The table is not UTF-8 text.") from None
    first = next((line for line in text.splitlines() if line.strip()), None)
    if first is None:
        raise Fault(422, "rows", "The table has no rows.")
    separator = max(_SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)
    records = _records(text, separator)
    _, raw, cells = next(records)
    heading = [cell.strip() for cell in cells] if _is_heading(cells, columns) else None
    if heading is None:
        records = _again((1, raw, cells), records)
    width = len(cells)
    if heading is None and width != n_features:
        raise Fault(422, "columns", f"The table has no header, so it must have {n_features} columns; got {width}.")
    wanted = heading and columns
    places = list(range(width)) if heading is None else places_of(heading, columns, n_features, others)[0]
    names = [heading[place] for place in places] if wanted else None
    lines, values = _values(records, picker(places), width, names, table.takes_missing)
    if not lines:
        raise Fault(422, "rows", "The table has a header but no rows.")
    numbers = np.frombuffer(values, dtype=np.float64).reshape(len(lines), n_features)
    return CsvTable(heading, lines, separator, numbers)


def lines_of(rows: Iterable[Iterable], separator=","):
    """Rows of cells as the bytes of a csv file."""
    return ("\n".join(_line(row, separator) for row in rows) + "\n").encode()


def _records(text, separator):
    """(number of its first line, its text, its cells) of each row; blank lines are passed over."""
    taken = []

    def taking():
        for line in io.StringIO(text, newline=""):
            taken.append(line)
            yield line

    number = 1
    try:
        for cells in csv.reader(taking(), delimiter=separator, strict=True):
            raw, n_lines = "".join(taken).rstrip("\r\n"), len(taken)
            taken.clear()
            if raw.strip():
                yield number, raw, cells
            number += n_lines
    except csv.Error:
        raise Fault(400, "csv", f"The table cannot be read as csv from line {number} on. Check its quotes.") from None


def _again(first, rest):
    yield first
    yield from rest


def _is_heading(cells, columns):
    """Whether the first row names the columns: it has a word, or all names of the model."""
    words = [cell.strip() for cell in cells]
    return any(not is_missing(word) and _number(word) is None for word in words) or set(columns or ["\0"]) <= set(words)


def _values(records, pick, width, names, takes_missing):
    """(lines, the numbers of all rows one after another)."""
    lines, values = [], array("d")
    for number, raw, cells in records:
        if len(cells) != width:
            raise Fault(422, "rows", f"Line {number} has {len(cells)} cells; the first line has {width}.")
        row = [_number(cell) for cell in pick(cells)]
        if None in row:
            row = _repaired(row, pick(cells), number, names, takes_missing)
        values.extend(row)
        lines.append(raw)
    return lines, values


def _repaired(row, cells, number, names, takes_missing):
    """The row with NaN where a cell stands for a missing value, if the model takes these."""
    for i, value in enumerate(row):
        if value is None and not (takes_missing and is_missing(cells[i])):
            where = f"column {i + 1}" if names is None else f"column {shown_names([names[i]])}"
            what = "no finite number" if cells[i].strip() else "an empty cell, which this model does not accept,"
            raise Fault(422, "rows", f"Line {number} has {what} in {where}.")
    return [math.nan if value is None else value for value in row]


def _number(cell):
    """The finite number in a cell, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def _free(name, taken):
    """The name, or with the first number that makes it a new one."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}_{number}"
    taken.add(free)
    return free


def _line(cells, separator):
    return separator.join(_cell(cell, separator) for cell in cells)


def _cell(value, separator):
    text = "" if value is None else str(value)
    if separator in text or any(each in text for each in _SPECIAL):
        return '"' + text.replace('"', '""') + '"'
    return text
