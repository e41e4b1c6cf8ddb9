"""The picture of an explanation: the image, where what speaks for the class is, and its most telling words."""

__all__ = ["draw_explanation"]

import numpy as np

from mercer.vision.explaining.patches_plot import draw_gray, draw_image, new_figure, patch_sheet

FOR, AGAINST = "#0072B2", "#D55E00"  # blue and vermilion of Okabe and Ito, told apart by color-blind readers
WORDS = 5  # telling words on each side
BARS = 8  # classes whose scores are shown
STRONG = 99.5  # percentile of the heat that has the full color


def draw_explanation(explanation):
    """A figure of its own, drawn without a display."""
    height, width = explanation.pixels.shape[:2]
    panel = np.clip(4.2 * height / width, 2.6, 6.0)
    figure = new_figure(13.5, panel + 2.9, "The picture of an explanation")
    upper, lower = figure.subfigures(2, 1, height_ratios=[panel + 0.5, 2.2])
    axes = upper.subplots(1, 3, width_ratios=[1, 1, 0.72])
    draw_image(axes[0], explanation.pixels, explanation.name)
    _heat(axes[1], explanation)
    _scores(axes[2], explanation)
    sides = lower.subfigures(1, 2)
    _words(sides[0], explanation, against=False)
    _words(sides[1], explanation, against=True)
    figure.suptitle(_title(explanation), x=0.01, ha="left", weight="bold", fontsize=13)
    return figure


def _title(explanation):
    is_same = str(explanation.label) == str(explanation.predicted)
    verdict = "" if is_same else f" (predicted: {explanation.predicted})"
    return f"Evidence for {explanation.label}{verdict}"


def _heat(axis, explanation):
    from matplotlib.colors import LinearSegmentedColormap

    heat = explanation.heat()
    top = float(np.percentile(np.abs(heat), STRONG)) or 1.0
    draw_gray(axis, explanation.pixels)
    colours = LinearSegmentedColormap.from_list("telling", [AGAINST, "#f7f7f7", FOR])
    strength = np.clip(np.abs(heat) / top, 0, 1)
    image = axis.imshow(heat, cmap=colours, vmin=-top, vmax=top, alpha=0.15 + 0.6 * strength)
    how = "share of the score" if explanation.measure == "additive" else "loss of score when removed"
    axis.set_title(f"patches: {how}", fontsize=9, loc="left")
    axis.set_axis_off()
    # beside the image, which keeps the size of the other one
    place = axis.inset_axes([1.02, 0.1, 0.03, 0.8])
    bar = axis.figure.colorbar(image, cax=place, ticks=[-top, 0, top])
    bar.ax.set_yticklabels(["against", "", "for"], fontsize=8)
    bar.solids.set_alpha(1)
    bar.outline.set_visible(False)


def _scores(axis, explanation):
    order = np.argsort(-explanation.scores, kind="stable")[:BARS]
    place = explanation.classes.tolist().index(explanation.label)
    if place not in order:
        order[-1] = place
    values = explanation.scores[order]
    colours = [FOR if i == place else "0.72" for i in order]
    axis.barh(range(len(order)), values, color=colours, height=0.62)
    axis.set_yticks(range(len(order)), [str(explanation.classes[i]) for i in order], fontsize=9)
    axis.invert_yaxis()
    axis.axvline(0, color="0.3", linewidth=0.8)
    for i, value in enumerate(values):
        sign = 1 if value >= 0 else -1
        options = {"textcoords": "offset points", "va": "center", "ha": "left" if sign > 0 else "right", "fontsize": 8}
        axis.annotate(f"{value:.2f}", (value, i), xytext=(4 * sign, 0), **options)
    axis.margins(x=0.22)
    axis.set_xticks([])
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "bottom", "left"]].set_visible(False)
    axis.set_title(_sum_of_the_score(explanation), fontsize=9, loc="right")


def _sum_of_the_score(explanation):
    if explanation.measure != "additive":
        return f"scores; {explanation.label}: {explanation.score:.2f}"
    positive = explanation.patches[explanation.patches > 0].sum()
    negative = explanation.patches[explanation.patches < 0].sum()
    constant = f"{'+' if explanation.intercept >= 0 else '−'} {abs(explanation.intercept):.2f} constant"
    return f"scores; {explanation.score:.2f} = {positive:.2f} for − {abs(negative):.2f} against {constant}"


def _words(figure, explanation, against):
    words = explanation.telling_words(WORDS, against)
    colour = AGAINST if against else FOR
    text = "words that count against it" if against else "words that count for it"
    figure.suptitle(text, x=0.02, ha="left", fontsize=10, color=colour, weight="bold")
    if not words:
        figure.text(0.02, 0.6, "none", fontsize=9, color="0.4")
        return
    axes = figure.subplots(1, WORDS, squeeze=False)[0]
    for axis, word in zip(axes, words, strict=False):
        which = np.flatnonzero(explanation.word_of_patch == word)
        worth = explanation.patches[which]
        which = which[np.argsort(worth if against else -worth, kind="stable")]  # those that contribute most first
        axis.imshow(patch_sheet(explanation.pixels, explanation.frames, which), interpolation="nearest")
        axis.set_title(f"{explanation.words[word]:+.3f}", fontsize=9, color=colour)
        axis.text(
            0.5, -0.04, f"word {word}, × {len(which)}", transform=axis.transAxes, ha="center", va="top", fontsize=7.5
        )
    for axis in axes:
        axis.set_axis_off()
