"""Histograms of oriented gradients, one descriptor per cell. [dalal05histograms] [felzenszwalb10object]

An image is cut into square cells. Every pixel votes with the length of its gradient for one of 18 directions, 20
degrees apart (0 is to the right, 90 down), in the four cells around it, by bilinear weights; in color images the
channel with the longest gradient votes. A cell's votes are then divided by the norm of each of the four blocks of 2 x 2
cells that contain it.

Deviation from the papers:
- All cells are kept, and blocks that reach over the border take the cells at the border twice. The authors' code for
  [felzenszwalb10object] drops the cells at the border; ``hog(image)[1:-1, 1:-1]`` are the others.
- Cells lie wholly in the image: there are floor(height / cell_size) rows of them, where that code rounds.
- A gradient straight up or down lies midway between two directions. It votes by halves for both, so that a mirrored
  image has mirrored features; that code takes the first.
- [dalal05histograms] also interpolates between directions, and weights the pixels of a block by a Gaussian. A histogram
  that four blocks share has no room for the second; the first is left out, as in [felzenszwalb10object].
"""

__all__ = ["VARIANTS", "channels_of", "fill_hog", "flip_hog", "hog", "hog_shape"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.parameters.vision import VARIANT
from mercer._native.vision.hog import block_factors, clipped_factors, sum_votes, write_dalal_triggs, write_felzenszwalb
from mercer.vision.reading.checks import as_image, check_cell_size, check_image_shape

DIRECTIONS = np.arange(18)
# channel of the image -> channel of its mirror image, where direction o has become 9 - o and left blocks are right ones
FELZENSZWALB_MIRROR = np.concatenate([(9 - DIRECTIONS) % 18, 18 + (9 - DIRECTIONS[:9]) % 9, [29, 30, 27, 28], [31]])
DALAL_TRIGGS_MIRROR = np.concatenate([9 * block + (9 - DIRECTIONS[:9]) % 9 for block in (2, 3, 0, 1)])
# variant -> its channels, and how a mirror permutes them; the 32nd channel of Felzenszwalb is that of truncation
VARIANTS = {"felzenszwalb": (31, FELZENSZWALB_MIRROR), "dalal-triggs": (36, DALAL_TRIGGS_MIRROR)}


def hog(image, cell_size=8, variant="felzenszwalb", *, truncation=False):
    """Compute histograms of oriented gradients of an image, one descriptor per cell.

    With h the histogram of a cell (18 directions), u the same with opposite directions added (9), and N_b^2 = 1e-9 plus
    the sum of squares of u over the four cells of a block b, each of the four blocks that contain a cell gives

        signed_b = min(h / N_b, 0.2)        unsigned_b = min(u / N_b, 0.2)

    ``"felzenszwalb"`` [felzenszwalb10object] has 31 channels: 1/2 sum_b signed_b (18), 1/2 sum_b unsigned_b (9), and
    0.2357 times the sum over directions of signed_b, for each block (4).

    ``"dalal-triggs"`` [dalal05histograms] has 36 channels: unsigned_b, divided by the norm of the clipped block
    (L2-hys), for each block (4 x 9). The paper has a descriptor of 36 numbers for each block instead, made of its four
    cells. The numbers are the same: if B(r, c) is the descriptor of the block with the upper left cell (r, c), the cell
    (r, c) has here its own quarters of B(r, c), B(r - 1, c), B(r, c - 1) and B(r - 1, c - 1). R x C cells have
    (R - 1) x (C - 1) blocks there; here those that reach over the border are added, and there are R x C descriptors.

    Blocks come in the order below right, above right, below left, above left of the cell.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 3)
        Bytes or floats of any range; other integers are taken as floats. Contrast does not matter,
        until the gradients of a block add up to less than about 1e-4.
    cell_size : int
        Side of a cell, in pixels. Pixels to the right of and below the last whole cell count in it by half a cell.
    variant : str
        ``"felzenszwalb"`` or ``"dalal-triggs"``.
    truncation : bool
        Whether ``"felzenszwalb"`` gets a 32nd channel, which is 0 here. Detectors that put cells around an image set it
        to 1 in these.

    Returns
    -------
    ndarray of shape (rows, columns, channels), float32

    See Also
    --------
    HOG : the same for many images of one size, as rows.

    Examples
    --------
    All gradients of a slope to the right have direction 0.

    >>> import numpy as np
    >>> features = hog(np.tile(np.arange(128), (128, 1)))
    >>> features.shape
    (16, 16, 31)
    >>> np.flatnonzero(features[8, 8, :27]).tolist()
    [0, 18]
    >>> hog(np.zeros((128, 128, 3), dtype=np.uint8), variant="dalal-triggs").shape
    (16, 16, 36)
    """
    n_channels = channels_of(variant, truncation, "hog")
    image = as_image(image, "hog")
    features = np.empty((*hog_shape(image.shape, cell_size), n_channels), dtype=np.float32)
    fill_hog(image, int(cell_size), variant, features)
    return features


def hog_shape(image_shape, cell_size=8):
    """(rows, columns) of the cells of an image of this shape.

    >>> hog_shape((480, 644, 3))
    (60, 80)
    """
    check_cell_size(cell_size, "hog")
    check_image_shape(image_shape, "hog")
    height, width = image_shape[:2]
    if min(height, width) < cell_size:
        raise InputError(
            f"hog needs an image of at least one cell of {cell_size} x {cell_size} pixels, got {height} x {width} "
            "pixels. Use a smaller cell_size or a larger image."
        )
    return int(height // cell_size), int(width // cell_size)


def flip_hog(features, variant="felzenszwalb"):
    """The features of the mirrored image: ``flip_hog(hog(image)) == hog(image[:, ::-1])``.

    The width must be a multiple of the cell size. Images of bytes and cells of up to 24 pixels then give the same bits,
    others the same features up to rounding.

    Parameters
    ----------
    features : array of shape (..., rows, columns, channels)
        Of :func:`hog`, with or without the channel of truncation.
    variant : str
        The one that made them.

    Returns
    -------
    ndarray of the same shape and type

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (32, 32), dtype=np.uint8)
    >>> bool((flip_hog(hog(image)) == hog(image[:, ::-1])).all())
    True
    """
    allowed = [channels_of(variant, False, "flip_hog")]
    if variant == "felzenszwalb":
        allowed.append(channels_of(variant, True, "flip_hog"))
    features = np.asarray(features)
    if features.ndim < 3 or features.shape[-1] not in allowed:
        raise InputError(
            f"flip_hog needs features of shape (..., rows, columns, {' or '.join(map(str, allowed))}) for "
            f"variant={variant!r}, got shape {features.shape}."
        )
    mirror = VARIANTS[variant][1][: features.shape[-1]]
    return np.ascontiguousarray(features[..., ::-1, mirror])


def channels_of(variant, truncation, who):
    """The number of channels of a variant."""
    VARIANT.check(variant, who)
    if truncation and variant != "felzenszwalb":
        raise InputError(f"{who} supports truncation only with variant='felzenszwalb'; got variant={variant!r}.")
    return VARIANTS[variant][0] + bool(truncation)


def fill_hog(image, cell_size, variant, features):
    """Write the features of a checked image into an array of shape (rows, columns, channels)."""
    height, width = image.shape[:2]
    rows, columns = features.shape[:2]
    real = np.float32 if image.dtype == np.uint8 else np.float64
    histograms = np.empty((rows, columns, 18), dtype=np.float32)
    factors = np.empty((rows + 1, columns + 1), dtype=np.float32)
    sum_votes(
        image.reshape(height, -1),
        image.size // (height * width),
        cell_size,
        np.empty(width, dtype=real),
        np.empty(width, dtype=np.int32),
        np.empty((2, columns + 2, 20)),
        histograms,
    )
    block_factors(histograms, np.empty((rows, columns)), factors)
    if variant == "felzenszwalb":
        write_felzenszwalb(histograms, factors, features)
    else:
        again = np.empty_like(factors)
        clipped_factors(histograms, factors, again)
        write_dalal_triggs(histograms, factors, again, features)
