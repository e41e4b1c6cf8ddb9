"""Rows that need not fit in memory: read block by block, as often as they are needed.

The type of the numbers follows the rule of the package. Every block is checked when it is read: a number that is not
finite is reported with its file, row and column.
"""

__all__ = ["RowSource"]

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables.columns import features_of
from mercer._base.tables.rules import (
    InputRules,
)

BLOCK_ROWS = 8192  # rows of a block at most, when the caller does not say
BLOCK_BYTES = 2**26  # memory of such a block at most
FITTED_ROWS, LEAST_FITTED, FITTED_BYTES = 2**16, 2**12, 2**28  # of a sample that a map is fitted to


class RowSource:
    """Rows in a file or an array, in blocks. Made by :func:`open_rows`.

    Attributes
    ----------
    shape : (rows, features)
    dtype : float32 or float64, the type of every block
    y : labels, or None
    ids : of the rows, or None
    data : values of columns that go along, by name; or None
    feature_names : names of the columns, or None
    other_columns : names of the columns of the file that are no features
    name : the file, as it is called in messages
    kept : numbers of the rows of the file that are left if some were dropped, or None
    n_rows_in_file : how many rows there were before some were dropped
    means : of the columns, if missing values are filled with them, or None
    missing : what was done about missing values, or None if there were none
    problems : what could not be read and was left out, a sentence each
    """

    lines: Any = None
    kept: Any = None
    means: Any = None
    missing: Any = None
    problems: Sequence[str] = ()

    def __init__(
        self,
        shape,
        name: str,
        rules: InputRules,
        feature_names: Sequence[str] | None = None,
        other_columns: Sequence[str] = (),
        may_be_empty: bool = False,
    ):
        if 0 in shape and not may_be_empty:
            raise InputError(f"{name} has no data: {shape[0]} rows and {shape[1]} columns of numbers.")
        rules.limit.check_row(shape[1], name)
        self.shape: tuple[int, int] = shape
        self.name = name
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.other_columns = tuple(other_columns)
        self._rules = rules

    @property
    def n_rows_in_file(self) -> int:
        """How many rows the file has."""
        return self.shape[0]

    @property
    def ids_in_file(self):
        """The ids of all rows of the file, or None."""
        return self.ids

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.shape[0]} x {self.shape[1]})"

    @cached_property
    def dtype(self):
        """float32 or float64. Large integers may have to be read once to know."""
        import numpy as np

        return np.dtype(self._rules.dtype or self._natural_dtype())

    @cached_property
    def y(self):
        """The labels, read when they are first asked for; None if there are none."""
        y, unlabelled = self.labels
        if unlabelled is not None:
            raise InputError(
                f"{self.name}, {self.place(int(unlabelled.argmax()))} has no label. Fill it in, or use --missing "
                "drop-rows to drop rows without a label."
            )
        return y

    @cached_property
    def labels(self):
        """(labels or None, which rows have none, or None if all have one)."""
        return self._labels()

    @cached_property
    def ids(self):
        """The ids of the rows, read when they are first asked for; None if no column was said to hold them."""
        return self._ids()

    @cached_property
    def data(self):
        """Columns that go along, read when they are first asked for; None if there are none."""
        return self._data()

    def place(self, row) -> str:
        """A row in words: its line in a text, or its number."""
        return self._row(row) + (" (counted from 0)" if self.lines is None else "")

    def _row(self, row) -> str:
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    def blocks(self, size: int | None = None) -> Iterator[tuple[Any, slice]]:
        """Consecutive blocks as pairs (array or CSR, slice), with boundaries at the multiples of ``size``.

        Parameters
        ----------
        size : rows of a block; if None, 8192 or as many as take 64 MiB
        """
        if size is not None and size < 1:
            raise InputError(f"{type(self).__name__}.blocks needs size >= 1, got {size}.")
        for rows, part in self.raw_blocks(size or self.default_size()):
            yield self.checked_rows(rows, range(part.start, part.stop)), part

    def sample(self, n: int, random_state=None):
        """``n`` different rows chosen at random, or all if there are fewer, in the order of the file.

        Parameters
        ----------
        n : how many rows
        random_state : seed, generator or None
        """
        return self.take(self.draw(n, random_state))

    def draw(self, n: int, random_state=None):
        """Ascending numbers of ``n`` different rows chosen at random, or of all if there are fewer."""
        import numpy as np
        from sklearn.utils import check_random_state
        from sklearn.utils.random import sample_without_replacement

        if n < 1:
            raise InputError(f"{type(self).__name__}.sample needs n >= 1, got {n}.")
        random_state = check_random_state(random_state)
        return np.sort(sample_without_replacement(len(self), min(n, len(self)), random_state=random_state))

    def take(self, numbers):
        """The rows of ascending numbers."""
        return self.checked_rows(self.raw_rows(numbers), numbers)

    def fitting_size(self) -> int:
        """How many rows a map is fitted to when not all are in memory."""
        return min(FITTED_ROWS, max(LEAST_FITTED, FITTED_BYTES // (4 * self.shape[1])))

    # ------------------------------------------------------------------------------------ what a kind of file defines

    def raw_blocks(self, size: int) -> Iterator[tuple[Any, slice]]:
        """Blocks as they are stored, without the label column."""
        raise NotImplementedError

    def raw_rows(self, chosen):
        """The rows of these ascending numbers."""
        raise NotImplementedError

    def _natural_dtype(self):
        """The type of the numbers when nothing is said."""
        raise NotImplementedError

    def _labels(self):
        """(labels or None, which rows have none, or None if all have one)."""
        raise NotImplementedError

    def _ids(self):
        raise NotImplementedError

    def _data(self):
        return None

    def default_size(self) -> int:
        return max(1, min(BLOCK_ROWS, BLOCK_BYTES // (8 * self.shape[1])))

    def checked_rows(self, rows, numbers):
        """Rows in the type of the source, all finite. ``numbers`` says which rows they are."""
        import numpy as np

        with np.errstate(over="ignore"):
            block = rows.astype(self.dtype, copy=False)
        values = block.data if hasattr(block, "indptr") else block
        finite = np.isfinite(values)
        if self._may_lack_values:
            finite |= np.isnan(values)
        if not finite.all():
            self._refuse(rows, int(np.argmin(finite)), numbers)
        return block

    @property
    def _may_lack_values(self) -> bool:
        """Whether missing values are passed on, to a model that fills them itself."""
        return self._rules.missing is None and features_of(self._rules.like).takes_missing

    def place_of(self, rows, position, numbers):
        """(file, row and column in words, value) at flat ``position`` into rows, or into the data of a CSR matrix."""
        import numpy as np

        if hasattr(rows, "indptr"):
            i = int(np.searchsorted(rows.indptr, position, side="right")) - 1
            column, value = int(rows.indices[position]), rows.data[position]
        else:
            i, column = divmod(position, self.shape[1])
            value = rows[i, column]
        title = f" ({self.feature_names[column]!r})" if self.feature_names else ""
        where = f"{self.name}, {self._row(numbers[i])}, column {column}{title}"
        return where + (", both counted from 0," if self.lines is None else ""), value

    def _refuse(self, rows, position, numbers):
        """Raise for the value at flat ``position`` into the rows, or into the data of a CSR matrix."""
        import numpy as np

        where, value = self.place_of(rows, position, numbers)
        if np.isnan(value):
            raise InputError(
                f"{where} holds {'nan, ' if self.lines is None else ''}a missing value. Fill it in, or use --missing "
                "fill:0 (or another number), --missing mean or --missing drop-rows."
            )
        what = f"{value}, too large for {self.dtype}" if np.isfinite(value) else f"{value}"
        raise InputError(f"{where} holds {what}. Every number must be finite. Drop the row, or replace the value.")
