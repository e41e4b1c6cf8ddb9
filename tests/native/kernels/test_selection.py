"""Keeping the best scores against a full sort."""

import numpy as np
import pytest

from mercer._native.kernels.selection import keep_best
from tests.reference.kernels import selection as reference


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_best_come_first_and_ties_keep_their_order(rng, dtype, k):
    scores = rng.integers(-3, 3, size=(6, 9)).astype(dtype)  # many ties
    scores[0] = -np.inf

    def run(function):
        best, ids = np.full((6, k), -np.inf, dtype=dtype), np.full((6, k), -1, dtype=np.int64)
        for first in (0, 4, 8):
            function(scores[:, first : first + 4], first, best, ids)
        return best, ids

    for got, want in zip(run(keep_best), run(reference.keep_best), strict=True):
        np.testing.assert_array_equal(got, want)
