"""The picture of ``mercer index evaluate``: recall against the number of rows looked at, and against bytes."""

__all__ = ["draw_recall"]

from typing import Any

from mercer._base.errors import require_extra
from mercer.cli.index.parts.recall import Evaluation

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = {"pq": "o", "opq": "s", "lsh": "^", "universal": "v", "flat": "D"}
_SHADES = (0.15, 0.85)  # of the colour map of ranks, which are no indexes and have colours of their own


def draw_recall(found: list[Evaluation], title: str, target) -> None:
    """recall_1@R of each index by codes and after re-ranking; of several indexes also recall against bytes."""
    require_extra("matplotlib", extra="plot", purpose="The plot of an evaluation")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    several = len({each.lines[0].n_bytes for each in found}) > 1
    layout = ConstrainedLayoutEngine(wspace=0.06)
    figure = Figure(figsize=(12.5 if several else 7.0, 5.4), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if several else 1, squeeze=False)[0]
    _draw_ranks(axes[0], found)
    if several:
        _draw_bytes(axes[1], found)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.savefig(target, format="png")


def _draw_ranks(axis, found: list[Evaluation]) -> None:
    """recall_1@R against R: codes as a line, re-ranked searches at the ranks that were measured."""
    for number, each in enumerate(found):
        colour = _COLOURS[number % len(_COLOURS)]
        ranks, recall = zip(*each.curve, strict=True)
        axis.plot(ranks, recall, color=colour, linewidth=1.8, label=_name(each))
        for line in each.lines:
            if line.search == "re-ranked":
                axis.plot(*_of_first(line.recall), "o--", color=colour, linewidth=1, markersize=5, fillstyle="none")
    axis.plot([], [], "-", color="0.4", label="codes alone")
    if any(line.search == "re-ranked" for each in found for line in each.lines):
        axis.plot([], [], "o--", color="0.4", linewidth=1, markersize=5, fillstyle="none", label="re-ranked")
    axis.set_xscale("log")
    last = max(rank for each in found for rank, _ in each.curve)
    axis.set_xlim(0.93, max(last, 2) * 1.08)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _finish(axis, "R, the number of rows found", "recall_1@R")


def _draw_bytes(axis, found: list[Evaluation]) -> None:
    """recall_1@R of the codes against their bytes; a line for each R and kind of code."""
    ranks = sorted({rank for each in found for rank in _of_first(each.lines[0].recall)[0]})
    for number, R in enumerate(ranks):
        colour = _shade(number / max(1, len(ranks) - 1))
        for code in dict.fromkeys(each.code for each in found):
            points = sorted(_points(found, code, R))
            if points:
                label = f"recall_1@{R}" if code == found[0].code else None
                axis.plot(
                    *zip(*points, strict=True), marker=_MARKERS.get(code, "o"), color=colour, linewidth=1.5, label=label
                )
    codes = list(dict.fromkeys(each.code for each in found))
    for code in codes if len(codes) > 1 else []:
        axis.plot([], [], _MARKERS.get(code, "o"), color="0.4", label=code)
    sizes = sorted({each.lines[0].n_bytes[0] for each in found})
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [f"{size:.4g}" for size in sizes])
    axis.minorticks_off()
    axis.margins(x=0.08)
    _finish(axis, "bytes of a code", "recall_1@R by codes alone")


def _points(found: list[Evaluation], code: str, R: int) -> list[tuple[float, float]]:
    lines = [each.lines[0] for each in found if each.code == code]
    return [(line.n_bytes[0], line.recall[f"recall_1@{R}"]) for line in lines if f"recall_1@{R}" in line.recall]


def _of_first(recall: dict[str, float]) -> tuple[list[int], list[float]]:
    """The ranks R of recall_1@R, and the values."""
    pairs = [(int(name.partition("@")[2]), value) for name, value in recall.items() if name.startswith("recall_1@")]
    return [R for R, _ in pairs], [value for _, value in pairs]


def _name(each: Evaluation) -> str:
    return f"{each.place}: {each.code}, {each.lines[0].n_bytes[0]:.4g} bytes"


def _finish(axis: Any, across: str, up: str) -> None:
    axis.set_ylim(-0.02, 1.02)
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.grid(axis="y", color="0.9", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    # below the axes, where no curve can be hidden
    axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, fontsize=9)


def _shade(share: float) -> Any:
    from matplotlib import colormaps

    low, high = _SHADES
    return colormaps["viridis"](low + (high - low) * share)
