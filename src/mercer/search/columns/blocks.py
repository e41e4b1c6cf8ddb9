"""Tables on their way into an index: dictionaries, data frames and Arrow tables, cut as the rows are, and packed."""

__all__ = ["DataBlock", "read_block", "take_stored"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.errors import InputError, require_extra
from mercer._base.tables.columns import listed
from mercer.search.columns.types import DTYPES, MISSING, DataColumn, DataTypes
from mercer.search.columns.values import typed


@dataclass(frozen=True)
class DataBlock:
    """Values of all columns for some rows, as a storage keeps them: arrays, or lists of bytes for texts."""

    columns: DataTypes
    values: list[Any]

    def __getitem__(self, part):
        return DataBlock(self.columns, [values[part] for values in self.values])

    def packed(self):
        """For a storage."""
        return {f"data_{i}": _packed(values) for i, values in enumerate(self.values)}


def empty_block(columns, n_rows):
    """Rows without any value."""
    return DataBlock(columns, [_nothing(column, n_rows) for column in columns])


def _nothing(column, n_rows):
    if column.type == "text":
        return [MISSING["text"]] * n_rows
    return np.full(n_rows, MISSING[column.type], dtype=DTYPES[column.type])


def _packed(values):
    if isinstance(values, np.ndarray):
        return values
    lengths = np.array([len(value) for value in values], dtype=np.int64)
    return np.frombuffer(b"".join(values), dtype=np.uint8), lengths


def read_block(data, known, n_rows, who, before=None):
    """The values of a table for the columns of an index.

    Parameters
    ----------
    data : mapping of names to sequences, data frame, Arrow table, DataBlock or None
    known : DataTypes
        The columns that the index has. If it has none, those of the table.
    before : DataBlock or None
        Where columns that the table does not name come from; None leaves them without values.
    """
    if isinstance(data, DataBlock):
        return data
    before = before or empty_block(known, n_rows)
    if data is None:
        return before
    found = _columns_of(data, who)
    for name, values in found.items():
        if len(values) != n_rows:
            raise InputError(
                f"{who} got {n_rows} rows, but {len(values)} values of the column {name!r}. Nothing was added."
            )
    if not known:
        pairs = {name: typed(*_plain(values, name, who), declared=_words(values)) for name, values in found.items()}
        columns = DataTypes(DataColumn(name, pair[0]) for name, pair in pairs.items())
        return DataBlock(columns, [pair[1] for pair in pairs.values()])
    values = list(before.values)
    for name, given in found.items():
        place = known.place(name, f"{who}(data=)")
        values[place] = typed(*_plain(given, name, who), type=known[place].type)[1]
    return DataBlock(known, values)


def _columns_of(data, who):
    """Names and sequences of a table of any kind."""
    if isinstance(data, Mapping):
        names, get = list(data), data.__getitem__
    elif hasattr(data, "column_names") and hasattr(data, "column"):  # Arrow
        names, get = list(data.column_names), data.column
    elif hasattr(data, "columns") and hasattr(data, "__getitem__"):  # pandas, polars
        names, get = list(data.columns), data.__getitem__
    elif hasattr(data, "__arrow_c_stream__"):
        arrow = require_extra("pyarrow", extra="parquet", purpose="Reading this table")
        return _columns_of(arrow.table(data), who)
    else:
        raise InputError(
            f"{who} needs data to be a dictionary of columns, a data frame or an Arrow table; got "
            f"{type(data).__name__}."
        )
    if not names:
        raise InputError(f"{who} got data without columns. Remove data=.")
    strange = next((name for name in names if not isinstance(name, str)), None)
    if strange is not None:
        raise InputError(f"{who} needs strings as names of data columns; got {strange!r:.80}.")
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise InputError(f"{who} got duplicate column names: {listed(twice)}. Rename them.")
    found = {name: get(name) for name in names}
    for name, values in found.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise InputError(f"{who} needs a sequence of values in the column {name!r}, got {values!r:.80}.")
    return found


def _words(values):
    """The type of a column in the words of its table."""
    found = getattr(values, "dtype", getattr(values, "type", ""))
    return getattr(found, "value_type", found)  # of Arrow's dictionaries


def _plain(values, name, who):
    """(a numpy array where there is one, else a list of Python's values; name; who)."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise InputError(
                f"{who} needs one value per row in the column {name!r}, got an array of {values.ndim} dimensions."
            )
        return values, name, who
    if isinstance(getattr(values, "dtype", None), np.dtype) and values.dtype.kind in "biufM":  # pandas
        return np.asarray(values), name, who
    for way in ("to_pylist", "to_list", "tolist"):  # Arrow, pandas and polars, others
        if hasattr(values, way):
            return getattr(values, way)(), name, who
    return list(values), name, who


def take_stored(snapshot, column, number, positions):
    """What a storage keeps in one column at any positions: an array, or a list of bytes for texts."""
    firsts = np.array([segment.first for segment in snapshot.segments])
    owner = np.searchsorted(firsts, positions, side="right") - 1
    out = _nothing(column, len(positions))
    for segment_number in np.unique(owner):
        segment = snapshot.segments[segment_number]
        mine = np.flatnonzero(owner == segment_number)
        places, array = positions[mine] - segment.first, segment.arrays[f"data_{number}"]
        if column.type != "text":
            out[mine] = array[places]
            continue
        values, offsets = array
        for row, start, stop in zip(mine.tolist(), offsets[places].tolist(), offsets[places + 1].tolist(), strict=True):
            out[row] = values[start:stop].tobytes()
    return out
