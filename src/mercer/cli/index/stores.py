"""``mercer index push``: an index into PostgreSQL or Milvus; and opening it there for a search."""

__all__ = ["PUSH_EXAMPLES", "STORE", "StorePlace", "allowed_in_store", "open_store", "push"]

from dataclasses import dataclass
from typing import Any

from mercer._base.parameters import REQUIRED, choice, flag, integer, text
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import exclude
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import answer_json, note, print_facts, progress, took
from mercer.cli.framework.shared import DIR, TABLE
from mercer.cli.index.parts.files import open_index
from mercer.cli.index.parts.ids import read_ids

PUSH_EXAMPLES = """
  mercer index push base.index --to postgresql://me@host/shop --table images
  mercer index push base.index --to milvus://host:19530 --table images
  mercer index push base.index --to milvus://images.db --table images --replace

Then:
  mercer index search queries.npy --store postgresql://me@host/shop --table images -k 10
"""
_SAID_OF_A_PUSH = (
    "method", "m", "ef_construction", "replace", "id_column", "embedding_column", "row_column",
)  # fmt: skip


@dataclass(frozen=True)
class StorePlace:
    """Where an index lies in a store, and what is asked of the store alone."""

    store: str | None
    table: str | None
    column: str
    store_filter: str | None
    ef: int | None


def _place(**said: Any) -> StorePlace:
    place = StorePlace(**said)
    if place.store is None and (place.table, place.store_filter, place.ef) != (None, None, None):
        raise ArgumentError("--table, --store-filter and --ef need a store. Name it with --store.")
    if place.store is not None and place.table is None:
        raise ArgumentError("Name the table or collection of the index with --table.")
    return place


STORE = Group((
    text("store", None, "Search in a database, postgresql://... or milvus://..., instead of a directory.", "URL"),
    TABLE,
    text("column", "embedding", "Column of the embedded rows.", "NAME", "--embedding-column"),
    text("store_filter", None, "Condition on the rows to search, in SQL or as a Milvus expression.", "CONDITION"),
    integer("ef", None, "Number of candidates kept during a graph search; more candidates find more true neighbors "
        "and are slower.", shown="the number of rows requested, at least 100", least=1),
), _place, panel="Store")  # fmt: skip


def open_store(place: StorePlace):
    """The index in a store, to be closed by a ``with`` block."""
    from mercer import KernelIndex

    return KernelIndex.connect(place.store, place.table, embedding_column=place.column)


def allowed_in_store(place: StorePlace, index, file: str | None):
    """The filter of a search: a condition, the ids of a file, or None."""
    exclude(store_filter=place.store_filter, filter=file)
    if file is None:
        return place.store_filter
    ids = read_ids(file)
    return [str(value) for value in ids] if index.stats()["ids"] == "texts" else ids


PUSH = Group((
    DIR,
    text("to", REQUIRED, "Database to copy the index to: postgresql://..., milvus://HOST:PORT or "
        "milvus://FILE.db.", "URL"),
    TABLE.but(default=REQUIRED),
    flag("replace", "Replace an existing index with this name."),
    choice("method", "hnsw exact", "hnsw", "Search method of the store: a graph (hnsw) or a scan of all rows (exact)."),
    integer("m", 16, "Number of links per row of the graph."),
    integer("ef_construction", 128, "Number of candidates kept while the graph is built."),
    flag("half", "Store embedded rows in 16 bits (halfvec)."),
    flag("rows", "Store the rows too, which exact values require.", "--rows/--no-rows", default=True),
    text("id_column", "id", "Column of the ids."),
    text("embedding_column", "embedding", "Column of the embedded rows."),
    text("row_column", "features", "Column of the rows themselves."),
))  # fmt: skip


@options(examples=PUSH_EXAMPLES, given=PUSH, settings=COMMON)
def push(given, settings: Settings) -> None:
    """Copy the embedding and all rows of an index to PostgreSQL (with pgvector) or Milvus.

    The store then finds candidates by inner products, which approximate the kernel, and mercer index search --store
    ranks them by the exact kernel. An existing table gets two more columns; its rows are matched by their ids.
    """
    how = {name: given[name] for name in _SAID_OF_A_PUSH}
    how |= {"dtype": "float16" if given.half else "float32", "vectors": "same" if given.rows else None}
    with open_index(given.place) as index, progress(settings) as watch:
        pushed = index.push(given.to, given.table, **how)
        with pushed:
            found = pushed.stats()
    if answer_json(settings, {"index": given.place, "seconds": watch.seconds} | found):
        return
    graph = f"hnsw, m = {found['m']}, ef_construction = {found['ef_construction']}"
    facts = [
        ["rows", f"{found['rows']:,}"],
        ["embedded rows", f"{found['width']:,} numbers, {found['dtype']}, by {found['metric']}"],
        ["kept rows", found["vectors"] or "none; exact values need a function of ids"],
        ["method", graph if found["method"] == "hnsw" else "exact"],
        ["fingerprint", found["fingerprint"]],
    ]
    print_facts(settings, f"{given.place} in {found['name']} of {found['place']}", facts)
    note(settings, f"Pushed in {took(watch.seconds)}.")
