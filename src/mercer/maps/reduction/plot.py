"""Pictures of a reduction: kernel values before and after, and the error along its path. [gavves12convex] Fig. 2, 3"""

__all__ = ["draw_path", "draw_values"]

import numpy as np

from mercer._base.errors import require_extra

COLOURS = ("#0072B2", "#E69F00")  # two of Okabe and Ito's, told apart under every common form of color blindness


def draw_values(reduction, exact, reduced):
    """Kernel values of pairs after the reduction against those before, as a figure of its own.

    Parameters
    ----------
    reduction : fitted ConvexReduction
    exact, reduced : values of the same pairs, shape (pairs,)
    """
    figure, axes = _figure("plot_values()", 4.6)
    ends = [min(exact.min(), reduced.min()), max(exact.max(), reduced.max())]
    axes.plot(ends, ends, color="0.6", linewidth=1, zorder=1)
    axes.scatter(exact, reduced, s=4, alpha=0.4, color=COLOURS[0], linewidths=0, zorder=2)
    axes.locator_params(nbins=5)  # more labels of many digits overlap
    axes.ticklabel_format(scilimits=(-2, 4))
    axes.set_xlabel(f"{reduction.weighed_kernel_.name} kernel of all {reduction.n_features_in_:,} columns")
    axes.set_ylabel(f"of the {reduction.n_dims_:,} remaining columns")
    _title(figure, f"{len(exact):,} pairs of rows, error {reduction.error_:.3g} of the mean in training")
    return figure


def draw_path(reduction):
    """The error (7) along the path, with the number of columns for a path of penalties, as a figure of its own."""
    path = reduction.path_
    figure, axes = _figure("plot_path()", 3.6)
    style = {"marker": ".", "linewidth": 1.2, "markersize": 5}
    if "alpha" in path:
        shown = path["alpha"] > 0  # no penalty has no place on a logarithmic axis
        axes.plot(path["alpha"][shown], path["error"][shown], color=COLOURS[0], **style)
        other = axes.twinx()
        other.plot(path["alpha"][shown], path["n_dims"][shown], color=COLOURS[1], **style)
        other.set_ylabel("remaining columns", color=COLOURS[1])
        other.spines[["top"]].set_visible(False)
        axes.invert_xaxis()  # columns come in from left to right
        axes.set_xlabel("penalty alpha")
        chosen = reduction.alpha_
    else:
        axes.plot(path["n_dims"], path["error"], color=COLOURS[0], **style)
        axes.set_xlabel("remaining columns")
        chosen = reduction.n_dims_
    axes.set_xscale("log")
    if np.isfinite(chosen) and chosen > 0:
        axes.axvline(chosen, color="0.6", linewidth=0.8, zorder=0)
    axes.set_ylabel("error of the kernel, of its mean", color=COLOURS[0])
    axes.set_ylim(bottom=0)
    _title(figure, f"Path of method={reduction.method!r}")
    return figure


def _figure(purpose, height):
    require_extra("matplotlib", "plot", purpose)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _title(figure, text):
    figure.suptitle(text, x=0.01, ha="left", weight="bold", fontsize=10)
