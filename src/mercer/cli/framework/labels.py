"""The labels of rows: beside them in their file, or in a file of their own."""

__all__ = ["labels_of"]

from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, InputRules, format_of
from mercer._base.tables.limits import Limit
from mercer._base.tables.rules import settle_labels
from mercer.cli.framework.checks import check_file


def labels_of(data, file: str | None, rules: dict[str, Any]):
    """One label for each row of ``data``: those of ``--labels``, or those that came with the rows."""
    if file is None:
        if data.y is None:
            raise ArgumentError(
                f"{data.name} has no labels. Name the label column with --label, or a file of labels with --labels."
            )
        return data.y
    if rules["label"] is not None:
        raise ArgumentError("--label and --labels cannot be combined. Use only one of them.")
    n_rows = data.n_rows_in_file
    y = _read(file, rules, n_rows)
    if len(y) != n_rows:
        raise InputError(
            f"{file} holds {len(y)} labels, but {data.name} has {n_rows} rows. There must be one label per row."
        )
    return y if data.kept is None else y[data.kept]


def _read(file: str, rules: dict[str, Any], n_rows: int):
    path, separator, member = file.rpartition("::")
    if not separator or not path.lower().endswith(".npz"):
        path, member = file, ""
    check_file(path, "Name the file of labels.")
    format = format_of(path)
    if format in ("npy", "npz"):
        return _array(path, member, Limit.of(rules["max_unpacked"]))
    if format == "svmlight":
        raise ArgumentError(f"{file} is an svmlight file, which holds rows and labels. Pass it as DATA.")
    if format == "parquet" or rules["header"] is not None:
        return _column(path, format, rules)
    # words under words could be a header or a label; that there is one line more than rows decides
    y = _column(path, format, rules | {"header": False})
    return y if len(y) != n_rows + 1 else _column(path, format, rules | {"header": True})


def _array(path: str, member: str, limit: Limit):
    """An array of one dimension, or of one column."""
    from mercer._base.tables.formats.readers import load_array

    y = load_array(path, limit, member)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"{path} holds an array of shape {y.shape}; labels must have one dimension.")
    labels, unlabelled = settle_labels(y)
    return _complete(labels, unlabelled, path)


def _complete(y, unlabelled, path: str):
    """The labels, all of which must be there."""
    if unlabelled is not None:
        raise InputError(f"{path}: label {int(unlabelled.argmax())} (counted from 0) is missing. Fill it in.")
    return y


def _column(path: str, format: str, rules: dict[str, Any]):
    """The only column of a text or parquet file."""
    from mercer._base.tables.formats.readers import READERS

    kept = {name: rules[name] for name in ("header", "delimiter", "max_unpacked")}
    with open(path, "rb") as stream:
        found = READERS[format](stream, path, InputRules(format=format, label=0, **kept))
    if found.X.shape[1]:
        raise InputError(f"{path} has {found.X.shape[1] + 1} columns; a file of labels must have one.")
    return _complete(found.y, found.unlabelled, path)
