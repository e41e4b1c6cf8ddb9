"""``mercer index graph``: the graph of near rows of an index, its connected components, and files of both."""

__all__ = ["EXAMPLES", "graph"]

from pathlib import Path
from typing import Any

from mercer._base.parameters import choice, flag, integer, number, text
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import check_folder, check_standard_output
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note, print_facts, print_json, progress, took, written_to
from mercer.cli.framework.shared import DIR
from mercer.cli.index.parts.files import open_index
from mercer.cli.index.parts.limits import check_limit

EXAMPLES = """
Link every row to its 15 nearest; keep mutual links only; keep similar pairs only:
  mercer index graph base.index -k 15 --out base.graphml
  mercer index graph base.index -k 15 --mutual --out edges.csv
  mercer index graph base.index -k 15 --min-similarity 0.8 --out base.graphml

Find all pairs within a limit, exactly; write the connected component of each row:
  mercer index graph spectra.index --min-similarity 0.7 --exact --out network.graphml --components groups.csv

Use only rows that meet a condition:
  mercer index graph spectra.index -k 10 --where "mode = 'positive'" --out positive.graphml
"""
_SIZES_SHOWN = 10


@options((
    DIR,
    integer("k", None, "Number of nearest neighbors per row; with a limit, only neighbors within it "
        "count.", "K", "-k --neighbors",
        shown="all within a limit", least=1),
    number("min_similarity", None, "Minimum similarity of a pair.", "S"),
    number("max_distance", None, "Maximum distance of a pair.", "D"),
    flag("mutual", "Keep only pairs in which each row is a neighbor of the other."),
    flag("exact", "Find neighbors exactly, among the rows as stored."),
    text("where", None, "Condition on the columns of the index; only rows that meet it are used.", "CONDITION"),
    text("out", None, "File for the graph: graphml, or csv or tsv with one line per edge; - is standard "
        "output.", "FILE",
        "-o"),
    choice("out_format", "graphml csv tsv", None, "Format of --out.", "FORMAT", shown="by suffix; csv for -"),
    text("components", None, "File for the component of each row (csv, tsv); - is standard output.", "FILE"),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def graph(
    place, k, min_similarity, max_distance, mutual, exact, where, out, out_format, components, settings: Settings
) -> None:
    """Write the neighbor graph of the rows and its connected components.

    An edge joins two rows if one is among the k nearest neighbors of the other, or if they are within the limit. Rows
    are found as in mercer index search, or with --exact as in mercer index exact. Components are numbered by size, from
    0 for the largest. Memory grows with the number of rows and edges, not with the number of pairs.
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
            "Set the number of neighbors with -k, a limit with --min-similarity or --max-distance, or both."
        )
    from mercer.search import edge_format, row_format

    if out_format is not None and out is None:
        raise ArgumentError("--out-format needs --out. Name the file with --out.")
    for path, format_of in ((out, lambda path: edge_format(path, out_format)), (components, row_format)):
        if path is not None:
            check_standard_output(path, settings)
            format_of(path)
            check_folder(None if path == "-" else Path(path))
    if out is not None and out == components:
        raise ArgumentError("--out and --components name the same file. Name two different files.")


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
            ["rows", f"{len(found.ids):,}, {alone:,} without an edge"],
            ["edges", f"{len(found.values):,}"],
            ["components", f"{len(sizes):,}, of sizes {shown}"],
        ]
        print_facts(settings, f"Graph of {place}", counts)
    written = " and ".join(file for file in (files["out"], files["components_out"]) if file not in (None, "-"))
    note(settings, f"{took(files['seconds'])}{written_to(written or None)}")
