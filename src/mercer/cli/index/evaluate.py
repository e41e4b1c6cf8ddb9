"""``mercer index evaluate``: how many of the true nearest rows an index finds, how fast, and in how many bytes."""

__all__ = ["EXAMPLES", "evaluate"]

from pathlib import Path

from mercer._base.parameters import argument, integer, integers, pathname, text
from mercer._base.tables import ArgumentError, open_for_writing
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import note, note_plot, print_json, print_table, progress
from mercer.cli.index.parts.files import open_index, open_rows_for
from mercer.cli.index.parts.plot import draw_recall
from mercer.cli.index.parts.recall import Evaluation, evaluate_index, read_truth

EXAMPLES = """
  mercer index evaluate base.index queries.npy
  mercer index evaluate base.index queries.npy -k 20 --ranks 1,5,20,100 --plot recall.png

Several indexes of the same rows: recall against bytes:
  mercer index evaluate b4.index b8.index b16.index queries.npy --plot bytes.png

True neighbours that are known:
  mercer index exact base.index queries.npy -k 100 --out truth.npy
  mercer index evaluate base.index queries.npy --truth truth.npy
"""


OPTIONS = (
    argument("files", "DIR... QUERIES", "One index or more, and at the end the queries.", kind=list),
    integer("k", 10, "Of recall_k@k.", "K", "-k --neighbours", least=1),
    integers("ranks", "1,10,100", "The ranks R of recall_1@R, with commas.", "R,..."),
    text("truth", None, "Ids of the true nearest rows, a row for each query, nearest first: npy or ivecs.", "FILE",
        shown="an exact search of each index"),
    integer("n_queries", 1000, "Queries used, from the first on.", "N", "--rows", least=1),
    pathname("plot", None, "Draw recall against R and, of several indexes, against bytes.", "PNG"),
)  # fmt: skip


@options(OPTIONS, examples=EXAMPLES, rules=INPUT, settings=COMMON)
def evaluate(files, k, ranks, truth, n_queries, plot, rules, settings: Settings) -> None:
    """How many of the true nearest rows an index finds, by its codes and after re-ranking, and how fast.

    recall_1@R is the share of queries whose true nearest row is among the first R found; recall_k@k the mean share of
    the true k nearest among the first k. A row that is exactly as near as the last of the true ones counts as one of
    them. Every figure after re-ranking is that of a search for as many rows.
    """
    *places, q = files
    if not places:
        raise ArgumentError("Name the directories of one index or more, and at the end the file of the queries.")
    check_folder(plot)
    wanted = sorted(set(ranks))
    found = []
    for place in places:
        with open_index(place) as index, progress(settings):
            data = open_rows_for(settings, q, rules, index)
            queries, _ = next(data.blocks(size=min(n_queries, data.shape[0])))
            known = None if truth is None else read_truth(truth, data.shape[0], k)[: queries.shape[0]]
            found.append(evaluate_index(index, place, data, queries, k, wanted, known))
    if queries.shape[0] < data.shape[0]:
        note(settings, f"The first {queries.shape[0]} of {data.shape[0]} queries; --rows takes more.")
    _point_out_selves(settings, found)
    if plot is not None:
        with open_for_writing(plot) as stream:
            draw_recall(found, f"{queries.shape[0]:,} queries of {data.name}", stream)
    _print(settings, found, data.name, queries.shape[0], plot)


def _point_out_selves(settings: Settings, found: list[Evaluation]) -> None:
    for each in found:
        if each.n_selves:
            note(
                settings,
                f"{each.n_selves} of the queries are rows of {each.place} themselves, or equal to one; such a row is "
                "easily found.",
            )


def _print(settings: Settings, found: list[Evaluation], queries: str, n_queries: int, plot: Path | None) -> None:
    drawn = {} if plot is None else {"plot": str(plot)}
    if settings.json:
        print_json({"queries": queries, "n_queries": n_queries, "indexes": [each.document() for each in found]} | drawn)
        return
    names = list(dict.fromkeys(name for each in found for line in each.lines for name in line.recall))
    lines = []
    for each in found:
        for line in each.lines:
            recall = [f"{line.recall[name]:.3f}" if name in line.recall else "-" for name in names]
            lines.append([each.place, line.search, line.bytes_text, *recall, f"{line.milliseconds:.3g}"])
    columns = ["index", "search", "bytes", *names, "ms/query"]
    print_table(settings, f"Recall for {n_queries:,} queries of {queries}", columns, lines, text_columns=2)
    note_plot(settings, plot)
