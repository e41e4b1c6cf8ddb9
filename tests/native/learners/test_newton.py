"""The rounded losses of Newton's method against their twins."""

import numpy as np
import pytest

from mercer._native.learners import newton as loops
from mercer._native.learners.descent.sweep import Form
from tests.reference.learners import newton as twins

N, P = 60, 3
FORMS = {
    "hinge": Form(1.0, 0.0, 1.0, 0.0, False),
    "huber hinge": Form(1.5, 1.0, 1.0, 0.0, False),
    "absolute": Form(1.0, 0.0, 1.0, 0.0, True),
    "epsilon": Form(1.0, 0.0, 1.0, 0.3, True),
}
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def make(rng, dtype, form):
    scores = (2 * rng.standard_normal(N * P)).astype(dtype)
    targets = rng.standard_normal(N * P) if form.two_sided else rng.integers(-1, 2, N * P).astype(np.int8)
    centres = rng.uniform(-1, 1, N * P) if form.two_sided else rng.random(N * P) * targets
    return scores, targets, rng.random(N), form, np.array([0.1, 1.0, 4.0]), centres.astype(dtype)


@dtypes
@forms
def test_values_shares_and_second_derivatives(rng, dtype, form):
    arguments = make(rng, dtype, form)
    found = []
    for module in (loops, twins):
        shares, bends, sums = np.full(N * P, 7.0, dtype), np.full(N * P, 7.0, dtype), np.full((2, P), 7.0)
        module.evaluate_proximal(*arguments, 5, 50, shares, bends, sums)
        found.append((shares, bends, sums))
    tolerance = 1e-5 if dtype == np.float32 else 1e-6  # differences of the twin over a distance of 1e-6
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
    assert set(found[0][0][: 5 * P]) == {7.0}, "rows outside the block were written"
    assert (found[0][1] > 0).any()
    assert (found[0][1] == 0).any()


@dtypes
@forms
def test_values_and_slopes_along_a_line(rng, dtype, form):
    start, targets, caps, form, deltas, centres = make(rng, dtype, form)
    step, ks = rng.standard_normal(N * P).astype(dtype), np.array([0.0, 0.7, 2.0])
    found = np.full((2, 2, P), 7.0)
    for module, sums in zip((loops, twins), found, strict=True):
        module.along_proximal(start, step, ks, targets, caps, form, deltas, centres, 5, 50, sums)
    np.testing.assert_allclose(*found, rtol=1e-12)


@forms
def test_the_rounded_loss_is_never_above_the_loss_and_nears_it(rng, form):
    scores, targets, caps, form, _, centres = make(rng, np.float64, form)
    excess = []
    for delta in (3.0, 1.0, 0.3):
        out, sums = np.empty((2, N * P)), np.zeros((2, P))
        loops.evaluate_proximal(scores, targets, caps, form, np.full(P, delta), centres, 0, N, *out, sums)
        excess.append(sums[1].sum())
    assert excess[0] > 2 * excess[1] > 4 * excess[2] > 0
