"""Rows that may be the nearest, and lists that must be read, against sorting."""

import numpy as np
import pytest

from mercer._native.search import ranking
from tests.reference.search import ranking as reference


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize(("more", "least"), [(0.0, False), (0.2, False), (0.2, True)])
@pytest.mark.parametrize("whole", [False, True])
def test_what_may_be_among_the_nearest_is_kept(form, more, least, whole):
    rng = np.random.default_rng(form)
    N = 1000 if whole else 90
    touched = rng.permutation(N).astype(np.int32)
    totals = rng.gamma(3.0, 1.0, N)
    sums = (np.minimum(totals, 2.0) * rng.random(N)).astype(np.float32)
    inverses, allowed = 1 / np.sqrt(totals), rng.random(N) < 0.8
    share, tiny, slack, a = 1e-3, 1e-30, 1e-11, 2.0
    margin = (slack * (a + totals.max()) + np.sqrt(more)) / np.sqrt(a) / np.sqrt(totals.min()) + np.sqrt(more / a)
    weights = np.empty(0, np.float32)
    if whole:  # so rounded that no row is lost
        weights = (inverses * (1 + 1e-6) if form == ranking.COSINE else totals * (1 - 1e-6)).astype(np.float32)
    given = (
        form, sums, touched, N, weights, totals.max(), a, 1 / np.sqrt(a), totals, inverses, share, tiny, slack, margin,
        more, least, N, allowed,
    )  # fmt: skip
    found = []
    for module in (ranking, reference):
        lows, kept, highs = np.empty(7), np.empty(N, np.int32), np.empty(N)
        count, size = module.keep_nearest(*given, lows, 0, kept, highs)
        found.append((dict(zip(kept[:count].tolist(), highs[:count].tolist(), strict=True)), np.sort(lows), size))
    assert found[0][0].keys() >= found[1][0].keys()
    assert [found[0][0][row] for row in found[1][0]] == pytest.approx(list(found[1][0].values()))
    assert len(found[0][0]) < N
    assert allowed[list(found[0][0])].all()
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)
    assert found[0][2] == found[1][2] == 7
    few = len(found[1][0]) // 2  # are too many: the loop ends after the stretch that shows it
    count, _ = ranking.keep_nearest(*given[:-2], few, allowed, lows, 0, kept, highs)
    assert few < count <= len(found[0][0])


@pytest.mark.parametrize(("form", "least"), [(form, least) for form in range(5) for least in (False, True)])
def test_lists_that_cannot_bring_a_row_near_come_last(form, least):
    rng = np.random.default_rng(10 + form)
    for _ in range(20):
        energies = rng.dirichlet(np.ones(9))
        begins = np.zeros(9, np.int64)
        ends = rng.integers(0, 50, 9)
        limit = {4: -rng.random()}.get(form, rng.random())
        found = []
        for module in (ranking, reference):
            arrays = [begins.copy(), ends.copy(), energies.astype("f4"), energies.astype("f4"), energies.copy()]
            planned = module.plan_lists(form, *arrays, 1.0, 1.0, 0.2, 3.0, least, limit)
            found.append((planned, [array.tolist() for array in arrays]))
        assert found[0][0][0] == found[1][0][0]
        assert found[0][0][1] == pytest.approx(found[1][0][1])
        assert found[0][1] == found[1][1]
