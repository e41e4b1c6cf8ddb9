"""Histograms of the colors of an image and of its parts."""

__all__ = ["ColorHistogram", "color_histogram"]

from numbers import Integral

import numpy as np

from mercer._base.errors import InputError
from mercer._base.parameters import keep_arguments
from mercer.vision.reading.checks import as_image, whole_pair
from mercer.vision.reading.colors import SPACES, to_space
from mercer.vision.reading.image_rows import ImageRows, grid_edges


def color_histogram(image, bins=5, *, space="rgb", grid=(1, 1)):
    """Compute joint histograms of all three color channels of an image.

    Each channel is cut into equal bins, from the least to the greatest value that a color of RGB has in it:

    - ``"rgb"``: red, green, blue of a screen (sRGB)
    - ``"hsv"``: hue from red over green and blue back to red, saturation, value
    - ``"lab"``: L*, a* and b* of CIE with the white of the screen (D65), in which distances match perceived differences
    - ``"opponent"``: red against green, yellow against blue, and light

    Parameters
    ----------
    image : array of shape (H, W, 3) or (H, W)
        Bytes, or floats from 0 to 1. Gray is a color with three equal channels.
    bins : int or (int, int, int)
        Number of bins per channel. In ``"opponent"``, gray is in the middle of a bin if the number is odd, and between
        two bins if it is even.
    space : str
        One of the color spaces above.
    grid : (int, int)
        Number of rows and columns of parts of the image; each part has its own histogram.

    Returns
    -------
    ndarray of shape (rows, columns, bins of all channels multiplied), float32
        The third channel's bin changes fastest. All numbers together sum to 1, those of each part to 1 over the number
        of parts.

    See Also
    --------
    ColorHistogram : the same for many images, as rows.

    Examples
    --------
    One half of the image is red, the other half black.

    >>> import numpy as np
    >>> image = np.zeros((4, 4, 3), dtype=np.uint8)
    >>> image[:2, :, 0] = 255
    >>> color_histogram(image, bins=2)
    array([[[0.5, 0. , 0. , 0. , 0.5, 0. , 0. , 0. ]]], dtype=float32)
    """
    shape = _histogram_shape(bins, space, grid, "color_histogram")
    histograms = np.empty(shape, dtype=np.float32)
    _fill(as_image(image, "color_histogram"), bins, space, grid, histograms, "color_histogram")
    return histograms


class ColorHistogram(ImageRows):
    """Convert images of any size to rows of color histograms.

    Parameters
    ----------
    bins : int or (int, int, int)
        Number of bins per channel; more bins distinguish more colors.
    space : str
        ``"rgb"``, ``"hsv"``, ``"lab"`` or ``"opponent"``; see :func:`color_histogram`.
    grid : (int, int)
        Number of rows and columns of parts of an image.
    image_shape : tuple or None
        (height, width) or (height, width, 3) of images given as flat rows.
    n_jobs : int or None
        Number of threads. It does not affect the features.

    Attributes
    ----------
    grid_shape_ : tuple
        (rows, columns, colors) of the features of an image: ``transform(X).reshape(-1, *grid_shape_)`` are those of
        :func:`color_histogram`.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(256, size=(3, 20, 30, 3), dtype=np.uint8)
    >>> ColorHistogram(bins=(8, 4, 4), space="hsv", grid=(2, 2)).fit_transform(images).shape
    (3, 512)
    """

    def __init__(self, bins=5, *, space="rgb", grid=(1, 1), image_shape=None, n_jobs=None):
        keep_arguments(self, locals())

    def _grid_shape(self):
        return _histogram_shape(self.bins, self.space, self.grid, "ColorHistogram")

    def _fill(self, image, features, who):
        _fill(image, self.bins, self.space, self.grid, features, who)


def _histogram_shape(bins, space, grid, who):
    """(rows, columns, colors)."""
    if not isinstance(space, str) or space not in SPACES:
        raise InputError(f"{who} needs space to be one of {', '.join(map(repr, SPACES))}, got space={space!r}.")
    return *whole_pair(grid, who, "grid"), int(np.prod(_channel_bins(bins, who)))


def _channel_bins(bins, who):
    """The number of bins of each of three channels."""
    given = (bins,) * 3 if isinstance(bins, Integral) else bins
    given = tuple(given) if isinstance(given, tuple | list | np.ndarray) else ()
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) and 1 <= n <= 256 for n in given)
    if len(given) != 3 or not whole or isinstance(bins, bool):
        raise InputError(f"{who} needs bins to be an integer from 1 to 256, or three of them; got bins={bins!r}.")
    return tuple(map(int, given))


def _fill(image, bins, space, grid, histograms, who):
    """Write the histograms of a checked image into an array of shape (rows, columns, colors)."""
    height, width = image.shape[:2]
    (n_rows, n_columns), n_colors = whole_pair(grid, who, "grid"), histograms.shape[2]
    if height < n_rows or width < n_columns:
        raise InputError(
            f"{who} needs at least one pixel for each histogram, got {height} x {width} pixels for grid={tuple(grid)}. "
            "Use larger images or a smaller grid."
        )
    colors = _colors(image, _channel_bins(bins, who), space, who)
    # edges, and not the parts of rows and columns, so that all parts are cut as those of CENTRIST
    rows, columns = (
        np.repeat(np.arange(n), np.diff(grid_edges(side, n))) for side, n in ((height, n_rows), (width, n_columns))
    )
    parts = rows[:, None] * n_columns + columns
    counts = np.bincount((parts * n_colors + colors).ravel(), minlength=histograms.size).reshape(-1, n_colors)
    histograms[:] = (counts / (counts.sum(axis=1, keepdims=True) * len(counts))).reshape(histograms.shape)


def _colors(image, bins, space, who):
    """The number of the bin of each pixel."""
    if image.dtype != np.uint8:
        low, high = float(image.min()), float(image.max())
        if low < 0 or high > 1:
            raise InputError(
                f"{who} needs bytes, or floats from 0 to 1; got floats from {low:g} to {high:g}. Scale them, or "
                "convert them to uint8."
            )
    low, high = SPACES[space].low, SPACES[space].high
    values = to_space(image, space)
    number = np.zeros(image.shape[:2], dtype=np.int64)
    for c in range(3):
        # what lies on the border of two bins belongs to the upper one, whatever rounding has made of it
        place = (values[..., c] - low[c]) * (bins[c] / (high[c] - low[c])) + 1e-9
        number = number * bins[c] + np.clip(np.floor(place), 0, bins[c] - 1).astype(np.int64)
    return number
