"""How blocks are computed must not show: storage, precision, threads, block position, extreme values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from mercer import thread_limit
from mercer.kernels import KERNELS, Chi2, Intersection, JensenShannon, Linear, PowerMean

ALL = [kernel() for kernel in KERNELS.values()]
HISTOGRAM = [Chi2(), Intersection(), JensenShannon(), PowerMean(-2), PowerMean(-0.2)]


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_dense_and_sparse_rows_give_the_same_matrix(rng, kernel, density):
    X, Y = (rng.random((n, 90)) * (rng.random((n, 90)) < density) for n in (50, 45))
    expected = kernel(X, Y)
    for left in (X, sparse.csr_matrix(X), sparse.coo_array(X)):
        for right in (Y, sparse.csr_array(Y)):
            np.testing.assert_allclose(kernel(left, right), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_float32_is_kept_and_close_to_float64(rng, kernel):
    X, Y = (rng.random((n, 70)) * (rng.random((n, 70)) < 0.6) for n in (40, 30))
    single = kernel(X.astype("f4"), Y.astype("f4"))
    assert single.dtype == np.float32
    assert kernel(X.astype("f4"), Y).dtype == np.float64
    assert kernel.distance(X.astype("f4")).dtype == kernel.diag(X.astype("f4")).dtype == np.float32
    np.testing.assert_allclose(single, kernel(X, Y), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_same_bits_on_one_and_two_threads(rng, kernel, storage):
    X, Y = (storage((rng.random((n, 33)) * (rng.random((n, 33)) < 0.5)).astype("f4")) for n in (400, 700))
    with thread_limit(1):
        alone = kernel(X, Y)
    with thread_limit(2):
        together = kernel(X, Y)
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(alone, kernel(X, Y, n_jobs=1))


@pytest.mark.parametrize("kernel", HISTOGRAM, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pair_has_the_same_bits_wherever_it_stands(rng, kernel, dtype):
    X, Y = (rng.random((n, 100)).astype(dtype) for n in (300, 500))
    whole = kernel(X, Y)
    np.testing.assert_array_equal(kernel(X[37:191], Y[5:444]), whole[37:191, 5:444])


@pytest.mark.parametrize(
    "kernel",
    [*HISTOGRAM, PowerMean(-1), Chi2(signed=True), Intersection(signed=True), Chi2().normalized()],
    ids=repr,
)
@pytest.mark.parametrize("filled", [0.2, 1.0])
def test_rows_that_stay_give_the_values_of_a_block_in_double_precision_too(rng, kernel, filled):
    X, Y = (rng.random((n, 33)) * (rng.random((n, 33)) < filled) for n in (5, 700))
    if getattr(kernel, "signed", False):
        X, Y = X - 0.3, Y - 0.3
    compare, expected = kernel.against(Y, np.float64), kernel(X, Y)
    for some in (X, X[2:3], sparse.csr_array(X)):
        found = compare(some)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected if some.shape[0] == 5 else expected[2:3], rtol=1e-12, atol=1e-13)
    far = X * 1e160
    np.testing.assert_allclose(compare(far), kernel(far, Y), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [*HISTOGRAM, PowerMean(-1), Chi2(signed=True), Intersection(signed=True), Chi2().normalized()],
    ids=repr,
)
@pytest.mark.parametrize("filled", [0.2, 1.0])
def test_rows_that_stay_give_the_values_of_a_block(rng, kernel, filled):
    X, Y = ((rng.random((n, 33)) * (rng.random((n, 33)) < filled)).astype("f4") for n in (5, 700))
    if getattr(kernel, "signed", False):
        X, Y = X - np.float32(0.3), Y - np.float32(0.3)
    compare, expected = kernel.against(Y), kernel(X, Y)
    for some in (X, X[2:3], X.astype(float), sparse.csr_array(X)):
        wanted = expected if some.shape[0] == 5 else expected[2:3]
        np.testing.assert_allclose(compare(some), wanted, rtol=2e-5, atol=1e-6)
    out = np.empty_like(expected)
    assert compare(X, out) is out
    np.testing.assert_array_equal(out, compare(X))
    far = X * np.float32(1e25)  # beyond what products in single precision hold
    np.testing.assert_allclose(compare(far), kernel(far, Y), rtol=2e-5)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_top_k_is_the_sorted_matrix(rng, kernel, monkeypatch):
    monkeypatch.setattr("mercer.kernels.base.TOP_K_COLUMNS", 16)
    X = rng.integers(0, 3, (20, 4)).astype(float)  # many equal rows, hence many ties
    Y = rng.integers(0, 3, (50, 4)).astype(float)
    K = kernel(X, Y)
    scores, indices = kernel.top_k(X, Y, k=7)
    order = np.argsort(-K, axis=1, kind="stable")[:, :7]
    np.testing.assert_allclose(scores, np.take_along_axis(K, order, axis=1))
    if isinstance(kernel, (Chi2, Intersection)):  # sums without rounding differences between blocks
        np.testing.assert_array_equal(indices, order)
    assert kernel.top_k(X, Y, k=99)[0].shape == (20, 50)


def test_memory_of_top_k_stays_within_the_working_memory(rng):
    import tracemalloc

    from sklearn import config_context

    X, Y = rng.random((3000, 4), dtype="f4"), rng.random((9000, 4), dtype="f4")
    Intersection().top_k(X[:2], Y[:2], k=1)  # compiled before memory is counted
    with config_context(working_memory=4):
        tracemalloc.start()
        Intersection().top_k(X, Y, k=3)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 20 * 2**20 < X.shape[0] * Y.shape[0] * 4


FINITE = {
    np.float32: st.one_of(
        st.sampled_from(np.array([0, 1e-45, 1e-40, 1e-38, 1e-20, 1, 1e20, 1e37], dtype="f4").tolist()),
        st.floats(0, 2.0**122, width=32, allow_subnormal=True),
    ),
    np.float64: st.one_of(
        st.sampled_from([0.0, 5e-324, 1e-310, 1e-300, 1.0, 1e300, 1e307]),
        st.floats(0, 1e307, allow_subnormal=True),
    ),
}


def exact(kernel, x, y):
    """The scalar kernel in extended precision, where nothing of float64 over- or underflows."""
    x, y = np.asarray(x, dtype=np.longdouble), np.asarray(y, dtype=np.longdouble)
    return kernel.scalar(x, y)


@pytest.mark.parametrize("kernel", HISTOGRAM, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subnormal_and_huge_values_are_right(kernel, dtype):
    @settings(max_examples=60, deadline=None)
    @given(hnp.arrays(dtype, (3, 2), elements=FINITE[dtype]), hnp.arrays(dtype, (4, 2), elements=FINITE[dtype]))
    def check(X, Y):
        expected = exact(kernel, X[:, None], Y[None]).sum(-1)
        for left, right in ((X, Y), (sparse.csr_array(X), sparse.csr_array(Y))):
            got = kernel(left, right)
            assert np.isfinite(got).all()
            # A subnormal result, or ratio on the way to it, has no more digits than its spacing allows.
            np.testing.assert_allclose(
                got.astype(np.longdouble),
                expected,
                rtol=3e-5 if dtype == np.float32 else 1e-8,
                atol=8 * np.finfo(dtype).smallest_subnormal,
            )

    check()


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_all_zero_rows_are_never_nan(kernel):
    X = np.zeros((3, 5))
    Y = np.vstack([np.zeros(5), np.ones(5)])
    for left, right in ((X, Y), (sparse.csr_array(X), sparse.csr_array(Y)), (Y, X)):
        for block in (kernel(left, right), kernel.distance(left, right), kernel.normalized()(left, right)):
            assert np.isfinite(block).all()
    assert np.isfinite(kernel.diag(X)).all()
    if kernel.homogeneity:
        assert not kernel.normalize(X).any()


def test_linear_kernels_of_sparse_rows_are_dense_arrays():
    K = Linear()(sparse.eye_array(3, format="csr"))
    assert type(K) is np.ndarray
