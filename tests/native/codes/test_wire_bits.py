"""From projections to bits: the loops against their twins, at thresholds too."""

import numpy as np
import pytest

from mercer._native import lanes
from mercer._native.codes import wire_bits
from mercer._native.jit import jit
from tests.reference.codes import wire_bits as reference


def whole(rng, shape, most=2000):
    return rng.integers(-most, most, shape).astype(np.float32)


@pytest.mark.parametrize("margin", [1e-6, 0.01, 0.5])
def test_universal_bits_are_exact_whatever_the_margin_sends_to_the_exact_product(rng, margin):
    Z, A = whole(rng, (9, 50)), whole(rng, (24, 50))
    step = 12345.0
    dither = rng.integers(0, 12345, 24).astype(np.float64)
    exact = Z.astype(np.float64) @ A.T.astype(np.float64)
    products = exact + rng.uniform(-1, 1, exact.shape) * margin * step  # half of what the margin allows
    arguments = (
        products.astype(np.float32), Z, A, (dither / (2 * step)).astype(np.float32), dither, step,
        np.float32(1 / (2 * step)), np.full(9, margin + 1e-3, np.float32),
    )  # fmt: skip
    got, want = np.empty((9, 3), np.uint8), np.empty((9, 3), np.uint8)
    wire_bits.universal_bits(*arguments, got)
    reference.universal_bits(*arguments, want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n_levels", [2, 8, 256])
def test_levels_are_exact_at_thresholds_too(rng, n_levels):
    Z, A = whole(rng, (9, 20), 30), whole(rng, (16, 20), 30)
    shifts = rng.integers(-500, 500, 13).astype(np.float64)
    step = 100.0  # products are whole, so many are at thresholds or one below
    A[0], shifts[0] = 0, 200.0
    products = (Z @ A.T) * np.float32(1 + 1e-6)
    got, want = np.empty((9, 13), np.uint8), np.empty((9, 13), np.uint8)
    arguments = (products, Z, A, shifts, step, n_levels, np.full(9, 1e-2))
    wire_bits.qjl_levels(*arguments, got)
    reference.qjl_levels(*arguments, want)
    np.testing.assert_array_equal(got, want)
    exact = (Z @ A.T).astype(np.float64)
    for loops, out in ((wire_bits, got), (reference, want)):
        loops.sigma_delta_levels(exact, shifts, step, n_levels, out)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("width", [2, 8, 64])
def test_the_fast_transform_is_the_product_with_hadamards_matrix(rng, width):
    got = whole(rng, (5, width)).astype(np.float64)
    want = got.copy()
    wire_bits.hadamard(got)
    reference.hadamard(want)
    np.testing.assert_array_equal(got, want)


def plain_phases(products, phases):
    return lanes.phase_bits(products, 3, phases, 1, np.float32(0.125), np.float32(0.0625))


def test_phases_do_what_the_plain_function_does(rng):
    for _ in range(20):
        products = rng.integers(-40, 40, 12).astype(np.float32)
        phases = (rng.integers(0, 32, 10) / 32).astype(np.float32)  # exact in float32: many at the margin itself
        assert jit(plain_phases)(products, phases) == plain_phases(products, phases)
