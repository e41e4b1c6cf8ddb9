import numpy as np
import pytest

from mercer._native.learners import planes as loops
from tests.reference.learners import planes as twin


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", [(0, 37), (5, 30), (0, 4), (8, 8)])
def test_products_with_planes_equal_their_twins(dtype, part):
    rng = np.random.default_rng(0)
    planes, p = rng.standard_normal((6, 37)).astype(dtype), rng.standard_normal(37).astype(dtype)
    alpha = np.array([0.5, 0.0, 0.25, 0.0, 0.0, 0.25])
    for name, arguments, shape in (("dot_planes", (planes, p), 6), ("combine_planes", (planes, alpha), 37)):
        found, expected = np.ones((2, shape))
        getattr(loops, name)(*arguments, *part, found)
        getattr(twin, name)(*arguments, *part, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-13)
