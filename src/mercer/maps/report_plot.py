"""The picture of an approximation report: one column per map, values above, errors below."""

__all__ = ["draw_report", "draw_values"]

import numpy as np

# Okabe and Ito's colors, told apart under every common form of color blindness
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
COLUMNS = 4  # maps side by side, the others below
BINS = 41


def draw_report(report):
    """A figure of its own, drawn without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n = len(report.maps)
    columns = min(n, COLUMNS)
    lines = -(-n // columns)
    figure = Figure(figsize=(max(3.3 * columns, 4.2), 5.2 * lines + 0.4), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2 * lines, columns, squeeze=False, height_ratios=[3, 1.6] * lines)
    for axis in axes.ravel():
        axis.set_visible(False)
    for i, (name, quality) in enumerate(report.maps.items()):
        line, column = divmod(i, columns)
        values, errors = axes[2 * line, column], axes[2 * line + 1, column]
        colour = COLOURS[i % len(COLOURS)]
        _values(values, quality, colour, name)
        _errors(errors, quality, colour, report.k)
        # the same range for all maps of a kernel, so that they can be compared at a glance
        low, high = _range(other for other in report.maps.values() if other.kernel == quality.kernel)
        margin = 0.03 * (high - low)
        values.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
        values.set_title(f"{name}\n{quality.kernel}, {quality.dimensions:,} dimensions", fontsize=9, loc="left")
        if column == 0:
            values.set_ylabel("approximate")
            errors.set_ylabel("pairs")
    figure.suptitle(
        f"Kernel values of pairs among {report.n_rows:,} rows", x=0.01, ha="left", weight="bold", fontsize=11
    )
    return figure


def draw_values(axes, maps):
    """Approximate against exact values of all maps, in the axes of somebody else's figure."""
    for i, (name, quality) in enumerate(maps.items()):
        _values(axes, quality, COLOURS[i % len(COLOURS)], name)
    axes.set_ylabel("approximate")
    if len(maps) > 1:
        axes.legend(markerscale=3, frameon=False)
    return axes


def _values(axes, quality, colour, name):
    axes.set_visible(True)
    ends = _range([quality])
    axes.plot(ends, ends, color="0.6", linewidth=1, zorder=1)
    axes.scatter(quality.exact, quality.approximate, s=3, alpha=0.35, color=colour, linewidths=0, label=name, zorder=2)
    axes.set_xlabel("exact")
    axes.spines[["top", "right"]].set_visible(False)


def _errors(axes, quality, colour, k):
    axes.set_visible(True)
    errors = quality.approximate - quality.exact
    reach = max(np.abs(errors).max(), np.finfo(np.float64).tiny)
    axes.hist(errors, bins=np.linspace(-reach, reach, BINS), color=colour)
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.set_xlabel("approximate - exact")
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    text = f"relative error {quality.relative_error:.3g}\nrecall@{k} {quality.recall:.0%}"
    axes.annotate(text, (1, 1), xycoords="axes fraction", ha="right", va="top", fontsize=8)


def _range(qualities):
    values = np.concatenate([part for quality in qualities for part in (quality.exact, quality.approximate)])
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
