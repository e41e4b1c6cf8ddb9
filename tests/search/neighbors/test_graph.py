"""The graph of near rows: its edges, its components, and what other programs read of its files."""

import csv
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import InputError, KernelIndex, exact_knn, neighbor_graph
from mercer._base.tables import ArgumentError
from mercer.search.neighbors import pairs
from mercer.search.neighbors.graph import NeighborGraph
from tests.search.index_samples import histograms

SPACE = "{http://graphml.graphdrawing.org/xmlns}"
N = 90


@pytest.fixture(scope="module", params=["codes", "lists"])
def index(request):
    X = histograms(N, seed=3)
    X[20:28] = X[20]  # more equal rows than neighbors are asked for
    how = {"codes": {"bytes_per_item": 4, "effort": "low"}, "lists": {"store": "lists"}}[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = KernelIndex("chi2", measure="distance", random_state=0, **how).fit(X)
    made.add(np.concatenate([X[:5], X]), range(100, 105 + N))
    made.remove(range(100, 105))  # numbers of rows are not their positions
    return made


def edges_of(graph):
    return dict(
        zip(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True), graph.values.tolist(), strict=True)
    )


def distances(index):
    X = index.rows_.take(index.rows_.alive)
    ids, values = exact_knn("chi2", X, X, N, measure="distance")
    out = np.empty((N, N))
    np.put_along_axis(out, ids, values, axis=1)
    return out


@pytest.mark.parametrize("mutual", [False, True])
def test_edges_join_each_row_and_its_nearest_others(index, mutual, monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK_ROWS", 37)
    graph = neighbor_graph(index, 4, mutual=mutual, exact=True)
    D = distances(index)
    np.fill_diagonal(D, -1)  # the row itself before equal ones; these in the order of their ids
    near = {(i, j) for i in range(N) for j in np.argsort(D[i], kind="stable")[1:5].tolist()}
    wanted = {(i, j) for i, j in near if (j, i) in near} if mutual else near
    assert set(edges_of(graph)) == {(min(pair), max(pair)) for pair in wanted}
    assert all(value == D[pair] for pair, value in edges_of(graph).items())
    assert graph.ids.tolist() == list(range(105, 195))
    assert (np.lexsort((graph.targets, graph.sources)) == np.arange(len(graph.values))).all()


@pytest.mark.parametrize("k", [None, 6])
def test_a_limit_keeps_the_pairs_within_it(index, k):
    D = distances(index)
    limit = np.quantile(D, 0.1)
    found = edges_of(neighbor_graph(index, k, max_distance=limit, exact=True))
    within = {(i, j): D[i, j] for i in range(N) for j in range(i + 1, N) if D[i, j] <= limit}
    wanted = within if k is None else edges_of(neighbor_graph(index, k, exact=True)).items() & within.items()
    assert found == dict(wanted)
    assert found[20, 21] < 1e-7  # equal rows


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=40))
@settings(max_examples=60)
def test_components_are_those_of_joining_one_edge_after_the_other(n, joined):
    known = {(min(pair), max(pair)) for pair in joined if pair[0] != pair[1] and max(pair) < n}
    sources, targets = np.array(sorted(known), dtype=np.int64).reshape(-1, 2).T
    graph = NeighborGraph(np.arange(n), sources, targets, np.zeros(len(known)), "distance")
    parts = [{i} for i in range(n)]
    for i, j in known:
        merged = parts[i] | parts[j]
        for member in merged:
            parts[member] = merged
    unique = sorted({frozenset(part) for part in parts}, key=lambda part: (-len(part), min(part)))
    assert [set(np.flatnonzero(graph.components == number).tolist()) for number in range(len(unique))] == unique
    assert graph.sizes.tolist() == [len(part) for part in unique]
    matrix = graph.matrix()
    assert matrix.nnz == 2 * len(known)  # zeros are stored
    assert set(zip(*(each.tolist() for each in matrix.tocoo().coords), strict=True)) == known | {
        (j, i) for i, j in known
    }


def test_a_condition_leaves_rows_out_of_the_graph_altogether():
    X = histograms(60, seed=1)
    index = KernelIndex("chi2", store="lists").fit(X).add(X, data={"part": [i % 2 for i in range(60)]})
    odd = neighbor_graph(index, 3, where="part = 1")
    alone = KernelIndex("chi2", store="lists").fit(X).add(X[1::2], range(1, 60, 2))
    assert edges_of(odd) == edges_of(neighbor_graph(alone, 3))
    assert odd.ids.tolist() == list(range(1, 60, 2))
    with pytest.raises(InputError, match=r"character 1, at prat: there is no such column. Did you mean 'part'"):
        neighbor_graph(index, 3, where="prat = 1")


REFUSED = {
    "neither k nor a limit": ({}, "needs k, a limit, or both"),
    "k of no rows": ({"k": 0}, "integer >= 1; got k=0"),
    "k of all rows": ({"k": N}, f"k less than the number of rows; got k={N} for {N} rows"),
    "the other limit": ({"min_similarity": 0.5}, "ranks by distance needs max_distance"),
    "no number": ({"k": 3, "max_distance": float("nan")}, "finite number"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_makes_no_graph_is_refused_in_a_sentence(index, what):
    parameters, message = REFUSED[what]
    with pytest.raises(InputError, match=f"neighbor_graph .*{message}"):
        neighbor_graph(index, **parameters)


def test_without_rows_there_is_no_graph():
    X = histograms(40)
    empty = KernelIndex("chi2", store="lists").fit(X)
    with pytest.raises(InputError, match="neighbor_graph needs rows in the index"):
        neighbor_graph(empty, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codes = KernelIndex("chi2", vectors=None, bytes_per_item=2, effort="low", random_state=0).fit(X).add(X)
    with pytest.raises(InputError, match="needs the rows, but this index stores codes only"):
        neighbor_graph(codes, 3)


# ------------------------------------------------------------------------------------------------------------- files

NASTY = ['<a & "b">', "tab\tline\nreturn\r", "ü'; --", " spaces ", 'say ""', "\U0001f600"]


@pytest.fixture
def nasty():
    """Three edges between six rows with ids that need care."""
    ids = np.array(NASTY, dtype=object)
    values = np.array([0.0, 0.1 + 0.2, 1e-300])
    return NeighborGraph(ids, np.array([0, 1, 4]), np.array([1, 2, 5]), values, "distance")


def test_graphml_is_read_as_it_was_written(nasty, tmp_path):
    data = {
        '<mass> & "x"': [1.5, None, float("inf"), float("nan"), 2.0, -1.0],
        "seen": [True, False, None] * 2,
        "n": NASTY,
    }
    nasty.write(tmp_path / "g.graphml", data)
    root = ElementTree.parse(tmp_path / "g.graphml").getroot()
    keys = {key.get("id"): (key.get("attr.name"), key.get("attr.type")) for key in root.iter(f"{SPACE}key")}
    told = {node.get("id"): {keys[d.get("key")][0]: d.text for d in node} for node in root.iter(f"{SPACE}node")}
    assert list(told) == NASTY
    assert [each["n"] for each in told.values()] == NASTY
    assert [each["component"] for each in told.values()] == ["0", "0", "0", "2", "1", "1"]
    assert [each.get('<mass> & "x"') for each in told.values()] == ["1.5", None, "INF", "NaN", "2.0", "-1.0"]
    assert [each.get("seen") for each in told.values()] == ["true", "false", None] * 2
    assert dict(keys.values()) == {
        "component": "long", "<mass> & \"x\"": "double", "seen": "boolean", "n": "string", "distance": "double"
    }  # fmt: skip
    edges = [(e.get("source"), e.get("target"), float(e[0].text)) for e in root.iter(f"{SPACE}edge")]
    assert edges == [(NASTY[0], NASTY[1], 0.0), (NASTY[1], NASTY[2], 0.1 + 0.2), (NASTY[4], NASTY[5], 1e-300)]


@pytest.mark.parametrize(("name", "separator"), [("g.csv", ","), ("g.tsv", "\t")])
def test_lines_are_read_as_they_were_written(nasty, tmp_path, name, separator):
    nasty.write(tmp_path / name)
    with open(tmp_path / name, newline="", encoding="utf-8") as stream:
        head, *lines = csv.reader(stream, delimiter=separator)
    assert head == ["source", "target", "distance"]
    assert [(source, target, float(value)) for source, target, value in lines] == [
        (NASTY[0], NASTY[1], 0.0), (NASTY[1], NASTY[2], 0.1 + 0.2), (NASTY[4], NASTY[5], 1e-300)
    ]  # fmt: skip


def test_what_graphml_cannot_hold_is_refused_and_leaves_no_file(tmp_path):
    def graph(*ids):
        return NeighborGraph(
            np.array(ids, dtype=object), *(np.empty(0, dtype=np.int64) for _ in range(3)), "similarity"
        )

    path = tmp_path / "g.graphml"
    for made, data, message in (
        (graph("a\x00", "b"), None, r"cannot represent the id 'a\\x00'. Write csv"),
        (graph(1, "1"), None, 'the id "1" as both'),
        (graph("a"), {"component": [1]}, "Remove the column 'component'"),
        (graph("a"), {"name": ["\x1b[31m"]}, "of the column 'name'"),
        (graph("a", "b"), {"name": ["x"]}, "one value for each of 2 rows"),
    ):
        with pytest.raises(InputError, match=message):
            made.write(path, data)
        assert not list(tmp_path.iterdir())
    with pytest.raises(ArgumentError, match=r"written as graphml, csv or tsv; .*g\.json has none"):
        graph("a").write(tmp_path / "g.json")
    with pytest.raises(ArgumentError, match=r"Components are written as csv or tsv; .*g\.graphml"):
        graph("a").write_rows(path)


def test_a_line_for_each_row_tells_its_component(nasty, tmp_path):
    data = {"mass": [1.5, None, 2.0, 3.0, 4.0, 5.0], "seen": [True, False, None] * 2}
    nasty.write_rows(tmp_path / "g.csv", data)
    with open(tmp_path / "g.csv", newline="", encoding="utf-8") as stream:
        head, *lines = csv.reader(stream)
    assert head == ["id", "component", "mass", "seen"]
    assert [line[0] for line in lines] == NASTY
    assert [line[1:] for line in lines[:3]] == [["0", "1.5", "true"], ["0", "", "false"], ["0", "2.0", ""]]


def test_networkx_reads_graphml(nasty, tmp_path):
    networkx = pytest.importorskip("networkx")
    nasty.write(tmp_path / "g.graphml", {"mass": [1.5] * 6})
    read = networkx.read_graphml(tmp_path / "g.graphml")
    assert set(read) == set(NASTY)
    assert {len(part) for part in networkx.connected_components(read)} == {1, 2, 3}
    assert read.edges[NASTY[0], NASTY[1]]["distance"] == 0
    assert read.nodes[NASTY[0]] == {"component": 0, "mass": 1.5}


def test_rows_that_share_no_column_are_components_of_their_own():
    X = sparse.csr_array(np.kron(np.eye(4), np.ones((5, 3))).astype(np.float32))
    graph = neighbor_graph(KernelIndex("js").fit(X).add(X), min_similarity=0.1)
    assert graph.sizes.tolist() == [5, 5, 5, 5]
    np.testing.assert_array_equal(graph.components, np.repeat(np.arange(4), 5))
