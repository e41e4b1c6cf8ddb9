"""Graphs of embedded rows: walks, scans and the rows behind them find what a numpy scan finds."""

import numpy as np
import pytest

from mercer import thread_limit
from mercer.search.graph import store as _store
from mercer.search.graph.hnsw import LINKS, Graph, levels_of
from mercer.search.graph.store import GraphStore
from tests.search.stores.test_contract import K, assert_nearest

N, WIDTH, UNIT = 1500, 8, 4.0


@pytest.fixture(scope="module")
def rows():
    """Rows around some centers that float16 holds, and queries."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, WIDTH))
    made = centres[rng.integers(0, 20, N + 20)] + 0.3 * rng.normal(size=(N + 20, WIDTH))
    return (made / UNIT).astype(np.float16).astype(np.float32)


@pytest.fixture(scope="module")
def graph(rows):
    with thread_limit(1):
        return Graph(WIDTH).extended(rows[:1000]).extended(rows[1000:1300])


def made(graph, rows, removed=()):
    gone = np.zeros(N, dtype=bool)
    gone[list(removed)] = True
    return GraphStore(graph, rows[1300:N], gone, UNIT)


def scores_of(rows):
    queries, base = UNIT * rows[N:], UNIT * rows[:N]
    return queries @ base.T - (base**2).sum(axis=1) / 2


@pytest.mark.parametrize("way", ["walk", "scan", "pick"])
def test_every_way_finds_the_largest_scores_that_are_allowed(graph, rows, way, monkeypatch, rng):
    costs = {"walk": (9.0, 9.0), "scan": (9.0, 0.0), "pick": (0.0, 9.0)}[way]
    monkeypatch.setattr(_store, "STEPS_PER_ROW", costs[0])
    monkeypatch.setattr(_store, "STEPS_PER_SCANNED", costs[1])
    monkeypatch.setattr(_store, "LEAST_CANDIDATES", 300)  # as good as all: what is left to chance is tested below
    queries, scores = UNIT * rows[N:], scores_of(rows)
    gone = rng.permutation(N)[:200]
    for removed in ((), gone):
        left = ~np.isin(np.arange(N), removed)
        store = made(graph, rows, removed)
        assert store.count() == left.sum()
        assert_nearest(store.search(queries, K), scores, left, K)
        for share in (0.5, 0.1, 0.0):
            allowed = rng.random(N) < share
            assert_nearest(store.search(queries, K, allowed), scores, allowed & left, K)
    assert_nearest(made(graph, rows, range(N)).search(queries, K), scores, np.zeros(N, dtype=bool), K)


def test_a_filter_far_from_the_query_is_not_missed(graph, rows, monkeypatch):
    monkeypatch.setattr(_store, "STEPS_PER_ROW", 9.0)
    monkeypatch.setattr(_store, "STEPS_PER_SCANNED", 9.0)
    scores = scores_of(rows)
    for query in range(5):
        allowed = np.zeros(N, dtype=bool)
        allowed[np.argsort(scores[query])[:300]] = True  # the furthest
        found = made(graph, rows).search(UNIT * rows[N + query][None], K, allowed)
        assert_nearest(found, scores[query][None], allowed, K)


def test_a_range_has_all_rows_that_reach_it(graph, rows, rng):
    scores = scores_of(rows)
    allowed = rng.random(N) < 0.5
    for may in (None, allowed):
        limit = float(np.quantile(scores, 0.9))
        queries, positions, values = made(graph, rows, [3, 1400]).within(UNIT * rows[N:], limit, may)
        left = ~np.isin(np.arange(N), [3, 1400]) & (allowed if may is not None else True)
        wanted = {tuple(pair) for pair in np.argwhere((scores >= limit) & left).tolist()}
        found = set(zip(queries.tolist(), positions.tolist(), strict=True))
        assert wanted <= found
        assert len(found) < 1.2 * len(wanted)  # a margin for the rounding of float16
        np.testing.assert_allclose(values, scores[queries, positions], rtol=1e-3, atol=1e-3)


def test_one_thread_builds_the_same_graph_each_time_and_extends_a_copy(graph, rows):
    with thread_limit(1):
        first = Graph(WIDTH).extended(rows[:1000])
        before = {name: array.copy() for name, array in first.arrays.items()}
        again = first.extended(rows[1000:1300])
    for name, array in graph.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        np.testing.assert_array_equal(first.arrays[name], before[name])
    assert again.entry == graph.entry
    np.testing.assert_array_equal(graph.vectors.astype(np.float32), rows[:1300])


def test_arrays_give_the_graph_back(graph, rows):
    copy = Graph.of_arrays(**graph.arrays, entry=graph.entry)
    for found, wanted in zip(copy.search(rows[N:], K, 50), graph.search(rows[N:], K, 50), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert copy.nbytes == graph.nbytes


def test_no_walk_leads_to_rows_that_were_cut_off(graph, rows):
    lowest = np.flatnonzero(graph.is_lowest(np.arange(1300)))[::20]
    cut = graph.without(lowest)
    positions, _ = cut.search(rows[lowest], K, 100)
    assert not np.isin(positions, lowest).any()
    assert (graph.search(rows[lowest], 1, 100)[0][:, 0] == lowest).all()


def test_each_further_layer_has_one_row_for_each_link():
    levels = levels_of(0, 2**17)
    counts = np.bincount(levels)[1:]
    assert counts[0] / counts.sum() == pytest.approx(1 - 1 / LINKS, abs=0.002)  # 4 standard deviations
    np.testing.assert_array_equal(levels_of(500, 600), levels[500:600])
