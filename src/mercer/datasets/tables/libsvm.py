"""Sets in svmlight files, most of them of LIBSVM's collection: ijcnn1, adult (a9a), sector."""

__all__ = ["load_adult", "load_ijcnn1", "load_sector", "read_svmlight"]

import io

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.datasets.files import checked_part, verified_bytes

COLLECTION = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
TICK = "https://github.com/X-DataInitiative/tick-datasets"
# part -> file, rows, sha256 of the unpacked file
IJCNN1_ORIGIN = f"{TICK} (binary/ijcnn1), which repeats {COLLECTION}/binary.html#ijcnn1"
IJCNN1 = {
    "train": ("ijcnn1.trn", 49_990, "7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19"),
    "test": ("ijcnn1.tst", 91_701, "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8"),
}
ADULT_ORIGIN = f"{TICK} (binary/adult), which repeats {COLLECTION}/binary.html#a9a"
ADULT = {
    "train": ("adult.trn", 32_561, "64bf51ab7ce8101364b2d6b569c7bad8f04a4f9684527ff232a0f06474ae35c2"),
    "test": ("adult.tst", 16_281, "8de2963e337b73465257c78c8b4b1dbba40c07b0e56a58308f3f10cbde8ed7b8"),
}
SECTOR_ORIGIN = f"{COLLECTION}/multiclass.html#sector"
SECTOR = {
    "train": ("sector.scale", 6_412, "92d5752b798bb88466b7142b07fc370eea99b19366b84e82e430fb74ada4293f"),
    "test": ("sector.t.scale", 3_207, "be2e76ff48816c832823ab593e70970c599acb16ae311578b7308c6a8496db1b"),
}


def load_ijcnn1(part="train", *, root=None):
    """The generalization task of the IJCNN 2001 challenge: 22 features from -1.4 to 1.4, a tenth of the rows positive.

    Parameters
    ----------
    part : str
        ``"train"`` (49,990 rows: LIBSVM's training rows and then its validation rows) or ``"test"`` (91,701 rows).
    root : path or None
        Directory of the data sets, with a folder ``ijcnn1``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    X, y : float32 array of shape (n, 22), int array of -1 and 1
    """
    known = checked_part("load_ijcnn1", part, IJCNN1)
    X, y = read_svmlight("ijcnn1", *known, IJCNN1_ORIGIN, n_features=22, root=root)
    return X.toarray(), y


def load_adult(part="train", *, root=None):
    """Adult in the form a9a: does a person earn more than 50,000 dollars? 123 features that are 0 or 1.

    Parameters
    ----------
    part : str
        ``"train"`` (32,561 rows) or ``"test"`` (16,281 rows).
    root : path or None
        Directory of the data sets, with a folder ``adult_a9a``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    X, y : float32 csr_array of shape (n, 123), int array of -1 and 1
    """
    known = checked_part("load_adult", part, ADULT)
    return read_svmlight("adult_a9a", *known, ADULT_ORIGIN, n_features=123, root=root, zero_based=True)


def load_sector(part="train", *, root=None):
    """Web pages of companies in 105 sectors of industry: tf-idf weights of words, rows of length 1.

    Parameters
    ----------
    part : str
        ``"train"`` (6,412 rows) or ``"test"`` (3,207 rows).
    root : path or None
        Directory of the data sets, with a folder ``sector``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    X, y : float32 csr_array of shape (n, 55197), int array of the sectors, 1 to 105
    """
    known = checked_part("load_sector", part, SECTOR)
    return read_svmlight("sector", *known, SECTOR_ORIGIN, n_features=55_197, root=root)


def read_svmlight(folder, name, n_rows, sha256, origin, *, n_features, root, zero_based=False):
    """Rows of an svmlight file as a float32 csr_array without stored zeros, and its labels as integers."""
    from sklearn.datasets import load_svmlight_file

    content = verified_bytes(folder, name, sha256, origin, root)
    X, y = load_svmlight_file(io.BytesIO(content), n_features=n_features, zero_based=zero_based, dtype=np.float32)
    if X.shape[0] != n_rows:
        raise InputError(f"{name} must contain {n_rows} rows, but contains {X.shape[0]}.")
    X.eliminate_zeros()
    # 32-bit indices, half the size: the only ones that some of scikit-learn's solvers take
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=X.shape), y.astype(int)
