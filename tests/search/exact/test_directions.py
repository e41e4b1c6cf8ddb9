"""What is claimed of rows as bytes: every bound holds, whatever the rows and however their components are rounded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import get_kernel
from mercer.search.exact import directions as _directions
from mercer.search.exact.bounds import Bounds
from mercer.search.exact.directions import Directions
from mercer.search.model.measure import Measure, as_double
from tests.search.index_samples import histograms


@pytest.fixture(autouse=True)
def small_levels(monkeypatch):
    monkeypatch.setattr(_directions, "WIDTHS", (4, 32, 96))


def level_bounds(directions, X, Q, share=1.0):
    """Bounds of all pairs at each level in float64, of rows that bytes say well, and the flags of these."""
    coded, aim = directions.coded(X), directions.aim(Q, share)
    factors = aim.factors[: len(Q)].astype(np.int64)
    held = np.ones(len(X), dtype=bool)
    held[coded.loose] = False
    total, out, start = 0, [], 0
    for level, width in enumerate(directions.widths):
        part = slice(start, start + width)
        products = factors[:, None, part] * coded.codes[None, :, part].astype(np.int64)
        with_tail = total + products.sum(axis=2)
        scores = with_tail * aim.slopes[: len(Q), None] + aim.intercepts[level, : len(Q), None]
        out.append(scores * coded.norms.astype(np.float64))
        total, start = total + products[:, :, :-1].sum(axis=2), start + width
    return np.array(out), held


@settings(max_examples=60)
@given(data=st.data())
def test_no_bound_of_any_level_is_below_the_kernel_value(data):
    kernel = get_kernel(data.draw(st.sampled_from(["chi2", "jensen-shannon", "linear", "rbf", "intersection"])))
    measure = Measure(kernel, data.draw(st.booleans()), "similarity")
    d, seed = data.draw(st.integers(1, 40)), data.draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    fitted = rng.gamma(0.5, 1.0, (60, d)).astype(np.float32) * np.float32(data.draw(st.sampled_from([1e-4, 1.0, 1e4])))
    # rows far from those that the rounding was measured on: some of them are loose
    X = np.concatenate([fitted[:10], fitted[10:30] * rng.choice([1e-3, 1.0, 1e3], (20, 1)), np.eye(d)[: min(d, 9)]])
    X = np.concatenate([X, np.zeros((1, d))]).astype(np.float32)
    directions = Directions(measure, n_landmarks=data.draw(st.sampled_from([3, 60])), random_state=0).fit(fitted)
    Q = np.concatenate([X[::3], rng.random((3, d), dtype=np.float32)])
    bounds, held = level_bounds(directions, X, Q)
    values = measure.kernel(as_double(Q), as_double(X))
    norms = np.sqrt(np.outer(measure.energy(Q), measure.energy(X)))
    assert (bounds[:, :, held] >= (values - 1e-12 * norms)[:, held]).all()
    loose = Bounds(directions).extended(len(X), X.__getitem__).loose(directions.aim(Q))
    assert set(loose[1]) == set(np.flatnonzero(~held))
    assert (loose[2] >= (values - 1e-6 * norms)[loose[0], loose[1]]).all()


def test_bounds_are_tight_where_components_say_all():
    X = histograms(300, 6)
    measure = Measure(get_kernel("linear"))
    directions = Directions(measure, n_landmarks=300, random_state=0).fit(X)
    bounds, held = level_bounds(directions, X, X[:20])
    assert held.mean() > 0.98
    # six bytes say all of a row but their rounding: a step is a 250th of the range of a component
    assert (bounds[-1] - measure.kernel(as_double(X[:20]), as_double(X)))[:, held].max() < 0.03


def test_a_share_of_the_tails_lowers_bounds_and_none_of_them_below_the_components():
    X = histograms(200, 12)
    directions = Directions(Measure(get_kernel("chi2")), n_landmarks=8, random_state=0).fit(X)
    whole, half, none = (level_bounds(directions, X, X[:20], share)[0] for share in (1.0, 0.5, 0.0))
    assert (whole >= half).all()
    assert (half >= none - 1e-6).all()
    assert (whole > none).mean() > 0.9


def test_rows_take_at_most_140_bytes(monkeypatch):
    monkeypatch.undo()
    X = histograms(400, 200)
    directions = Directions(Measure(get_kernel("chi2")), n_landmarks=300, random_state=0).fit(X)
    assert directions.n_components == 125
    assert Bounds(directions).extended(400, X.__getitem__).nbytes <= 140 * 400
