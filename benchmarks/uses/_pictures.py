"""Panels of dots with intervals and of bars with numbers."""

from __future__ import annotations

import numpy as np

from benchmarks.plotting import COLOURS, new_figure


def panels(count, width=7.6, height=3.6, sharey=True):
    """(figure, list of axes side by side)"""
    figure, _ = new_figure(width, height)
    figure.clear()
    sides = list(figure.subplots(1, count, sharey=sharey, squeeze=False)[0])
    for side in sides:
        side.set_prop_cycle(color=COLOURS)
        side.spines[["top", "right"]].set_visible(False)
    return figure, sides


def dots_with_intervals(axes, names, triples, colours, value_format="{:.1f}"):
    """One line for each name, the first on top: a dot, its interval and the number."""
    places = np.arange(len(names))[::-1]
    for place, (mean, low, high), colour in zip(places, triples, colours, strict=True):
        axes.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="round")
        axes.plot([mean], [place], "o", color=colour, markersize=7)
        axes.annotate(
            value_format.format(mean), (high, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.margins(x=0.12)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def bars_with_numbers(axes, names, values, colours):
    """One bar for each name on a logarithmic scale, the first on top, each with its number."""
    places = np.arange(len(names))[::-1]
    axes.barh(places, values, color=colours, height=0.6)
    for place, value in zip(places, values, strict=True):
        axes.annotate(
            f"{value:.3g}", (value, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_xscale("log")
    low, high = min(values), max(values)
    axes.set_xlim(low / 3, high * 6)
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(names) - 0.4)
