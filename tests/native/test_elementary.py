"""The fitted polynomials against numpy, over their whole interval."""

import numpy as np
import pytest

from mercer._native import elementary
from mercer._native.jit import jit
from tests.reference import elementary as reference

INTERVALS = {
    "log2_ratio": np.linspace(0, 1 / 3, 5001)[1:],
    "one_minus_exp2": np.concatenate([np.geomspace(1e-12, 1, 3000), np.linspace(1, 63, 3000)]),
    "exp2": np.concatenate([np.linspace(0, 1, 2001), np.linspace(1, 120, 2001)]),
    "power_of_two": np.arange(-60, 60),
}
# two units in the last place for the polynomial, one more for the scaling
TOLERANCE = {"single": 3 * np.finfo(np.float32).eps, "double": 4 * np.finfo(np.float64).eps}


@pytest.mark.parametrize(
    ("name", "precision"),
    [*((name, precision) for name in INTERVALS for precision in TOLERANCE), ("log2_ratio_over_z", "double")],
)
def test_a_fitted_function_agrees_with_numpy(name, precision):
    dtype = np.float32 if precision == "single" else np.float64
    points = INTERVALS[name.removesuffix("_over_z")]
    points = points if name == "power_of_two" else points.astype(dtype)
    function = getattr(elementary, f"{name}_{precision}")

    @jit
    def loop(points, out):
        for i in range(len(points)):
            out[i] = function(points[i])

    out = np.empty(len(points), dtype=dtype)
    loop(points, out)
    np.testing.assert_allclose(out, getattr(reference, f"{name}_{precision}")(points), rtol=TOLERANCE[precision])


def test_the_power_of_zero_is_exactly_one():
    @jit
    def at_zero():
        return elementary.exp2_single(np.float32(0)), elementary.exp2_double(0.0)

    assert at_zero() == (1, 1)


def test_the_logarithm_agrees_with_numpy():
    points = np.concatenate([np.geomspace(1e-37, 1e37, 5001), np.linspace(0.5, 2, 5001)]).astype(np.float32)

    @jit
    def loop(points, out):
        for i in range(len(points)):
            out[i] = elementary.log2_single(points[i])

    out = np.empty(len(points), dtype=np.float32)
    loop(points, out)
    # near 1 the error is relative, far from it a rounding of the sum
    expected = reference.log2_single(points)
    np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(np.float32).eps, atol=1e-9)


@pytest.mark.parametrize("p", [0.3, 0.5, 1.5, 3.0])
def test_powers_agree_with_numpy_and_stay_in_the_range(p):
    points = np.geomspace(1e-36, 1e36, 5001).astype(np.float32)

    @jit
    def loop(points, p, out):
        for i in range(len(points)):
            out[i] = elementary.power_single(points[i], p)

    out = np.empty(len(points), dtype=np.float32)
    loop(points, np.float32(p), out)
    expected = reference.power_single(points, np.float64(np.float32(p)))
    inside = (expected > 2.0**-125) & (expected < 2.0**126)
    # p log2(y), up to 126, is rounded a few times
    np.testing.assert_allclose(out[inside], expected[inside], rtol=(64 + 128 * p) * np.finfo(np.float32).eps / 2)
    assert (out[expected <= 2.0**-125] <= 2.0**-124).all()
    assert (np.isfinite(out) & (out[expected >= 2.0**126] >= 2.0**125).all()).all()
