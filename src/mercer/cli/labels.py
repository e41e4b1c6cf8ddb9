"""The labels of rows: beside them in their file, or in a file of their own."""

__all__ = ["LabelsOption", "labels_of"]

import zipfile
from pathlib import Path
from typing import Any

import typer

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, InputRules, format_of

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
        return _array(path, member)
    if format == "svmlight":
        raise ArgumentError(f"{file} is svmlight, which holds rows with their labels. Give it as DATA.")
    if format == "parquet" or rules["header"] is not None:
        return _column(path, format, rules)
    # words under words could be a header or a label; that there is one line more than rows decides
    y = _column(path, format, rules | {"header": False})
    return y if len(y) != n_rows + 1 else _column(path, format, rules | {"header": True})


def _array(path: str, member: str):
    """An array of one dimension, or of one column."""
    import numpy as np

    from mercer._base.tables.rules import tidy_labels

    try:
        found = np.load(path, allow_pickle=False)
        if hasattr(found, "files"):
            with found as members:
                y = members[_chosen(members.files, path, member)]
        else:
            y = found
    except ArgumentError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"{path} holds an array of shape {y.shape}; labels have one dimension.")
    return tidy_labels(y)


def _chosen(members: list[str], path: str, wanted: str) -> str:
    if not wanted:
        wanted = "y" if "y" in members or len(members) != 1 else members[0]
    if wanted not in members:
        raise ArgumentError(f"{path} has no member {wanted!r}; it holds {', '.join(members)}.")
    return wanted


def _column(path: str, format: str, rules: dict[str, Any]):
    """The only column of a text or parquet file."""
    from mercer._base.tables.formats import READERS

    kept = {name: rules[name] for name in ("header", "delimiter")}
    with open(path, "rb") as stream:
        X, y, _ = READERS[format](stream, path, InputRules(format=format, label=0, **kept))
    if X.shape[1]:
        raise InputError(f"{path} has {X.shape[1] + 1} columns; a file of labels has one.")
    return y
