"""Non-negative least squares with a penalty: the optimum, by its conditions and by other solvers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.linear_model import lars_path_gram

from mercer import thread_limit
from mercer.maps.reduction.nonnegative import largest_penalty, solve_nonnegative


def moments(rng, n, D, rank=None):
    design = np.abs(rng.normal(size=(n, rank or D)))
    if rank:
        design = design @ rng.random((rank, D))
    target = design @ rng.normal(size=D) + rng.normal(size=n)
    return design, target, design.T @ design, design.T @ target


def check_optimality(G, q, penalty, c):
    """c >= 0; the gradient 2 (Gc - q) + penalty is 0 where c > 0 and >= 0 where c = 0."""
    gradient = 2 * (G @ c - q) + penalty
    scale = np.abs(q).max()
    assert (c >= 0).all()
    assert np.abs(gradient[c > 0]).max(initial=0.0) < 1e-8 * scale
    assert gradient.min(initial=0.0) > -1e-8 * scale


@given(st.integers(1, 40), st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**16))
def test_the_conditions_of_the_optimum_hold(n, D, share, seed):
    _, _, G, q = moments(np.random.default_rng(seed), n, D)
    penalty = share * largest_penalty(q)
    check_optimality(G, q, penalty, solve_nonnegative(G, q, penalty))


def test_a_start_changes_the_way_but_not_the_optimum(rng):
    _, _, G, q = moments(rng, 200, 50)
    cold = solve_nonnegative(G, q, 0.01 * largest_penalty(q))
    for start in (np.ones(50), rng.integers(0, 2, 50)):
        np.testing.assert_allclose(solve_nonnegative(G, q, 0.01 * largest_penalty(q), start), cold, atol=1e-9)


def test_lars_comes_to_the_same_weights(rng):
    _, _, G, q = moments(rng, 300, 40)
    alphas, _, path = lars_path_gram(q, G, n_samples=1, method="lasso", positive=True)
    for k in range(0, len(alphas), 5):
        # there: c'Gc / 2 - q'c + alpha sum(c)
        np.testing.assert_allclose(solve_nonnegative(G, q, 2 * alphas[k]), path[:, k], atol=1e-7)


def test_without_penalty_it_is_non_negative_least_squares(rng):
    design, target, G, q = moments(rng, 100, 30)
    np.testing.assert_allclose(solve_nonnegative(G, q), nnls(design, target)[0], atol=1e-8)


def test_equal_columns_share_their_weight(rng):
    design, target, _, _ = moments(rng, 80, 5)
    design = np.hstack([design, design[:, :1]])
    c = solve_nonnegative(design.T @ design, design.T @ target)
    assert c[0] == pytest.approx(c[5], rel=1e-3)


def test_no_weight_is_left_from_the_largest_penalty_on(rng):
    _, _, G, q = moments(rng, 50, 10)
    assert not solve_nonnegative(G, q, largest_penalty(q)).any()
    assert solve_nonnegative(G, q, 0.999 * largest_penalty(q)).any()
    assert not solve_nonnegative(G, -np.abs(q)).any()


def test_columns_of_low_rank_are_solved_all_the_same(rng):
    _, _, G, q = moments(rng, 60, 40, rank=7)
    c = solve_nonnegative(G, q, 1e-3 * largest_penalty(q))
    check_optimality(G, q, 1e-3 * largest_penalty(q), c)


def test_threads_do_not_change_a_bit(rng):
    _, _, G, q = moments(rng, 600, 300)
    found = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            found.append(solve_nonnegative(G, q, 0.01))
    np.testing.assert_array_equal(*found)
