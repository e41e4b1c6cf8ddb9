"""The loops over scores against the textbook formulas."""

import numpy as np
import pytest

from mercer._native.learners import losses as loops
from tests.reference.learners import losses as twins

# both sides of every corner, the corners themselves, and numbers whose exponential neither over- nor underflows well
POINTS = [
    -1e4,
    -800.0,
    -37.5,
    -1.0,
    -0.3,
    -0.1,
    -1e-9,
    0.0,
    1e-9,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0,
    1.3,
    1.5,
    2.0,
    40.0,
    710.0,
    1e4,
]
COLUMN_FORMULAS = ["hinge", "squared_hinge", "logistic", "huber_hinge", "squared", "epsilon_insensitive"]
ROW_FORMULAS = ["crammer_singer", "multinomial"]
EPSILON = 0.1

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def column_case(rng, name, n, width, dtype):
    """(margin, scores, steps, targets, weights) with scores at corners and far out among them."""
    margin = name not in ("squared", "epsilon_insensitive")
    scores = rng.choice([*POINTS, *rng.standard_normal(60)], size=(n, width)).astype(dtype)
    steps = rng.standard_normal((n, width)).astype(dtype)
    targets = rng.integers(-1, 2, (n, width)).astype(np.int8) if margin else rng.standard_normal((n, width))
    return margin, scores, steps, targets, rng.random(n) * (rng.random(n) < 0.9)


def close(got, expected):
    # sums of a few hundred numbers of size up to 1e8 that cancel: relative to their size
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13 * (1 + np.abs(expected).max(initial=0)))


@pytest.mark.parametrize("name", COLUMN_FORMULAS)
def test_a_formula_is_the_textbook_one_also_far_out(name):
    # exp2 of a rounded exponent near 1000 is right to 1000 roundings
    got = np.array([getattr(loops, name)(point, EPSILON) for point in POINTS])
    expected = np.stack(getattr(twins, name)(np.array(POINTS), EPSILON), axis=1)
    np.testing.assert_allclose(got, expected, rtol=3e-13, atol=1e-300)


@pytest.mark.parametrize("name", [name for name in COLUMN_FORMULAS if hasattr(loops, f"{name}_curvature")])
def test_a_second_derivative_is_the_textbook_one(name):
    got = [getattr(loops, f"{name}_curvature")(point, EPSILON) for point in POINTS]
    expected = getattr(twins, f"{name}_curvature")(np.array(POINTS), EPSILON)
    np.testing.assert_allclose(got, expected, rtol=3e-13, atol=1e-300)


@pytest.mark.parametrize("name", ROW_FORMULAS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_a_joint_formula_is_the_textbook_one(rng, name, scale):
    for n_classes in (1, 2, 5):
        for target in range(n_classes):
            row, got, expected = scale * rng.standard_normal(n_classes), np.empty(n_classes), np.empty(n_classes)
            values = getattr(loops, name)(row, target, got), getattr(twins, name)(row, target, expected)
            np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-12 * scale)
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


def test_small_multinomial_losses_keep_their_digits():
    slopes = np.empty(3)
    value = loops.multinomial(np.array([50.0, 0.0, 1.0]), 0, slopes)
    rest = np.exp(-50.0) + np.exp(-49.0)
    np.testing.assert_allclose(value, rest, rtol=1e-13)
    np.testing.assert_allclose(slopes, [-rest, np.exp(-50.0), np.exp(-49.0)], rtol=1e-13)


@dtypes
@pytest.mark.parametrize("name", COLUMN_FORMULAS)
@pytest.mark.parametrize(("n", "width"), [(300, 1), (41, 7), (3, loops.LANES + 5)])
def test_sums_over_columns_are_plain_sums_of_the_formula(rng, name, dtype, n, width):
    margin, scores, steps, targets, weights = column_case(rng, name, n, width, dtype)
    formula, first, last = getattr(twins, name), 1, n - 1
    inner = slice(first, last)
    flat = scores.reshape(-1), targets.reshape(-1)
    slopes, totals = np.full_like(scores, 7), np.ones((2, width))
    loop = loops.COLUMN_LOOPS[name]
    loop.evaluate()(*flat, EPSILON, weights, first, last, slopes.reshape(-1), totals[0], totals[1])
    losses = twins.column_losses(formula, margin, scores[inner], targets[inner], EPSILON)
    values, offsets, expected = twins.sums(*losses, scores[inner], weights[inner])
    close(totals, 1 + np.stack([values, offsets]))
    np.testing.assert_allclose(slopes[inner], expected, rtol=max(3e-13, 2 * np.finfo(dtype).eps), atol=1e-300)
    assert (slopes[[0, -1]] == 7).all(), "rows outside the block were written"

    ks, totals = rng.standard_normal((3, width)), np.ones((2, 3, width))
    loop.along()(flat[0], steps.reshape(-1), ks, flat[1], EPSILON, weights, first, last, *totals)
    for j, k in enumerate(ks):
        value, slope = twins.column_losses(formula, margin, scores + k * steps.astype(np.float64), targets, EPSILON)
        weighted = weights[inner, None] * np.stack([value, slope * steps])[:, inner]
        close(totals[:, j], 1 + weighted.sum(axis=1))


@dtypes
@pytest.mark.parametrize("name", ["squared_hinge", "logistic", "huber_hinge", "squared"])
def test_curvatures_are_those_of_the_formula(rng, name, dtype):
    margin, scores, _, targets, weights = column_case(rng, name, 9, 5, dtype)
    out = np.full_like(scores, 7)
    flat = scores.reshape(-1), targets.reshape(-1)
    loops.COLUMN_LOOPS[name].curvature()(*flat, EPSILON, weights, 5, 1, 8, out.reshape(-1))
    points = scores.astype(np.float64) * targets if margin else scores - targets
    expected = weights[:, None] * getattr(twins, f"{name}_curvature")(points) * ((targets != 0) if margin else 1)
    np.testing.assert_allclose(out[1:8], expected[1:8], rtol=max(3e-13, 2 * np.finfo(dtype).eps), atol=1e-40)
    assert (out[[0, 8]] == 7).all(), "rows outside the block were written"


@dtypes
@pytest.mark.parametrize("name", ROW_FORMULAS)
def test_sums_over_rows_are_plain_sums_of_the_formula(rng, name, dtype):
    n, width = 40, 5
    scores, steps = (3 * rng.standard_normal((2, n, width))).astype(dtype)
    targets, weights, ks = rng.integers(0, width, n), rng.random(n), rng.standard_normal((3, 1))
    formula, inner = getattr(twins, name), slice(1, n - 1)
    slopes, totals, loop = np.full_like(scores, 7), np.ones((2, 1)), loops.ROW_LOOPS[name]
    loop.evaluate()(scores, targets, weights, 1, n - 1, slopes, totals[0], totals[1])
    losses = twins.row_losses(formula, scores[inner], targets[inner])
    values, offsets, expected = twins.sums(*losses, scores[inner], weights[inner])
    # slopes are rounded to float32 before the offset is taken: one rounding either way changes it by eps * |s|
    np.testing.assert_allclose(totals, 1 + np.stack([values, offsets]), rtol=1e-12, atol=30 * np.finfo(dtype).eps)
    np.testing.assert_allclose(slopes[inner], expected, rtol=2 * np.finfo(dtype).eps, atol=1e-15)
    assert (slopes[[0, -1]] == 7).all(), "rows outside the block were written"

    totals = np.ones((2, 3, 1))
    loop.along()(scores, steps, ks, targets, weights, 1, n - 1, *totals)
    for k, value_sum, derivative in zip(ks[:, 0], *totals[:, :, 0], strict=True):
        value, slope = twins.row_losses(formula, scores + k * steps.astype(np.float64), targets)
        np.testing.assert_allclose(value_sum, 1 + (weights * value)[inner].sum(), rtol=1e-12)
        np.testing.assert_allclose(derivative, 1 + (weights * (slope * steps).sum(axis=1))[inner].sum(), rtol=1e-10)
