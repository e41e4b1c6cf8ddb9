"""The loops on a Gram matrix against their twins."""

import numpy as np
import pytest

from mercer._native.learners.descent import gram as loops
from tests.reference.learners.descent import gram as twins

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
N = 43  # no multiple of the numbers that are looked at together


def make(rng, dtype, bend):
    X = rng.standard_normal((N, 5))
    X[7] = X[3]  # two rows without a determinant
    K = (X @ X.T).astype(dtype)
    t = rng.choice([-1.0, 1.0], N)
    t[[3, 7]] = -1.0, 1.0  # of the same side, roundings would say which of them moves
    upper, lower = np.where(t > 0, 2.0, 0.0), np.where(t < 0, -2.0, 0.0)
    upper[5] = lower[5] = 0.0  # takes no part
    bends, constant = np.full(N, bend), 0.5
    b = rng.uniform(lower, upper)
    h = K.diagonal().astype(np.float64) + constant + bends
    g = (K.astype(np.float64) + constant) @ b + bends * b - t
    return K, constant, bends, h, lower, upper, b, g


@dtypes
@pytest.mark.parametrize("bend", [0.0, 0.25])
@pytest.mark.parametrize("most", [9, 10_000])
def test_steps_of_two_rows(rng, dtype, bend, most):
    *problem, b, g = make(rng, dtype, bend)
    found = []
    for module in (loops, twins):
        own, gradient = b.copy(), g.copy()
        # below 1e-9, roundings decide which row is next
        count = module.descend_gram(*problem, 1e-9, most, own, gradient, np.empty(N))
        found.append((count, own, gradient))
    assert found[0][0] == found[1][0] > 8
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-7, atol=1e-7)
    assert (found[0][1] >= problem[4]).all()
    assert (found[0][1] <= problem[5]).all()


@pytest.mark.parametrize("size", [4, 20, 100])
@pytest.mark.parametrize("sign", [1.0, 0.0])
def test_rows_of_the_next_round(rng, size, sign):
    _, _, bends, h, lower, upper, b, g = make(rng, np.float64, 0.25)
    b[10:20], b[20:30] = lower[10:20], upper[20:30]
    slopes, gradient = (np.empty((2, N)) for _ in range(2))
    for module, of_slopes, of_gradient in zip((loops, twins), slopes, gradient, strict=True):
        module.slopes_of(sign * g, np.zeros(N), 0 * bends, h, b, of_gradient, of_slopes)
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-12)
    before, mine, theirs = np.arange(0, N, 3), np.full(N, -1), np.full(N, -1)
    count = loops.choose_rows(slopes[0], lower, upper, b, before, size, mine)
    assert count == twins.choose_rows(slopes[0], lower, upper, b, before, size, theirs)
    np.testing.assert_array_equal(mine, theirs)
    assert (count > 0) == (sign > 0)
    assert count <= size


@dtypes
@pytest.mark.parametrize("count", [0, 1, 6, 7])
def test_sums_of_rows_and_their_products(rng, dtype, count):
    K = rng.standard_normal((9, 5000)).astype(dtype)  # more columns than stay in the cache
    rows, steps = rng.permutation(9)[:count], rng.standard_normal(count)
    mine = rng.standard_normal(4980)
    theirs = mine.copy()
    loops.add_rows(K, rows, steps, 10, mine)
    twins.add_rows(K, rows, steps, 10, theirs)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    columns = rng.integers(5000, size=11)
    mine, theirs = np.empty((count, 11), dtype), np.empty((count, 11), dtype)
    loops.gather(K, rows, columns, mine)
    twins.gather(K, rows, columns, theirs)
    np.testing.assert_array_equal(mine, theirs)
