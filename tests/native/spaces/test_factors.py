"""The loops of block diagonal inner products against the matrix H written out."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.spaces import factors as loops
from tests.reference.spaces import factors as twins

WIDTHS, RANKS = np.array([3, 1, 4]), np.array([2, 1, 4])
STARTS, OFFSETS = np.array([0, 3, 4, 8]), np.array([0, 6, 7])
REPEAT = 3


@pytest.fixture
def tables(rng):
    return rng.standard_normal(int(WIDTHS @ RANKS)), STARTS, RANKS, OFFSETS


def compare(name, arguments, start, dtype=np.float64):
    outs = [start.astype(dtype) for _ in range(2)]
    for module, out in zip((loops, twins), outs, strict=True):
        getattr(module, name)(*arguments, out)
    np.testing.assert_allclose(*outs, rtol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_of_sparse_rows(rng, tables, dtype):
    Phi = sparse.random_array((20, 8 * REPEAT), density=0.3, random_state=rng, format="csr", dtype=dtype)
    compare("square_factor_rows", (Phi.indptr, Phi.indices, Phi.data, *tables, 3, 18), np.full(20, 7.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [[], [3], [0, 7, 8], [2, 4, 6, 13, 22], range(8 * REPEAT)])
def test_a_row_is_added(rng, tables, dtype, columns):
    columns = np.array(columns, dtype=np.int64)
    values, delta = rng.standard_normal(len(columns)), np.array([1.0, -2.0, 0.5])
    compare("add_factor_row", (columns, values, *tables, delta), rng.random((8 * REPEAT, 3)) + 50, dtype)
