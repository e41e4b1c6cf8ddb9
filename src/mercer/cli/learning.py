"""What ``mercer fit``, ``predict``, ``evaluate`` and ``encode`` share: rows, model files, answers block by block."""

__all__ = [
    "OutFormatOption",
    "answers",
    "blaming",
    "check_folder",
    "load_learner",
    "load_model",
    "open_data",
    "rows_to_fit",
    "warm_up",
]

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from mercer._base.errors import InputError, MercerError
from mercer._base.tables import ArgumentError, RowSource, open_rows
from mercer.cli.rates import at_rate

OutFormatOption = typer.Option(
    "--out-format", metavar="FORMAT", help="Format of --out.", show_default="by suffix; csv for -"
)
_MOST_ROWS = 8192  # of a block
_MEMORY_SHARE = 0.25  # of the available memory that rows may take before they are read block by block


def open_data(x: str, rules: dict[str, Any], width: int | None = None) -> RowSource:
    """The rows of a file, read block by block; with ``width`` checked to be as wide as a model expects."""
    data = open_rows(x, **rules | {"n_features": rules["n_features"] or width})
    if width is not None and data.shape[1] != width:
        raise InputError(
            f"{data.name} has {data.shape[1]} columns of numbers, but the model takes {width}. "
            "If one of the columns is a label, name it with --label."
        )
    return data


def rows_to_fit(data: RowSource, storage: str):
    """All rows in memory if they may be there and take a small part of it, otherwise the source that reads them."""
    from mercer._base.memory import available_memory
    from mercer._base.tables.dask_source import DaskSource

    if isinstance(data, DaskSource):
        return data
    first, _ = next(data.blocks(size=1))
    is_large = not hasattr(first, "indptr") and data.shape[0] * first.nbytes > _MEMORY_SHARE * available_memory()
    if storage == "disk" or (storage == "auto" and is_large):  # sparse rows are in memory already
        return data
    rows, _ = next(data.blocks(size=data.shape[0]))
    return rows


def check_folder(path: Path) -> None:
    """Refuse a file whose folder does not exist, or that is a folder, before anything is computed."""
    if path.is_dir():
        raise ArgumentError(f"{path} is a directory. Name a file in it.")
    if not path.parent.is_dir():
        raise ArgumentError(f"There is no directory {path.parent} to write {path.name} into.")


def load_model(path: str):
    """Whatever a model file holds."""
    from mercer import load

    if not Path(path).exists():
        raise ArgumentError(f"There is no file {path}.")
    return load(path)


def load_learner(path: str, bits: int | None = None):
    """A fitted classifier or regressor; of several rates the one of so many bits, by default of the most."""
    model = at_rate(load_model(path), bits, path)
    if not hasattr(model, "predictor_"):
        is_of_images = type(model).__name__ == "ImageClassifier"
        hint = "Ask it with mercer images." if is_of_images else "Make one with mercer fit."
        raise ArgumentError(f"{path} holds {type(model).__name__}, not a fitted learner of rows. {hint}")
    return model


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


@contextmanager
def blaming(data: RowSource) -> Iterator[None]:
    """scikit-learn's complaints about the rows are about the file, not a fault of the program."""
    try:
        yield
    except MercerError:
        raise
    except ValueError as error:
        raise InputError(f"{data.name}: {str(error).strip().splitlines()[0]}") from error
