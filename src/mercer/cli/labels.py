"""The labels of rows: beside them in their file, or in a file of their own."""

__all__ = ["LabelsOption", "labels_of"]

from pathlib import Path
from typing import Any

import typer

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, InputRules, format_of
from mercer._base.tables.limits import Limit

LabelsOption = typer.Option(
    "--labels",
    metavar="FILE",
    help="File of the labels, one for each row of DATA: npy, FILE.npz::NAME, or one column of csv, tsv or parquet.",
    rich_help_panel="Input",
)


def labels_of(data, file: str | None, rules: dict[str, Any]):
    """One label for each row of ``data``: those of ``--labels``, or those that came with the rows."""
    if file is None:
        if data.y is None:
            raise ArgumentError(
                f"{data.name} has no labels. Name their column with --label, or a file of them with --labels."
            )
        return data.y
    if rules["label"] is not None:
        raise ArgumentError("--label and --labels both say where the labels are. Leave one of them out.")
    n_rows = data.shape[0]
    y = _read(file, rules, n_rows)
    if len(y) != n_rows:
        raise InputError(f"{file} holds {len(y)} labels, but {data.name} has {n_rows} rows; they must agree.")
    return y


def _read(file: str, rules: dict[str, Any], n_rows: int):
    path, separator, member = file.rpartition("::")
    if not separator or not path.lower().endswith(".npz"):
        path, member = file, ""
    if not Path(path).is_file():
        raise ArgumentError(f"There is no file {path}.")
    format = format_of(path)
    if format in ("npy", "npz"):
        return _array(path, member, Limit.of(rules["max_unpacked"]))
    if format == "svmlight":
        raise ArgumentError(f"{file} is svmlight, which holds rows with their labels. Give it as DATA.")
    if format == "parquet" or rules["header"] is not None:
        return _column(path, format, rules)
    # words under words could be a header or a label; that there is one line more than rows decides
    y = _column(path, format, rules | {"header": False})
    return y if len(y) != n_rows + 1 else _column(path, format, rules | {"header": True})


def _array(path: str, member: str, limit: Limit):
    """An array of one dimension, or of one column."""
    from mercer._base.tables.formats import load_array
    from mercer._base.tables.rules import tidy_labels

    y = load_array(path, limit, member)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"{path} holds an array of shape {y.shape}; labels have one dimension.")
    return tidy_labels(y)


def _column(path: str, format: str, rules: dict[str, Any]):
    """The only column of a text or parquet file."""
    from mercer._base.tables.formats import READERS

    kept = {name: rules[name] for name in ("header", "delimiter", "max_unpacked")}
    with open(path, "rb") as stream:
        X, y, _ = READERS[format](stream, path, InputRules(format=format, label=0, **kept))
    if X.shape[1]:
        raise InputError(f"{path} has {X.shape[1] + 1} columns; a file of labels has one.")
    return y
