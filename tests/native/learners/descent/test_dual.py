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
N, D = 40, 7
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


def make(rng, dtype, form):
    """Rows with an empty one, targets, and caps of which some are 0; a feasible b and its weights."""
    X = np.where(rng.random((N, D)) < 0.6, rng.standard_normal((N, D)), 0).astype(dtype)
    X[3] = 0
    targets = rng.standard_normal(N) if form.two_sided else rng.integers(-1, 2, N).astype(np.int8)
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
        order, dual, state = np.arange(N, dtype=np.int32), b.copy(), (w[:-1].copy(), w[-1:].copy())
        descend = getattr(module, f"descend_{kind}")
        counts = descend(rows, scale, norms, targets, caps, form, order, N, np.uint64(5), 2, 3 * N, dual, state)
        found.append((counts, order, dual, *state))
    assert found[0][0] == found[1][0], "not the same number of visits and sweeps"
    for mine, theirs in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    visits, sweeps = found[0][0]
    assert sweeps >= 2
    assert visits < sweeps * N, "no row was set aside"


@pytest.mark.parametrize("most", [1, N + 1])
def test_no_sweep_begins_after_the_last_visit_allowed(rng, most):
    X, targets, caps, norms, b, w, scale = make(rng, np.float64, FORMS["squared"])
    order = np.arange(N, dtype=np.int32)
    state = w[:-1].copy(), w[-1:].copy()
    arguments = (X,), scale, norms, targets, caps, FORMS["squared"], order, N, np.uint64(5), 0, most, b, state
    assert loops.descend_dense(*arguments)[1] == (1 if most == 1 else 2)


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
