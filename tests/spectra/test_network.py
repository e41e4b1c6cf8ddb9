"""Molecular networks: mutual neighbors, components of a bounded size, and GraphML that a parser of XML reads."""

from xml.etree import ElementTree

import numpy as np

from mercer.spectra import graphml, network_edges

SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def pairs(n=40, seed=0):
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n, 1)
    chosen = rng.random(len(first)) < 0.3
    return first[chosen], second[chosen], rng.uniform(0.7, 1, chosen.sum()), n


def test_an_edge_is_among_the_best_of_both_its_ends():
    first, second, scores, n = pairs()
    kept, _ = network_edges(first, second, scores, n, top_k=3, max_component=0)
    matrix = np.zeros((n, n))
    matrix[first, second] = matrix[second, first] = scores
    best = [set(np.argsort(-row, kind="stable")[:3]) for row in matrix]
    wanted = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if b in best[a] and a in best[b]]
    assert kept.tolist() == wanted
    assert 0 < len(kept) < len(first)


def test_equal_scores_stay_together_at_the_border_as_in_gnps():
    kept, _ = network_edges([0, 0, 0, 0], [1, 2, 3, 4], [0.9, 0.8, 0.8, 0.7], 5, top_k=2, max_component=0)
    assert kept.tolist() == [0, 1, 2]


def test_large_components_lose_their_lowest_scores_until_they_are_small():
    first, second, scores, n = pairs()
    kept, components = network_edges(first, second, scores, n, top_k=0, max_component=8)
    sizes = np.bincount(components)
    assert sizes.max() <= 8
    assert (np.diff(sizes) <= 0).all()
    assert (components[first[kept]] == components[second[kept]]).all()
    every, whole = network_edges(first, second, scores, n, top_k=0, max_component=0)
    assert len(every) == len(first)
    assert (whole == 0).all()


def test_graphml_holds_nodes_edges_and_any_text():
    nodes = {"id": [0, 1], "name": ['a<b>&"\x01', None], "mass": [1.5, 2.0]}
    document = ElementTree.fromstring(graphml(nodes, {"first": [0], "second": [1], "score": [0.9]}))
    graph = document.find(f"{SPACE}graph")
    values = [{each.get("key"): each.text for each in node} for node in graph.iter(f"{SPACE}node")]
    assert values == [{"node.name": 'a<b>&"', "node.mass": "1.5"}, {"node.mass": "2.0"}]
    assert [(edge.get("source"), edge.get("target")) for edge in graph.iter(f"{SPACE}edge")] == [("n0", "n1")]
    types = {key.get("id"): key.get("attr.type") for key in document.iter(f"{SPACE}key")}
    assert types == {"node.name": "string", "node.mass": "double", "edge.score": "double"}


def test_no_pairs_are_a_network_of_single_spectra():
    kept, components = network_edges([], [], [], 3)
    assert kept.tolist() == []
    assert components.tolist() == [0, 1, 2]
