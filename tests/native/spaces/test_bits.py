"""The loops over packed bits against their twins and against each other, in every bit."""

import numpy as np
import pytest

from mercer._native.spaces import bits as loops
from mercer._native.spaces import code_products as byte_tables
from tests.reference.spaces import bits as twins

N_ROWS = 9
n_bytes = pytest.mark.parametrize("M", [0, 1, 3, 4, 10])
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample(rng, M, tail, dtype=np.float64):
    """Rows, and weights of sizes so different that another order of additions would show."""
    packed = rng.integers(0, 256, (N_ROWS, M)).astype(np.uint8)
    v = rng.standard_normal((8 * M, *tail)) * 10.0 ** rng.integers(-8, 8, (8 * M, *tail))
    return packed, v.astype(dtype)


def compare(name, arguments, tail, dtype):
    outs = [np.full((N_ROWS, *tail), 7.0, dtype=dtype) for _ in range(2)]
    for module, out in zip((loops, twins), outs, strict=True):
        getattr(module, name)(*arguments, out)
    np.testing.assert_array_equal(*outs)
    assert np.unique(outs[0][[0, 1, 8]]) == 7.0, "rows outside the block were written"


@n_bytes
@dtypes
def test_scores_of_one_class(rng, M, dtype):
    packed, v = sample(rng, M, ())
    compare("score_bits_vector", (packed, v, 2, 8), (), dtype)


@n_bytes
@dtypes
@pytest.mark.parametrize("C", [2, 19])
def test_scores_of_many_classes_bit_by_bit(rng, M, dtype, C):
    packed, v = sample(rng, M, (C,), dtype)
    compare("score_bits_matrix", (packed, v, 2, 8), (C,), dtype)


@n_bytes
@dtypes
@pytest.mark.parametrize("C", [2, 16, 19])
def test_scores_of_many_classes_by_tables(rng, M, dtype, C):
    packed, v = sample(rng, M, (C,), dtype)
    lanes = loops.LINE // v.itemsize
    wide = np.zeros((8 * M, -(-C // lanes) * lanes), dtype=dtype)
    wide[:, :C] = v
    work = np.full(4 * 256 * lanes, np.nan, dtype=dtype), np.full(N_ROWS * lanes, np.nan, dtype=dtype)
    compare("score_bytes_matrix", (packed, wide, 2 * wide, 2, 8, *work), (C,), dtype)


@n_bytes
def test_scores_of_one_class_are_those_of_byte_tables(rng, M):
    packed, v = sample(rng, M, ())
    out, expected, tables = np.empty(N_ROWS), np.empty(N_ROWS), np.empty((256 * M, 1))
    loops.score_bits_vector(packed, v, 0, N_ROWS, out)
    byte_tables.fill_byte_tables(v[:, None], tables)
    byte_tables.score_codes_vector(packed, 256 * np.arange(M), tables[:, 0], 0, N_ROWS, expected)
    np.testing.assert_array_equal(out, expected)


@dtypes
def test_lines_are_added_where_they_should_be(rng, dtype):
    source = rng.standard_normal(100).astype(dtype)
    for name, places in (("add_line", (7,)), ("add_four_lines", (0, 5, 30, 71))):
        targets = [np.ones(40, dtype=dtype) for _ in range(2)]
        for module, target in zip((loops, twins), targets, strict=True):
            getattr(module, name)(target, 3, source, *places)
        np.testing.assert_array_equal(*targets)


def test_an_infinite_weight_leaves_no_nan_behind():
    packed = np.array([[0], [1], [2]], dtype=np.uint8)
    for tail, loop in (((), loops.score_bits_vector), ((2,), loops.score_bits_matrix)):
        v, out = np.ones((8, *tail)), np.empty((3, *tail))
        v[7] = np.inf
        loop(packed, v, 0, 3, out)
        assert (out == -np.inf).all()
