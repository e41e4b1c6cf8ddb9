"""``mercer spectra network``: a library as a molecular network, by the rules of GNPS."""

__all__ = ["EXAMPLES", "network"]

from mercer._base.parameters import REQUIRED, integer, number, pathname
from mercer._base.tables import open_for_writing
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note, print_json, progress, took
from mercer.cli.framework.shared import DIR
from mercer.cli.spectra.search import PAIR_MODE

EXAMPLES = """
Write a network for Cytoscape, by the modified cosine of an index built with --similarity cosine:
  mercer spectra network cosine.index --mode hybrid --out network.graphml
"""
_NODES = ("name", "precursor_mz", "adduct", "formula", "smiles", "inchikey", "spectrum_id", "file", "scan")
OPTIONS = (
    DIR,
    pathname("out", REQUIRED, "GraphML file to write.", "FILE", "-o"),
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

    check_folder(out)
    with SpectrumIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        first, second, scores, matched = index.pairs(min_score, mode=mode, min_matched_peaks=min_matched_peaks)
        kept, components = network_edges(first, second, scores, len(index), top_k=top_k, max_component=max_component)
        ids = range(len(index))
        nodes = {"id": list(ids), **index.columns(ids, *_NODES), "component": components.tolist()}
    edges = {"first": first[kept], "second": second[kept], "score": scores[kept], "matched_peaks": matched[kept]}
    with open_for_writing(out) as stream:
        stream.write(graphml(nodes, {name: values.tolist() for name, values in edges.items()}))
    joined = len({*edges["first"].tolist(), *edges["second"].tolist()})
    if settings.json:
        print_json(
            {"index": place, "spectra": len(components), "pairs": len(first), "edges": len(kept), "joined": joined}
        )
    note(settings, f"{len(kept)} edges between {joined} of {len(components)} spectra in {took(watch.seconds)}, "
        f"written to {out}")  # fmt: skip
