"""Photographs of persons with boxes: INRIA (train and test), Penn-Fudan (test only). MERCER_DATA names their folder."""

from __future__ import annotations

import os
from pathlib import Path

INRIA, PENN_FUDAN = "inria_person", "pennfudan"


def folder(name):
    """The folder of a data set, or an error that says what to set."""
    root = Path(os.environ.get("MERCER_DATA") or "missing") / name
    if not root.is_dir():
        raise FileNotFoundError(f"Set MERCER_DATA to the folder that holds {name}.")
    return root


def inria(part, most=None):
    """(paths, boxes) of the photographs with and without persons of "train" or "test"; at most so many of each kind."""
    from mercer.detection import read_boxes

    root = folder(INRIA)
    table = {name: boxes for name, boxes in read_boxes(root / "boxes.csv").items() if name.startswith(f"{part}/")}
    with_boxes = sorted(table)[:most]
    without = sorted((root / part / "neg").iterdir())[:most]
    return _joined(root, with_boxes, without, table)


def held_out(seed=7, n_with=150, n_without=75):
    """The training photographs cut in two: (paths, boxes) to learn from, and to choose by."""
    import numpy as np

    paths, boxes = inria("train")
    rng = np.random.RandomState(seed)
    kinds = [np.array([i for i, own in enumerate(boxes) if (len(own) > 0) == is_with]) for is_with in (True, False)]
    for kind in kinds:
        rng.shuffle(kind)
    first = [*kinds[0][:n_with], *kinds[1][:n_without]]
    second = [*kinds[0][n_with:], *kinds[1][n_without:]]
    return tuple(([paths[i] for i in own], [boxes[i] for i in own]) for own in (first, second))


def penn_fudan(most=None):
    """(paths, boxes) of the photographs of Penn-Fudan."""
    from mercer.detection import read_boxes

    root = folder(PENN_FUDAN)
    table = read_boxes(root / "boxes.csv")
    return _joined(root, sorted(table)[:most], [], table)


def _joined(root, with_boxes, without, table):
    import numpy as np

    paths = [root / name for name in with_boxes] + list(without)
    return paths, [table[name] for name in with_boxes] + [np.empty((0, 4))] * len(without)
