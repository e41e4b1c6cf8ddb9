"""The loop over tables against its twin."""

import numpy as np
import pytest

from mercer._native.spaces import tables as loops
from tests.reference.spaces import tables as twins

N_POINTS = 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize(("half", "classes"), [(1, 1), (2, 3)])
def test_windows_are_scored(rng, dtype, odd, half, classes):
    starts = np.array([4, 4, 9, 10, 24])  # a block from the middle of a matrix; its first row is empty
    k = 20
    arguments = (
        starts,
        rng.integers(0, 3, k).astype(np.int32),
        rng.standard_normal(k).astype(dtype),
        odd,
        rng.integers(0, N_POINTS + 1, k).astype(np.int32),
        rng.random((k, 2 * half)),
        half,
        N_POINTS,
        rng.standard_normal((3 * N_POINTS, classes)).astype(dtype),
    )
    outs = [np.full((4, classes), 7.0) for _ in range(2)]
    for module, out in zip((loops, twins), outs, strict=True):
        module.score_windows(*arguments, out)
    np.testing.assert_allclose(*outs, rtol=1e-12, atol=1e-12)
