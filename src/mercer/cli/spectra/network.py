"""``mercer spectra network``: a library as a molecular network, by the rules of GNPS."""

__all__ = ["EXAMPLES", "network"]

from pathlib import Path

from mercer._base.parameters import REQUIRED, integer, number, pathname
from mercer._base.tables import open_for_writing
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note, print_json, progress, took
from mercer.cli.framework.shared import DIR
from mercer.cli.framework.tables import TABLE_FORMAT, table_format, write_table
from mercer.cli.spectra.search import PAIR_MODE

EXAMPLES = """
Write a network for Cytoscape, by the modified cosine of an index built with --similarity cosine:
  mercer spectra network cosine.index --mode hybrid --out network.graphml

As a table of its edges:
  mercer spectra network library.index --min-score 0.8 --out edges.csv
"""
_NODES = ("name", "precursor_mz", "adduct", "formula", "smiles", "inchikey", "spectrum_id", "file", "scan")
OPTIONS = (
    DIR,
    pathname("out", REQUIRED, "File to write: GraphML, or a table of edges (csv, tsv, json, parquet), by its suffix.",
        "FILE", "-o"),
    number("min_score", 0.7, "Minimum score of an edge.", "S", above=0, most=1),
    integer("min_matched_peaks", 6, "Minimum number of matched peaks of an edge.", least=1),
    PAIR_MODE,
    integer("top_k", 10, "Keep an edge only if each end is among the K best of the other; 0 sets no limit.", "K",
        least=0),
    integer("max_component", 100, "Maximum number of spectra per component; larger ones lose "
        "their edges of lowest score. 0 sets no limit.", least=0),
)  # fmt: skip


@options(OPTIONS, examples=EXAMPLES, settings=COMMON)
def network(place, out, min_score, min_matched_peaks, mode, top_k, max_component, settings: Settings) -> None:
    """Write a molecular network: library spectra with their columns are nodes, similar pairs are edges."""
    from mercer.spectra import SpectrumIndex, graphml, network_edges

    suffix = Path(out).suffix.lower().removeprefix(".")
    said = table_format(str(out), suffix, settings) if suffix in TABLE_FORMAT.words else None
    check_folder(out)
    with SpectrumIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        first, second, scores, matched = index.pairs(min_score, mode=mode, min_matched_peaks=min_matched_peaks)
        kept, components = network_edges(first, second, scores, len(index), top_k=top_k, max_component=max_component)
        nodes = {"id": list(range(len(index))), **index.columns(range(len(index)), *_NODES)}
        nodes["component"] = components.tolist()
    ends = first[kept].tolist(), second[kept].tolist()
    edges = {
        "first": ends[0],
        "second": ends[1],
        "score": scores[kept].tolist(),
        "matched_peaks": matched[kept].tolist(),
        "precursor_difference": _differences(nodes["precursor_mz"], *ends),
    }
    if said is None:
        with open_for_writing(out) as stream:
            stream.write(graphml(nodes, edges))
    else:
        names = {f"{end}_name": [nodes["name"][row] for row in edges[end]] for end in ("first", "second")}
        component = {"component": [nodes["component"][row] for row in edges["first"]]}
        write_table(str(out), edges | names | component, said)
    joined = len({*edges["first"], *edges["second"]})
    if settings.json:
        print_json(
            {"index": place, "spectra": len(components), "pairs": len(first), "edges": len(kept), "joined": joined}
        )
    note(settings, f"{len(kept)} edges between {joined} of {len(components)} spectra in {took(watch.seconds)}, "
        f"written to {out}")  # fmt: skip


def _differences(precursors: list[float | None], first: list[int], second: list[int]) -> list[float | None]:
    """Precursor of the first end of each edge less that of the second, None where one is not known."""
    ends = [(precursors[i], precursors[j]) for i, j in zip(first, second, strict=True)]
    return [None if one is None or other is None else one - other for one, other in ends]
