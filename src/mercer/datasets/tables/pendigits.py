"""Pen-based handwritten digits, in the svmlight files of LIBSVM's collection."""

__all__ = ["load_pendigits"]

from mercer.datasets.files import checked_part
from mercer.datasets.tables.libsvm import COLLECTION, read_svmlight

ORIGIN = f"{COLLECTION}/multiclass.html#pendigits"
# part -> file, rows, sha256 of the unpacked file
PARTS = {
    "train": ("pendigits", 7494, "6e8a2f318a24d97d26a9c381642621dc955fed73ec44c4d417bd7afbb47ed67c"),
    "test": ("pendigits.t", 3498, "5ddb2f034e1c5ca8a47b8a7e78510f8a9d68015cf40a5031534c693fba9773d3"),
}


def load_pendigits(part="train", *, root=None):
    """Digits as eight points of the pen, 16 coordinates from 0 to 100.

    Parameters
    ----------
    part : str
        ``"train"`` (7,494 rows) or ``"test"`` (3,498 rows, by other writers).
    root : path or None
        Directory of the data sets, with a folder ``pendigits``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    X, y : float32 array of shape (n, 16), int array of the digits
    """
    known = checked_part("load_pendigits", part, PARTS)
    X, y = read_svmlight("pendigits", *known, ORIGIN, n_features=16, root=root)
    return X.toarray(), y
