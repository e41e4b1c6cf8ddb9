"""What pictures of patches are made of: a figure, the image in color or faded, and sheets of some of its patches."""

__all__ = ["draw_gray", "draw_image", "new_figure", "patch_sheet"]

import numpy as np

from mercer._base.errors import require_extra
from mercer.vision.reading.colors import to_gray

PATCHES = 4  # on a sheet
REACH = 2.0  # half the side of a patch, in its size: descriptors have 4 x 4 bins of that size
SIDE, GAP = 32, 3  # pixels of a patch on a sheet, and between two of them


def new_figure(width, height, purpose):
    """A figure of its own, drawn without a display; sides in inches."""
    require_extra("matplotlib", "plot", purpose)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=130, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def draw_image(axis, pixels, name):
    """The image under its name, which loses its beginning if it is long."""
    axis.imshow(_shown(pixels), cmap="gray", vmin=0, vmax=255 if pixels.dtype == np.uint8 else 1)
    axis.set_title(name if len(name) <= 46 else f"…{name[-45:]}", fontsize=9, loc="left")
    axis.set_axis_off()


def draw_gray(axis, pixels):
    """The image in gray, faded so that colors on it can be seen."""
    gray = to_gray(_shown(pixels))
    white = float(gray.max() or 1)
    axis.imshow(gray, cmap="gray", vmin=-0.4 * white, vmax=1.4 * white)
    axis.set_axis_off()


def patch_sheet(pixels, frames, which):
    """Up to four patches of an image, two by two, the first ones of ``which``; white where there are fewer.

    Parameters
    ----------
    pixels : the image
    frames : array of shape (n, 3), x, y and size of its patches
    which : numbers of patches
    """
    pixels = _bytes(pixels)
    sheet = np.full((2 * SIDE + GAP, 2 * SIDE + GAP, 3), 255, dtype=np.uint8)
    for i, patch in enumerate(_spread(frames, which)):
        row, column = divmod(i, 2)
        y, x = row * (SIDE + GAP), column * (SIDE + GAP)
        sheet[y : y + SIDE, x : x + SIDE] = _sampled(_patch(pixels, frames[patch]))
    return sheet


def _spread(frames, which):
    """The first patches, without those that show nearly the same as one before."""
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


def _sampled(tile):
    """The nearest pixels, as large as on a sheet, in three channels; contrast, to which descriptors are blind, is
    stretched.
    """
    rows = np.arange(SIDE) * tile.shape[0] // SIDE
    columns = np.arange(SIDE) * tile.shape[1] // SIDE
    tile = tile[rows][:, columns].astype(np.float64)
    low, high = tile.min(), tile.max()
    tile = (255 * (tile - low) / (high - low) if high > low else tile).astype(np.uint8)
    return tile if tile.ndim == 3 else np.repeat(tile[:, :, None], 3, axis=2)


def _shown(pixels):
    return pixels if pixels.dtype == np.uint8 else np.clip(pixels, 0, 1).astype(np.float64)


def _bytes(pixels):
    return pixels if pixels.dtype == np.uint8 else np.rint(255 * np.clip(pixels, 0, 1)).astype(np.uint8)
