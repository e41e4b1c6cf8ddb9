"""``mercer index evaluate``: how many of the true nearest rows an index finds, how fast, and in how many bytes."""

__all__ = ["EXAMPLES", "evaluate"]

from pathlib import Path
from typing import Any

from mercer._base.errors import InputError
from mercer._base.parameters import argument, integer, integers, pathname, text
from mercer._base.tables import ArgumentError, format_of
from mercer._base.tables.formats.readers import load_array
from mercer._base.tables.limits import Limit
from mercer.cli.framework.checks import check_file, check_plot
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import note, note_plot, print_json, print_table, progress, write_plot
from mercer.cli.index.parts.files import open_index, open_rows_for
from mercer.cli.index.parts.ids import ids_of_column, known_ids
from mercer.cli.models.learning import blaming

EXAMPLES = """
  mercer index evaluate base.index queries.npy
  mercer index evaluate base.index queries.npy -k 20 --ranks 1,5,20,100 --plot recall.png

Compare several indexes of the same rows, recall against bytes:
  mercer index evaluate b4.index b8.index b16.index queries.npy --plot bytes.png

Use known true neighbors:
  mercer index exact base.index queries.npy -k 100 --out truth.npy
  mercer index evaluate base.index queries.npy --truth truth.npy
"""


@options((
    argument("files", "DIR... QUERIES", "One or more indexes, followed by the queries.", kind=list),
    integer("k", 10, "Number of nearest rows for recall_k@k.", "K", "-k --neighbors", least=1),
    integers("ranks", "1,10,100", "Ranks R for recall_1@R, separated by commas.", "R,..."),
    text("truth", None, "File of the ids of the true nearest rows, one row per query, nearest first: npy or "
        "ivecs.", "FILE",
        shown="an exact search of each index"),
    integer("n_queries", 1000, "Number of queries to use, from the first.", "N", "--rows", least=1),
    pathname("plot", None, "Plot recall against R and, for several indexes, against bytes.", "PNG"),
), examples=EXAMPLES, rules=INPUT, settings=COMMON)  # fmt: skip
def evaluate(files, k, ranks, truth, n_queries, plot, rules, settings: Settings) -> None:
    """Measure how many true nearest rows an index finds, by its codes and after re-ranking, and how fast.

    recall_1@R is the share of queries whose true nearest row is among the first R results. recall_k@k is the mean share
    of the true k nearest rows among the first k results. A row exactly as near as the last true one counts as true.
    Figures after re-ranking refer to a search for the same number of rows.
    """
    from mercer.search import evaluate_index, plot_recall

    *places, q = files
    if not places:
        raise ArgumentError("Name one or more index directories, followed by the query file.")
    check_plot(plot)
    found = {}
    for place in places:
        with open_index(place) as index, progress(settings):
            data = open_rows_for(settings, q, rules, index)
            queries, _ = next(data.blocks(size=min(n_queries, data.shape[0])))
            _check(index, place, k, truth)
            known = None
            if truth is not None:
                known = _known(index, place, read_truth(truth, data.shape[0], k)[: queries.shape[0]])
            with blaming(data):
                found[place] = evaluate_index(index, queries, k, ranks, true_ids=known)
    if queries.shape[0] < data.shape[0]:
        note(settings, f"The first {queries.shape[0]} of {data.shape[0]} queries; use --rows for more.")
    _point_out_selves(settings, found)
    write_plot(plot, lambda: plot_recall(found, f"{queries.shape[0]:,} queries of {data.name}"))
    _print(settings, found, data.name, queries.shape[0], plot)


def _check(index, place: str, k: int, truth: str | None) -> None:
    if not len(index):
        raise InputError(f"{place} has no rows.")
    if k > len(index):
        raise ArgumentError(f"-k {k} exceeds the {len(index)} rows of {place}.")
    if truth is None and index.stats()["vectors"] is None:
        raise ArgumentError(f"{place} holds codes only, so the true neighbors are unknown. Provide them with --truth.")


def read_truth(file: str, n_queries: int, k: int):
    """The true nearest rows of queries: a table of ids, nearest first."""
    check_file(file, "Name the file of true neighbors.")
    limit = Limit.fixed()
    if file.lower().endswith(".npy"):
        ids = load_array(file, limit)
    else:
        if format_of(file) != "ivecs":
            raise ArgumentError(f"{file} is neither npy nor ivecs, the formats of --truth.")
        from mercer._base.tables.formats.vectors import parse_vectors
        from mercer._base.tables.reading import open_file

        with open_file(file, "ivecs", limit) as stream:
            ids = parse_vectors(limit.read(stream, file), file, "ivecs")
    if ids.ndim != 2 or ids.dtype.kind not in "iuU":
        raise InputError(
            f"{file} holds an array of shape {ids.shape} and type {ids.dtype}; it must hold a table of ids."
        )
    if len(ids) != n_queries:
        raise InputError(f"{file} has true neighbors of {len(ids)} queries, but there are {n_queries}.")
    if ids.shape[1] < k:
        raise ArgumentError(f"{file} has {ids.shape[1]} true neighbors per query, but -k {k} needs at least as many.")
    return ids[:, :k]


def _known(index, place: str, truth):
    """The ids of the index that are meant; all of them must be there."""
    import numpy as np

    wanted = known_ids(index, ids_of_column(truth.ravel()), place, "--truth")
    return np.array(wanted, dtype=object).reshape(truth.shape)


def _point_out_selves(settings: Settings, found: dict[str, Any]) -> None:
    for place, each in found.items():
        if each.n_selves:
            note(
                settings,
                f"{each.n_selves} of the queries are rows of {place} or equal to one, which makes them easy to find.",
            )


def _print(settings: Settings, found: dict[str, Any], queries: str, n_queries: int, plot: Path | None) -> None:
    if settings.json:
        indexes = [{"index": place} | each.as_dict() for place, each in found.items()]
        drawn = {} if plot is None else {"plot": str(plot)}
        print_json({"queries": queries, "n_queries": n_queries, "indexes": indexes} | drawn)
        return
    names = list(dict.fromkeys(name for each in found.values() for one in each.searches for name in one.recall))
    lines = []
    for place, each in found.items():
        for one in each.searches:
            recall = [f"{one.recall[name]:.3f}" if name in one.recall else "-" for name in names]
            lines.append([place, one.search, one.bytes_text, *recall, f"{one.milliseconds:.3g}"])
    columns = ["index", "search", "bytes", *names, "ms/query"]
    print_table(settings, f"Recall for {n_queries:,} queries of {queries}", columns, lines, text_columns=2)
    note_plot(settings, plot)
