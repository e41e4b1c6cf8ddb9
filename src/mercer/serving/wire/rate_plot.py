"""Accuracy against bits as a figure."""

__all__ = ["draw_rates"]

from mercer._base.errors import require_extra

# Okabe and Ito's colors, told apart under every common form of color blindness
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
MARKERS = "osD^vPX"


def draw_rates(found):
    """A figure of its own, drawn without a display.

    Parameters
    ----------
    found : RateAccuracy
    """
    require_extra("matplotlib", "plot", "RateAccuracy.plot()")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    figure = Figure(figsize=(8.4, 4.6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    codes = list(dict.fromkeys(point.code for point in found.points if point.bits is not None))
    for i, code in enumerate(codes):
        points = sorted((point for point in found.points if point.code == code), key=lambda point: point.bits)
        bits, accuracy = [point.bits for point in points], [100 * point.accuracy for point in points]
        ends = [[100 * (p.accuracy - p.low) for p in points], [100 * (p.high - p.accuracy) for p in points]]
        shift = 1 + 0.012 * (i - len(codes) / 2)  # intervals side by side
        axis.errorbar([b * shift for b in bits], accuracy, ends, label=code, color=COLORS[i % len(COLORS)],
                      marker=MARKERS[i % len(MARKERS)], linestyle="--" if i >= len(COLORS) else "-",
                      markersize=4, linewidth=1.2, elinewidth=0.7, capsize=2)  # fmt: skip
    for point in found.points:
        if point.bits is None:
            axis.axhline(100 * point.accuracy, color="#777777", linestyle=":", linewidth=1.2, label=point.code)
    rates = sorted({point.bits for point in found.points if point.bits is not None})
    if rates:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_locator(FixedLocator(rates))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
        axis.tick_params(axis="x", labelrotation=0 if len(rates) < 10 else 90)
    axis.set_xlabel("bits of a row" if found.blocks == 1 else f"bits of each of the {found.blocks} blocks of a row")
    axis.set_ylabel("accuracy, %")
    means = [100 * point.accuracy for point in found.points]
    margin = 0.08 * (max(means) - min(means)) + 1
    axis.set_ylim(min(means) - margin, min(max(means) + margin, 100.5))  # intervals of few splits may reach far
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure
