"""Statlog's space shuttle data, in the files of UCI."""

__all__ = ["load_shuttle"]

import io

import numpy as np

from mercer._base.errors import InputError
from mercer.datasets.files import checked_part, verified_bytes

ORIGIN = "https://archive.ics.uci.edu/dataset/148/statlog+shuttle (shuttle.trn.Z, unpacked, and shuttle.tst)"
N_FEATURES = 9
# part -> file, rows, sha256 of the unpacked file
PARTS = {
    "train": ("shuttle.trn", 43_500, "87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a"),
    "test": ("shuttle.tst", 14_500, "4d06df909e29d5f908fcbce4e003c8038a7bb5230b57820b4b87be6f38b1c747"),
}


def load_shuttle(part="train", *, root=None):
    """States of the shuttle's radiators from nine readings, integers of very different ranges: scale them.

    Parameters
    ----------
    part : str
        ``"train"`` (43,500 rows) or ``"test"`` (14,500 rows).
    root : path or None
        Directory of the data sets, with a folder ``shuttle``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    X, y : float32 array of shape (n, 9), int array of the states, 1 to 7; four fifths are of state 1
    """
    name, n_rows, sha256 = checked_part("load_shuttle", part, PARTS)
    content = verified_bytes("shuttle", name, sha256, ORIGIN, root)
    table = np.loadtxt(io.BytesIO(content), dtype=np.float32, ndmin=2)
    if table.shape != (n_rows, N_FEATURES + 1):
        raise InputError(f"{name} must contain {n_rows} rows of {N_FEATURES + 1} numbers, but contains {table.shape}.")
    return np.ascontiguousarray(table[:, :N_FEATURES]), table[:, N_FEATURES].astype(int)
