"""CENTRIST histograms of windows with and without a person, the data of the pedestrian experiment. [wu10fast] Sec. 4.2

A window of 108 x 36 pixels is divided into 9 x 4 blocks, and every 2 x 2 neighbours form a super-block: 8 x 3 of them,
each of 24 x 18 pixels. A super-block is described by the histogram of the census transforms of its pixels, 256 bins, so
that a window has 24 * 256 = 6,144 numbers. Pixels on the border of a super-block have no transform inside it: 22 * 16 =
352 are counted, which is the largest level that the paper states.
"""

from __future__ import annotations

import csv

import numpy as np

from mercer.vision import CENTRIST

HEIGHT, WIDTH = 108, 36
BLOCK_ROWS, BLOCK_COLUMNS = 9, 4
MARGIN = 1.1  # height of a window over that of the person in it


def person_windows(part, n_negatives, n_photos=None, seed=0):
    """(X, y): uint16 (n, 6144) histograms and -1 or 1 for a person, in random order.

    Parameters
    ----------
    part : "train" or "test"
    n_negatives : windows at random places of the photos without people; those with a person are in boxes.csv, and each
        is taken once as it is and once mirrored
    n_photos : how many photos of each kind to look at; None for all
    seed : of the places and of the order
    """
    rng = np.random.default_rng(seed)
    positives = _positives(part, n_photos)
    windows = np.concatenate([positives, positives[:, :, ::-1], _negatives(part, n_negatives, n_photos, rng)])
    y = np.where(np.arange(len(windows)) < 2 * len(positives), 1, -1)
    order = rng.permutation(len(y))
    return centrist(windows[order]), y[order]


def centrist(windows):
    """Histograms (m, 6144) of windows (m, 108, 36), super-block after super-block, as counts."""
    histograms = CENTRIST(grid=(BLOCK_ROWS, BLOCK_COLUMNS), superblock=2, normalize=False).fit_transform(windows)
    return histograms.astype(np.uint16)


# ---------------------------------------------------------------------------------------------------------- windows


def _positives(part, n_photos):
    """Windows around the people of boxes.csv."""
    folder = _folder()
    with (folder / "boxes.csv").open(newline="") as file:
        boxes = [line for line in csv.DictReader(file) if line["file"].startswith(part)]
    names = sorted({box["file"] for box in boxes})[:n_photos]
    photos = {name: _grey(folder / name) for name in names}
    windows = []
    for box in boxes:
        if box["file"] in photos:
            left, top, right, bottom = (float(box[key]) for key in ("xmin", "ymin", "xmax", "ymax"))
            height = MARGIN * (bottom - top)
            windows.append(_window(photos[box["file"]], (left + right) / 2, (top + bottom) / 2, height))
    return np.stack(windows)


def _negatives(part, count, n_photos, rng):
    """Windows at random places, from the size of a window to that of the photo, small ones as often as large ones."""
    photos = [_grey(path) for path in sorted((_folder() / part / "neg").glob("*.jpg"))[:n_photos]]
    windows = []
    for k in range(count):
        photo = photos[k % len(photos)]
        most = min(photo.height, photo.width * HEIGHT / WIDTH)
        height = HEIGHT * (most / HEIGHT) ** rng.random()
        width = height * WIDTH / HEIGHT
        x, y = (
            size / 2 + rng.random() * (room - size) for size, room in ((width, photo.width), (height, photo.height))
        )
        windows.append(_window(photo, x, y, height))
    return np.stack(windows)


def _window(photo, x, y, height):
    """The part around (x, y), cut off at the edges of the photo, as 108 x 36 pixels."""
    width = height * WIDTH / HEIGHT
    left, top = max(0.0, x - width / 2), max(0.0, y - height / 2)
    right, bottom = min(float(photo.width), x + width / 2), min(float(photo.height), y + height / 2)
    return np.asarray(photo.resize((WIDTH, HEIGHT), box=(left, top, right, bottom)))


def _grey(path):
    from PIL import Image

    with Image.open(path) as image:
        return image.convert("L")


def _folder():
    from benchmarks.paper._icd_sets import data_folder

    return data_folder("inria_person")
