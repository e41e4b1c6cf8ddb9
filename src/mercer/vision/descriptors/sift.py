"""Dense SIFT: descriptors of gradients on a regular grid of places, at several sizes. [lowe04distinctive]

A descriptor covers 4 x 4 bins of ``size`` pixels each. A pixel votes with the length of its gradient for the two
nearest of eight directions and the four nearest bins, by linear weights, and the less the farther it is from the
middle. The votes are normalized, cut off at 0.2 and normalized again.

Notation
    code        meaning                                                              shape
    grid        votes for bins at all places where a descriptor may have one         (R, C, 8)
    weights     mean weight of the pixels of each of four bins in a row              (4,)
    spacing     distance of neighbors in the grid: gcd(step, size), in pixels

The values of a descriptor are ordered by row of bins (top to bottom), column (left to right) and direction (0, 45, ...,
315 degrees; 0 is to the right, 90 down).

Against VLFeat's ``vl_phow``, which this follows [vedaldi10vlfeat]:
- Smoothing (sigma = size / 6), places, gradients, bins and normalization are the same. The Gaussian by which pixels far
  from the middle count less has sigma = 2 bins, as in [lowe04distinctive] and ``vl_dsift``; in ``vl_phow`` it is 1.5.
- Descriptors are floats of norm 1; there they are bytes, 512 times as large.
- Descriptors below the threshold of contrast are left out; there they are set to zero.
- The order of values is that of VLFeat in C and Python. In Matlab, where images lie transposed, it is another one.
"""

__all__ = ["DenseSIFT", "dense_sift"]

from dataclasses import dataclass
from math import ceil, floor, gcd, log2

import numpy as np
from scipy import sparse

from mercer._base.parameters import keep_arguments
from mercer._base.parameters.vision import CONTRAST, WINDOW
from mercer._base.threads import run_blocks
from mercer._native.vision.sift import bin_flat, blur, frame_sums, sum_cells, write_sift, write_votes
from mercer.vision.descriptors.base import Descriptors, LocalDescriptor, checked_sizes, checked_step
from mercer.vision.reading.checks import as_image
from mercer.vision.reading.colors import to_gray

MAGNIFICATION = 6  # bins are this many times as wide as the sigma of the smoothing [vedaldi10vlfeat]
WINDOW_SIGMA = 2  # in bins: half the width of the descriptor [lowe04distinctive]
LARGEST_SIZE = 256  # sums of size^2 votes have 32 bits: these leave 15 for each vote
BINS = 4


class DenseSIFT(LocalDescriptor):
    """SIFT descriptors on a regular grid, at several sizes.

    Parameters
    ----------
    step : int
        Distance between descriptors, in pixels; a smaller step gives more descriptors and takes longer.
    sizes : tuple of int
        Sides of the bins, in pixels, up to 256. A descriptor has 4 x 4 bins.
    window : str
        How pixels are weighted by their distance from the center of the descriptor: ``"gaussian"``, by a Gaussian of
        sigma = 2 bins; or ``"flat"``, by the mean of this Gaussian over each bin, which is several times faster with
        nearly the same descriptors.
    contrast : float
        Minimum mean gradient, where white is 1; descriptors below it are dropped. With 0, all are kept.
    n_jobs : int or None
        Number of threads, over sizes. It does not affect the descriptors.

    See Also
    --------
    dense_sift : the same as a function.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(256, size=(64, 80), dtype=np.uint8)
    >>> found = DenseSIFT(step=8, sizes=(4, 8)).describe(image)
    >>> found.values.shape, found.shape
    ((83, 128), (64, 80))
    >>> found.frames[[0, -1]].tolist()
    [[12.0, 12.0, 4.0], [60.0, 44.0, 8.0]]
    """

    n_values = 2 * BINS**3

    def __init__(self, step=4, sizes=(4, 6, 8, 10), *, window="flat", contrast=0.005, n_jobs=None):
        keep_arguments(self, locals())

    def _describe(self, image):
        step, sizes = _checked(self.step, self.sizes, self.window, self.contrast, "DenseSIFT")
        return _describe(image, step, sizes, self.window, self.contrast, self.n_jobs)


def dense_sift(image, step=4, sizes=(4, 6, 8, 10), *, window="flat", contrast=0.005, n_jobs=None):
    """Compute the SIFT descriptors of an image on a regular grid; :class:`DenseSIFT` describes the parameters.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 3)
        Bytes, or floats with 1 for white. Colors become gray (luma of ITU-R 601).

    Returns
    -------
    Descriptors
        Size after size, each row after row. Descriptors of different sizes have the same centers where there are
        descriptors of all of them, or centers half a pixel apart if some sizes are odd and some even.

    Examples
    --------
    All gradients of a slope to the right have direction 0.

    >>> import numpy as np
    >>> found = dense_sift(np.tile(np.linspace(0, 1, 32), (32, 1)), sizes=(4,))
    >>> len(found), np.flatnonzero(found.values[0].reshape(16, 8).any(axis=0)).tolist()
    (25, [0])
    """
    step, sizes = _checked(step, sizes, window, contrast, "dense_sift")
    return _describe(to_gray(as_image(image, "dense_sift")), step, sizes, window, contrast, n_jobs)


def _checked(step, sizes, window, contrast, who):
    WINDOW.check(window, who)
    CONTRAST.check(contrast, who)
    return checked_step(step, who), checked_sizes(sizes, who, 1, LARGEST_SIZE)


def _describe(image, step, sizes, window, contrast, n_jobs):
    """The descriptors of a checked gray image: first the places of all sizes, then their values in one array."""
    height, width = map(int, image.shape)
    scaled, white = _scaled(image)
    largest = max(sizes)

    def place(size):
        start = 3 * (largest - size) // 2  # so that the centers of all sizes agree
        if min(height, width) - start < 3 * size + 1:
            return None
        cells = (_flat_cells if window == "flat" else _gaussian_cells)(scaled, size, step, start)
        return cells.placed(size, step, start, contrast * white)

    placed = [found for found in run_blocks(place, sizes, n_jobs) if found is not None]
    ends = np.cumsum([0, *(len(found.kept) for found in placed)])
    values = np.empty((ends[-1], DenseSIFT.n_values), dtype=np.float32)

    def write(i):
        placed[i].write(values[ends[i] : ends[i + 1]])

    run_blocks(write, range(len(placed)), n_jobs)
    frames = np.concatenate([np.empty((0, 3), np.float32), *(found.frames for found in placed)])
    return Descriptors(values, frames, (height, width))


def _scaled(image):
    """(the image as float32 from 0 to 1, what white minus black is there)."""
    if image.dtype == np.uint8:
        return image.astype(np.float32) * np.float32(1 / 256), 255 / 256
    low, high = float(image.min()), float(image.max())
    scale = 2.0 ** min(-ceil(log2(high - low)), 1000) if high > low else 1.0
    return ((image.astype(np.float64) - low) * scale).astype(np.float32), scale


def _smoothed(image, size):
    """The image smoothed by a Gaussian of sigma = size / 6, cut off at 4 sigma."""
    sigma = size / MAGNIFICATION
    kernel = np.exp(-0.5 * (np.arange(ceil(4 * sigma) + 1) / sigma) ** 2)
    kernel = (kernel / (2 * kernel.sum() - kernel[0])).astype(np.float32)
    smooth = np.empty_like(image)
    blur(image, kernel, np.empty(image.shape[1] + 2 * len(kernel) - 2, dtype=np.float32), smooth)
    return smooth


@dataclass(frozen=True)
class _Cells:
    """Sums of votes for bins. The frame (y, x) has the bins grid[y * step + i * bin, x * step + j * bin], i, j < 4."""

    grid: np.ndarray
    weights: np.ndarray
    step: int
    bin: int
    shape: tuple  # of the frames

    def placed(self, size, step, start, contrast):
        """The frames of enough contrast."""
        masses, energies = np.empty((2, *self.grid.shape[:2]), dtype=np.float32)
        sum_cells(self.grid, masses, energies)
        mass, energy = np.empty((2, *self.shape), dtype=np.float32)
        frame_sums(masses, self.weights, self.step, self.bin, mass)
        frame_sums(energies, self.weights**2, self.step, self.bin, energy)
        # the mean over the pixels between the middles of the outer bins, as in VLFeat
        kept = np.flatnonzero(mass >= contrast * (3 * size + 1) ** 2)
        y, x = np.divmod(kept, self.shape[1])
        centre = start + 1.5 * size
        frames = np.stack([centre + step * x, centre + step * y, np.full(len(kept), size)], axis=1)
        return _Placed(self, energy, kept, frames.astype(np.float32))


@dataclass(frozen=True)
class _Placed:
    """Frames that are kept, and what is needed to write their descriptors."""

    cells: _Cells
    energy: np.ndarray
    kept: np.ndarray
    frames: np.ndarray

    def write(self, values):
        cells = self.cells
        write_sift(cells.grid, cells.weights, cells.step, cells.bin, self.energy, self.kept, values)


def _frames_shape(shape, size, step, start):
    return tuple((side - start - 3 * size - 1) // step + 1 for side in shape)


def _flat_cells(image, size, step, start):
    """Bins whose pixels are weighted by tents alone; the window is the mean of the Gaussian over each bin."""
    spacing = gcd(step, size)
    frames = _frames_shape(image.shape, size, step, start)
    n_rows, n_columns = (((n - 1) * step + 3 * size) // spacing + 1 for n in frames)
    grid = np.empty((n_rows, n_columns, 8), dtype=np.float32)
    width = image.shape[1]
    # gradients of values from 0 to 1 are at most sqrt 2, and the weights of a tent sum to size^2
    scale = 2.0 ** floor(log2(2**31 / (1.4143 * size**2)))
    shift = ceil(log2(size**2))
    bin_flat(
        _smoothed(image, size),
        size,
        spacing,
        start,
        np.float32(scale),
        shift,
        np.float32(2.0**shift / (scale * size**2)),
        np.empty((3, width), dtype=np.float32),
        np.empty((2 * size + 1, 8 * width), dtype=np.uint32),
        np.empty(8 * width, dtype=np.uint32),
        np.empty(8 * (2 * size + (n_columns - 1) * spacing + 1), dtype=np.uint32),
        grid,
    )
    weights = [np.mean(_window(size, b)) for b in range(BINS)]
    return _Cells(grid, np.array(weights, dtype=np.float32), step // spacing, size // spacing, frames)


def _gaussian_cells(image, size, step, start):
    """Bins whose pixels are weighted by tents and by the Gaussian around the middle of the frame."""
    height, width = image.shape
    frames = _frames_shape(image.shape, size, step, start)
    votes = np.empty((height, width, 8), dtype=np.float32)
    scratch = np.empty((2, width), dtype=np.float32)
    write_votes(_smoothed(image, size), np.empty(width, dtype=np.int32), *scratch, votes)
    rows, columns = (_window_matrix(n, side, size, step, start) for n, side in zip(frames, image.shape, strict=True))
    sums = (rows @ votes.reshape(height, -1)).reshape(-1, width, 8)
    sums = columns @ np.ascontiguousarray(sums.transpose(1, 0, 2)).reshape(width, -1)
    grid = np.ascontiguousarray(sums.reshape(columns.shape[0], rows.shape[0], 8).transpose(1, 0, 2))
    return _Cells(grid, np.ones(BINS, dtype=np.float32), BINS, 1, frames)


def _window(size, b):
    """The Gaussian window on the 2 size - 1 pixels of bin b of a row of four."""
    distances = np.arange(1 - size, size) + size * (b - (BINS - 1) / 2)
    return np.exp(-0.5 * (distances / (WINDOW_SIGMA * size)) ** 2)


def _window_matrix(n_frames, n_pixels, size, step, start):
    """Weights of pixels (columns) in bin after bin of frame after frame (rows); beside the image are border pixels."""
    offsets = np.arange(1 - size, size)
    tent = 1 - np.abs(offsets) / size
    weights = np.stack([tent * _window(size, b) for b in range(BINS)])
    places = start + step * np.arange(n_frames)[:, None] + size * np.arange(BINS)
    pixels = np.clip(places[..., None] + offsets, 0, n_pixels - 1)
    rows = np.arange(n_frames * BINS).repeat(len(offsets))
    entries = np.tile(weights.ravel(), n_frames).astype(np.float32)
    return sparse.csr_array((entries, (rows, pixels.ravel())), shape=(n_frames * BINS, n_pixels))
