"""Pictures of a model, of detections and of curves. Matplotlib is imported when one is asked for."""

__all__ = ["glyphs", "plot_components", "plot_detections", "plot_report"]

import numpy as np

from mercer._base.errors import require_extra

GLYPH = 16  # pixels of a cell in a picture of strokes
DIRECTIONS = 9
PART_COLOURS = ("#2a78d6", "#008300", "#eda100", "#4a3aa7", "#1baf7a", "#eb6834")


def glyphs(weights, size=GLYPH):
    """Positive weights of a filter (h, w, 32) as strokes along the edges that it likes: a picture from 0 to 1.

    An edge runs across its gradient: the stroke of direction o stands at 20 o + 90 degrees.
    """
    strokes = _strokes(size)
    unsigned = weights[..., 18:27] + weights[..., :9] + weights[..., 9:18]
    strength = np.maximum(unsigned, 0)
    picture = np.einsum("hwo,oyx->hywx", strength, strokes)
    h, w = weights.shape[:2]
    picture = picture.reshape(h * size, w * size)
    top = picture.max()
    return picture / top if top > 0 else picture


def _strokes(size):
    """One stroke through the middle of a cell for each direction without sign, (9, size, size)."""
    centre = (size - 1) / 2
    y, x = np.indices((size, size)) - centre
    angles = np.deg2rad(20 * np.arange(DIRECTIONS) + 90)[:, None, None]
    across = np.abs(x * np.sin(angles) - y * np.cos(angles))
    along = np.abs(x * np.cos(angles) + y * np.sin(angles))
    return np.clip(1.2 - across, 0, 1) * (along <= centre)


def plot_components(components):
    """A row for each component: its root, its parts in their places, and what moving them costs."""
    figure_module = require_extra("matplotlib.figure", "plot", "Plotting a model")
    n_columns = 3 if components[0].n_parts else 1
    figure = figure_module.Figure(figsize=(2.6 * n_columns, 4.2 * len(components)), layout="constrained")
    axes = figure.subplots(len(components), n_columns, squeeze=False)
    titles = ("root", "parts", "cost of moving")
    for row, component in zip(axes, components, strict=True):
        pictures = [glyphs(component.root)]
        if component.n_parts:
            pictures += [_in_place(component, glyphs), _in_place(component, _cost)]
        for ax, picture, title in zip(row, pictures, titles, strict=False):
            ax.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            ax.set(title=title, xticks=[], yticks=[])
        for ax in row[1:]:
            _frame_parts(ax, component)
    return figure


def _in_place(component, draw):
    """Pictures of the parts in a picture of the root at twice its resolution; later ones lie on earlier ones."""
    h, w = component.shape
    size = GLYPH // 2
    picture = np.zeros((2 * h * size, 2 * w * size))
    for i, (row, column) in enumerate(component.anchors):
        own = draw(component.parts[i], size) if draw is glyphs else draw(component, i, size)
        place = np.s_[row * size : row * size + own.shape[0], column * size : column * size + own.shape[1]]
        picture[place] = np.maximum(picture[place], own)
    return picture


def _cost(component, i, size):
    """What moving a part costs, bright for much, over the displacements of half its size."""
    n = component.parts.shape[1] * size
    steps = (np.arange(n) + 0.5) / size - component.parts.shape[1] / 2
    dx2, dx, dy2, dy = component.deformations[i]
    across, down = dx2 * steps**2 + dx * steps, dy2 * steps**2 + dy * steps
    cost = down[:, None] + across
    cost -= cost.min()
    return np.clip(cost / max(cost.max(), 1e-12), 0, 1)


def _frame_parts(ax, component):
    patches = require_extra("matplotlib.patches", "plot", "Plotting a model")
    size, side = GLYPH // 2, component.parts.shape[1] * GLYPH // 2
    for i, (row, column) in enumerate(component.anchors):
        corner = (column * size - 0.5, row * size - 0.5)
        colour = PART_COLOURS[i % len(PART_COLOURS)]
        ax.add_patch(patches.Rectangle(corner, side, side, fill=False, edgecolor=colour, linewidth=1.2))


def plot_detections(detections, image, ax=None):
    """Boxes with their scores over an image, and thin ones of the parts."""
    patches = require_extra("matplotlib.patches", "plot", "Drawing detections")
    if ax is None:
        figure_module = require_extra("matplotlib.figure", "plot", "Drawing detections")
        height, width = image.shape[:2]
        figure = figure_module.Figure(figsize=(8, 8 * height / width), layout="constrained")
        ax = figure.subplots()
    ax.imshow(image, cmap="gray" if image.ndim == 2 else None)
    ax.set_axis_off()
    for box, score, parts in zip(detections.boxes, detections.scores, detections.parts, strict=True):
        for i, part in enumerate(parts):
            colour = PART_COLOURS[i % len(PART_COLOURS)]
            ax.add_patch(_rectangle(patches, part, colour, 0.8))
        ax.add_patch(_rectangle(patches, box, "#e34948", 2.0))
        ax.text(box[0], box[1], f"{score:.2f}", color="white", fontsize=7, va="bottom",
                bbox={"facecolor": "#e34948", "edgecolor": "none", "pad": 1}, clip_on=True)  # fmt: skip
    return ax


def _rectangle(patches, box, colour, width):
    return patches.Rectangle(
        box[:2], box[2] - box[0], box[3] - box[1], fill=False, edgecolor=colour, linewidth=width, clip_on=True
    )


def plot_report(report, ax=None):
    """Precision against recall."""
    if ax is None:
        figure_module = require_extra("matplotlib.figure", "plot", "Plotting a curve")
        ax = figure_module.Figure(figsize=(5, 4), layout="constrained").subplots()
    ax.plot(report.recall, report.precision, color="#2a78d6")
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02), title=f"AP {100 * report.ap:.1f} %")
    ax.grid(color="#e6e6e3")
    return ax
