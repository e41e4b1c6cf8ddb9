"""Census transforms against bits packed by numpy, their histograms against bincount."""

import numpy as np
import pytest

from mercer._native.vision import census as native
from tests.reference.vision import census as reference


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 3), (3, 20), (17, 40)])
def test_transforms_are_the_packed_comparisons_with_the_neighbours(rng, dtype, shape):
    image = rng.integers(0, 4, shape).astype(dtype)  # few levels: equal neighbours are frequent
    got, want = np.full((2, shape[0] - 2, shape[1] - 2), 7, dtype=np.uint8)
    native.write_census(image, got)
    reference.write_census(image, want)
    np.testing.assert_array_equal(got, want)


def test_histograms_are_those_of_the_boxes(rng):
    codes = rng.integers(0, 256, (20, 30)).astype(np.uint8)
    boxes = np.array([[0, 20, 0, 30], [3, 4, 5, 6], [2, 19, 7, 7], [19, 20, 0, 30], [4, 12, 10, 25]])
    got, want = np.full((2, len(boxes), 256), -1, dtype=np.int32)
    native.count_codes(codes, boxes, got)
    reference.count_codes(codes, boxes, want)
    np.testing.assert_array_equal(got, want)
    assert got.sum(axis=1).tolist() == [600, 1, 0, 30, 120]
