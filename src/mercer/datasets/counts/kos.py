"""Entries of the blog Daily Kos as counts of words, in the file of UCI's collection of bags of words."""

__all__ = ["load_kos"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.datasets.files import verified_bytes

ORIGIN = "https://archive.ics.uci.edu/dataset/164/bag+of+words (docword.kos.txt.gz)"
FOLDER, NAME = "uci_bow_kos", "docword.kos.txt"
SHA256 = "0913cf084375360ce32c497dc2f8eafc4cf24a231f3d39bdbf8c41de29797cb4"  # of the unpacked file
N_ENTRIES, N_WORDS, N_COUNTS = 3_430, 6_906, 353_160


def load_kos(*, root=None):
    """Entries of a blog as rows of word counts, 136 words on average; no labels.

    Parameters
    ----------
    root : path or None
        Directory of the data sets, with a folder ``uci_bow_kos``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    float32 csr_array of shape (3430, 6906)
    """
    return read_bag_of_words(verified_bytes(FOLDER, NAME, SHA256, ORIGIN, root), NAME, (N_ENTRIES, N_WORDS, N_COUNTS))


def read_bag_of_words(content, name, sizes):
    """The matrix of a file of UCI: how many rows, columns and counts, then lines of ``row column count`` from 1 on."""
    # one kind of separator and integers: many times faster than np.loadtxt
    numbers = np.fromstring(content, dtype=np.int64, sep=" ")
    if tuple(numbers[:3]) != sizes or numbers.size != 3 + 3 * sizes[2]:
        raise InputError(
            f"{name} must contain {sizes[0]} x {sizes[1]} numbers, {sizes[2]} of them counts, but does not."
        )
    rows, columns, counts = numbers[3:].reshape(-1, 3).T
    matrix = sparse.coo_array((counts.astype(np.float32), (rows - 1, columns - 1)), shape=sizes[:2]).tocsr()
    matrix.sort_indices()
    return matrix
