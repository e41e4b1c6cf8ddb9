"""The loops over CSR rows against their twins."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.spaces import rows as loops
from tests.reference.spaces import rows as twins

N_ROWS, N_FEATURES = 12, 30
# sums of about 30 numbers of size 1, rounded once to the type of the result
TOLERANCE = {np.float32: 2e-6, np.float64: 1e-14}

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
n_classes = pytest.mark.parametrize("classes", [1, 3, 17])


def csr_rows(rng, dtype, index=np.int32):
    """Rows of 0 to 30 entries, so that groups of four, remainders and empty rows all occur."""
    share = np.linspace(0, 1, N_ROWS)[:, None]
    X = np.where(rng.random((N_ROWS, N_FEATURES)) < share, rng.standard_normal((N_ROWS, N_FEATURES)), 0)
    X = sparse.csr_array(X.astype(dtype))
    return X.indptr.astype(index), X.indices.astype(index), X.data


def compare(name, arguments, shape, dtype, start=0.0):
    """The loop and its twin, writing into arrays that both find filled with ``start``."""
    outs = [np.full(shape, start, dtype=dtype) for _ in range(2)]
    for module, out in zip((loops, twins), outs, strict=True):
        getattr(module, name)(*arguments, out)
    np.testing.assert_allclose(*outs, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])
    return outs[0]


@dtypes
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_scores_of_one_class(rng, dtype, index):
    v = rng.standard_normal(N_FEATURES).astype(dtype)
    out = compare("score_csr_vector", (*csr_rows(rng, dtype, index), v, 2, 11), N_ROWS, dtype, start=7.0)
    assert set(out[[0, 1, 11]]) == {7.0}, "rows outside the block were written"


@dtypes
@n_classes
def test_scores_of_many_classes(rng, dtype, classes):
    v = rng.standard_normal((N_FEATURES, classes)).astype(dtype)
    out = compare("score_csr_matrix", (*csr_rows(rng, dtype), v, 2, 11), (N_ROWS, classes), dtype, start=7.0)
    assert np.unique(out[[0, 1, 11]]) == 7.0, "rows outside the block were written"


@dtypes
def test_sums_of_one_class_are_added_to_what_is_there(rng, dtype):
    r = rng.standard_normal(N_ROWS).astype(dtype)
    compare("accumulate_csr_vector", (*csr_rows(rng, dtype), r, 2, 11), N_FEATURES, np.float64, start=7.0)


@dtypes
@pytest.mark.parametrize(("classes", "width"), [(1, 1), (3, 3), (17, 17), (3, 4), (4, 4), (7, 8), (9, 12), (20, 20)])
@pytest.mark.parametrize("copies", [1, 9], ids=["few rows", "many rows"])
def test_sums_of_many_classes_are_added_to_what_is_there(rng, dtype, classes, width, copies):
    """Widths of fours and eights run as vectors; columns beyond the classes keep what they hold."""
    X = sparse.vstack([sparse.csr_array(csr_rows(rng, dtype)[::-1], shape=(N_ROWS, N_FEATURES))] * copies, format="csr")
    r = rng.standard_normal((X.shape[0], classes)).astype(dtype)
    arguments = (X.indptr, X.indices, X.data, r, 2, X.shape[0] - 1)
    out = compare("accumulate_csr_matrix", arguments, (N_FEATURES, width), np.float64, start=7.0)
    assert (out[:, classes:] == 7.0).all()


@dtypes
@pytest.mark.parametrize(("classes", "spread"), [(None, 20_000), (5, 200)])
def test_sums_that_no_cache_holds_are_the_same(rng, dtype, classes, spread):
    """Large totals are asked for ahead of their use."""
    indptr, indices, data = csr_rows(rng, dtype)
    tail, name = ((), "accumulate_csr_vector") if classes is None else ((8,), "accumulate_csr_matrix")
    assert N_FEATURES * spread * (8 if tail else 1) > loops.CACHED * (1 if tail else 16)
    r = rng.standard_normal((N_ROWS, classes) if classes else N_ROWS).astype(dtype)
    compare(name, (indptr, indices * spread, data, r, 0, N_ROWS), (N_FEATURES * spread, *tail), np.float64, start=7.0)


@dtypes
def test_squares(rng, dtype):
    indptr, _, data = csr_rows(rng, dtype)
    compare("sum_csr_squares", (indptr, data, 2, 11), N_ROWS, np.float64, start=7.0)


def test_float32_sums_are_kept_in_float64():
    n = 2**16
    ones = np.ones(n, dtype=np.float32)
    # in float32, 2**24 + 1 + ... + 1 stays at 2**24
    data = np.concatenate([[np.float32(2**24)], ones])
    indptr, indices = np.array([0, n + 1]), np.arange(n + 1)
    out = np.empty(1)
    loops.score_csr_vector(indptr, indices, data, np.ones(n + 1, dtype=np.float32), 0, 1, out)
    assert out[0] == 2**24 + n
