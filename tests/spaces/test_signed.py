"""The inner product of signed words against its full matrix."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError
from mercer.spaces import CodeRows, DenseRows, as_rows
from mercer.spaces.signed import SignedWords

BLOCKS, WORDS = 5, 6


@pytest.fixture
def inner():
    return SignedWords(BLOCKS, WORDS)


@pytest.fixture
def H():
    one = np.kron([[1, -1], [-1, 1]], np.eye(WORDS // 2))
    return np.kron(np.eye(BLOCKS), one) / BLOCKS


def storages(rng):
    codes = rng.integers(0, WORDS, size=(9, BLOCKS)).astype(np.uint8)
    X = rng.normal(size=(9, BLOCKS * WORDS)) * (rng.random((9, BLOCKS * WORDS)) < 0.5)
    return [CodeRows(codes, WORDS), as_rows(sparse.csr_array(X)), DenseRows(X)]


def test_every_operation_is_that_of_the_matrix(inner, H, rng):
    D, r = BLOCKS * WORDS, BLOCKS * WORDS // 2
    assert (inner.n_features, inner.n_factors) == (D, r)
    np.testing.assert_allclose(inner.matrix(), H, atol=1e-15)
    a, u = rng.normal(size=(D, 3)), rng.normal(size=(r, 3))
    np.testing.assert_allclose(inner.lift(inner.project(a)), H @ a)
    np.testing.assert_allclose((inner.project(a) * u).sum(), (a * inner.lift(u)).sum())
    np.testing.assert_allclose(inner.project(a[:, 0]), inner.project(a)[:, 0])
    for rows in storages(rng):
        phi = rows.toarray()
        np.testing.assert_allclose(inner.gram(rows), phi @ H @ phi.T, atol=1e-12)
        np.testing.assert_allclose(inner.gram(rows, rows.take(slice(2, 5))), phi @ H @ phi[2:5].T, atol=1e-12)
        np.testing.assert_allclose(inner.row_norms(rows), np.diag(phi @ H @ phi.T), atol=1e-12)
        factors = inner.factor_rows(rows)
        if factors is not None:
            np.testing.assert_allclose(factors.toarray(), inner.project(phi.T).T, atol=1e-12)
        v, w = rng.normal(size=D), rng.normal(size=(D, 2))
        expected, expected_2 = v + 0.7 * H @ phi[4], w + np.outer(H @ phi[4], [2.0, -1.0])
        inner.add_row(v, rows, 4, 0.7)
        inner.add_row(w, rows, 4, np.array([2.0, -1.0]))
        np.testing.assert_allclose(v, expected)
        np.testing.assert_allclose(w, expected_2)


@pytest.mark.parametrize("sizes", [(0, 4), (3, 5), (3, 0), (3.0, 4)])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(InputError, match="SignedWords needs"):
        SignedWords(*sizes)
