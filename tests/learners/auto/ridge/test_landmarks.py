"""Left-out scores in closed form: those of fits that really leave rows out."""

import numpy as np
import pytest

from mercer import RBF, Chi2, Linear
from mercer.learners.auto.ridge.landmarks import BLOCK_ROWS, LandmarkRidge, stable_cholesky

PENALTY = 1e-3


def _fit(kernel, X, Z, targets, weights):
    return LandmarkRidge(kernel, X, Z, weights).fit(targets, PENALTY * 40 / weights.sum())  # the same lambda for all


@pytest.mark.parametrize("kernel", [RBF(0.5), Chi2(), Linear()], ids=lambda kernel: kernel.name)
def test_a_left_out_score_is_that_of_a_fit_without_the_row(kernel, rng):
    X, Z = rng.random((40, 5)), rng.random((12, 5))
    targets, weights = rng.normal(size=(40, 2)), rng.random(40) + 0.5
    found = _fit(kernel, X, Z, targets, weights)
    for i in (0, 17, 39):
        others = np.delete(np.arange(40), i)
        alone = _fit(kernel, X[others], Z, targets[others], weights[others])
        expected = kernel(X[[i]], Z) @ alone.coefficients + alone.intercept
        np.testing.assert_allclose(found.left_out[[i]], expected, rtol=1e-6)  # of the jitter of K_ZZ, 1e-11


def test_the_rows_of_a_group_are_left_out_together(rng):
    X, Z, targets = rng.random((40, 5)), rng.random((12, 5)), rng.normal(size=(40, 2))
    weights, groups = rng.random(40) + 0.5, np.repeat(np.arange(10), [1, 7, 4, 4, 4, 4, 4, 4, 4, 4])
    kernel = RBF(0.5)
    found = LandmarkRidge(kernel, X, Z, weights, groups).fit(targets, PENALTY * 40 / weights.sum())
    for group in (0, 1, 5):
        own, others = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        alone = _fit(kernel, X[others], Z, targets[others], weights[others])
        expected = kernel(X[own], Z) @ alone.coefficients + alone.intercept
        np.testing.assert_allclose(found.left_out[own], expected, rtol=1e-6)


def test_a_row_that_decides_its_own_score_does_not_vouch_for_itself(rng):
    X, y = rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], (60, 1))
    for dtype in ("f4", "f8"):  # every row is a landmark, none is near another, and nothing is penalized
        found = LandmarkRidge(RBF(100.0), X.astype(dtype), X.astype(dtype), np.ones(60)).fit(y, 1e-12)
        assert (np.sign(found.left_out) == y).mean() < 0.7
        pairs = np.repeat(np.arange(30), 2)
        double = LandmarkRidge(RBF(100.0), X.astype(dtype), X.astype(dtype), np.ones(60), pairs).fit(y, 1e-12)
        assert (np.sign(double.left_out) == y).mean() < 0.7


def test_the_solution_minimizes_the_objective(rng):
    X, Z, y, weights = rng.random((30, 4)), rng.random((6, 4)), rng.normal(size=(30, 1)), rng.random(30) + 0.1
    kernel, ridge = RBF(1.0), None
    ridge = LandmarkRidge(kernel, X, Z, weights)
    found = ridge.fit(y, PENALTY)
    lam, K, Kzz = PENALTY * weights.sum(), kernel(X, Z), kernel(Z)

    def objective(a, b):
        return weights @ np.square(y - K @ a - b)[:, 0] + lam * float((a.T @ Kzz @ a)[0, 0])

    best = objective(found.coefficients, found.intercept)
    for _ in range(20):
        assert objective(found.coefficients + 1e-3 * rng.normal(size=(6, 1)), found.intercept) > best
    assert objective(found.coefficients, found.intercept + 1e-3) > best


def test_a_weight_of_two_is_a_row_twice(rng):
    X, Z, y = rng.random((20, 3)), rng.random((8, 3)), rng.normal(size=(20, 1))
    twice = np.repeat(np.arange(20), np.where(np.arange(20) < 5, 2, 1))
    weighted = LandmarkRidge(RBF(1.0), X, Z, np.where(np.arange(20) < 5, 2.0, 1.0)).fit(y, PENALTY)
    repeated = LandmarkRidge(RBF(1.0), X[twice], Z, np.ones(25)).fit(y[twice], PENALTY)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-7)


def test_threads_do_not_change_a_bit(rng):
    from mercer import thread_limit

    X, y = rng.random((2 * BLOCK_ROWS + 5, 3)).astype("f4"), rng.normal(size=(2 * BLOCK_ROWS + 5, 1))
    found = []
    for threads in (1, 2):
        with thread_limit(threads):
            found.append(LandmarkRidge(RBF(1.0), X, X[:50], np.ones(len(X))).fit(y, PENALTY))
    np.testing.assert_array_equal(found[0].left_out, found[1].left_out)
    np.testing.assert_array_equal(found[0].coefficients, found[1].coefficients)


def test_duplicated_landmarks_and_constant_rows_do_not_break_the_factorization(rng):
    X = np.repeat(rng.random((5, 3)), 8, axis=0)
    for rows in (X, np.zeros((40, 3)), np.ones((40, 3))):
        for dtype in ("f4", "f8"):
            found = LandmarkRidge(RBF(1.0), rows.astype(dtype), rows.astype(dtype), np.ones(40)).fit(X[:, :1], 1e-9)
            assert np.isfinite(found.left_out).all()
            assert np.isfinite(found.coefficients).all()


def test_a_matrix_that_is_not_even_nearly_positive_definite_is_an_error():
    with pytest.raises(np.linalg.LinAlgError):
        stable_cholesky(np.array([[1.0, 0.0], [0.0, -5.0]]))
