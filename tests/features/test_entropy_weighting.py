"""Entropy weighting: against a naive loop, and what scikit-learn's users do with it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from mercer import InputError, JensenShannon, KernelClassifier, SpectralEntropyWeighting, load, save


def weighted_by_hand(row):
    """One spectrum, by the words of the paper: power 0.25 + 0.25 S where S < 3."""
    total = sum(row)
    if not total:
        return row
    shares = [value / total for value in row]
    entropy = -sum(share * np.log(share) for share in shares if share)
    power = 0.25 + 0.25 * entropy if entropy < 3 else 1.0
    raised = [share**power if share else 0.0 for share in shares]
    return [value / sum(raised) for value in raised]


def spectra(rng):
    """Few peaks, many peaks (entropy above 3), no peak."""
    few = rng.random((5, 60)) * (rng.random((5, 60)) < 0.1)
    many = rng.random((3, 60)) + 0.5
    return np.vstack([few, many, np.zeros((1, 60))])


def test_weights_are_those_of_the_paper(rng):
    X = spectra(rng)
    expected = np.array([weighted_by_hand(row) for row in X])
    found = SpectralEntropyWeighting().fit_transform(X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(found[5:8], X[5:8] / X[5:8].sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(SpectralEntropyWeighting().fit_transform(7 * X), found, rtol=1e-12)


def test_sparse_rows_are_weighted_like_dense_ones_and_float32_stays(rng):
    X = spectra(rng).astype(np.float32)
    rows = sparse.csr_array(X)
    before = rows.data.copy()
    found = SpectralEntropyWeighting().fit(rows).transform(rows)
    assert (found.dtype, found.nnz) == (np.float32, rows.nnz)
    np.testing.assert_allclose(found.toarray(), SpectralEntropyWeighting().fit_transform(X), rtol=1e-6)
    np.testing.assert_array_equal(rows.data, before)


def test_jensen_shannon_of_weighted_rows_is_the_entropy_similarity_of_ms_entropy(rng):
    ms_entropy = pytest.importorskip("ms_entropy")
    X = spectra(rng)[:5]
    K = JensenShannon()(SpectralEntropyWeighting().fit_transform(X))
    peaks = [np.column_stack([100.0 + np.flatnonzero(row), row[row > 0]]).astype(np.float32) for row in X]
    for i in range(5):
        for j in range(5):
            expected = ms_entropy.calculate_entropy_similarity(
                peaks[i], peaks[j], ms2_tolerance_in_da=0.02, clean_spectra=True, noise_threshold=0.0
            )
            assert K[i, j] == pytest.approx(expected, abs=1e-5)  # it computes in single precision


def test_it_stands_in_pipelines_and_model_files(rng, tmp_path):
    X, y = spectra(rng)[:8], [0, 0, 0, 0, 0, 1, 1, 1]
    model = make_pipeline(SpectralEntropyWeighting(), KernelClassifier("jensen-shannon", C=10.0)).fit(X, y)
    assert model.score(X, y) == 1
    save(model[0], tmp_path / "weighting.mercer")
    again = load(tmp_path / "weighting.mercer")
    np.testing.assert_array_equal(again.transform(X), model[0].transform(X))


def test_what_cannot_be_weighted_is_refused():
    with pytest.raises(InputError, match=r"Negative values.*X\[1, 0\] is -2"):
        SpectralEntropyWeighting().fit([[1.0, 2.0], [-2.0, 1.0]])
    for cutoff in (0, -1.0, np.inf, "3"):
        with pytest.raises(InputError, match="cutoff above 0"):
            SpectralEntropyWeighting(cutoff).fit([[1.0]])
