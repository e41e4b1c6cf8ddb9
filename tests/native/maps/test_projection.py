"""Products of a few rows with a matrix, against numpy's."""

import numpy as np
import pytest

from mercer._native.maps.projection import project_few
from tests.reference.maps import projection as reference


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 4, 7, 130])
def test_a_product_is_that_of_numpy(dtype, m):
    rng = np.random.default_rng(m)
    values, weights = rng.standard_normal((3, m)).astype(dtype), rng.standard_normal((m, 5)).astype(dtype)
    out, expected = np.ones((3, 5), dtype=dtype), np.ones((3, 5), dtype=dtype)
    project_few(values, weights, out)
    reference.project_few(values, weights, expected)
    np.testing.assert_allclose(out, expected, atol=4 * m * np.finfo(dtype).eps)
