"""What ``mercer fit``, ``predict``, ``evaluate`` and ``encode`` share: rows, model files, answers block by block."""

__all__ = [
    "answers",
    "blaming",
    "load_fitted",
    "load_learner",
    "load_model",
    "missing_facts",
    "open_classes",
    "open_data",
    "rows_to_fit",
    "save_model",
    "say_about_columns",
    "say_about_missing",
    "spread",
    "warm_up",
    "whole",
    "with_fingerprints",
    "with_gaps",
]

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer._base.errors import InputError, MercerError, NegativeValueError
from mercer._base.files.steps import last_step, listed_name, without_names, word_columns
from mercer._base.tables import ArgumentError, Features, RowSource, features_of, open_rows
from mercer._base.tables.columns import listed
from mercer.cli.framework.checks import check_file
from mercer.cli.framework.labels import labels_of
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import note, note_skipped
from mercer.cli.framework.rates import at_rate

_MOST_ROWS = 8192  # of a block
_SIGNED = "-p kernel__signed=true when you fit the model or build the index"
_MEMORY_SHARE = 0.25  # of the available memory that rows may take before they are read block by block


def open_data(settings: Settings, x: str, rules: dict[str, Any], like: Any = None) -> RowSource:
    """The rows of a file, read block by block.

    Columns are matched with those of ``like``, a fitted model or what it knows of its columns: by name where both have
    names, else by position. What is taken by position, filled or dropped is said on standard error.
    """
    known = features_of(like)
    if known.fingerprints is not None:
        return _open_molecules(settings, x, rules, known.fingerprints)
    data = open_rows(x, **rules, like=None if like is None else known)
    if known.n is not None and data.shape[1] != known.n:
        raise InputError(
            f"{data.name} has {data.shape[1]} columns of numbers, but the model takes {known.n}. If one column is a "
            "label, name it with --label; ignore other columns with --drop."
        )
    say_about_columns(settings, data, known)
    say_about_missing(settings, data)
    return data


def _open_molecules(settings: Settings, x: str, rules: dict[str, Any], fingerprints: Any) -> RowSource:
    """The fingerprints of the molecules of a file."""
    from mercer.molecules import MoleculeRows

    useless = [name for name in ("array", "columns", "delimiter", "drop", "dtype", "header", "missing", "n_features")
               if rules[name] not in (None, (), [], "")]  # fmt: skip
    if useless:
        raise ArgumentError(f"--{useless[0].replace('_', '-')} does not apply to molecules. Remove it.")
    check_file(x, "Name a file of molecules.")
    own = {name: rules[name] for name in ("format", "label", "id", "max_unpacked")}
    data = MoleculeRows.read(x, fingerprints, **own)
    note_skipped(settings, data.problems, "molecule")
    return data


def open_classes(settings: Settings, x: str, labels: str | None, rules: dict[str, Any]) -> tuple[RowSource, Any]:
    """The rows of a file and their labels, which must be classes."""
    data = open_data(settings, x, rules | {"needs_labels": labels is None})
    y = labels_of(data, labels, rules)
    if y.dtype.kind == "f":
        raise ArgumentError("The labels are fractions, not classes, but bits are evaluated by classification.")
    return data, y


def say_about_columns(settings: Settings, data: RowSource, known: Features, model: str = "The model") -> None:
    """Point out that columns are taken by position where only one side has names."""
    if known.n is None or (known.names is None) == (data.feature_names is None):
        return
    if known.names is None:
        note(settings, f"{model} has no column names; the columns of {data.name} are matched by position.")
    else:
        note(settings, f"{data.name} has no column names; its columns are matched by position.")


def say_about_missing(settings: Settings, data: RowSource) -> None:
    """Say what was filled or dropped."""
    if data.missing is not None:
        note(settings, f"{data.name}: {data.missing}.")


def missing_facts(data: RowSource) -> dict[str, Any]:
    """What was filled or dropped, for a JSON document; nothing if nothing was."""
    skipped = {"skipped": list(data.problems)} if data.problems else {}
    if data.missing is None:
        return skipped
    found = data.missing
    return skipped | {
        "missing": {"policy": found.policy, "cells": found.cells, "rows": found.rows, "columns": found.columns}
    }


def whole(data: RowSource):
    """All rows in memory."""
    rows, _ = next(data.blocks(size=data.shape[0]))
    return rows


def rows_to_fit(data: RowSource, storage: str):
    """All rows in memory if they may be there and take a small part of it, otherwise the source that reads them."""
    from mercer._base.memory import available_memory
    from mercer._base.tables.sources.dask import DaskSource

    if isinstance(data, DaskSource):
        return data
    first, _ = next(data.blocks(size=1))
    is_large = not hasattr(first, "indptr") and data.shape[0] * first.nbytes > _MEMORY_SHARE * available_memory()
    if storage == "disk" or (storage == "auto" and is_large):  # sparse rows are in memory already
        return data
    return whole(data)


def load_model(path: str):
    """Whatever a model file holds."""
    from mercer import load

    check_file(path, "Name a model file. For an index, use mercer index.")
    return load(path)


def load_fitted(path: str, kind: type, attribute: str, otherwise: str):
    """A fitted model of a class, which has the attribute; for any other it is said what to do."""
    model = load_model(path)
    if not isinstance(model, kind) or not hasattr(model, attribute):
        raise ArgumentError(f"{path} holds {type(model).__name__}, {otherwise}")
    return model


def save_model(model, out: Path) -> None:
    """Write a model file."""
    from mercer import save

    save(model, out)


def load_learner(path: str, bits: int | None = None) -> tuple[Any, Features]:
    """A fitted classifier or regressor, or a pipeline ending in one, and what it knows of its columns.

    Of several rates it is the one of so many bits, or of the most.
    """
    loaded = load_model(path)
    model = at_rate(loaded, bits, path)
    model, columns = _without_fingerprints(model) or (model, features_of(loaded))
    last = last_step(model)
    is_learner = hasattr(last, "predictor_") or (listed_name(type(last)) and hasattr(last, "predict"))
    if not is_learner or not hasattr(model, "n_features_in_"):
        is_of_images = type(model).__name__ == "ImageClassifier"
        hint = "Use mercer images." if is_of_images else "Fit one with mercer fit."
        raise ArgumentError(f"{path} holds {type(model).__name__}, not a fitted classifier or regressor. {hint}")
    words = word_columns(model)
    if words:
        raise ArgumentError(
            f"{path} encodes text (column {listed(words, 5)}), but the command line reads tables of numbers only. Use "
            f"it from Python, with a data frame: mercer.load({path!r}).predict(frame)."
        )
    return without_names(model), columns


def with_fingerprints(fingerprints: Any, learner: Any) -> Any:
    """A pipeline that takes SMILES."""
    from sklearn.pipeline import Pipeline

    return Pipeline([("fingerprints", fingerprints.fit()), ("learner", learner)])


def _without_fingerprints(model: Any) -> tuple[Any, Features] | None:
    """(what follows the fingerprints in a pipeline of molecules, what makes them), None for any other model."""
    if listed_name(type(model)) != "sklearn.Pipeline" or not getattr(model.steps[0][1], "takes_texts", False):
        return None
    rest = model[1:]
    return (rest if len(rest) > 1 else rest[0]), Features(fingerprints=model.steps[0][1])


def warm_up(data: RowSource, ask: Callable[[Any], Any]) -> None:
    """Ask about one row, so that compiled code is loaded before any clock runs."""
    first, _ = next(data.blocks(size=1))
    with blaming(data):
        ask(first)


def answers(data: RowSource, ask: Callable[[Any], Any], bytes_per_row: float) -> Iterator[Any]:
    """What ``ask`` gives for each block of rows, in their order; an answer takes ``bytes_per_row``."""
    from mercer._base.memory import row_chunks
    from mercer._base.progress import track

    chunks = list(row_chunks(data.shape[0], bytes_per_row + 8 * data.shape[1], most=_MOST_ROWS))
    for rows, _ in track(data.blocks(size=chunks[0].stop), "Rows", total=len(chunks)):
        with blaming(data):
            answer = ask(rows)
        yield answer


def with_gaps(blocks: Iterable[Any], data: RowSource, empty: Any) -> Iterator[Any]:
    """Answers to the rows of a file in their order, with ``empty`` for rows that were dropped."""
    import numpy as np

    if data.kept is None:
        yield from blocks
        return
    done = taken = 0
    for block in blocks:
        numbers = data.kept[taken : taken + len(block)]
        taken += len(block)
        end = data.n_rows_in_file if taken == len(data.kept) else int(numbers[-1]) + 1
        spread = np.full((end - done, *block.shape[1:]), empty, dtype=block.dtype)
        spread[numbers - done] = block
        done = end
        yield spread


def spread(answers: list[Any], data: RowSource, empty: Any) -> list[Any]:
    """An answer for each row of the file, an empty one for rows that were dropped."""
    if data.kept is None:
        return answers
    found = [empty] * data.n_rows_in_file
    for row, answer in zip(data.kept.tolist(), answers, strict=True):
        found[row] = answer
    return found


def _in_file(error: NegativeValueError, data: RowSource, signed: str) -> InputError:
    """The same complaint about a file: a sample of rows, or a block, has numbers of its own."""
    import numpy as np

    for rows, part in data.blocks():
        values = rows.data if hasattr(rows, "indptr") else rows
        if (values < 0).any():
            where, value = data.place_of(rows, int(np.argmax(values < 0)), range(part.start, part.stop))
            needed = f"{where} holds {value:.6g}, but {error.who} needs values >= 0."
            return InputError(f"{needed} For values with signs, set {signed}." if error.may_be_signed else needed)
    return error


@contextmanager
def blaming(data: RowSource, signed: str = _SIGNED) -> Iterator[None]:
    """scikit-learn's complaints about the rows are about the file, and a negative value is named by its place there.

    Parameters
    ----------
    data : the file
    signed : the option that lets a kernel take values with signs
    """
    try:
        yield
    except NegativeValueError as error:
        raise _in_file(error, data, signed) from error
    except MercerError:
        raise
    except ValueError as error:
        raise InputError(f"{data.name}: {str(error).strip().splitlines()[0]}") from error
