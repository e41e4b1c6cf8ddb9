"""Sums of chosen columns against a product with a matrix."""

import numpy as np
import pytest

from mercer._native.maps import columns as native
from tests.reference.maps import columns as reference


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_chosen_columns_are_added_up_in_the_rows_asked_for(rng, dtype, order):
    X, factors = np.asarray(rng.random((9, 6)), dtype, order=order), rng.random(4).astype(dtype)
    chosen, targets = np.array([0, 2, 3, 5], np.uintp), np.array([1, 0, 1, 2], np.uintp)
    got, want = np.full((2, 9, 3), 7, dtype)
    native.write_column_sums(X, chosen, targets, factors, 2, 8, got)
    reference.write_column_sums(X, chosen, targets, factors, 2, 8, want)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert (got[[0, 1, 8]] == 7).all()
