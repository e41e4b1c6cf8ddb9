"""HOG pyramids: an image at many sizes, each as a coarse and a fine grid of cells.

At level l the image is warped to whole cells, (8 R, 8 C) pixels, near 2^(-l / interval) times its size. A root sees
cells of 8 pixels, and parts see cells of 4 pixels of the same warped image, so that the fine grid has exactly twice the
resolution. [felzenszwalb10object] Around the image lie `padding` coarse cells, and twice as many fine ones, with
features 0 but for the channel of truncation.

Deviation from the paper: levels are warped to whole cells, by less than half a cell, so that a mirrored image has a
mirrored pyramid whatever its width is; and parts never share the grid of a root at twice the size, which would be
shifted against it by a fraction of a cell.
"""

__all__ = ["CELL", "Level", "Pyramid", "PyramidShape", "build_pyramid"]

from dataclasses import dataclass

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer.vision.descriptors.hog import fill_hog
from mercer.vision.reading.images import resize

CELL = 8  # pixels of a coarse cell; a fine one has half of them


@dataclass(frozen=True)
class PyramidShape:
    """What pyramids of one detector have in common.

    Parameters
    ----------
    interval : levels per octave
    padding : coarse cells around the image
    smallest : (rows, columns) of cells that a level has at least, padding included
    has_fine : whether there is a fine grid, for parts
    """

    interval: int
    padding: int
    smallest: tuple[int, int]
    has_fine: bool = True

    def grids(self, height, width):
        """(rows, columns) of the coarse cells of each level, without padding."""
        found = []
        while True:
            scale = 2.0 ** (-len(found) / self.interval) / CELL
            grid = round(height * scale), round(width * scale)
            if any(n + 2 * self.padding < least or n < 1 for n, least in zip(grid, self.smallest, strict=True)):
                return found
            found.append(grid)


@dataclass
class Level:
    """One size of an image.

    Parameters
    ----------
    cell : (height, width) of a coarse cell in pixels of the image as it was given
    coarse : cells (rows, columns) with padding, as they are kept
    fine : twice as many rows and columns, or None
    """

    cell: tuple[float, float]
    coarse: np.ndarray
    fine: np.ndarray | None


class Pyramid:
    """The levels of one image, in one flat array that may lie in a file.

    Parameters
    ----------
    image_shape : (height, width) of the image
    shape : PyramidShape
    storage : how cells are kept
    cells : the flat array, or None for a new one
    """

    def __init__(self, image_shape, shape, storage, cells=None):
        self.image_shape, self.shape, self.storage = tuple(map(int, image_shape[:2])), shape, storage
        self.grids = shape.grids(*self.image_shape)
        if not self.grids:
            rows, columns = (CELL * max(1, n - 2 * shape.padding) for n in shape.smallest)
            raise InputError(
                f"The image has {self.image_shape[0]} x {self.image_shape[1]} pixels (height x width), fewer than the "
                f"{rows} x {columns} that the root filter needs. Use a larger image."
            )
        if cells is None:
            cells = np.empty((n_cells(self.grids, shape), *storage.tail), dtype=storage.dtype)
        self.cells = cells
        self.levels = list(self._views())

    @property
    def nbytes(self):
        """Memory that the cells take."""
        return self.cells.nbytes

    def _views(self):
        """Levels as views of the flat array."""
        height, width = self.image_shape
        start, padding, tail = 0, self.shape.padding, self.storage.tail
        for rows, columns in self.grids:
            views = []
            for times in (1, 2) if self.shape.has_fine else (1,):
                grid = times * (rows + 2 * padding), times * (columns + 2 * padding)
                size = grid[0] * grid[1]
                views.append(self.cells[start : start + size].reshape(*grid, *tail))
                start += size
            yield Level((height / rows, width / columns), views[0], views[1] if len(views) > 1 else None)


def n_cells(grids, shape):
    """Cells of all levels together, padding included."""
    once = sum((rows + 2 * shape.padding) * (columns + 2 * shape.padding) for rows, columns in grids)
    return once * (5 if shape.has_fine else 1)


def build_pyramid(image, shape, storage, n_jobs=None):
    """The pyramid of a checked image of bytes.

    Parameters
    ----------
    image : uint8 array of shape (H, W, 3) or (H, W)
    shape : PyramidShape
    storage : how cells are kept
    n_jobs : threads, which take a level each
    """
    pyramid = Pyramid(image.shape, shape, storage)

    def fill(k):
        rows, columns = pyramid.grids[k]
        warped = image
        if image.shape[:2] != (CELL * rows, CELL * columns):
            warped = resize(image, (CELL * rows, CELL * columns))
        level = pyramid.levels[k]
        _fill(warped, CELL, shape.padding, storage, level.coarse)
        if level.fine is not None:
            _fill(warped, CELL // 2, 2 * shape.padding, storage, level.fine)

    run_blocks(fill, range(len(pyramid.grids)), n_jobs)
    return pyramid


def _fill(image, cell_size, padding, storage, out):
    """Write the cells of an image, and padding around them."""
    rows, columns = out.shape[0] - 2 * padding, out.shape[1] - 2 * padding
    features = np.empty((rows, columns, 32), dtype=np.float32)
    fill_hog(image, cell_size, "felzenszwalb", features)
    out[...] = storage.padding
    out[padding : padding + rows, padding : padding + columns] = storage.encode(features)
