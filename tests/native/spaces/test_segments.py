"""The loops of the intersection kernel on grids against the matrix H = min(z_i, z_k)."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from mercer._native.spaces import segments as loops
from tests.reference.spaces import segments as twins

STARTS = np.array([0, 4, 4, 5, 12])  # one segment is empty, one has a single point
OWNER = np.repeat(np.arange(4), np.diff(STARTS))
GAPS = np.array([0.0, 0.2, 0.1, 0.4, 0.7, 0.3, 0.0, 0.5, 0.1, 0.1, 0.9, 0.2])
POINTS = np.concatenate([np.cumsum(GAPS[s:t]) for s, t in pairwise(STARTS)])


def compare(name, arguments, start, dtype=np.float64):
    outs = [start.astype(dtype) for _ in range(2)]
    for module, out in zip((loops, twins), outs, strict=True):
        getattr(module, name)(*arguments, out)
    np.testing.assert_allclose(*outs, rtol=1e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("name", ["suffix_sums", "prefix_sums"])
@pytest.mark.parametrize("classes", [1, 3])
def test_running_sums_stop_at_segment_boundaries(rng, name, classes):
    compare(name, (rng.random((12, classes)), STARTS, np.sqrt(GAPS)), np.zeros((12, classes)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_of_sparse_rows(rng, dtype):
    Phi = sparse.random_array((20, 12), density=0.4, random_state=rng, format="csr", dtype=dtype)
    arguments = (Phi.indptr, Phi.indices, Phi.data, OWNER, POINTS, 3, 18)
    compare("square_cumulative_rows", arguments, np.full(20, 7.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [[], [4], [0, 3], [1, 2, 5, 6, 11], range(12)])
def test_a_row_is_added(rng, dtype, columns):
    columns = np.array(columns, dtype=np.int64)
    values, delta = rng.standard_normal(len(columns)), np.array([1.0, -2.0, 0.5])
    compare("add_cumulative_row", (columns, values, OWNER, STARTS, POINTS, delta), rng.random((12, 3)) + 20, dtype)
