"""The pictures of ``mercer evaluate``: a confusion matrix, or predicted against true values."""

__all__ = ["draw_confusion", "draw_values"]

from typing import Any

from mercer._base.errors import require_extra

_NAMED_UP_TO = 60  # classes; beyond that their names cannot be read
_COUNTED_UP_TO = 25  # classes; beyond that a count does not fit in its cell
_DOTS_UP_TO = 5000  # rows; more are counted in hexagons
_LONGEST_NAME = 20  # letters
_LETTERS_ACROSS = 50  # names that need more than this stand upright
_SHARES = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1)


def draw_confusion(confusion, names: list[str], title: str, target) -> None:
    """Counts of true (down) against predicted (across) classes, colored by their share of the true class."""
    import numpy as np

    figure, axis = _figure(side=min(4.0 + 0.42 * len(names), 12.0))
    from matplotlib.colors import PowerNorm

    totals = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(confusion, totals, out=np.zeros(confusion.shape), where=totals > 0)
    # the root makes mistakes of a few per cent visible
    image = axis.imshow(shares, cmap="Blues", norm=PowerNorm(0.5, vmin=0, vmax=1))
    if len(names) <= _COUNTED_UP_TO:
        _write_counts(axis, confusion, shares)
    if len(names) <= _NAMED_UP_TO:
        short = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names]
        upright = len(names) * max(map(len, short)) > _LETTERS_ACROSS
        size = 9 if len(names) <= 30 else 7
        axis.set_xticks(range(len(names)), short, rotation=90 if upright else 0, fontsize=size)
        axis.set_yticks(range(len(names)), short, fontsize=size)
        axis.tick_params(length=0)
    numbered = "" if len(names) <= _NAMED_UP_TO else " (classes numbered in the order of their names)"
    axis.set_xlabel(f"predicted{numbered}")
    axis.set_ylabel("true")
    axis.set_title(title, fontsize=11, loc="left")
    for side in axis.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=axis, shrink=0.7, label="share of the true class", ticks=_SHARES)
    bar.ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    bar.outline.set_visible(False)
    figure.savefig(target, format="png")


def draw_values(true, predicted, title: str, target) -> None:
    """Predicted (up) against true (across) values, with the line on which they agree."""
    figure, axis = _figure(side=6.0)
    low, high = float(min(true.min(), predicted.min())), float(max(true.max(), predicted.max()))
    margin = 0.04 * (high - low) or 0.5
    limits = (low - margin, high + margin)
    if len(true) <= _DOTS_UP_TO:
        axis.scatter(true, predicted, s=14, alpha=0.5, color="#0072B2", edgecolors="none")
    else:
        cells = axis.hexbin(true, predicted, gridsize=60, bins="log", cmap="Blues", mincnt=1, extent=(*limits, *limits))
        figure.colorbar(cells, ax=axis, shrink=0.7, label="rows").outline.set_visible(False)
    axis.plot(limits, limits, color="0.3", linewidth=1, label="predicted = true")
    axis.set_xlim(limits)
    axis.set_ylim(limits)
    axis.set_aspect("equal")
    axis.set_xlabel("true")
    axis.set_ylabel("predicted")
    axis.set_title(title, fontsize=11, loc="left")
    axis.legend(frameon=False, loc="upper left")
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.savefig(target, format="png")


def _figure(side: float) -> tuple[Any, Any]:
    require_extra("matplotlib", extra="plot", purpose="The plot of an evaluation")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(side + 1.2, side), dpi=150, layout="compressed")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _write_counts(axis, confusion, shares) -> None:
    size = 9 if len(confusion) <= 15 else 7
    for i, row in enumerate(confusion):
        for j, count in enumerate(row):
            if count:  # an empty cell says 0 more clearly than a field of zeros
                colour = "white" if shares[i, j] > 0.3 else "black"
                axis.text(j, i, f"{count:,}", ha="center", va="center", fontsize=size, color=colour)
