"""CENTRIST: histograms of census transforms, over the parts of an image and over patches. [wu11centrist]

The census transform of a pixel has one bit for each of its eight neighbors, 1 if the pixel is not darker than it; the
bits of the neighbors from above left to below right, row by row, make a number from 0 to 255, the first bit counting
128. Any rise of brightness that keeps the order of gray values leaves it as it is.

A histogram is that of a rectangle by itself: its outermost pixels lack neighbors in it and are not counted.
"""

__all__ = ["CENTRIST", "LocalCENTRIST", "centrist"]

from functools import lru_cache
from numbers import Integral

import numpy as np

from mercer._base.errors import InputError
from mercer._base.parameters import keep_arguments
from mercer._native.vision.census import count_codes, write_census
from mercer.vision.descriptors.base import LocalDescriptor, checked_sizes, checked_step, joined
from mercer.vision.reading.checks import as_image, whole_pair
from mercer.vision.reading.colors import to_gray
from mercer.vision.reading.image_rows import ImageRows, grid_edges

N_CODES = 256
LEAST_SIDE = 3  # of a rectangle that has a pixel with eight neighbors
LARGEST_SIZE = 4096


def centrist(image, grid=(1, 1), *, superblock=1, normalize=True):
    """Compute histograms of the census transforms of the parts of an image.

    The image is divided into blocks of (nearly) equal size. Every ``superblock`` x ``superblock`` neighboring blocks
    are described together, so that these overlap: [wu10fast] 4.2 divides 108 x 36 pixels into 9 x 4 blocks and
    describes the 8 x 3 super-blocks of 2 x 2, which gives 6,144 numbers.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 3)
        Bytes or floats of any range. Colors become gray (luma of ITU-R 601).
    grid : (int, int)
        Number of rows and columns of blocks.
    superblock : int
        Number of blocks along each side of a super-block.
    normalize : bool
        Divide each histogram by its number of pixels and by the number of histograms, so that all numbers sum to 1.
        Otherwise, they are counts.

    Returns
    -------
    ndarray of shape (rows, columns, 256), float32
        Those of super-blocks: ``grid[0] - superblock + 1`` rows of ``grid[1] - superblock + 1``.

    See Also
    --------
    CENTRIST : the same for many images, as rows.
    LocalCENTRIST : the same for patches on a regular grid of places.

    Examples
    --------
    >>> import numpy as np
    >>> window = np.random.default_rng(0).integers(256, size=(108, 36), dtype=np.uint8)
    >>> histograms = centrist(window, (9, 4), superblock=2, normalize=False)
    >>> histograms.shape, histograms.size, histograms[0, 0].sum()
    ((8, 3, 256), 6144, np.float32(352.0))
    """
    shape = _superblocks(grid, superblock, normalize, "centrist")
    histograms = np.empty((*shape, N_CODES), dtype=np.float32)
    _fill(as_image(image, "centrist"), grid, superblock, normalize, histograms, "centrist")
    return histograms


class CENTRIST(ImageRows):
    """Images of any size to rows of histograms of census transforms.

    Parameters
    ----------
    grid : (int, int)
        Number of rows and columns of blocks of an image.
    superblock : int
        One histogram describes ``superblock`` x ``superblock`` neighboring blocks.
    normalize : bool
        Scale the row of an image to sum 1; otherwise, it holds counts.
    image_shape : tuple or None
        (height, width) or (height, width, 3) of images given as flat rows.
    n_jobs : int or None
        Number of threads. It does not affect the features.

    Attributes
    ----------
    grid_shape_ : tuple
        (rows, columns, 256) of the features of an image: ``transform(X).reshape(-1, *grid_shape_)`` are those of
        :func:`centrist`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> images = [rng.integers(256, size=shape, dtype=np.uint8) for shape in ((40, 60), (64, 64))]
    >>> CENTRIST(grid=(2, 3)).fit_transform(images).shape
    (2, 1536)
    """

    def __init__(self, grid=(1, 1), *, superblock=1, normalize=True, image_shape=None, n_jobs=None):
        keep_arguments(self, locals())

    def _grid_shape(self):
        return *_superblocks(self.grid, self.superblock, self.normalize, "CENTRIST"), N_CODES

    def _fill(self, image, features, who):
        _fill(image, self.grid, self.superblock, self.normalize, features, who)


class LocalCENTRIST(LocalDescriptor):
    """Histograms of census transforms of square patches on a regular grid, at several sizes.

    Parameters
    ----------
    step : int
        Distance between patches, in pixels; a smaller step gives more patches and takes longer.
    sizes : tuple of int
        Sides of the patches, in pixels, at least 3.

    Examples
    --------
    >>> import numpy as np
    >>> found = LocalCENTRIST().describe(np.zeros((32, 40)))
    >>> found.values.shape, found.frames[0].tolist()
    ((12, 256), [7.5, 7.5, 4.0])
    """

    n_values = N_CODES

    def __init__(self, step=8, sizes=(16,)):
        self.step = step
        self.sizes = sizes

    def _describe(self, image):
        step = checked_step(self.step, "LocalCENTRIST")
        sizes = checked_sizes(self.sizes, "LocalCENTRIST", LEAST_SIDE, LARGEST_SIZE)
        fitting = [size for size in sizes if size <= min(image.shape)]
        codes = _census(image) if fitting else None
        parts = []
        for size in fitting:
            rows, columns = (np.arange(0, side - size + 1, step) for side in image.shape)
            y, x = (places.ravel() for places in np.meshgrid(rows, columns, indexing="ij"))
            values = _counts(codes, _inside(y, y + size, x, x + size))
            values /= (size - 2) ** 2
            centre = (size - 1) / 2
            frames = np.stack([x + centre, y + centre, np.full(len(x), size / 4)], axis=1)
            parts.append((values, frames.astype(np.float32)))
        return joined(parts, N_CODES, image.shape)


def _superblocks(grid, superblock, normalize, who):
    """(rows, columns) of the super-blocks of a grid."""
    rows, columns = whole_pair(grid, who, "grid")
    if (
        not isinstance(superblock, Integral)
        or isinstance(superblock, bool)
        or not 1 <= superblock <= min(rows, columns)
    ):
        raise InputError(
            f"{who} needs superblock to be an integer from 1 to the sides of grid={grid!r}, got "
            f"superblock={superblock!r}."
        )
    if not isinstance(normalize, bool | np.bool_):
        raise InputError(f"{who} needs normalize to be True or False; got normalize={normalize!r}.")
    return int(rows - superblock + 1), int(columns - superblock + 1)


def _fill(image, grid, superblock, normalize, histograms, who):
    """Write the histograms of a checked image into an array of shape (rows, columns, 256)."""
    image = to_gray(image)
    boxes = _boxes(image.shape, tuple(grid), superblock)
    if boxes is None:
        raise InputError(
            f"{who} needs at least {LEAST_SIDE} x {LEAST_SIDE} pixels for each histogram, got {image.shape[0]} x "
            f"{image.shape[1]} for grid={tuple(grid)} and superblock={superblock}. Use larger images or a smaller grid."
        )
    counts = _counts(_census(image), boxes)
    if normalize:
        counts /= counts.sum(axis=1, keepdims=True) * np.float32(len(counts))
    histograms[:] = counts.reshape(histograms.shape)


@lru_cache(maxsize=64)  # images of one size often come in thousands, and numpy takes as long for this as for the rest
def _boxes(shape, grid, superblock):
    """Super-blocks, as :func:`_inside` gives them; None if one is too small to have a histogram."""
    edges = [grid_edges(n_pixels, n_parts) for n_pixels, n_parts in zip(shape, grid, strict=True)]
    if min(np.min(side[superblock:] - side[:-superblock]) for side in edges) < LEAST_SIDE:
        return None
    tops, lefts = np.meshgrid(*(side[:-superblock] for side in edges), indexing="ij")
    bottoms, rights = np.meshgrid(*(side[superblock:] for side in edges), indexing="ij")
    return _inside(tops.ravel(), bottoms.ravel(), lefts.ravel(), rights.ravel())


def _inside(tops, bottoms, lefts, rights):
    """Rectangles of pixels as rectangles of census transforms: without the outermost, and the first is pixel (1, 1)."""
    return np.stack([tops, bottoms - 2, lefts, rights - 2], axis=1).astype(np.int64)


def _census(image):
    codes = np.empty((image.shape[0] - 2, image.shape[1] - 2), dtype=np.uint8)
    write_census(image, codes)
    return codes


def _counts(codes, boxes):
    """Histograms of rectangles, float32."""
    counts = np.empty((len(boxes), N_CODES), dtype=np.int32)
    count_codes(codes, boxes, counts)
    return counts.astype(np.float32)
