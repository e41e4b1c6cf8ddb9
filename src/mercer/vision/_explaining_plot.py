"""The picture of an explanation: the image, where what speaks for the class is, and its most telling words."""

__all__ = ["draw_explanation"]

import numpy as np

from mercer._base.errors import require_extra
from mercer.vision._colors import to_gray

FOR, AGAINST = "#0072B2", "#D55E00"  # blue and vermilion of Okabe and Ito, told apart by colour-blind readers
WORDS, PATCHES = 5, 4  # telling words on each side, and patches shown of each
BARS = 8  # classes whose scores are shown
REACH = 2.0  # half the side of a patch, in its size: descriptors have 4 x 4 bins of that size
STRONG = 99.5  # percentile of the heat that has the full colour


def draw_explanation(explanation):
    """A figure of its own, drawn without a display."""
    require_extra("matplotlib", "plot", "The picture of an explanation")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height, width = explanation.pixels.shape[:2]
    panel = np.clip(4.2 * height / width, 2.6, 6.0)
    figure = Figure(figsize=(13.5, panel + 2.9), dpi=130, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    upper, lower = figure.subfigures(2, 1, height_ratios=[panel + 0.5, 2.2])
    axes = upper.subplots(1, 3, width_ratios=[1, 1, 0.72])
    _picture(axes[0], explanation)
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
    return f"What speaks for {explanation.label}{verdict}"


def _picture(axis, explanation):
    pixels = explanation.pixels
    axis.imshow(_shown(pixels), cmap="gray", vmin=0, vmax=255 if pixels.dtype == np.uint8 else 1)
    name = explanation.name
    axis.set_title(name if len(name) <= 46 else f"…{name[-45:]}", fontsize=9, loc="left")
    axis.set_axis_off()


def _heat(axis, explanation):
    from matplotlib.colors import LinearSegmentedColormap

    heat = explanation.heat()
    top = float(np.percentile(np.abs(heat), STRONG)) or 1.0
    gray = to_gray(_shown(explanation.pixels))
    axis.imshow(gray, cmap="gray", vmin=-0.4 * float(gray.max() or 1), vmax=1.4 * float(gray.max() or 1))
    colours = LinearSegmentedColormap.from_list("telling", [AGAINST, "#f7f7f7", FOR])
    strength = np.clip(np.abs(heat) / top, 0, 1)
    image = axis.imshow(heat, cmap=colours, vmin=-top, vmax=top, alpha=0.15 + 0.6 * strength)
    how = "share of the score" if explanation.measure == "additive" else "loss of score when left out"
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
    axis.set_title(_sum_of_the_score(explanation), fontsize=9, loc="left")


def _sum_of_the_score(explanation):
    if explanation.measure != "additive":
        return f"scores; {explanation.label}: {explanation.score:.2f}"
    positive = explanation.patches[explanation.patches > 0].sum()
    negative = explanation.patches[explanation.patches < 0].sum()
    parts = f"+{positive:.2f} − {-negative:.2f} {'+' if explanation.intercept >= 0 else '−'}"
    return f"scores; {explanation.score:.2f} = {parts} {abs(explanation.intercept):.2f}"


def _words(figure, explanation, against):
    occurring = set(explanation.word_of_patch.tolist())  # others have no patch to show
    words = [word for word in explanation.telling_words(len(explanation.words), against) if word in occurring][:WORDS]
    colour = AGAINST if against else FOR
    text = "words that speak against it" if against else "words that speak for it"
    figure.suptitle(text, x=0.02, ha="left", fontsize=10, color=colour, weight="bold")
    if not words:
        figure.text(0.02, 0.6, "none", fontsize=9, color="0.4")
        return
    axes = figure.subplots(1, WORDS, squeeze=False)[0]
    for axis, word in zip(axes, words, strict=False):
        count = int((explanation.word_of_patch == word).sum())
        axis.imshow(_patches_of(explanation, word, against), cmap="gray", interpolation="nearest")
        axis.set_title(f"{explanation.words[word]:+.3f}", fontsize=9, color=colour)
        axis.text(0.5, -0.04, f"word {word}, × {count}", transform=axis.transAxes, ha="center", va="top", fontsize=7.5)
    for axis in axes:
        axis.set_axis_off()


def _patches_of(explanation, word, against):
    """Up to four patches with a word, side by side, those that contribute most first; white where there are fewer."""
    which = np.flatnonzero(explanation.word_of_patch == word)
    worth = explanation.patches[which]
    which = which[np.argsort(worth if against else -worth, kind="stable")]
    pixels = _bytes(explanation.pixels)
    tiles = [_patch(pixels, explanation.frames[i]) for i in _spread(explanation.frames, which)]
    side, gap = 32, 3
    sheet = np.full((2 * side + gap, 2 * side + gap, 3), 255, dtype=np.uint8)
    for i, tile in enumerate(tiles):
        row, column = divmod(i, 2)
        y, x = row * (side + gap), column * (side + gap)
        sheet[y : y + side, x : x + side] = _sampled(tile, side)
    return sheet


def _spread(frames, which):
    """Patches in their order, without those that show nearly the same as one before."""
    chosen = []
    for i in which:
        if all(np.abs(frames[i, :2] - frames[j, :2]).max() > frames[i, 2] for j in chosen):
            chosen.append(i)
        if len(chosen) == PATCHES:
            break
    return chosen


def _patch(pixels, frame):
    x, y, size = (float(value) for value in frame)
    reach = max(REACH * size, 1.0)
    height, width = pixels.shape[:2]
    rows = slice(max(0, round(y - reach)), max(1, min(height, round(y + reach) + 1)))
    columns = slice(max(0, round(x - reach)), max(1, min(width, round(x + reach) + 1)))
    return pixels[rows, columns]


def _sampled(tile, side):
    """The nearest pixels, side x side, in three channels; contrast is stretched, to which descriptors are blind."""
    rows = np.arange(side) * tile.shape[0] // side
    columns = np.arange(side) * tile.shape[1] // side
    tile = tile[rows][:, columns].astype(np.float64)
    low, high = tile.min(), tile.max()
    tile = (255 * (tile - low) / (high - low) if high > low else tile).astype(np.uint8)
    return tile if tile.ndim == 3 else np.repeat(tile[:, :, None], 3, axis=2)


def _shown(pixels):
    return pixels if pixels.dtype == np.uint8 else np.clip(pixels, 0, 1).astype(np.float64)


def _bytes(pixels):
    return pixels if pixels.dtype == np.uint8 else np.rint(255 * np.clip(pixels, 0, 1)).astype(np.uint8)
