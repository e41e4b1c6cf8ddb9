"""Table sums, folded rows and shifted products against single lookups."""

import numpy as np
import pytest

from mercer._native import part_filters as native
from tests.reference import part_filters as twin


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_sums_of_tables_are_sums_of_entries(rng, dtype):
    codes = rng.integers(0, 20, 90).astype(dtype)
    shifts, table = np.array([0, 3, 9, 30, 1, 0]), rng.normal(size=6 * 20 * 8).astype(np.float32)
    got, want = np.full(8 * 60, np.nan, np.float32), np.full(8 * 60, np.nan, np.float32)
    native.sum_tables(codes, shifts, table, 60, got)
    twin.sum_tables(codes, shifts, table, 60, want)
    np.testing.assert_allclose(got, want, atol=2e-6)  # eight float32 of size 1


@pytest.mark.parametrize(("n_filters", "fold"), [(1, 8), (2, 4), (3, 2), (8, 1), (12, 2)])
def test_folded_rows_are_summed(rng, n_filters, fold):
    sums, width = rng.normal(size=(-(-n_filters * fold // 8), 8 * 12 * 9)).astype(np.float32), 9
    got, want = (np.full((n_filters, 4, 7), np.nan, np.float32) for _ in range(2))
    native.fold_scores(sums, width, fold, got)
    twin.fold_scores(sums, width, fold, want)
    np.testing.assert_allclose(got, want, atol=2e-6)


def test_shifted_products_are_summed(rng):
    products = rng.normal(size=(9, 5, 3, 4)).astype(np.float32)
    got, want = (np.full((4, 7, 5), np.nan, np.float32) for _ in range(2))
    native.add_shifted(products, got)
    twin.add_shifted(products, want)
    np.testing.assert_allclose(got, want, atol=1e-6)
