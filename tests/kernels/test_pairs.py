"""Final scores of pairs: kernel values that depend on the two rows alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from mercer.kernels import KERNELS, Chi2, Exponential, Intersection, JensenShannon, Linear, PowerMean, get_kernel
from mercer.kernels.additive import HistogramKernel

EXTRA = {
    "power-mean-0": PowerMean(p=0),
    "power-mean-1": PowerMean(p=-1),
    "power-mean-inf": PowerMean(p=-np.inf),
    "chi2-signed": Chi2(signed=True),
    "js-signed": JensenShannon(signed=True),
    "exponential-chi2": Exponential(Chi2(), gamma=0.7),
    "sum": Chi2() + 0.25 * get_kernel("rbf"),
    "product": Intersection() * get_kernel("laplacian"),
    "normalized": Chi2().normalized(),
    "normalized-linear": Linear().normalized(),
    "callable": get_kernel(lambda X, Y: (1 + X @ Y.T) ** 2),
    "callable-rows": get_kernel(lambda x, y: float(min(x.sum(), y.sum())), rows=True),
}
CASES = {name: get_kernel(name) for name in KERNELS} | EXTRA
SPARSE = [name for name in CASES if not name.startswith("callable")]


def histograms(rng, n=24, d=19):
    """Rows with empty bins, an empty row, rows of other sizes and a row twice."""
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.6) * 10.0 ** rng.integers(-3, 2, (n, 1))
    X[3], X[7] = 0, X[8]
    return X


@pytest.mark.parametrize("name", CASES)
def test_pairs_are_the_diagonal_of_the_gram_matrix(name, rng):
    kernel, X, Y = CASES[name], histograms(rng), histograms(rng)
    Y[:5] = X[:5]
    gram = kernel(X, Y)
    # rounding of sums of 19 terms, and of distances as differences of norms: relative to the largest energies
    size = max(kernel.diag(X).max(), kernel.diag(Y).max())
    np.testing.assert_allclose(kernel.pair_values(X, Y), np.diag(gram), rtol=1e-11, atol=1e-13 * size)
    np.testing.assert_allclose(kernel.pair_values(X, X), kernel.diag(X), rtol=1e-11, atol=1e-13 * size)


@pytest.mark.parametrize("name", CASES)
def test_a_value_has_the_same_bits_whatever_stands_around_its_rows(name, rng):
    kernel, X, Y = CASES[name], histograms(rng, 40), histograms(rng, 40)
    whole = kernel.pair_values(X, Y)
    for size in (1, 3, 8):  # with and without a whole register of neighbors
        parts = [kernel.pair_values(X[i : i + size].copy(), Y[i : i + size].copy()) for i in range(0, 40, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    order = rng.permutation(40)
    np.testing.assert_array_equal(kernel.pair_values(X[order], Y[order]), whole[order])


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_the_two_rows_does_not_matter(name, rng):
    kernel, X, Y = CASES[name], histograms(rng), histograms(rng)
    np.testing.assert_array_equal(kernel.pair_values(X, Y), kernel.pair_values(Y, X))


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows_have_the_values_of_dense_ones(name, rng):
    kernel, X, Y = CASES[name], histograms(rng, 40), histograms(rng, 40)
    left, right = sparse.csr_array(X), sparse.csr_array(Y)
    dense, found = kernel.pair_values(X, Y), kernel.pair_values(left, right)
    if isinstance(kernel, HistogramKernel) or name in ("linear", "generalized-intersection"):
        np.testing.assert_array_equal(found, dense)
    size = max(kernel.diag(X).max(), kernel.diag(Y).max())
    np.testing.assert_allclose(found, dense, rtol=1e-11, atol=1e-13 * size)
    np.testing.assert_array_equal(found[5:9], kernel.pair_values(left[5:9], right[5:9]))


@given(data=st.data())
def test_any_rows_of_any_kernel_agree_with_the_matrix(data):
    kernel = CASES[data.draw(st.sampled_from(sorted(set(CASES) - {"callable", "callable-rows"})))]
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=12))
    numbers = st.one_of(st.just(0.0), st.floats(2.0**-20, 2.0**20))
    X, Y = (data.draw(hnp.arrays(np.float64, shape, elements=numbers)) for _ in range(2))
    size = max(kernel.diag(X).max(), kernel.diag(Y).max())
    # distances are differences of norms up to 2^44: what cancels may be that times the rounding of float64
    atol = 1e-13 * size if kernel.homogeneity else 1e-15 * max(X.max() ** 2, Y.max() ** 2, 1.0) * X.size
    np.testing.assert_allclose(kernel.pair_values(X, Y), np.diag(kernel(X, Y)), rtol=1e-9, atol=max(atol, 1e-12))
    for i in range(len(X)):
        assert kernel.pair_values(X[[i]], Y[[i]])[0] == kernel.pair_values(X, Y)[i]
