"""Signs on the fly against their definition."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.maps.signs import BIT_MASKS, GROUP, add_signed_csr, fill_signs, parity_tables
from tests.reference.maps import signs as reference

# without compilation numpy remarks that 64-bit products wrap around, as they should
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
KEY = np.uint64(99)
ROWS = np.array([3, 70000, 0, 123456, 2**20 - 1] * 16)  # of the Hadamard matrix, for 80 components


@pytest.fixture
def tables():
    made = np.empty((3, 256, 3), dtype=np.int32)
    parity_tables(ROWS, made)
    return made


def test_tables_hold_the_parities_of_bytes(tables):
    plain = np.empty_like(tables)
    reference.parity_tables(ROWS, plain)
    np.testing.assert_array_equal(tables, plain)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups_per_block", [1, 2, 1000])
def test_signs_are_those_of_the_hadamard_matrix_and_continue_across_blocks(tables, dtype, groups_per_block):
    whole, plain = (np.empty((9, 2 * GROUP), dtype=dtype) for _ in range(2))
    fill_signs(KEY, 65534, 0, groups_per_block, tables, BIT_MASKS, whole)
    reference.fill_signs(KEY, 65534, 0, groups_per_block, tables, BIT_MASKS, plain)
    np.testing.assert_array_equal(whole, plain)
    for j in range(9):
        wanted = [reference.sign(KEY, 65534 + j, m, ROWS, GROUP * groups_per_block) for m in range(2 * GROUP)]
        np.testing.assert_array_equal(whole[j], wanted)
    part = np.empty((3, GROUP), dtype=dtype)
    fill_signs(KEY, 65536, 1, groups_per_block, tables, BIT_MASKS, part)
    np.testing.assert_array_equal(part, whole[2:5, GROUP:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_signed_sums_are_the_product_with_the_matrix(rng, tables, dtype, index):
    X = sparse.random_array((7, 2**20), density=1e-5, format="csr", random_state=rng, dtype=dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    out, plain = (np.ones((7, 3 * GROUP), dtype=dtype) for _ in range(2))
    add_signed_csr(KEY, X.indptr, X.indices, X.data, 2, tables, BIT_MASKS, out)
    reference.add_signed_csr(KEY, X.indptr, X.indices, X.data, 2, tables, BIT_MASKS, plain)
    np.testing.assert_allclose(out, plain, rtol=0, atol=100 * np.finfo(dtype).eps)


def test_all_rows_of_the_matrix_are_orthogonal():
    size = 64
    tables = np.empty((1, 256, 2), dtype=np.int32)
    parity_tables(np.random.default_rng(0).permutation(size), tables)
    signs = np.empty((size, size))
    fill_signs(KEY, 0, 0, 2, tables, BIT_MASKS, signs)
    np.testing.assert_array_equal(signs @ signs.T, size * np.eye(size))
    assert abs(signs[:, 0].sum()) < size  # the flips are there
