"""``mercer index graph``: the graph of near rows of an index, its connected components, and files of both."""

__all__ = ["EXAMPLES", "graph"]

from pathlib import Path
from typing import Any

from mercer._base.parameters import choice, flag, integer, number, text
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import check_folder, check_standard_output
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note, print_json, print_table, progress, took, written_to
from mercer.cli.framework.shared import DIR
from mercer.cli.index.parts.files import open_index
from mercer.cli.index.parts.limits import check_limit

EXAMPLES = """
The 15 nearest of every row; those that found each other; those that are near enough:
  mercer index graph base.index -k 15 --out base.graphml
  mercer index graph base.index -k 15 --mutual --out edges.csv
  mercer index graph base.index -k 15 --min-similarity 0.8 --out base.graphml

All pairs within a limit, proven; what hangs together, a line for each row:
  mercer index graph spectra.index --min-similarity 0.7 --exact --out network.graphml --components groups.csv

Only rows whose columns fulfill a condition:
  mercer index graph spectra.index -k 10 --where "mode = 'positive'" --out positive.graphml
"""
_SIZES_SHOWN = 10


@options((
    DIR,
    integer("k", None, "Nearest others of each row; with a limit, those of them within it.", "K", "-k --neighbours",
        shown="all within a limit", least=1),
    number("min_similarity", None, "Pairs at least so similar.", "S"),
    number("max_distance", None, "Pairs at most so far.", "D"),
    flag("mutual", "Only pairs of which each row has found the other."),
    flag("exact", "Prove which rows are near, among the rows as they are kept."),
    text("where", None, "A condition on the columns of the index: only rows that fulfill it.", "CONDITION"),
    text("out", None, "Write the graph: graphml, or csv or tsv with a line for each edge; - is the output.", "FILE",
        "-o"),
    choice("out_format", "graphml csv tsv", None, "Format of --out.", "FORMAT", shown="by suffix; csv for -"),
    text("components", None, "Write the component of each row (csv, tsv); - is the output.", "FILE"),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def graph(
    place, k, min_similarity, max_distance, mutual, exact, where, out, out_format, components, settings: Settings
) -> None:
    """The graph of near rows, and its connected components.

    An edge joins two rows if one is among the k nearest others of the other, or if they are within the limit. Rows are
    found as by mercer index search, with --exact as by mercer index exact. Components are numbered by size, 0 is the
    largest. Memory grows with the rows and the edges, not with the pairs of rows.
    """
    _check(settings, out, out_format, components, k, min_similarity, max_distance)
    from mercer.search import edge_format, neighbor_graph

    with open_index(place) as index:
        limit = {"min_similarity": min_similarity, "max_distance": max_distance}
        check_limit(index, place, limit)
        with progress(settings) as watch:
            found = neighbor_graph(index, k, **limit, mutual=mutual, exact=exact, where=where)
        wants_data = components is not None or (out is not None and edge_format(out, out_format) == "graphml")
        beside = index.data(found.ids.tolist()) if wants_data and index.columns_ else {}
    if out is not None:
        found.write(out, beside, out_format)
    if components is not None:
        found.write_rows(components, beside)
    _tell(settings, place, found, {"out": out, "components_out": components, "seconds": watch.seconds})


def _check(settings: Settings, out, out_format, components, *wanted) -> None:
    """What was said, before an index is opened."""
    if all(each is None for each in wanted):
        raise ArgumentError(
            "Say how many neighbors with -k, how near with --min-similarity or --max-distance, or both."
        )
    from mercer.search import edge_format, row_format

    if out_format is not None and out is None:
        raise ArgumentError("--out-format is the format of --out. Name the file with --out.")
    for path, format_of in ((out, lambda path: edge_format(path, out_format)), (components, row_format)):
        if path is not None:
            check_standard_output(path, settings)
            format_of(path)
            check_folder(None if path == "-" else Path(path))
    if out is not None and out == components:
        raise ArgumentError("--out and --components name the same file. Name two.")


def _tell(settings: Settings, place: str, found, files: dict[str, Any]) -> None:
    sizes = found.sizes.tolist()
    alone = sizes.count(1)
    if settings.json:
        head = {"index": place, "measure": found.measure, "rows": len(found.ids), "edges": len(found.values)}
        print_json(head | {"components": len(sizes), "alone": alone, "sizes": sizes[: len(sizes) - alone]} | files)
        return
    if "-" not in (files["out"], files["components_out"]):
        shown = ", ".join(f"{size:,}" for size in sizes[:_SIZES_SHOWN]) + (", ..." if sizes[_SIZES_SHOWN:] else "")
        counts = [
            ["rows", f"{len(found.ids):,}, of which {alone:,} have no edge"],
            ["edges", f"{len(found.values):,}"],
            ["components", f"{len(sizes):,}, of {shown} rows"],
        ]
        print_table(settings, f"Graph of {place}", ["", "value"], counts, text_columns=2)
    written = " and ".join(file for file in (files["out"], files["components_out"]) if file not in (None, "-"))
    note(settings, f"{took(files['seconds'])}{written_to(written or None)}")
