"""The loops of dual coordinate descent against their twins, in every form of loss and for both kinds of rows."""

import math

import numpy as np
import pytest
from scipy import sparse

from mercer._native.jit import jit
from mercer._native.learners.descent import dual as loops
from mercer._native.learners.descent import sweep as _descent
from mercer._native.learners.descent.sweep import Form
from tests.reference.learners.descent import dual as twins

# without compilation, numpy warns of the overflow that random bits are made by
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
N, D = 40, 37  # dense rows are worked on 32 numbers at a time, and the rest one by one
KEY, GOAL = np.uint64(5), (3 * N, np.inf, 0.0)  # any gap is small enough after one look at all rows
FORMS = {
    "hinge": Form(1.0, 0.0, 1.0, 0.0, False),
    "squared hinge": Form(1.0, 0.5, math.inf, 0.0, False),
    "huber hinge": Form(1.5, 1.0, 1.0, 0.0, False),
    "squared": Form(1.0, 1.0, math.inf, 0.0, True),
    "absolute": Form(1.0, 0.0, 1.0, 0.0, True),
    "epsilon": Form(1.0, 0.0, 1.0, 0.3, True),
}
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def make_targets(rng, form, n, numbers=np.float64):
    """Classes of -1, 0 and 1, or numbers of a type."""
    if not form.two_sided:
        return rng.integers(-1, 2, n).astype(np.int8)
    return (2 * rng.standard_normal(n)).round().astype(numbers) if numbers == np.int8 else rng.standard_normal(n)


def make(rng, dtype, form):
    """Rows with an empty one, targets, and caps of which some are 0; a feasible b and its weights."""
    X = np.where(rng.random((N, D)) < 0.6, rng.standard_normal((N, D)), 0).astype(dtype)
    X[3] = 0
    targets = make_targets(rng, form, N)
    caps = rng.uniform(0.1, 2.0, N)
    caps[[5, 11]] = 0.0
    norms = (X.astype(np.float64) ** 2).sum(axis=1)
    b = np.array([np.clip(x, *twins.interval(t, c, form)[:2]) for x, t, c in zip(
        rng.standard_normal(N), targets, caps, strict=True)])  # fmt: skip
    b[rng.random(N) < 0.3] = 0.0
    scale = 0.5
    w = np.append(b @ X.astype(np.float64), scale * b.sum())
    return X, targets, caps, norms, b, w, scale


@dtypes
@forms
@pytest.mark.parametrize("kind", ["csr", "dense"])
@pytest.mark.parametrize("has_intercept", [True, False])
def test_a_few_sweeps(rng, dtype, form, kind, has_intercept):
    X, targets, caps, norms, b, w, scale = make(rng, dtype, form)
    if not has_intercept:
        scale, w[-1] = 0.0, 0.0
    csr = sparse.csr_array(X)
    rows = (csr.indptr, csr.indices, csr.data) if kind == "csr" else (X,)
    found = []
    for module in (loops, twins):
        order, dual, best, values = np.arange(N, dtype=np.int32), b.copy(), np.zeros(N), np.array([np.inf, 0.0])
        state = w[:-1].astype(dtype if kind == "dense" else np.float64), w[-1:].copy()
        problem = rows, scale, norms, targets, caps, form, order, N, KEY, 2
        counts = getattr(module, f"descend_{kind}")(*problem, GOAL, dual, best, values, state)
        found.append((counts, dual, best, values, *state))
    # weights of float32, as those of dense rows, may set a row aside a visit earlier or later
    is_exact = dtype == np.float64 or kind == "csr"
    assert not is_exact or found[0][0][:2] == found[1][0][:2], "not the same number of visits and sweeps"
    tolerance = 1e-9 if is_exact else 2e-3
    for mine, theirs in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * (1 + np.abs(theirs).max()))
    visits, sweeps, _ = found[0][0]
    assert sweeps >= 2
    assert visits < sweeps * N, "no row was set aside"


@pytest.mark.parametrize("most", [1, 2 * N])
def test_no_sweep_but_the_first_goes_beyond_the_visits_allowed(rng, most):
    X, targets, caps, norms, b, w, scale = make(rng, np.float64, FORMS["squared"])
    order = np.arange(N, dtype=np.int32)
    state = w[:-1].copy(), w[-1:].copy()
    arguments = (X,), scale, norms, targets, caps, FORMS["squared"], order, N, KEY, 0
    found = loops.descend_dense(*arguments, (most, 0.0, 0.0), b, np.zeros(N), np.array([np.inf, 0.0]), state)
    assert found[1] == (1 if most == 1 else 2)


def test_the_loop_ends_at_the_gap_it_was_given(rng):
    X, targets, caps, norms, _, _, scale = make(rng, np.float64, FORMS["squared hinge"])
    gaps = []
    for tol in (0.1, 1e-3, 1e-6):
        b, best, values = np.zeros(N), np.zeros(N), np.array([np.inf, 0.0])
        arguments = (X,), scale, norms, targets, caps, FORMS["squared hinge"], np.arange(N, dtype=np.int32), N
        goal, state = (10**6, tol, 0.0), (np.zeros(D), np.zeros(1))
        loops.descend_dense(*arguments, KEY, 0, goal, b, best, values, state)
        gaps.append((values[0] - values[1]) / values[0])
        assert 0 <= gaps[-1] <= tol
    assert gaps[0] > gaps[2], "it went on where it could have stopped"


@dtypes
@forms
def test_objectives_and_rows_that_can_move(rng, dtype, form):
    X, targets, caps, _, b, w, scale = make(rng, dtype, form)
    scores = X.astype(np.float64) @ w[:-1] + scale * w[-1]
    arguments = scores, targets, caps, form, b
    np.testing.assert_allclose(loops.sum_objectives(*arguments), twins.sum_objectives(*arguments), rtol=1e-12)
    orders = np.zeros((2, N), dtype=np.int32)
    counts = [module.keep_movable(*arguments, order) for module, order in zip((loops, twins), orders, strict=True)]
    assert counts[0] == counts[1]
    assert 0 < counts[0] < N
    np.testing.assert_array_equal(orders[0], orders[1])


@jit
def shuffled(order, count, stream):
    _descent.shuffle(order, count, stream)


def test_orders_are_permutations_that_depend_on_the_stream():
    orders = []
    for stream in (5, 6):
        mine, theirs = np.arange(100, dtype=np.int32), np.arange(100, dtype=np.int32)
        shuffled(mine, 60, np.uint64(stream))
        twins.shuffle(theirs, 60, stream)
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(np.sort(mine[:60]), np.arange(60))
        np.testing.assert_array_equal(mine[60:], np.arange(60, 100))
        orders.append(mine.tobytes())
    assert len(set(orders)) == 2


def test_every_place_is_equally_likely(rng):
    counts = np.zeros((4, 4))
    for stream in rng.integers(2**64, size=2000, dtype=np.uint64):
        order = np.arange(4, dtype=np.int32)
        shuffled(order, 4, stream)
        counts[order, np.arange(4)] += 1
    # 500 expected in each cell with a standard deviation of 19
    assert np.abs(counts - 500).max() < 80
