"""The mirror plot by matplotlib."""

__all__ = ["draw_mirror"]

import numpy as np

from mercer._base.errors import require_extra
from mercer.spectra.showing.mirror import INK, OTHER, WIDTH, labelled, shortened


def draw_mirror(mirror):
    """The figure of a :class:`Mirror`."""
    require_extra("matplotlib", extra="plot", purpose="A mirror plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), dpi=140, layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    low, high = mirror.limits()
    for sign, mz, share, matched, colour in mirror.sides:
        for kept, stroke in ((~matched, OTHER), (matched, colour)):
            axis.vlines(mz[kept], 0, sign * share[kept], color=stroke, linewidth=1.3)
        for i in labelled((mz - low) * WIDTH / (high - low), share, matched):
            place = (mz[i], sign * share[i])
            axis.annotate(f"{mz[i]:.4f}".rstrip("0").rstrip("."), place, xytext=(0, 3 * sign), fontsize=7, ha="center",
                          va="bottom" if sign > 0 else "top", textcoords="offset points")  # fmt: skip
    axis.axhline(0, color=INK, linewidth=0.8)
    axis.set(xlim=(low, high), ylim=(-1.15, 1.15), xlabel="m/z", ylabel="share of the strongest peak")
    axis.set_yticks(np.linspace(-1, 1, 5), ["100 %", "50 %", "0", "50 %", "100 %"])
    axis.spines[["top", "right"]].set_visible(False)
    for place, text, colour in zip((1.02, -0.19), mirror.words, [side[4] for side in mirror.sides], strict=True):
        axis.text(0, place, shortened(text, 56), transform=axis.transAxes, color=colour, fontsize=9, parse_math=False)
    axis.text(1, 1.02, mirror.summary, transform=axis.transAxes, ha="right", fontsize=9)
    return figure
