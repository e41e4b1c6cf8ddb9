"""Forest cover types: a large set, in the file of UCI."""

__all__ = ["load_covtype"]

import numpy as np

from mercer._base.errors import InputError
from mercer.datasets.files import checked_part, is_there, verified_bytes

ORIGIN = "https://archive.ics.uci.edu/dataset/31/covertype (covtype.data.gz)"
# Two forms of the same rows: with a line of column names, and as UCI has them. Name -> sha256 of the unpacked file
FILES = {
    "covtype.csv": "ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
    "covtype.data": "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
}
N_ROWS, N_FEATURES = 581_012, 54
N_TRAIN = 500_000
PARTS = {"train": slice(0, N_TRAIN), "test": slice(N_TRAIN, N_ROWS), "all": slice(None)}


def load_covtype(part="train", *, root=None):
    """Covertype: which of seven trees grows on a patch of 30 x 30 meters. Ten measurements and 44 indicators, all
    integers.

    Parameters
    ----------
    part : str
        ``"train"`` (500,000 rows) or ``"test"`` (81,012 rows), the parts of one fixed shuffle, so that the first rows
        of a part are a random sample; ``"all"`` for the 581,012 rows in their published order.
    root : path or None
        Directory of the data sets, with a folder ``covtype``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    X, y : float32 array of shape (n, 54), int array of the types, 1 to 7
    """
    rows = checked_part("load_covtype", part, PARTS)
    name = next((name for name in FILES if is_there("covtype", name, root)), "covtype.data")
    table = _read_table(verified_bytes("covtype", name, FILES[name], ORIGIN, root), name)
    if part != "all":
        # a RandomState, because its numbers are the same in every version of numpy
        table = table[np.random.RandomState(0).permutation(N_ROWS)[rows]]
    return table[:, :N_FEATURES].astype(np.float32, order="C"), table[:, N_FEATURES].astype(int)


def _read_table(content, name):
    """The numbers of a file of commas and lines, with or without column names."""
    if content[:1].isalpha():
        content = content[content.index(b"\n") + 1 :]
    # one kind of separator and integers, of which none is larger than 7,173: many times faster than np.loadtxt
    numbers = np.fromstring(content.rstrip().replace(b"\n", b","), dtype=np.int16, sep=",")
    if numbers.size != N_ROWS * (N_FEATURES + 1):
        raise InputError(f"{name} must contain {N_ROWS} rows of {N_FEATURES + 1} numbers, but does not.")
    return numbers.reshape(N_ROWS, N_FEATURES + 1)
