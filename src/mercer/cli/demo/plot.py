"""The picture of ``mercer demo``: accuracy, times and memory of each contender, one panel each."""

__all__ = ["draw"]

from mercer._base.errors import require_extra

# Okabe and Ito's palette, which colour-blind readers can tell apart
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def draw(lines, title: str, target) -> None:
    """Write the plot as PNG to a binary stream."""
    require_extra("matplotlib", extra="plot", purpose="The plot of the demo")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [
        ("Test accuracy", [100 * line.accuracy for line in lines], "{:.1f} %"),
        ("Fit time", [1e3 * line.fit_seconds for line in lines], "{:.1f} ms"),
        ("Predict time", [1e3 * line.predict_seconds for line in lines], "{:.1f} ms"),
        ("Peak memory", [line.peak_bytes / 1e6 for line in lines], "{:.1f} MB"),
    ]
    figure = Figure(figsize=(11, 1.6 + 0.45 * len(lines)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(panels), sharey=True)
    for axis, (what, values, text) in zip(axes, panels, strict=True):
        _panel(axis, what, values, text)
    axes[0].set_yticks(range(len(lines)), [line.name for line in lines])
    axes[0].invert_yaxis()  # the first contender on top
    # accuracies differ by little: the axis starts where the differences show, so dots are used, not bars
    axes[0].set_xlim(_accuracy_limits([100 * line.accuracy for line in lines]))
    axes[0].set_xticks([tick for tick in axes[0].get_xticks()[1:-1] if tick <= 100])
    figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=11)
    figure.savefig(target, format="png", bbox_inches="tight", pad_inches=0.15)


def _panel(axis, title: str, values, text: str) -> None:
    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(values))]
    if "accuracy" in title:
        axis.scatter(values, range(len(values)), c=colours, s=90, zorder=3)
        axis.grid(axis="x", color="0.9")
    else:
        axis.barh(range(len(values)), values, color=colours, height=0.55)
        axis.set_xlim(0, 1.6 * max(values))
        axis.set_xticks([])
    for i, value in enumerate(values):
        axis.annotate(
            text.format(value), (value, i), xytext=(9, 0), textcoords="offset points", va="center", fontsize=9
        )
    axis.set_title(title, fontsize=10, loc="left")
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)


def _accuracy_limits(values) -> tuple[float, float]:
    spread = max(max(values) - min(values), 1.0)
    return min(values) - 0.25 * spread, max(values) + 0.75 * spread
