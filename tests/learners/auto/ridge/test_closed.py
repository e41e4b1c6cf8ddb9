"""All rows as landmarks: the landmark machine with as many landmarks, and the fits that really leave rows out."""

import numpy as np
import pytest

from mercer import RBF, Chi2, Laplacian
from mercer.learners.auto.ridge.closed import BLOCK_ROWS, FullRidge
from mercer.learners.auto.ridge.landmarks import LandmarkRidge

GROUPS = np.repeat(np.arange(10), [1, 7, 4, 4, 4, 4, 4, 4, 4, 4])


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(1.0), Chi2()], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_all_rows_as_landmarks_are_the_landmark_machine(kernel, groups, rng):
    X, targets, weights = rng.random((40, 5)), rng.normal(size=(40, 2)), rng.random(40) + 0.5
    full = FullRidge(kernel, X, weights, groups).fit(targets, 1e-3)
    expected = LandmarkRidge(kernel, X, X, weights, groups).fit(targets, 1e-3)
    np.testing.assert_allclose(full.left_out, expected.left_out, atol=1e-6)  # of the jitter of K_ZZ, 1e-11
    np.testing.assert_allclose(full.intercept, expected.intercept, atol=1e-6)
    np.testing.assert_allclose(kernel(X) @ full.coefficients, kernel(X) @ expected.coefficients, atol=1e-6)


def test_a_left_out_score_is_that_of_a_fit_without_the_row(rng):
    X, targets, weights, kernel = rng.random((30, 4)), rng.normal(size=(30, 2)), rng.random(30) + 0.5, RBF(2.0)
    found = FullRidge(kernel, X, weights).fit(targets, 1e-6)
    for i in (0, 11, 29):
        others = np.delete(np.arange(30), i)
        penalty = 1e-6 * weights.sum() / weights[others].sum()  # the same lambda
        alone = FullRidge(kernel, X[others], weights[others]).fit(targets[others], penalty)
        expected = kernel(X[[i]], X[others]) @ alone.coefficients + alone.intercept
        np.testing.assert_allclose(found.left_out[[i]], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_row_that_decides_its_own_score_does_not_vouch_for_itself(dtype, rng):
    X, y = rng.normal(size=(60, 3)).astype(dtype), rng.choice([-1.0, 1.0], (60, 1))
    for groups in (None, np.repeat(np.arange(30), 2)):
        found = FullRidge(RBF(100.0), X, np.ones(60), groups).fit(y, 1e-12)
        assert (np.sign(found.left_out) == y).mean() < 0.7


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_duplicated_and_constant_rows_do_not_break_the_factorization(dtype, rng):
    X = np.repeat(rng.random((5, 3)), 8, axis=0)
    for rows in (X, np.zeros((40, 3)), np.ones((40, 3))):
        found = FullRidge(RBF(1.0), rows.astype(dtype), np.ones(40)).fit(X[:, :1], 1e-20)
        assert np.isfinite(found.left_out).all()
        assert np.isfinite(found.coefficients).all()


def test_values_that_are_no_kernel_are_an_error_and_not_an_endless_loop(rng):
    ridge = FullRidge(RBF(1.0), rng.random((10, 2)), np.ones(10))
    ridge.gram[:] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
        ridge.fit(np.ones((10, 1)), 1e-3)


def test_threads_do_not_change_a_bit(rng):
    from mercer import thread_limit

    n = 2 * BLOCK_ROWS + 5
    X, y, found = rng.random((n, 3)).astype("f4"), rng.normal(size=(n, 2)), []
    for threads in (1, 2):
        with thread_limit(threads):
            found.append(FullRidge(Laplacian(1.0), X, np.ones(n)).fit(y, 1e-4))
    np.testing.assert_array_equal(found[0].left_out, found[1].left_out)
    np.testing.assert_array_equal(found[0].coefficients, found[1].coefficients)
