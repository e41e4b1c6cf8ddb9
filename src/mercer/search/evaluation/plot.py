"""The picture of how well indexes find true neighbors: recall against the rows looked at, and against bytes."""

__all__ = ["plot_recall"]

from mercer._base.errors import require_extra

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = {"pq": "o", "opq": "s", "lsh": "^", "universal": "v", "flat": "D"}
SHADES = (0.15, 0.85)  # of the color map of ranks, which are no indexes and have colors of their own


def plot_recall(evaluations, title=""):
    """Plot recall_1@R of each index by codes and after re-ranking; for several indexes, also recall against bytes.

    Parameters
    ----------
    evaluations : dict, name of an index -> IndexEvaluation
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        One of its own, drawn without a display.
    """
    require_extra("matplotlib", extra="plot", purpose="The plot of an evaluation")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    found = list(evaluations.values())
    several = len({each.searches[0].n_bytes for each in found}) > 1
    layout = ConstrainedLayoutEngine(wspace=0.06)
    figure = Figure(figsize=(12.5 if several else 7.0, 5.4), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if several else 1, squeeze=False)[0]
    _draw_ranks(axes[0], evaluations)
    if several:
        _draw_bytes(axes[1], found)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def _draw_ranks(axis, evaluations):
    """recall_1@R against R: codes as a line, re-ranked searches at the ranks that were measured."""
    ranked = {"linewidth": 1, "markersize": 5, "fillstyle": "none"}
    has_ranked = False
    for number, (name, each) in enumerate(evaluations.items()):
        colour = COLOURS[number % len(COLOURS)]
        label = f"{name}: {each.code}, {each.searches[0].n_bytes[0]:.4g} bytes"
        axis.plot(*zip(*each.curve, strict=True), color=colour, linewidth=1.8, label=label)
        for one in each.searches:
            if one.search == "re-ranked":
                has_ranked = True
                axis.plot(*_of_first(one.recall), "o--", color=colour, **ranked)
    axis.plot([], [], "-", color="0.4", label="codes alone")
    if has_ranked:
        axis.plot([], [], "o--", color="0.4", label="re-ranked", **ranked)
    axis.set_xscale("log")
    last = max(rank for each in evaluations.values() for rank, _ in each.curve)
    axis.set_xlim(0.93, max(last, 2) * 1.08)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _finish(axis, "R, the number of rows found", "recall_1@R")


def _draw_bytes(axis, found):
    """recall_1@R of the codes against their bytes; a line for each R and kind of code."""
    ranks = sorted({rank for each in found for rank in _of_first(each.searches[0].recall)[0]})
    codes = list(dict.fromkeys(each.code for each in found))
    for number, R in enumerate(ranks):
        colour = _shade(number / max(1, len(ranks) - 1))
        for code in codes:
            points = sorted(points_of(found, code, R))
            if points:
                label = f"recall_1@{R}" if code == codes[0] else None
                marker = MARKERS.get(code, "o")
                axis.plot(*zip(*points, strict=True), marker=marker, color=colour, linewidth=1.5, label=label)
    for code in codes if len(codes) > 1 else []:
        axis.plot([], [], MARKERS.get(code, "o"), color="0.4", label=code)
    sizes = sorted({each.searches[0].n_bytes[0] for each in found})
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [f"{size:.4g}" for size in sizes])
    axis.minorticks_off()
    axis.margins(x=0.08)
    _finish(axis, "bytes per code", "recall_1@R by codes alone")


def points_of(found, code, R):
    """(bytes, recall_1@R) of the indexes with a code that were judged at this rank."""
    codes = [each.searches[0] for each in found if each.code == code]
    return [(one.n_bytes[0], one.recall[f"recall_1@{R}"]) for one in codes if f"recall_1@{R}" in one.recall]


def _of_first(recall):
    """The ranks R of recall_1@R, and the values."""
    pairs = [(int(name.partition("@")[2]), value) for name, value in recall.items() if name.startswith("recall_1@")]
    return [R for R, _ in pairs], [value for _, value in pairs]


def _finish(axis, across, up):
    axis.set_ylim(-0.02, 1.02)
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.grid(axis="y", color="0.9", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    # below the axes, where no curve can be hidden
    axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, fontsize=9)


def _shade(share):
    from matplotlib import colormaps

    low, high = SHADES
    return colormaps["viridis"](low + (high - low) * share)
