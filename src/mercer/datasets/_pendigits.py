"""Pen-based handwritten digits, in the svmlight files of LIBSVM's collection."""

__all__ = ["load_pendigits"]

import io

import numpy as np

from mercer._base.errors import InputError
from mercer.datasets._files import verified_bytes

ORIGIN = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html#pendigits"
# part -> file, rows, sha256 of the unpacked file
PARTS = {
    "train": ("pendigits", 7494, "6e8a2f318a24d97d26a9c381642621dc955fed73ec44c4d417bd7afbb47ed67c"),
    "test": ("pendigits.t", 3498, "5ddb2f034e1c5ca8a47b8a7e78510f8a9d68015cf40a5031534c693fba9773d3"),
}
N_FEATURES = 16


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
    if part not in PARTS:
        raise InputError(f"load_pendigits has no part {part!r}. Parts: {', '.join(PARTS)}.")
    from sklearn.datasets import load_svmlight_file

    name, n_rows, sha256 = PARTS[part]
    content = verified_bytes("pendigits", name, sha256, ORIGIN, root)
    X, y = load_svmlight_file(io.BytesIO(content), n_features=N_FEATURES, zero_based=False, dtype=np.float32)
    if X.shape[0] != n_rows:
        raise InputError(f"{name} should hold {n_rows} rows, it holds {X.shape[0]}.")
    return X.toarray(), y.astype(int)
