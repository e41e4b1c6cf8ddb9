"""Rows compared with landmarks in every pass, and their inner product, against the matrices that are never formed."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from mercer import Chi2, Laplacian, thread_limit
from mercer._base import cholesky
from mercer.kernels import RBF
from mercer.spaces import Design
from mercer.spaces.landmarks import inner as _inner
from mercer.spaces.landmarks import rows as _rows
from mercer.spaces.landmarks.inner import LandmarkProduct
from mercer.spaces.landmarks.rows import LandmarkRows, Landmarks
from mercer.spaces.stored import store_rows

N, M = 1500, 70


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Several blocks in a part, and several tiles in a factor."""
    monkeypatch.setattr(_rows, "BLOCK_VALUES", 2**10)
    monkeypatch.setattr(_rows, "MOST_BLOCK_ROWS", 64)
    monkeypatch.setattr(cholesky, "TILE", 32)


def make(kernel=None, storage=np.asarray, kept_bytes=0, dtype=np.float32):
    rng = np.random.default_rng(0)
    X = storage((rng.random((N, 6)) * (rng.random((N, 6)) < 0.7)).astype(dtype))
    kernel = RBF(2.0) if kernel is None else kernel
    return LandmarkRows(X, Landmarks.of(kernel, X[:M]), kept_bytes=kept_bytes), kernel(X, X[:M])


@pytest.mark.parametrize("kernel", [RBF(2.0), Laplacian(0.5), Chi2()], ids=repr)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_the_kernel_matrix(kernel, storage, dtype, rng):
    rows, K = make(kernel, storage, dtype=dtype)
    v, r = rng.standard_normal((M, 3)), rng.standard_normal((N, 3))
    atol = 2e-3  # of sums of 1,500 values of size 1 in single precision, with what is promised of each
    np.testing.assert_allclose(rows.toarray(), K, atol=1e-4)
    np.testing.assert_allclose(rows.scores(v), K @ v, atol=atol)
    np.testing.assert_allclose(rows.scores(v[:, 0]), K @ v[:, 0], atol=atol)
    np.testing.assert_allclose(rows.accumulate(r), K.T @ r, atol=10 * atol)
    scores, sums = rows.through(v, np.array([1.0, 0.0, -1.0]), np.abs(r))
    np.testing.assert_allclose(scores, K @ v + [1.0, 0.0, -1.0], atol=atol)
    np.testing.assert_allclose(sums, K.T @ (np.abs(r) * scores), rtol=1e-4, atol=10 * atol)
    np.testing.assert_allclose(rows.squared_norms(None), (K.astype(float) ** 2).sum(axis=1), rtol=1e-3)
    columns, values = rows.entries(-1)
    np.testing.assert_allclose(values, K[-1, columns], atol=1e-4)


def test_threads_and_kept_values_change_no_bit(rng):
    v, r = rng.standard_normal((M, 3)), rng.standard_normal((N, 3))
    found = []
    for kept_bytes, n_threads in ((0, 1), (0, 2), (4 * M * 700, 2), (2**30, 1)):
        rows, _ = make(kept_bytes=kept_bytes)
        with thread_limit(n_threads):
            first = rows.through(v, np.zeros(3), r)
            again = rows.through(v, np.zeros(3), r)  # from what was kept
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)
        found.append((*first, rows.accumulate(r)))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_matrix_is_never_there(rng):
    X = rng.random((20_000, 4), dtype=np.float32)
    rows = LandmarkRows(X, Landmarks.of(RBF(2.0), X[:1000]), kept_bytes=0)
    v, weights = rng.random((1000, 2)), np.ones((20_000, 2), dtype=np.float32)
    tracemalloc.start()
    with thread_limit(2):
        rows.through(v, np.zeros(2), weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 20_000 * 1000 / 20


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_rows_are_taken_joined_stored_and_sent(storage, tmp_path):
    rows, _ = make(storage=storage)
    K = rows.toarray()
    np.testing.assert_array_equal(rows.take(slice(10, 30)).toarray(), K[10:30])
    parts = [part for part, _ in rows.blocks(400)]
    np.testing.assert_array_equal(parts[0].followed_by(parts[1:]).toarray(), K)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows)).toarray(), K)
    np.testing.assert_array_equal(store_rows(iter(parts), N, tmp_path).toarray(), K)


# ------------------------------------------------------------------------------------------------------- inner product


@pytest.mark.parametrize("most_double", [0, 4096], ids=["float32", "float64"])
def test_the_inner_product_is_the_inverse_of_the_landmarks_matrix(monkeypatch, rng, most_double):
    monkeypatch.setattr(_inner, "MOST_DOUBLE", most_double)
    Z = 3 * rng.random((M, 6))
    K, product = RBF(2.0)(Z), LandmarkProduct(RBF(2.0), Z)
    rtol = 1e-3 if most_double == 0 else 1e-9
    H = np.linalg.inv(K + product.jitter * np.eye(M))
    np.testing.assert_allclose(product.matrix(), H, atol=rtol * np.abs(H).max())
    assert product.jitter == pytest.approx(1e-8 * M)
    squared = np.tril(product.squared_factor())
    L = np.tril(product.factor)
    np.testing.assert_allclose(squared, np.tril(L.T @ L), atol=1e-5)


def test_landmarks_that_are_equal_do_no_harm(rng):
    Z = np.repeat(rng.random((20, 3)), 4, axis=0)
    rows = LandmarkRows(Z, Landmarks.of(RBF(1.0), Z))
    gram = LandmarkProduct(RBF(1.0), Z).gram(rows)
    np.testing.assert_allclose(gram, RBF(1.0)(Z), atol=1e-4)


def test_more_is_added_until_a_matrix_can_be_factored():
    indefinite = np.diag([1.0, 2.0, -0.01])
    L, jitter = cholesky.factor_gram(indefinite.copy)
    assert 0.01 < jitter <= 0.1
    np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, indefinite + jitter * np.eye(3), atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky.factor_gram(lambda: np.full((3, 3), np.nan))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_have_the_same_bits_on_any_number_of_threads(dtype, rng):
    A = rng.standard_normal((200, 200)).astype(dtype)
    A = A @ A.T + 10 * np.eye(200, dtype=dtype)
    found = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            L = cholesky.cholesky_in_place(A.copy())
            found.append((np.tril(L), np.tril(cholesky.transposed_square(L)), cholesky.solve_lower(L, A[:, :3])))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    L = found[0][0]
    np.testing.assert_allclose(L @ L.T, A, rtol=0, atol=np.finfo(dtype).eps * 2e4)  # 200 products, size 250
    b = rng.standard_normal((200, 2))
    np.testing.assert_allclose(cholesky.multiply_lower_transposed(L, b), L.T @ b, atol=1e-4)
    np.testing.assert_allclose(L.T @ cholesky.solve_lower_transposed(L, b), b, atol=1e-3)


def test_a_pass_through_a_design_is_scores_and_their_return(rng):
    rows, _ = make()
    design = Design(rows, LandmarkProduct(RBF(2.0), rows.landmarks.Z))
    u, weights = rng.standard_normal((M, 2)), rng.random((N, 2)).astype(np.float32)
    scores, sums = design.through(u, np.array([0.5, 0.0]), weights)
    np.testing.assert_allclose(scores, design.scores(u) + np.array([0.5, 0.0]), atol=1e-4)
    np.testing.assert_allclose(sums, design.accumulate(weights * scores), atol=1e-3 * np.abs(sums).max())
