"""The picture of words on an image: patches in the color of their column, and some of them larger."""

__all__ = ["draw_located"]

import numpy as np

from mercer.vision.explaining.patches_plot import draw_gray, draw_image, new_figure, patch_sheet

# Seven of Okabe and Ito's, told apart by color-blind readers, and three more that differ from them in lightness.
COLOURS = ("#D55E00", "#56B4E9", "#F0E442", "#009E73", "#CC79A7", "#0072B2", "#E69F00", "#7CFC00", "#7B1E1E", "#5B2A86")
DOT = 0.6  # diameter of a patch's dot, in its size: the image shows between them


def draw_located(found):
    """A figure of its own, drawn without a display."""
    height, width = found.pixels.shape[:2]
    panel = np.clip(5.6 * height / width, 2.6, 7.5)
    figure = new_figure(12.0, panel + 2.6, "The picture of words on an image")
    upper, lower = figure.subfigures(2, 1, height_ratios=[panel + 0.6, 2.0])
    axes = upper.subplots(1, 2)
    draw_image(axes[0], found.pixels, found.name)
    _patches(axes[1], found)
    _sheets(lower, found)
    figure.suptitle(_title(found), x=0.01, ha="left", weight="bold", fontsize=13)
    return figure


def _title(found):
    if not len(found.columns):
        return "None of the remaining words occurs"
    what = "words" if all(len(words) == 1 for words in found.words) else "groups of words"
    by = "largest weights" if found.is_weighted else "most patches"
    return f"The {len(found.columns)} {what} with the {by}"


def _patches(axis, found):
    from matplotlib.collections import EllipseCollection

    draw_gray(axis, found.pixels)
    x, y, size = found.frames[found.place >= 0].T
    colours = [COLOURS[i] for i in found.place[found.place >= 0]]
    options = {"units": "xy", "offset_transform": axis.transData, "facecolors": colours, "edgecolors": "none"}
    centres = np.stack([x, y], axis=1)
    axis.add_collection(EllipseCollection(DOT * size, DOT * size, np.zeros(len(x)), offsets=centres, **options))
    share, left = np.mean(found.place >= 0), np.mean(found.kept)
    text = f"{100 * share:.0f} % of {len(found.place):,} patches"
    axis.set_title(text if left == 1 else f"{text}; {100 * (1 - left):.0f} % removed", fontsize=9, loc="left")


def _sheets(figure, found):
    axes = figure.subplots(1, len(COLOURS), squeeze=False)[0]
    for axis in axes[len(found.columns) :]:
        axis.set_axis_off()
    for i, (axis, words, weight) in enumerate(zip(axes, found.words, found.weights, strict=False)):
        which = np.flatnonzero(found.place == i)
        axis.imshow(patch_sheet(found.pixels, found.frames, which), interpolation="nearest")
        axis.set_xticks([])
        axis.set_yticks([])
        for spine in axis.spines.values():
            spine.set(color=COLOURS[i], linewidth=3.5)
        axis.set_title(f"word {words[0]}" if len(words) == 1 else f"{len(words)} words", fontsize=8.5)
        text = f"× {len(which):,}" + (f"\nweight {weight:.3g}" if found.is_weighted else "")
        axis.text(0.5, -0.07, text, transform=axis.transAxes, ha="center", va="top", fontsize=8)
