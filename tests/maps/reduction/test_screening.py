"""Screened columns against all of them: the same optimum, without the matrix of all products."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, thread_limit
from mercer.kernels import Chi2, Hellinger, Intersection, Linear
from mercer.maps.reduction import screening
from mercer.maps.reduction.lasso_path import LassoPath
from mercer.maps.reduction.nonnegative import largest_penalty
from mercer.maps.reduction.pair_moments import kernel_moments
from mercer.maps.reduction.screening import screened_moments


@pytest.fixture
def X(rng):
    """Columns of ten shapes and some noise, many of them 0."""
    shapes = rng.random((40, 10))[:, np.arange(120) % 10] * rng.gamma(0.5, size=120)
    return (shapes + 0.3 * rng.random((40, 120))) * (rng.random((40, 120)) < 0.6)


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    monkeypatch.setattr(screening, "LEAST", 8)
    monkeypatch.setattr(screening, "ROWS", 7)
    monkeypatch.setattr(screening, "PAIRS", 64)


CASES = [
    (Linear(), np.asarray, "all"), (Linear(), sparse.csr_array, "all"), (Hellinger(), np.asarray, "auto"),
    (Hellinger(), sparse.csr_array, "uniform"), (Chi2(), np.asarray, "uniform"), (Chi2(), sparse.csr_array, "uniform"),
    (Intersection(), np.asarray, "informative"),
]  # fmt: skip


def both(kernel, kind, which, X):
    """(moments of all columns, screened ones) of the same pairs."""
    return [make(kernel, kind(X), which, 500, np.random.RandomState(0)) for make in (kernel_moments, screened_moments)]


@pytest.mark.parametrize(("kernel", "kind", "which"), CASES)
def test_the_optimum_is_that_of_all_columns(kernel, kind, which, X):
    whole, screened = both(kernel, kind, which, X)
    np.testing.assert_allclose(screened.q, whole.q, rtol=1e-9)
    assert [screened.square, screened.mean] == pytest.approx([whole.square, whole.mean])
    start = None
    for share in (0.5, 0.1, 0.02):
        penalty = share * largest_penalty(whole.q)
        expected, start = whole.minimizer(penalty), screened.minimizer(penalty, start)
        np.testing.assert_allclose(start, expected, rtol=1e-6, atol=1e-9 * expected.max())
        assert screened.error(start) == pytest.approx(whole.error(expected))
    at = np.flatnonzero(start)
    np.testing.assert_allclose(screened.refitted(at, start[at]), whole.refitted(at, expected[at]), rtol=1e-6)
    assert screened.passes < 15


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_path_takes_the_columns_that_it_takes_of_all(kind, X):
    (c, alpha), (other, other_alpha) = (LassoPath(moments).of_size(25) for moments in both(Linear(), kind, "all", X))
    np.testing.assert_array_equal(np.flatnonzero(c), np.flatnonzero(other))
    assert alpha == pytest.approx(other_alpha, rel=1e-6)


def test_threads_do_not_change_a_bit(X):
    for kernel, kind, which in CASES:
        found = []
        for n_threads in (1, 2):
            with thread_limit(n_threads):
                found.append(both(kernel, kind, which, X)[1].minimizer(1e-4))
        np.testing.assert_array_equal(*found)


def test_a_sparse_design_that_is_large_is_not_kept(X, monkeypatch):
    expected = both(Chi2(), sparse.csr_array, "uniform", X)[1].minimizer(1e-4)
    monkeypatch.setattr(screening, "KEPT_VALUES", 100)
    np.testing.assert_allclose(both(Chi2(), sparse.csr_array, "uniform", X)[1].minimizer(1e-4), expected, rtol=1e-6)


def test_more_candidates_than_can_be_compared_are_refused(X, monkeypatch):
    monkeypatch.setattr(screening, "MOST", 20)
    with pytest.raises(InputError, match="more than 20 would have to be compared"):
        both(Linear(), np.asarray, "all", X)[1].minimizer(0.0)
