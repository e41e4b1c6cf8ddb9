"""Sums over pairs of rows against their definition."""

import numpy as np
import pytest
from scipy import sparse

from mercer import thread_limit
from mercer.kernels import Chi2, Hellinger, Intersection, JensenShannon, Linear
from mercer.maps.reduction import pair_moments as _pair_moments
from mercer.maps.reduction.pair_moments import (
    all_pairs,
    design_moments,
    draw_pairs,
    pair_values,
    spread_pairs,
    weighted_values,
)


@pytest.fixture
def X(rng):
    return rng.random((30, 12)) * (rng.random((30, 12)) < 0.6)


def defined(kernel, X, pairs):
    """(design, values) pair by pair."""
    design = np.array([kernel.scalar(X[i], X[j]) for i, j in pairs.T])
    return design, np.array([kernel(X[i : i + 1], X[j : j + 1]).item() for i, j in pairs.T])


@pytest.mark.parametrize("kernel", [Linear(), Chi2(), Intersection(), JensenShannon(), Chi2() + Linear()], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_moments_are_means_over_pairs(kernel, kind, X):
    pairs = draw_pairs(30, 200, np.random.RandomState(0))
    design, values = defined(kernel, X, pairs)
    found = design_moments(kernel, kind(X), pairs, pair_values(kernel, kind(X), pairs))
    np.testing.assert_allclose(found.G, design.T @ design / 200, atol=1e-14)
    np.testing.assert_allclose(found.q, design.T @ values / 200, atol=1e-14)
    np.testing.assert_allclose(found.q, found.G.sum(axis=1), atol=1e-14)  # the kernel is the sum of its columns
    assert [found.square, found.mean] == pytest.approx([np.mean(values**2), values.mean()])
    c = np.linspace(0, 2, 12)
    np.testing.assert_allclose(weighted_values(kernel, kind(X), pairs, c), design @ c, atol=1e-14)
    assert found.error(c) == pytest.approx(np.sqrt(np.mean((values - design @ c) ** 2)) / values.mean())


@pytest.mark.parametrize("kernel", [Linear(), Hellinger(), Hellinger(signed=True)], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_closed_form_is_the_sum_over_all_pairs(kernel, kind, X, rng):
    if kernel != Hellinger():
        X = X * rng.choice([-1, 1], X.shape)
    pairs = np.array([(i, j) for i in range(30) for j in range(30) if i != j]).T
    design, values = defined(kernel, X, pairs)
    found = all_pairs(kernel, kind(X))
    np.testing.assert_allclose(found.G, design.T @ design / pairs.shape[1], atol=1e-14)
    np.testing.assert_allclose(found.q, design.T @ values / pairs.shape[1], atol=1e-14)
    assert [found.square, found.mean] == pytest.approx([np.mean(values**2), values.mean()])


def test_threads_do_not_change_a_bit_and_blocks_only_the_last(rng, monkeypatch):
    X = rng.random((50, 70)).astype("f4")
    pairs = draw_pairs(50, 5000, np.random.RandomState(0))
    monkeypatch.setattr(_pair_moments, "BLOCK_VALUES", 70 * 11)
    found = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            values = pair_values(Chi2(), X, pairs)
            found.append((values, design_moments(Chi2(), X, pairs, values), all_pairs(Linear(), X)))
    for one, other in zip(*found, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_array_equal(one.G, other.G)
            np.testing.assert_array_equal(one.q, other.q)
    monkeypatch.undo()
    np.testing.assert_allclose(design_moments(Chi2(), X, pairs, values).G, found[0][1].G, rtol=1e-12)


def test_pairs_are_of_different_rows_and_all_of_them_occur():
    pairs = draw_pairs(5, 1000, np.random.RandomState(0))
    assert (pairs[0] != pairs[1]).all()
    assert len(set(map(tuple, pairs.T))) == 20


def test_spread_pairs_have_more_values_of_the_rare_sizes(rng):
    X = rng.dirichlet(np.full(40, 0.1), size=200)
    X[:8] = X[0] + 0.01 * rng.random((8, 40))  # a few that are alike
    even = pair_values(Chi2(), X, draw_pairs(200, 2000, np.random.RandomState(0)))
    pairs = spread_pairs(Chi2(), X, 2000, np.random.RandomState(0))
    spread = pair_values(Chi2(), X, pairs)
    assert pairs.shape == (2, 2000)
    middle = (even.min() + even.max()) / 2
    assert np.mean(spread > middle) > 2 * np.mean(even > middle)
