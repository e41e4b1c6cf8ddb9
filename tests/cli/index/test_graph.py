"""``mercer index graph``: what the library finds, in files and in words."""

import csv

import numpy as np
import pytest

from mercer import KernelIndex, neighbor_graph

PARAMETERS = {"bytes_per_item": 2, "n_components": 4, "n_landmarks": 32, "effort": "low", "embedding": "kpca"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Sixty rows in three groups, with a column beside them and texts as ids."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.dirichlet(20 * np.eye(3)[g] + 0.3, size=20) for g in range(3)]).astype(np.float32)
    folder = tmp_path_factory.mktemp("graphs")
    with KernelIndex("chi2", **PARAMETERS, random_state=0).fit(X).persist(folder / "index") as index:
        index.add(X, [f"r{i}" for i in range(60)], data={"group": [i // 20 for i in range(60)]})
    return folder


def lines_of(path):
    with open(path, newline="") as stream:
        return list(csv.reader(stream))


def test_the_graph_is_that_of_the_library(succeeds, made, tmp_path):
    edges, rows = tmp_path / "edges.csv", tmp_path / "rows.csv"
    how = ["-k", 4, "--min-similarity", 0.8, "--mutual", "--exact", "--where", "group < 2"]
    document = succeeds("index", "graph", made / "index", *how, "--out", edges, "--components", rows, "--json")
    with KernelIndex.open(made / "index") as index:
        graph = neighbor_graph(index, 4, min_similarity=0.8, mutual=True, exact=True, where="group < 2")
    assert (document["rows"], document["edges"], document["components"]) == (
        40,
        len(graph.values),
        len(graph.sizes),
    )
    assert document["sizes"] + [1] * document["alone"] == graph.sizes.tolist()
    head, *lines = lines_of(edges)
    assert head == ["source", "target", "similarity"]
    wanted = zip(graph.ids[graph.sources], graph.ids[graph.targets], graph.values.tolist(), strict=True)
    assert [(source, target, float(value)) for source, target, value in lines] == list(wanted)
    head, *lines = lines_of(rows)
    assert head == ["id", "component", "group"]
    assert [line[0] for line in lines] == graph.ids.tolist()
    assert [int(line[1]) for line in lines] == graph.components.tolist()
    assert [line[2] for line in lines] == ["0"] * 20 + ["1"] * 20


def test_components_are_told_in_words(succeeds, made):
    said = succeeds("index", "graph", made / "index", "-k", 3, "--mutual", "--exact", "--min-similarity", 0.5)
    assert "60, of which " in said
    assert "components" in said


def test_edges_go_to_the_output_and_nothing_else_does(succeeds, made):
    said = succeeds("index", "graph", made / "index", "-k", 2, "--out", "-")
    assert said.splitlines()[0] == "source,target,similarity"
    assert all(len(line.split(",")) == 3 for line in said.splitlines())
    assert "<graphml" in succeeds("index", "graph", made / "index", "-k", 2, "--out", "-", "--out-format", "graphml")


def test_what_cannot_be_is_refused_before_anything_is_written(fails, made, tmp_path):
    index = made / "index"
    fails(2, ["-k", "--min-similarity"], "index", "graph", index)
    fails(2, ["ranks by similarity. Use --min-similarity"], "index", "graph", index, "--max-distance", 1)
    fails(2, ["graphml, csv or tsv"], "index", "graph", index, "-k", 2, "--out", tmp_path / "g.json")
    fails(2, ["csv or tsv"], "index", "graph", index, "-k", 2, "--components", tmp_path / "g.graphml")
    fails(2, ["no directory"], "index", "graph", index, "-k", 2, "--out", tmp_path / "no" / "g.csv")
    fails(2, ["--out-format"], "index", "graph", index, "-k", 2, "--out-format", "csv")
    fails(2, ["the same file"], "index", "graph", index, "-k", 2, "--out", "-", "--components", "-")
    same = tmp_path / "same.csv"
    fails(2, ["the same file"], "index", "graph", index, "-k", 2, "--out", same, "--components", same)
    fails(1, ["got k=60 for 60 rows"], "index", "graph", index, "-k", 60)
    fails(1, ["no such column"], "index", "graph", index, "-k", 2, "--where", "grope = 1")
    fails(2, ["There is no index"], "index", "graph", tmp_path / "none", "-k", 2)
    assert not list(tmp_path.iterdir())
