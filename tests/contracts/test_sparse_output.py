"""Sparse features have 32-bit indices while they fit: scikit-learn's trees and liblinear take no others."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from mercer import ConvexReduction, HomogeneousMap, SparseAdditiveMap, SparseMap, WeightedMinHash
from mercer._base.validation import index_type, narrow
from mercer.features import SpectralEntropyWeighting, bin_spectra, count_fingerprints

TRANSFORMERS = {
    "reduction": ConvexReduction("chi2", n_dims=4),
    "reduction-map": ConvexReduction("chi2", n_dims=4, map=HomogeneousMap("chi2")),
    "reduction-convex": ConvexReduction("js", n_dims=4, method="convex", map=SparseAdditiveMap("js"), random_state=0),
    "homogeneous": HomogeneousMap("chi2"),
    "sparse": SparseMap("chi2", n_landmarks=20, random_state=0),
    "sparse-additive": SparseAdditiveMap("intersection", n_points=6),
    "minhash": WeightedMinHash(n_hashes=16, random_state=0),
    "entropy": SpectralEntropyWeighting(),
}


def wide(X):
    """CSR rows with 64-bit indices, as some of scipy's operations leave them."""
    X = sparse.csr_array(X)
    return sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


def data(rng):
    X = rng.random((60, 8)) * (rng.random((60, 8)) < 0.6)
    X[:, 0] += np.arange(60) % 2
    return X, np.arange(60) % 2


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_features_of_64_bit_rows_go_into_scikit_learn(name, rng):
    X, y = data(rng)
    Z = clone(TRANSFORMERS[name]).fit(wide(X)).transform(wide(X))
    assert sparse.issparse(Z)
    assert Z.indices.dtype == Z.indptr.dtype == np.int32
    for last in (LinearSVC(random_state=0), RandomForestClassifier(5, random_state=0)):
        model = make_pipeline(clone(TRANSFORMERS[name]), last).fit(wide(X), y)
        assert model.predict(wide(X)).shape == (60,)


def test_spectra_and_fingerprints_go_into_scikit_learn(rng):
    spectra = [np.column_stack([rng.random(5) * 99, rng.random(5)]) for _ in range(20)]
    made = [bin_spectra(spectra, bin_width=10.0, max_mz=100.0)]
    if sparse_fingerprints := fingerprints():
        made.append(sparse_fingerprints[0])
    for X in made:
        y = np.arange(X.shape[0]) % 2
        assert X.indices.dtype == X.indptr.dtype == np.int32
        LinearSVC(random_state=0).fit(X, y)
        RandomForestClassifier(5, random_state=0).fit(X, y)


def fingerprints():
    try:
        import rdkit  # noqa: F401
    except ImportError:
        return None
    return count_fingerprints(["CCO", "CCCCO", "c1ccccc1", "CCN"])


def test_indices_are_as_wide_as_sizes_demand():
    assert index_type(5, 2**31 - 1) == np.int32
    assert index_type(5, 2**31) == np.int64
    X = narrow(wide(np.eye(3)))
    assert X.indices.dtype == np.int32
    assert narrow(X) is X
    assert narrow(sparse.csr_array((1, 2**31), dtype="f8")).indices.dtype == np.int64
