"""The plan of an index: a dictionary, a sentence, a small table, and a picture in a notebook."""

import json

import numpy as np
import pytest
from scipy import sparse

from mercer import KernelIndex


@pytest.fixture(scope="module")
def index():
    X = np.random.default_rng(0).dirichlet(np.ones(16), size=300).astype(np.float32)
    return KernelIndex("chi2", bytes_per_item=4, n_landmarks=32, random_state=0).fit(X).add(X)


def test_a_plan_is_a_dictionary_a_sentence_and_a_table(index):
    plan = index.plan_
    assert plan["store"] == "codes"
    assert json.loads(json.dumps(plan)) == plan == index.stats()["plan"]
    assert plan.summary == "chi2 kernel; a scan of codes of 4 bytes (product quantization); 300 rows of 16 columns"
    assert plan.summary in str(plan)


def test_lists_and_a_graph_are_called_by_their_names():
    X = np.random.default_rng(0).dirichlet(np.ones(16), size=300)
    lists = KernelIndex("chi2", store="lists").fit(sparse.csr_array(X)).add(sparse.csr_array(X))
    assert lists.plan_.summary == "chi2 kernel; inverted lists; 300 rows of 16 columns"
    graph = KernelIndex("chi2", store="graph", n_landmarks=32, effort="low", random_state=0).fit(X).add(X)
    assert "a graph of embedded rows" in graph.plan_.summary


def test_a_notebook_shows_what_was_tried_and_what_a_certificate_proves(index):
    html = index._repr_html_()
    assert index.plan_._repr_html_() in html
    assert html.count("<rect") == len(index.plan_["tried"])
    index.search(np.full((3, 16), 1 / 16, dtype=np.float32), k=2, exact=True)
    shown = index.certificate_._repr_html_()
    assert "proven to be that of brute force" in shown
    assert shown.count("<rect") == 3
