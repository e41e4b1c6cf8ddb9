"""Distances of pairs of rows, bin by bin, against the same formulas in sixty decimals."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.kernels import differences as native
from tests.reference.kernels import differences as reference

PARAMETER = 2.5
CASES = [(name, False) for name in native.DIFFERENCES] + [
    (name, True) for name in native.DIFFERENCES if name not in ("squared", "power")
]


def rows(rng, signs):
    """Rows of values far apart, near each other (down to the last place), equal, and zero on one side or both."""
    X = 10.0 ** rng.uniform(-12, 12, (12, 9)) * (rng.random((12, 9)) < 0.7)
    Y = X * (1 + 10.0 ** rng.uniform(-16, 1, X.shape) * rng.choice([-1, 1], X.shape) * 0.09)
    Y[::3] = 10.0 ** rng.uniform(-12, 12, (4, 9)) * (rng.random((4, 9)) < 0.7)
    X[5] = Y[7] = 0
    return (X * rng.choice([-1, 1], X.shape), Y * rng.choice([-1, 1], X.shape)) if signs else (X, Y)


@pytest.mark.parametrize(("name", "signed"), CASES)
def test_distances_keep_their_digits(rng, name, signed):
    X, Y = rows(rng, signed)
    left, right = rng.integers(12, size=30), rng.integers(12, size=30)
    left[:12] = right[:12] = np.arange(12)
    got, want, merged, twin = (np.empty(30) for _ in range(4))
    native.dense_differences(name, signed)(X, Y, left, right, PARAMETER, got)
    reference.dense_differences(name, signed)(X, Y, left, right, PARAMETER, want)
    np.testing.assert_allclose(got, want, rtol=1e-13)  # a few roundings of each term, and those of nine positive ones
    sides = [part for side in map(sparse.csr_array, (X, Y)) for part in (side.indptr, side.indices, side.data)]
    native.sparse_differences(name, signed)(*sides, left, right, PARAMETER, merged)
    np.testing.assert_array_equal(merged, got)  # dense and sparse rows must be ranked alike
    reference.sparse_differences(name, signed)(*sides, left, right, PARAMETER, twin)
    np.testing.assert_array_equal(twin, want)


@pytest.mark.parametrize("name", native.DIFFERENCES)
def test_equal_values_are_at_distance_zero(name):
    for value in (0.0, 5e-324, 1e-300, 0.1, 1e300):
        assert native.DIFFERENCES[name](value, value, PARAMETER if value < 1e10 else 1.0) == 0
