"""Figures in one style: drawn without a display, readable in print and by colour-blind readers."""

from __future__ import annotations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito's eight colours, told apart under every common form of colour blindness; black comes last
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")


def new_figure(width: float = 6.4, height: float = 3.6):
    """(figure, axes) that belong to the caller alone: no global state, nothing to close."""
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_prop_cycle(color=COLOURS)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
