"""Real data for the intersection SVM as it comes, and as linear and RBF machines want it. [wu10fast] Sec. 4.4"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.compare._sets import Split
from mercer import datasets
from mercer.datasets.files import verified_bytes

DNA_ORIGIN = "Debian's r-cran-mlbench (data/DNA.rda), turned into npz"
DNA_SHA256 = "f15c6793a0ac90b6f08af6a4a5a14593ad6e635bef1b0f166a714709d2041ca5"
N_DNA = 2000  # training rows, the first ones
LOADERS = {
    "ijcnn1": datasets.load_ijcnn1,
    "shuttle": datasets.load_shuttle,
    "covtype": datasets.load_covtype,
    "sector": datasets.load_sector,
    "20newsgroups": datasets.load_20newsgroups,
    "adult_a9a": datasets.load_adult,
    "pendigits": datasets.load_pendigits,
}


def load(name, most=None, quick=False):
    """A set as it is shipped: its training rows, or some ``most`` of them, and its test rows; few in a quick run."""
    loaded = _dna() if name == "dna" else Split(*LOADERS[name](), *LOADERS[name]("test"))
    if quick:
        return first(_shuffled(loaded), min(most or 1500, 1500), 1000)
    # the order of other sets may be that of their classes, that of covtype is random
    return first(loaded if name == "covtype" else _shuffled(loaded), most) if most else loaded


def first(split, n_train, n_test=None):
    """The first rows of a split."""
    return Split(split.X[:n_train], split.y[:n_train], split.X_test[:n_test], split.y_test[:n_test])


def scaled(split):
    """Every column from -1 to 1 over the training rows, in float64 as LinearSVC takes it; sparse rows as they are."""
    if sparse.issparse(split.X):
        return Split(split.X.astype(np.float64), split.y, split.X_test.astype(np.float64), split.y_test)
    X, X_test = split.X.astype(np.float64), split.X_test.astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return Split(2 * (X - low) / width - 1, split.y, 2 * (X_test - low) / width - 1, split.y_test)


def data_folder(name):
    """Where a set is that has no loader."""
    folder = Path(os.environ.get("MERCER_DATA") or ".") / name
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {name!r} in the directory that MERCER_DATA names.")
    return folder


def _dna():
    with np.load(io.BytesIO(verified_bytes("dna", "dna.npz", DNA_SHA256, DNA_ORIGIN))) as file:
        X, y = file["X"], file["y"].astype(int)
    return Split(X[:N_DNA], y[:N_DNA], X[N_DNA:], y[N_DNA:])


def _shuffled(split):
    rng = np.random.default_rng(0)
    train, test = rng.permutation(len(split.y)), rng.permutation(len(split.y_test))
    return Split(split.X[train], split.y[train], split.X_test[test], split.y_test[test])
