"""``mercer index push``: an index into PostgreSQL or Milvus; and opening it there for a search."""

__all__ = ["PUSH_EXAMPLES", "StorePlace", "allowed_in_store", "open_store", "push", "store_options"]

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import Settings, common_options, option_groups
from mercer.cli.framework.output import note, print_json, print_table, progress
from mercer.cli.index.parts.files import DirArgument, open_index
from mercer.cli.index.parts.ids import read_ids

PUSH_EXAMPLES = """
[bold]Examples[/bold]

  mercer index push base.index --to postgresql://me@host/shop --table images
  mercer index push base.index --to milvus://host:19530 --table images
  mercer index push base.index --to milvus://images.db --table images --replace

Then:
  mercer index search queries.npy --store postgresql://me@host/shop --table images -k 10
"""
_PANEL = "Store"
# what the library calls things in its messages, and what they are called on the command line
_HERE = {
    "Connect to it, push with replace=True,": "Search it with mercer index search --store, push with --replace,",
    "KernelIndex.push": "mercer index push",
    "KernelIndex.connect": "mercer index search --store",
    " m from": " --m from",
    ">= 2 m, got m=": "of twice --m at least, got --m ",
    "ef_construction=": "--ef-construction ",
    "ef_construction": "--ef-construction",
    "(vectors=None)": "(--vectors none)",
}


@dataclass(frozen=True)
class StorePlace:
    """Where an index lies in a store, and what is asked of the store alone."""

    store: str | None
    table: str | None
    column: str
    where: str | None
    ef: int | None


TableOption = typer.Option(
    "--table", "--collection", metavar="NAME", help="Table or collection of the index.", rich_help_panel=_PANEL
)


def store_options(
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Search in postgresql://... or milvus://... instead of a directory.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    table: Annotated[str | None, TableOption] = None,
    column: Annotated[
        str,
        typer.Option("--embedding-column", metavar="NAME", help="Column of the embedded rows.", rich_help_panel=_PANEL),
    ] = "embedding",
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Rows that may be found, in SQL or as an expression of Milvus.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    ef: Annotated[
        int | None,
        typer.Option(
            "--ef",
            metavar="N",
            min=1,
            help="Candidates that a graph keeps while it is searched.",
            show_default="as many as are asked for, 100 at least",
            rich_help_panel=_PANEL,
        ),
    ] = None,
) -> StorePlace:
    """What is said about a store."""
    if store is None and (table is not None or where is not None or ef is not None):
        raise ArgumentError("--table, --where and --ef are for a search in a store. Name it with --store.")
    if store is not None and table is None:
        raise ArgumentError("Say with --table which table or collection of the store holds the index.")
    return StorePlace(store, table, column, where, ef)


def open_store(place: StorePlace):
    """The index in a store, to be closed by a ``with`` block."""
    from mercer import KernelIndex

    with _said_here():
        return KernelIndex.connect(place.store, place.table, embedding_column=place.column)


@contextmanager
def _said_here() -> Iterator[None]:
    """Errors of the library, in the words of the command line."""
    try:
        yield
    except InputError as error:
        message = str(error)
        for there, here in _HERE.items():
            message = message.replace(there, here)
        raise type(error)(message) from error


def allowed_in_store(place: StorePlace, index, file: str | None):
    """The filter of a search: a condition, the ids of a file, or None."""
    if place.where is not None and file is not None:
        raise ArgumentError("--where and --filter exclude each other. Leave one of them out.")
    if file is None:
        return place.where
    ids = read_ids(file)
    return [str(value) for value in ids] if index.stats()["ids"] == "texts" else ids


@option_groups(settings=common_options)
def push(
    place: Annotated[str, DirArgument],
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="postgresql://..., milvus://HOST:PORT or milvus://FILE.db.")
    ],
    table: Annotated[str, TableOption],
    replace: Annotated[bool, typer.Option("--replace", help="Drop an index that is there under this name.")] = False,
    method: Annotated[
        Literal["hnsw", "exact"],
        typer.Option("--method", metavar="NAME", help="hnsw: a graph; exact: a scan of all rows."),
    ] = "hnsw",
    m: Annotated[int, typer.Option("--m", metavar="N", help="Neighbours of a row in the graph.")] = 16,
    ef_construction: Annotated[
        int, typer.Option("--ef-construction", metavar="N", help="Candidates while the graph is built.")
    ] = 128,
    half: Annotated[bool, typer.Option("--half", help="Keep embedded rows in 16 bits: a halfvec.")] = False,
    rows: Annotated[
        bool, typer.Option("--rows/--no-rows", help="Keep the rows as well, which exact values need.")
    ] = True,
    id_column: Annotated[str, typer.Option("--id-column", metavar="NAME", help="Column of the ids.")] = "id",
    embedding_column: Annotated[
        str, typer.Option("--embedding-column", metavar="NAME", help="Column of the embedded rows.")
    ] = "embedding",
    row_column: Annotated[
        str, typer.Option("--row-column", metavar="NAME", help="Column of the rows themselves.")
    ] = "features",
    *,
    settings: Settings,
) -> None:
    """Bring the embedding and all rows of an index into PostgreSQL (with pgvector) or Milvus.

    The store then finds candidates by inner products, which are about the kernel, and mercer index search --store ranks
    them by the exact kernel. A table that is there gets two columns more; its rows are found by their ids.
    """
    how: dict[str, Any] = {"method": method, "m": m, "ef_construction": ef_construction, "replace": replace}
    columns = {"id_column": id_column, "embedding_column": embedding_column, "row_column": row_column}
    with open_index(place) as index:
        started = time.perf_counter()
        with progress(settings), _said_here():
            pushed = index.push(
                to, table, **how, **columns, dtype="float16" if half else "float32", vectors="same" if rows else None
            )
        with pushed:
            found = pushed.stats()
        seconds = time.perf_counter() - started
    if settings.json:
        print_json({"index": place, "seconds": seconds} | found)
        return
    graph = f"hnsw, m = {found['m']}, ef_construction = {found['ef_construction']}"
    facts = [
        ["rows", f"{found['rows']:,}"],
        ["embedded rows", f"{found['width']:,} numbers, {found['dtype']}, by {found['metric']}"],
        ["kept rows", found["vectors"] or "none: exact values need a function of ids"],
        ["method", graph if found["method"] == "hnsw" else "exact"],
        ["fingerprint", found["fingerprint"]],
    ]
    print_table(settings, f"{place} in {found['name']} of {found['place']}", ["", "value"], facts, text_columns=2)
    note(settings, f"Pushed in {seconds:.2g} s.")
