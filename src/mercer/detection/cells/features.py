"""Pyramids of all images of a training: the codebook that they need, and their cells, in memory or in a file."""

__all__ = ["build_all", "check_all_inside", "learn_codebook"]

import os

import numpy as np

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import run_blocks, single_threaded
from mercer.detection.cells.codebook import CHANNELS, CellCodebook
from mercer.detection.cells.pyramid import Pyramid, build_pyramid, n_cells
from mercer.detection.cells.storage import DenseCells
from mercer.detection.sources import check_inside, name_of, read
from mercer.detection.training.positives import best_by_overlap

BATCH = 16  # images between two reports of progress
MOST_IMAGES = 300  # that words are learned from
PER_GRID = 25  # cells of each grid, whatever its size: large levels have most cells, and objects are at all of them
MOST_CELLS = 200_000


def check_all_inside(images, boxes, n_jobs=None):
    """Raise for the first image with a box that reaches over its border, before any work is done."""

    def check(i):
        check_inside(boxes[i], read(images[i], i).shape, name_of(images[i], i))

    for batch in _batches([i for i, own in enumerate(boxes) if len(own)], "Reading images"):
        _run(check, batch, n_jobs)


def learn_codebook(images, boxes, groups, shapes, shape, margin, n_words, rng, n_jobs=None):
    """Words of the cells under the objects and of as many others.

    Parameters
    ----------
    images : sources of the images
    boxes, groups : boxes of each image, and the component of each of these
    shapes : (rows, columns) of the root of each component
    shape : PyramidShape
    margin : cells of a root around an object
    n_words : words of the codebook
    rng : numpy RandomState
    n_jobs : threads
    """
    chosen = np.sort(rng.permutation(len(images))[:MOST_IMAGES])
    seeds = rng.randint(2**31 - 1, size=len(images))

    def sample(i):
        pyramid = _pyramid(images[i], i, shape, DenseCells())
        return _sampled(pyramid, boxes[i], groups[i], shapes, margin, np.random.RandomState(seeds[i]))

    found = [cells for batch in _batches(chosen.tolist(), "Learning words") for cells in _run(sample, batch, n_jobs)]
    cells = np.concatenate(found)
    cells = cells[cells[:, -1] == 0]  # without padding
    if len(cells) > MOST_CELLS:
        cells = cells[rng.permutation(len(cells))[:MOST_CELLS]]
    return CellCodebook.learn(cells, n_words, rng, n_jobs)


def _sampled(pyramid, boxes, groups, shapes, margin, rng):
    """Cells (n, 32) of one image."""
    found = []
    for level in pyramid.levels:
        for grid in (level.coarse, level.fine):
            if grid is not None:
                flat = grid.reshape(-1, CHANNELS)
                found.append(flat[rng.randint(len(flat), size=PER_GRID)])
    for box, g in zip(boxes, groups, strict=True):
        rows, columns = shapes[g]
        overlap, k, r, c = best_by_overlap(pyramid, box, shapes[g], margin)
        if overlap == 0:
            continue
        level = pyramid.levels[k]
        found.append(level.coarse[r : r + rows, c : c + columns].reshape(-1, CHANNELS))
        if level.fine is not None:
            own = level.fine[2 * r : 2 * (r + rows), 2 * c : 2 * (c + columns)]
            found.append(own.reshape(-1, CHANNELS))
    return np.concatenate(found)


def build_all(images, shape, storage, folder=None, n_jobs=None):
    """The pyramid of every image.

    Parameters
    ----------
    images : sources of the images
    shape : PyramidShape
    storage : how cells are kept
    folder : where cells are kept in a file that is mapped into memory; None keeps them in memory
    n_jobs : threads, which take an image each
    """
    found = []

    def build(i):
        return _pyramid(images[i], i, shape, storage)

    file = None if folder is None else os.path.join(folder, "cells.bin")
    if file is not None:
        os.makedirs(folder, exist_ok=True)
        open(file, "wb").close()
    for batch in _batches(range(len(images)), "Describing images"):
        for pyramid in _run(build, batch, n_jobs):
            found.append(pyramid if file is None else _moved(pyramid, file))
    return found


def _moved(pyramid, file):
    """The pyramid with its cells at the end of a file."""
    with open(file, "ab") as stream:
        start = stream.tell()
        stream.write(pyramid.cells.tobytes())
    count = n_cells(pyramid.grids, pyramid.shape)
    kept = np.memmap(file, pyramid.storage.dtype, "r", offset=start, shape=(count, *pyramid.storage.tail))
    return Pyramid(pyramid.image_shape, pyramid.shape, pyramid.storage, kept)


def _pyramid(source, number, shape, storage):
    image = read(source, number)
    try:
        return build_pyramid(image, shape, storage, 1)
    except InputError as error:
        raise InputError(f"PartDetector cannot use {name_of(source, number)}. {error}") from error


def _batches(items, description):
    starts = range(0, len(items), BATCH)
    return track([items[start : start + BATCH] for start in starts], description)


def _run(function, items, n_jobs):
    with single_threaded():
        return run_blocks(function, items, n_jobs)
