"""Table sums, folded rows and shifted products against single lookups."""

import numpy as np
import pytest

from mercer._native.detection import part_filters as native
from tests.reference.detection import part_filters as twin


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_sums_of_tables_are_sums_of_entries(rng, dtype):
    codes = rng.integers(0, 20, 90).astype(dtype)
    shifts, tables = np.array([0, 3, 9, 30, 1, 0]), rng.normal(size=(2, 6 * 20 * 16)).astype(np.float32)
    got, want = (np.full(32 * 60 + 7, np.nan, np.float32) for _ in range(2))
    native.sum_tables(codes, shifts, tables, 60, got)
    twin.sum_tables(codes, shifts, tables, 60, want)
    np.testing.assert_allclose(got, want, atol=2e-6)  # six float32 of size 1


@pytest.mark.parametrize(("n_filters", "fold"), [(1, 8), (2, 4), (3, 2), (8, 1), (12, 1), (12, 2), (17, 1)])
@pytest.mark.parametrize("columns", [7, 8, 19])
def test_folded_rows_are_summed(rng, n_filters, fold, columns):
    stride, width = 16 * -(-n_filters * fold // 16), 20
    sums = rng.normal(size=stride * (3 + fold) * width + 7).astype(np.float32)
    got, want = (np.full((n_filters, 6, columns), -5, np.float32) for _ in range(2))
    native.fold_scores(sums, stride, width, fold, np.empty(64, np.float32), got, 1, 4)
    twin.fold_scores(sums, stride, width, fold, np.empty(64, np.float32), want, 1, 4)
    np.testing.assert_allclose(got, want, atol=2e-6)


def test_shifted_products_are_summed(rng):
    products = rng.normal(size=(9, 5, 3, 4)).astype(np.float32)
    got, want = (np.full((4, 7, 5), np.nan, np.float32) for _ in range(2))
    native.add_shifted(products, got)
    twin.add_shifted(products, want)
    np.testing.assert_allclose(got, want, atol=1e-6)
