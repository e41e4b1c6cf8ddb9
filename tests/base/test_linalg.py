"""Factorizations: the right answer, one answer, and an honest rank."""

import numpy as np
import pytest
from scipy import linalg

from mercer import thread_limit
from mercer._base.linalg import eigh_descending, fix_signs, positive_eigenpairs, rank_revealing_factor


@pytest.fixture
def low_rank(rng):
    """A Gram matrix of 40 rows and rank 6."""
    X = rng.normal(size=(40, 6))
    return X @ X.T


def test_eigenvalues_descend_and_rebuild_the_matrix(low_rank):
    values, vectors = eigh_descending(low_rank)
    assert np.all(np.diff(values) <= 0)
    np.testing.assert_allclose(vectors * values @ vectors.T, low_rank, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-12)


def test_the_largest_entry_of_every_eigenvector_is_positive(low_rank):
    _, vectors = eigh_descending(low_rank)
    assert np.all(vectors[np.abs(vectors).argmax(axis=0), np.arange(40)] > 0)
    flipped = vectors * np.random.default_rng(1).choice([-1, 1], size=40)
    np.testing.assert_array_equal(fix_signs(flipped), vectors)


def test_one_and_two_threads_give_the_same_bits(rng):
    X = rng.normal(size=(400, 300))
    A = X.T @ X
    with thread_limit(1):
        alone = eigh_descending(A)
    with thread_limit(2):
        together = eigh_descending(A)
    for left, right in zip(alone, together, strict=True):
        np.testing.assert_array_equal(left, right)


def test_the_factor_reveals_the_rank_and_rebuilds_the_matrix(low_rank):
    factor = rank_revealing_factor(low_rank)
    assert factor.shape == (6, 40)
    np.testing.assert_allclose(factor.T @ factor, low_rank, atol=1e-12)


def test_the_tolerance_says_what_counts_as_zero():
    K = np.diag([1.0, 1e-4, 1e-9, 0.0, -1e-3])
    assert positive_eigenpairs(K, rtol=1e-6)[0].tolist() == [1.0, 1e-4]
    assert len(positive_eigenpairs(K)[0]) == 3
    assert len(positive_eigenpairs(K.astype("f4"))[0]) == 2  # 5 spacings of float32 are 6e-7


@pytest.mark.parametrize("K", [np.zeros((3, 3)), -np.eye(3), np.zeros((0, 0))], ids=["zero", "negative", "empty"])
def test_a_matrix_without_positive_eigenvalues_has_rank_zero(K):
    assert rank_revealing_factor(K).shape == (0, len(K))


def test_a_driver_that_gives_up_is_replaced(monkeypatch):
    eigh = linalg.eigh

    def failing(A, driver):
        if driver == "evd":
            raise linalg.LinAlgError("The eigenvalue computation did not converge.")
        return eigh(A, driver=driver)

    monkeypatch.setattr(linalg, "eigh", failing)
    values, vectors = eigh_descending(np.diag([1.0, 3.0]))
    np.testing.assert_allclose(values, [3.0, 1.0])
    np.testing.assert_allclose(vectors, [[0.0, 1.0], [1.0, 0.0]])
