"""Structures side by side, with a line of text below each, as PNG or SVG."""

__all__ = ["draw_grid"]

from pathlib import Path

from mercer._base.errors import InputError, require_extra
from mercer._base.tables import open_for_writing

WIDTH, HEIGHT = 250, 210  # of a structure
MOST = 1000  # structures in a picture
LONGEST = 30  # letters below a structure


def draw_grid(smiles, legends, path, per_row=6):
    """Draw molecules in rows.

    Parameters
    ----------
    smiles : sequence of str, None for an empty place
    legends : as many texts
    path : by its suffix ``.png`` or ``.svg``
    per_row : int
    """
    kind = Path(path).suffix.lower()
    if kind not in (".png", ".svg"):
        raise InputError(f"A picture of molecules must be a .png or .svg file; got {str(path)!r:.80}.")
    if len(smiles) > MOST:
        raise InputError(f"A picture shows at most {MOST:,} structures; got {len(smiles):,}.")
    chem = require_extra("rdkit.Chem", "molecules", "Drawing molecules")
    drawing = require_extra("rdkit.Chem.Draw.rdMolDraw2D", "molecules", "Drawing molecules")
    log = require_extra("rdkit.rdBase", "molecules", "Drawing molecules")
    with log.BlockLogs():
        structures = [(chem.MolFromSmiles(text) if text else None) or chem.Mol() for text in smiles]
    make = drawing.MolDraw2DCairo if kind == ".png" else drawing.MolDraw2DSVG
    n_rows = -(-max(1, len(structures)) // per_row)
    canvas = make(WIDTH * per_row, HEIGHT * n_rows, WIDTH, HEIGHT)
    options = canvas.drawOptions()
    options.legendFontSize, options.legendFraction, options.padding = 16, 0.15, 0.03
    options.minFontSize, options.fixedBondLength = 9, 45
    short = [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in legends]
    canvas.DrawMolecules(structures, legends=short)
    canvas.FinishDrawing()
    drawn = canvas.GetDrawingText()
    with open_for_writing(path) as stream:
        stream.write(drawn if isinstance(drawn, bytes) else drawn.encode())
