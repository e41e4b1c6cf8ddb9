"""Eight classes of objects as HOG descriptors: seven of Caltech-101, and INRIA's people. [boufounos15universal] IV"""

from __future__ import annotations

import csv

import numpy as np

CLASSES = ("car_side", "wheelchair", "stop_sign", "soccer_ball", "joshua_tree", "Motorbikes", "Faces_easy")
PER_CLASS = 59  # the fewest there are
SIDE, CELL = 128, 8
AROUND = 1.2  # side of the square around a person, in heights of the box


def load_descriptors(per_class=PER_CLASS, more=False):
    """(float32 of shape (images, 16 * 16 * 36), classes), equally many images of each class.

    With `more` all nine classes of Caltech-101 that are at hand, the people, and the fifteen of Scenes-15.
    """
    from benchmarks.paper._icd_sets import data_folder
    from mercer.vision import hog, read_image, resize

    folders = [data_folder("caltech101") / name for name in CLASSES]
    if more:
        folders = [*_folders(data_folder("caltech101")), *_folders(data_folder("scenes15") / "train")]
    rows, y = [], []
    for number, folder in enumerate(folders):
        for path in sorted(folder.iterdir())[:per_class]:
            rows.append(resize(read_image(path), (SIDE, SIDE)))
            y.append(number)
    for image, box in _people(data_folder("inria_person"), per_class):
        rows.append(resize(_square(read_image(image), box), (SIDE, SIDE)))
        y.append(len(folders))
    features = [hog(image, cell_size=CELL, variant="dalal-triggs").ravel() for image in rows]
    return np.asarray(features, dtype=np.float32), np.asarray(y)


def _folders(root):
    return sorted(path for path in root.iterdir() if path.is_dir())


def _people(folder, count):
    """(path, box) of the tallest person of each of the first photographs."""
    tallest = {}
    with open(folder / "boxes.csv", newline="") as file:
        for line in csv.DictReader(file):
            box = [float(line[name]) for name in ("xmin", "ymin", "xmax", "ymax")]
            best = tallest.get(line["file"])
            if best is None or box[3] - box[1] > best[3] - best[1]:
                tallest[line["file"]] = box
    return [(folder / name, box) for name, box in list(tallest.items())[:count]]


def _square(image, box):
    """The square around a box; what lies beyond the border repeats it."""
    xmin, ymin, xmax, ymax = box
    side = round(AROUND * (ymax - ymin))
    x, y = round((xmin + xmax - side) / 2), round((ymin + ymax - side) / 2)
    rows, columns = np.arange(y, y + side), np.arange(x, x + side)
    return image[np.clip(rows, 0, image.shape[0] - 1)[:, None], np.clip(columns, 0, image.shape[1] - 1)]
