"""The report of a search: queries, their hits and mirror plots, on one page that needs nothing beside it."""

__all__ = ["write_report"]

import importlib.util
import re

from mercer import __version__
from mercer._base.html.page import document
from mercer._base.html.pieces import escape, section, table
from mercer._base.progress import track
from mercer._base.tables import open_for_writing

QUERIES, PLOTS = 200, 3  # queries that are shown, and hits of each that are drawn
_STYLE = """
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 14px; }
.plots figure { border: 1px solid var(--line); border-radius: 8px; padding: 10px; margin: 14px 0 0; min-width: 0;
  background: #fff; }
.plots svg { width: 100%; height: auto; display: block; }
figcaption { font-size: 13px; color: #5d6b7a; overflow-wrap: anywhere; }
.plots figure > svg { max-width: 620px; margin: 0 auto; } .structure { max-width: 200px; margin: 6px auto 0; }
h1, h2 { overflow-wrap: anywhere; } td { white-space: nowrap; }
td:nth-child(2) { white-space: normal; overflow-wrap: anywhere; min-width: 150px; }
"""
_COLUMNS = ("name", "formula", "adduct", "score", "matched", "Δ precursor", "id")


def write_report(hits, path, title="Mass spectra", about=""):
    """Write the page of :meth:`SpectrumHits.report`."""
    shown = range(min(len(hits), QUERIES))
    found = sum(len(hits.of(query)[0]) > 0 for query in range(len(hits)))
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{found:,} of {len(hits):,} spectra have hits. {escape(about)}</p>',
        '<p class="soft small">Mirror plots show the cleaned and weighted spectra: the query above, the library '
        "spectrum below, matching peaks in color."
        "</p>",
        *(_query(hits, query) for query in track(shown, "report")),
    ]
    if len(hits) > QUERIES:
        parts.append(f'<p class="soft">The other {len(hits) - QUERIES:,} spectra appear only in the table of hits.</p>')
    with open_for_writing(path) as stream:
        stream.write(document(title, parts, __version__, _STYLE))


def _query(hits, query):
    name = hits.names[query] or f"Spectrum {query}"
    precursor = hits.precursors[query]
    said = f"precursor m/z {precursor:.4f}" if precursor == precursor else "no precursor"
    lines = hits.records(query)
    if not lines:
        return section(escape(name), escape(f"{said}; no hits"), "")
    certain = lines[0].get("q_value") is not None
    rows = [_cells(line, certain) for line in lines]
    titles = ["", *_COLUMNS[:4], *(["q-value"] if certain else []), *_COLUMNS[4:]]
    plots = "".join(_plot(hits.mirror(query, line["rank"]), line) for line in lines[:PLOTS])
    content = f'{table(titles, rows, left={1, 2, 3})}<div class="plots">{plots}</div>'
    return section(escape(name), escape(said), content)


def _cells(line, certain):
    difference = line["precursor_difference"]
    words = [line["name"] or line["spectrum_id"] or "", line["formula"] or "", line["adduct"] or ""]
    quality = [f"{line['score']:.4f}"]
    if certain:
        quality.append("" if line["q_value"] is None else f"{line['q_value']:.3f}")
    rest = [line["matched_peaks"], "" if difference is None else f"{difference:+.4f}", line["id"]]
    return [escape(cell) for cell in (line["rank"], *words, *quality, *rest)]


def _plot(mirror, line):
    said = f"{line['rank']}. {mirror.words[1]}: {mirror.summary}"
    structure = _structure(line["smiles"])
    drawn = f'<div class="structure">{structure}</div>' if structure else ""
    return f"<figure>{mirror.svg()}<figcaption>{escape(said)}</figcaption>{drawn}</figure>"


def _structure(smiles):
    """The SVG of a structural formula, None without RDKit or for what is no SMILES."""
    if not smiles or importlib.util.find_spec("rdkit") is None:
        return None
    from rdkit import Chem, rdBase
    from rdkit.Chem.Draw import rdMolDraw2D

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None or not molecule.GetNumAtoms():
            return None
        drawer = rdMolDraw2D.MolDraw2DSVG(220, 150)
        drawer.drawOptions().clearBackground = False
        rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule)
        drawer.FinishDrawing()
    return re.sub(r"^.*?(?=<svg)", "", drawer.GetDrawingText(), flags=re.DOTALL)
