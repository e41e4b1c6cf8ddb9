"""Logarithm, cosine and sine, and the loops of the homogeneous and Fourier maps, against their twins."""

import numpy as np
import pytest

from mercer._native import trigonometric
from mercer._native.jit import jit
from mercer._native.maps import fourier, homogeneous
from tests.reference.maps import homogeneous as reference

PRECISIONS = {"single": np.float32, "double": np.float64}

precisions = pytest.mark.parametrize("precision", PRECISIONS)
dtypes = pytest.mark.parametrize("dtype", PRECISIONS.values())


def call(name, precision, points):
    """A function of `trigonometric` that returns two numbers, on an array."""
    function = getattr(trigonometric, f"{name}_{precision}")

    @jit
    def loop(points, first, second):
        for i in range(len(points)):
            first[i], second[i] = function(points[i])

    outs = np.empty_like(points), np.empty_like(points)
    loop(points, *outs)
    return outs


@precisions
def test_the_logarithm_is_right_from_the_smallest_to_the_largest_number(precision):
    info = np.finfo(PRECISIONS[precision])
    points = np.exp2(np.linspace(np.log2(info.smallest_subnormal), info.maxexp - 0.01, 20_001)).astype(info.dtype)
    points = np.concatenate([points, np.linspace(0.5, 2, 10_001, dtype=info.dtype), [info.max, info.tiny]])
    whole, rest = call("log2_parts", precision, points)
    assert np.array_equal(whole, np.rint(whole))
    # up to the rounding of where the halves of an octave meet
    assert np.abs(rest).max() < 0.5 + 1e-6
    expected_whole, expected_rest = reference.log2_parts_double(points)
    error = (whole - expected_whole) + (rest - expected_rest)
    # numpy's own logarithm of numbers around 2^1000 is rounded to 1e-13
    assert np.abs(error).max() < (2 * info.eps if precision == "single" else 2.5e-13)
    near_one = (points > 0.5) & (points < 2)
    assert np.abs(error[near_one]).max() < 2 * info.eps


@precisions
def test_the_logarithm_of_zero_is_finite(precision):
    whole, rest = call("log2_parts", precision, np.zeros(3, dtype=PRECISIONS[precision]))
    assert np.isfinite(whole).all()
    assert np.isfinite(rest).all()


@precisions
def test_cosine_and_sine_are_right_at_any_number_of_turns(precision):
    dtype = PRECISIONS[precision]
    points = np.concatenate([np.linspace(-3, 3, 30_001), np.linspace(-5e4, 5e4, 10_001)]).astype(dtype)
    for found, expected in zip(call("cos_sin", precision, points), reference.cos_sin_double(points), strict=True):
        assert np.abs(found - expected).max() < 2 * np.finfo(dtype).eps
    exact = call("cos_sin", precision, np.arange(-4, 5).astype(dtype) / 2)
    np.testing.assert_allclose(exact[0], [1, 0, -1, 0, 1, 0, -1, 0, 1], atol=np.finfo(dtype).eps)
    np.testing.assert_allclose(exact[1], [0, 1, 0, -1, 0, 1, 0, -1, 0], atol=np.finfo(dtype).eps)


@dtypes
@pytest.mark.parametrize("order", [0, 1, 2, 7])
@pytest.mark.parametrize("n_values", [1, 37, homogeneous.STRIP + 5])
def test_features_agree_with_their_twin(order, n_values, dtype, rng):
    roots = (rng.standard_normal(n_values) * 10 ** rng.uniform(-4, 4, n_values)).astype(dtype)
    roots[::7] = 0
    amplitudes, pitch = rng.random(order + 1).astype(dtype), np.array([0.25, 0.0123], dtype=dtype)
    found, expected = (np.full(n_values * (2 * order + 1), 7, dtype=dtype) for _ in range(2))
    homogeneous.LOOPS[np.dtype(dtype).char](roots, amplitudes, pitch, found)
    reference.homogeneous_features(roots, amplitudes, pitch, expected)
    # angles up to 20 radians; each further frequency is a product of rounded numbers
    tolerance = 20 * (order + 1) * np.finfo(dtype).eps
    scale = np.repeat(np.abs(roots), 2 * order + 1)
    assert np.all(np.abs(found - expected) <= tolerance * scale)


@dtypes
@pytest.mark.parametrize("order", [1, 3])
def test_a_value_has_the_same_features_wherever_it_stands(order, dtype, rng):
    """Vectorised middle, remainder and the seams between strips must not differ in a bit."""
    roots = rng.random(2 * homogeneous.STRIP + 3).astype(dtype)
    amplitudes, pitch = rng.random(order + 1).astype(dtype), np.array([0.25, 0.0123], dtype=dtype)
    width = 2 * order + 1

    def features(values):
        out = np.empty(len(values) * width, dtype=dtype)
        homogeneous.LOOPS[np.dtype(dtype).char](values, amplitudes, pitch, out)
        return out.reshape(-1, width)

    whole = features(roots)
    for first in (1, 2, 13, 300):
        np.testing.assert_array_equal(features(roots[first : first + 41]), whole[first : first + 41])


@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_columns_are_widened(integer, rng):
    columns = rng.integers(0, 2**31 // 3, 50).astype(np.int32)
    columns = columns // 3 if integer == np.int32 else columns
    found, expected = np.empty(150, dtype=integer), np.empty(150, dtype=integer)
    homogeneous.widen_columns(columns, 3, found)
    reference.widen_columns(columns, 3, expected)
    np.testing.assert_array_equal(found, expected)


@dtypes
@pytest.mark.parametrize("width", [2, 9, 40, 41])
def test_cosines_and_sines_agree_with_their_twin(width, dtype, rng):
    half_turns = (30 * rng.standard_normal((11, (width + 1) // 2))).astype(dtype)
    found, expected = (np.empty((11, width), dtype=dtype) for _ in range(2))
    fourier.LOOPS[np.dtype(dtype).char](half_turns, dtype(0.5), found)
    reference.cosines_and_sines(half_turns, 0.5, expected)
    assert np.abs(found - expected).max() < 2 * np.finfo(dtype).eps
