"""Columns beside the rows of an index: six types, how a storage keeps them, and how a missing value is kept.

    type         storage                                 missing
    integer      int64                                   -2**63
    float        float64                                 NaN
    boolean      uint8, 0 or 1                           2
    date         int64, days since 1970-01-01            -2**63
    timestamp    int64, microseconds since 1970 in UTC   -2**63
    text         the bytes of its UTF-8, any number      the byte 0xFF alone, which UTF-8 never has

So every column of a caller is one column of the storage, ``data_0``, ``data_1``, ..., in the order of the header.
"""

__all__ = ["MISSING", "NO_COLUMNS", "DataColumn", "DataTypes", "columns_in", "python_values", "storage_columns"]

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from mercer._base.errors import InputError, did_you_mean
from mercer._base.files.container import FileProblem
from mercer._base.tables.columns import listed
from mercer.search.storage.blocks import Column

DTYPES = {"integer": "<i8", "float": "<f8", "boolean": "u1", "date": "<i8", "timestamp": "<i8", "text": "u1"}
NO_NUMBER = -(2**63)
MISSING = {
    "integer": NO_NUMBER,
    "float": np.nan,
    "boolean": 2,
    "date": NO_NUMBER,
    "timestamp": NO_NUMBER,
    "text": b"\xff",
}
RESERVED = ("query", "rank", "id", "similarity", "distance")  # columns of an answer as a data frame
LONGEST_NAME = 255
MOST_COLUMNS = 1000
DAYS = date.min.toordinal() - date(1970, 1, 1).toordinal(), date.max.toordinal() - date(1970, 1, 1).toordinal()
DAY = 86_400_000_000  # microseconds
RANGES = {"date": DAYS, "timestamp": (DAYS[0] * DAY, (DAYS[1] + 1) * DAY - 1)}
EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class DataColumn:
    """A column beside the rows: what the caller calls it, and its type."""

    name: str
    type: str

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name or len(self.name) > LONGEST_NAME:
            raise InputError(f"A column name must have 1 to {LONGEST_NAME} characters; got {self.name!r:.80}.")
        if not self.name.isprintable():
            raise InputError(f"The column {self.name!r:.80} has unprintable characters in its name. Rename it.")
        if self.name in RESERVED:
            raise InputError(f"The column {self.name!r} has the name of a result column. Rename or remove it.")
        if self.type not in DTYPES:
            raise InputError(f"The column {self.name!r} cannot have type {self.type!r:.80}.")


class DataTypes(tuple):
    """The columns of an index in their order, found by name.

    >>> DataTypes([DataColumn("mode", "text"), DataColumn("precursor", "float")]).place("precursor", "where")
    1
    """

    @property
    def names(self):
        """Of the columns."""
        return [column.name for column in self]

    def place(self, name, who):
        """The number of a column; an unknown one is refused."""
        if name in self.names:
            return self.names.index(name)
        raise InputError(f"{who} found no column {name!r:.80}. {self.hint(name)}")

    def hint(self, name):
        """What the caller of an unknown name may have meant."""
        if not self:
            return "This index stores no columns. Add rows with data= to store some."
        return f"{did_you_mean(name, self.names)}The columns are {listed(self.names)}."


NO_COLUMNS = DataTypes()


def storage_columns(columns):
    """The columns of a storage that keep these."""
    return [
        Column(f"data_{i}", np.dtype(DTYPES[column.type]), ragged=column.type == "text")
        for i, column in enumerate(columns)
    ]


def columns_in(header):
    """The columns that the header of a storage names; anything may stand there."""
    found = header.get("data", [])
    if not isinstance(found, list) or len(found) > MOST_COLUMNS:
        raise FileProblem("has a damaged catalogue: data is not a list of columns.")
    try:
        columns = DataTypes(DataColumn(each["name"], each["type"]) for each in found if len(each) == 2)
    except (InputError, TypeError, KeyError) as error:
        raise FileProblem(f"has a damaged catalogue: data cannot be {found!r:.80}.") from error
    if len(columns) < len(found) or len(set(columns.names)) < len(columns):
        raise FileProblem("has a damaged catalogue: data contains a column twice, or more than its type.")
    return columns


def python_values(column, stored):
    """Python's own values of what a storage keeps, None where there is none; bytes that no call wrote are refused."""
    if column.type == "text":
        return [None if value == MISSING["text"] else _text(column, value) for value in stored]
    values = stored.tolist()
    if column.type == "float":
        return [None if value != value else value for value in values]
    if column.type == "boolean":
        if stored.max(initial=0) > MISSING["boolean"]:
            raise FileProblem(f"has damaged data: {max(values)} is not a value of the boolean column {column.name!r}.")
        return [None if value == MISSING["boolean"] else bool(value) for value in values]
    if column.type == "integer":
        return [None if value == NO_NUMBER else value for value in values]
    check_moments(column, stored)
    if column.type == "date":
        return [None if value == NO_NUMBER else (EPOCH + timedelta(days=value)).date() for value in values]
    return [None if value == NO_NUMBER else EPOCH + timedelta(microseconds=value) for value in values]


def check_moments(column, stored):
    """Refuse kept dates that a calendar does not have."""
    low, high = RANGES[column.type]
    wrong = (stored != NO_NUMBER) & ((stored < low) | (stored > high))
    if wrong.any():
        raise FileProblem(f"has damaged data: a {column.type} of {column.name!r} is outside the years 1 to 9999.")


def _text(column, value):
    try:
        return bytes(value).decode()
    except UnicodeDecodeError as error:
        shown = error.object[:40]
        raise FileProblem(f"has damaged data: {shown!r} in column {column.name!r} is not UTF-8 text.") from error
