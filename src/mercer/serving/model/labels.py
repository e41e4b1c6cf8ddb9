"""Labels of the rows of an index, from a file: what a neighbor is, beside which one it is."""

__all__ = ["read_labels"]

import csv
import os

from mercer._base.errors import InputError
from mercer._base.tables.limits import Limit


def read_labels(path, classes=()):
    """Labels by id, from lines ``id,label``; ids are compared as text, and the name of a class becomes the class.

    Parameters
    ----------
    path : csv file
    classes : of the model
    """
    known = {str(name): name for name in classes or ()}
    labels = {}
    Limit.fixed().check(os.path.getsize(path), os.fspath(path))
    with open(path, newline="", encoding="utf-8") as file:
        for number, line in enumerate(csv.reader(file), start=1):
            if len(line) != 2:
                raise InputError(f"{path} must have an id and a label per line; line {number} has {len(line)} cells.")
            labels[line[0]] = known.get(line[1], line[1])
    return labels
