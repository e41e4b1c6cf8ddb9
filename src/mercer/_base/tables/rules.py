"""What a user may say about a table, and the rules that hold when nothing is said."""

__all__ = [
    "FORMATS",
    "ArgumentError",
    "InputRules",
    "format_of",
    "is_missing",
    "settle_dtype",
    "settle_labels",
    "whole_ids",
]

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._base.errors import InputError, did_you_mean
from mercer._base.tables.limits import Limit, bytes_of

FORMATS = ("npy", "npz", "csv", "tsv", "parquet", "svmlight", "fvecs", "bvecs", "ivecs")
_FORMAT_OF_SUFFIX = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".fvecs": "fvecs",
    ".bvecs": "bvecs",
    ".ivecs": "ivecs",
}
PACKERS = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}  # suffix -> module that unpacks
PACKABLE = ("csv", "tsv", "svmlight", "fvecs", "bvecs", "ivecs")  # formats that have no compression of their own
LARGEST_EXACT_INTEGER = 2**24  # of float32
_MISSING_WORDS = ("", "na", "n/a", "nan", "null")  # in small letters
_WORDS = ("error", "drop-rows", "mean")  # that say what becomes of missing values
_POLICIES = "error, drop-rows, fill:VALUE or mean"


class ArgumentError(InputError):
    """An argument that does not fit the data: a missing file, an unknown column, a format that cannot be told."""


@dataclass(frozen=True)
class InputRules:
    """How a table is to be read; rules that a format has no use for are ignored unless noted.

    Attributes
    ----------
    format : one of FORMATS, or None to tell it from the file's suffix
    label : name or position (negative counts from the end) of the column that holds the labels; for npz also the name
        of a member. A name wins over a position. None: no label column, but member ``y`` of an npz file is used
    header : whether the first line of a csv file names the columns; None decides by looking at the first two lines
    delimiter : a character, ``tab``, ``space`` (any white space), or None to tell it from the first lines
    dtype : ``float32`` or ``float64``; None follows the module's rule
    array : name of the npz member to read; an error for other formats
    n_features : width of an svmlight matrix; None takes the largest index seen in all files read together
    max_unpacked : the most memory that a file may take once it is unpacked, a number of bytes or a size like ``"8GB"``;
        None is a quarter of the memory available. What is read block by block is limited by its blocks
    id : name or position of a column of ids, which are then no feature
    drop : names or positions of columns to leave out
    columns : names or positions of the features, all others being left out; empty takes all
    keep : names or positions of columns that go along as they are, and are then no features; empty takes those that
        ``like`` keeps, as an index does
    missing : what becomes of cells without a value (empty, NA, N/A, NaN, null; NaN in arrays): ``error`` refuses them,
        ``drop-rows`` leaves their rows out, ``fill:VALUE`` puts a number there, ``mean`` the mean of the column, which
        is that of the rows a model was fitted on if ``like`` knows it. None is ``mean`` where ``like`` knows means; it
        passes them on if ``like`` is a pipeline that fills them; otherwise it is ``error``
    like : a fitted model, or rows, whose columns are wanted: those of a table with names are matched by name
    needs_labels : whether ``drop-rows`` leaves rows without a label out; None does if ``label`` is said
    """

    format: str | None = None
    label: str | int | None = None
    header: bool | None = None
    delimiter: str | None = None
    dtype: str | None = None
    array: str | None = None
    n_features: int | None = None
    max_unpacked: str | int | None = None
    id: str | int | None = None
    drop: tuple[str | int, ...] = ()
    columns: tuple[str | int, ...] = ()
    keep: tuple[str | int, ...] = ()
    missing: str | None = None
    like: Any = None
    needs_labels: bool | None = None

    def __post_init__(self):
        for name in ("drop", "columns", "keep"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str | int) else tuple(given or ()))
        if self.missing is not None and self.missing not in _WORDS:
            self.fill_value  # noqa: B018 - refuses what is no number
        if self.format is not None and self.format not in FORMATS:
            hint = did_you_mean(self.format, FORMATS)
            raise ArgumentError(f"Unknown format {self.format!r}. {hint}Use one of {', '.join(FORMATS)}.")
        if self.dtype not in (None, "float32", "float64"):
            raise ArgumentError(f"The dtype must be float32 or float64, not {self.dtype!r}.")
        if self.delimiter is not None and self.delimiter not in ("tab", "space", r"\t") and len(self.delimiter) != 1:
            raise ArgumentError(f"The delimiter must be one character, tab or space, not {self.delimiter!r}.")
        if self.max_unpacked is not None:
            bytes_of(self.max_unpacked)

    @property
    def limit(self) -> Limit:
        """The most memory that a file may take."""
        return Limit.of(self.max_unpacked)

    @property
    def fill_value(self) -> float:
        """The number of ``fill:VALUE``."""
        how, separator, text = str(self.missing).partition(":")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if how != "fill" or not separator or not math.isfinite(value):
            meant = (*_WORDS, f"fill:{text}") if math.isfinite(value) else _WORDS
            hint = did_you_mean(self.missing, meant).strip()
            said = f"`missing` must be {_POLICIES}, as in fill:0; got {self.missing!r}."
            raise ArgumentError(f"{said} {hint}".rstrip())
        return value


def format_of(path: str | Path, format: str | None = None, among: tuple[str, ...] = FORMATS) -> str:
    """The format of a file, as said or as its suffix tells (``.gz``, ``.xz`` and ``.bz2`` are looked through).

    >>> format_of("spectra.csv.gz")
    'csv'
    """
    if format is not None:
        return format
    if str(path) == "-":
        raise ArgumentError(f"The format of - cannot be inferred from a name. Set it to one of {', '.join(among)}.")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in PACKERS:
        suffixes.pop()
    found = _FORMAT_OF_SUFFIX.get(suffixes[-1] if suffixes else "")
    if found is None:
        if Path(path).is_dir():
            raise ArgumentError(f"{path} is a directory. Name a file.")
        raise ArgumentError(
            f"The format of {path} cannot be inferred from its name. Set it to one of {', '.join(among)}."
        )
    return found


def is_missing(cell: str) -> bool:
    """Whether a cell of a text stands for a missing value.

    >>> [is_missing(cell) for cell in (" ", "NA", "nan", "0", "none")]
    [True, True, True, False, False]
    """
    return cell.strip().lower() in _MISSING_WORDS


def settle_dtype(X, rules: InputRules, name: str):
    """X as float32 or float64, by the rule in the module's docstring."""
    import numpy as np

    if X.dtype.kind not in "fiub":
        raise InputError(f"{name} holds values of type {X.dtype}; only real numbers are supported.")
    if rules.dtype is not None:
        return X.astype(rules.dtype, copy=False)
    if rules.format in ("csv", "tsv", "svmlight"):
        with np.errstate(over="ignore"):
            single = X.astype(np.float32)
        values, rounded = (X.data, single.data) if hasattr(X, "indptr") else (X, single)
        return X if bool((np.isinf(rounded) & np.isfinite(values)).any()) else single
    if X.dtype.kind == "f":
        return X.astype(np.float64 if X.dtype.itemsize >= 8 else np.float32, copy=False)
    inexact = X.dtype.itemsize > 2 and max(float(X.max()), -float(X.min())) > LARGEST_EXACT_INTEGER
    return X.astype(np.float64 if inexact else np.float32)


def settle_labels(y):
    """(labels, integers where they are integers; which rows have none, or None if all have one)."""
    import numpy as np

    missing = None
    if y.dtype.kind == "f" and np.isnan(y).any():
        missing = np.isnan(y)
        y = np.where(missing, 0, y)
    elif y.dtype.kind == "U" and len(y):
        words, codes = np.unique(y, return_inverse=True)
        empty = np.array([is_missing(word) for word in words.tolist()])
        missing = empty[codes] if empty.any() else None
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y == np.floor(y)).all() and abs(y).max(initial=0) < 2**53:
        y = y.astype(np.int64)
    return y, missing


def whole_ids(ids, name: str):
    """Ids that stand in a column of numbers, which must be whole."""
    import numpy as np

    ids, missing = settle_labels(ids)
    if missing is not None or ids.dtype.kind not in "iuU":
        row = int(np.argmax(missing if missing is not None else ids != np.floor(ids)))
        raise InputError(
            f"{name}, row {row} (counted from 0) has no id. Every row needs an id, an integer or a string."
        )
    return ids
