"""Kernel values over the whole range of floats: right against extended precision, or refused by name."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import InputError
from mercer.kernels import RBF, BrayCurtis, Chi2, ExpChi2, Exponential, Intersection, Laplacian, Linear, MinMax
from tests.reference.longdouble import KERNELS, KINDS, STORAGES, compared, draw_rows, takes_signs, with_gamma

SCALES = {"d": [1e-300, 1e-160, 1e-30, 1.0, 1e8, 1e14, 1e30, 1e160, 1e300], "f": [1e-38, 1e-20, 1.0, 1e6, 1e12, 1e36]}
ORDINARY = {"d": (1e-100, 1e100), "f": (1e-12, 1e12)}  # scales at which nothing may be refused


def check(kernel, X, Y, storage, door, ordinary=False):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compared(kernel, X, Y, storage, door)
    if found is None:
        assert not ordinary, "refused, though every value is in range"
        return
    got, expected, allowed = found
    wrong = ~(abs(got.astype(np.longdouble) - expected) <= allowed)
    assert not wrong.any(), (storage, door, got[wrong], expected[wrong], allowed[wrong])


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("name", KERNELS)
def test_values_of_every_size_are_right_or_refused(name, dtype):
    rng = np.random.default_rng(21)
    for scale in SCALES[dtype]:
        for kind in KINDS:
            X, Y = draw_rows(rng, kind, scale, dtype, signs=takes_signs(KERNELS[name]) and kind != "near")
            low, high = ORDINARY[dtype]
            ordinary = kind != "mixed" and low <= scale <= high
            for kernel in {KERNELS[name], with_gamma(KERNELS[name], X, Y)}:
                for storage in STORAGES:
                    for door in ("gram", "pairs", "self"):
                        check(kernel, X, Y, storage, door, ordinary)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(KERNELS)), st.floats(-320, 307), st.sampled_from(KINDS))
def test_values_of_random_sizes_are_right_or_refused(seed, name, exponent, kind):
    rng = np.random.default_rng(seed)
    X, Y = draw_rows(rng, kind, 10.0**exponent, "d", n=3, d=int(rng.integers(1, 40)))
    for kernel in {KERNELS[name], with_gamma(KERNELS[name], X, Y)}:
        for storage in STORAGES:
            check(kernel, X, Y, storage, "gram")


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_near_rows_far_from_zero_are_told_apart(storage):
    X, Y = storage(np.array([[1e8, 0.0]])), storage(np.array([[1e8 + 1, 0.0], [1e8, 1e-9]]))
    np.testing.assert_allclose(RBF(1.0)(X, Y), [[np.exp(-1), 1.0]], rtol=1e-12)
    np.testing.assert_allclose(RBF(1.0).distance(X, Y), np.sqrt([[2 - 2 / np.e, 2e-18]]), rtol=1e-12)
    X, Y = storage(np.array([[1e15, 3.0]])), storage(np.array([[1e15 + 1, 3.0]]))
    np.testing.assert_allclose(Laplacian(1.0)(X, Y), [[np.exp(-1)]], rtol=1e-12)
    np.testing.assert_allclose(ExpChi2(1e15)(X, Y), [[np.exp(-1 / 2)]], rtol=1e-12)
    np.testing.assert_allclose(Linear().distance(X, Y), [[1.0]], rtol=1e-12)


def test_values_beyond_the_largest_number_are_refused_with_their_rows():
    X, Y = [[1.0, 2.0], [1e200, 0.0]], [[1.0, 1.0], [2.0, 3.0], [1e200, 1.0]]
    with pytest.raises(InputError, match=r"Linear: the value of row 1 of X and row 2 of Y exceeds .* Scale the rows"):
        Linear()(X, Y)
    with pytest.raises(InputError, match="Intersection: the value of row 0 of X and row 1 of Y exceeds the largest"):
        Intersection()([[1.5e308, 1.5e308]], [[1.0, 1.0], [1.5e308, 1.5e308]])
    with pytest.raises(InputError, match="exceeds the largest float32 number"):
        Linear()(np.array([[1e30]], dtype="f4"))
    with pytest.raises(InputError, match="Use a smaller gamma"):
        Exponential(Chi2().normalized(), gamma=1e9)([[1.0, 2.0]], [[1.0, 2.0000001]])


def test_rows_that_scaling_would_empty_are_not_taken_for_empty_ones():
    np.testing.assert_allclose(BrayCurtis()([[1e-310]], [[2e-310], [1.5e308], [0.0]]), [[2 / 3, 0, 0]], rtol=1e-12)
    np.testing.assert_allclose(MinMax()([[1.5e308, 1.5e308]], [[1.5e308, 0.0]]), [[0.5]], rtol=1e-12)
    with pytest.raises(
        InputError, match=r"NormalizedKernel: K.x, x. of row 1 of X is below the smallest normal number"
    ):
        Chi2().normalized()([[1.0], [5e-324]], [[1.5e308]])


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_single_precision_gaussians_keep_what_is_promised(rng, gamma, offset):
    """Far from zero, near each other and repeated; narrow kernels have pairs that the matrix product gets wrong."""
    X = (rng.random((150, 60)) + offset).astype(np.float32)
    Y = np.concatenate([X[:20], X[:20] + np.float32(0.01) * rng.standard_normal((20, 60)).astype(np.float32), X[100:]])
    exact = np.exp(-gamma * ((X[:, None].astype(np.float64) - Y) ** 2).sum(axis=2))
    np.testing.assert_allclose(RBF(gamma)(X, Y), exact, atol=1e-4)  # docs/kernels.md
    np.testing.assert_allclose(RBF(gamma).against(Y)(X), exact, atol=1e-4)
    np.testing.assert_allclose(RBF(gamma).against(Y.astype(float))(X.astype(float)), exact, atol=1e-4)
