"""The distance transform against its definition, a maximum over all places."""

import numpy as np
import pytest

from mercer._native.detection.distance_transform import place_part
from tests.reference.detection import distance_transform as twin

CASES = {
    "stiff": (0.4, 0.1, 0.2, -0.3),
    "loose": (0.01, 0.0, 0.01, 0.0),
    "leaning far": (0.05, 2.0, 0.05, -2.0),
}


@pytest.mark.parametrize("deformation", CASES.values(), ids=CASES)
@pytest.mark.parametrize(("shape", "roots"), [((14, 21), (5, 8)), ((1, 1), (1, 1)), ((2, 30), (4, 2))])
@pytest.mark.parametrize("anchor", [(3, 4), (-2, 0)])
def test_the_best_places_are_those_of_the_definition(rng, deformation, shape, roots, anchor):
    scores = rng.normal(size=shape).astype(np.float32)
    scores[:, ::5] = 1.0  # ties
    results = []
    for function in (place_part, twin.place_part):
        n = max(shape)
        scratch = (
            np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n), np.empty((roots[1], shape[0]), np.float32),
            np.empty((roots[1], shape[0]), np.int32), np.empty(max(roots)), np.empty(max(roots), np.int32),
        )  # fmt: skip
        out = np.empty(roots, np.float32), np.empty(roots, np.int32), np.empty(roots, np.int32)
        function(scores, np.array(deformation), np.array(anchor), *scratch, *out)
        results.append(out)
    (best, rows, columns), (want, *_) = results
    # partial maxima are kept as float32, of numbers up to several hundred
    np.testing.assert_allclose(best, want, rtol=1e-6, atol=1e-6)
    dx2, dx, dy2, dy = deformation
    for r, c in np.ndindex(roots):
        down, right = rows[r, c] - anchor[0] - 2 * r, columns[r, c] - anchor[1] - 2 * c
        value = scores[rows[r, c], columns[r, c]] - dx2 * right**2 - dx * right - dy2 * down**2 - dy * down
        assert value == pytest.approx(want[r, c], rel=1e-6, abs=1e-6)
