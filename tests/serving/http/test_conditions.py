"""Conditions over HTTP, an index without a model, and parameters that nobody knows."""

import functools
from datetime import date
from urllib.parse import quote

import numpy as np
import pytest

import mercer
from mercer.serving.client import Embedding
from mercer.serving.wire.messages import pack_message
from tests.serving.running import Running
from tests.serving.samples import digits, ladder

X = digits()[0]
N = len(X)


@functools.cache
def index():
    made = mercer.KernelIndex("chi2", effort="low", bytes_per_item=8, random_state=0).fit(X)
    data = {
        "n": np.arange(N),
        "mode": ["even" if i % 2 == 0 else "odd" if i % 3 else None for i in range(N)],
        "day": [date(2024, 1, 1 + i % 28) for i in range(N)],
        "x": [float("inf")] * N,
    }
    return made.add(X, data=data).remove([4])


@pytest.fixture(scope="module")
def alone():
    with Running(None, index(), show_rows=True) as running:
        yield running


@pytest.fixture(scope="module")
def both():
    with Running(ladder(), index()) as running:
        yield running


def near(running, where, body=None, **parameters):
    query = "".join(f"&{name}={value}" for name, value in parameters.items())
    return running.post(f"/v1/neighbors?where={quote(where)}{query}", body or {"rows": X[:3].tolist()})


@pytest.mark.parametrize("exact", [0, 1])
def test_a_condition_is_that_of_the_library(alone, exact):
    where = "mode = 'even' and n between 2 and 40"
    answer = near(alone, where, k=5, exact=exact).json
    ids, values = index().search(X[:3], 5, where=where, exact=bool(exact))
    assert answer["ids"] == ids.tolist()
    assert answer["similarity"] == values.tolist()
    assert answer["data"]["n"] == ids.tolist()
    assert answer["data"]["mode"] == [["even"] * 5] * 3
    assert answer["data"]["day"][0][0] == str(date(2024, 1, 1 + int(ids[0, 0]) % 28))
    assert answer["data"]["x"][0][0] == "inf"


def test_a_recall_of_one_is_an_exact_search(alone):
    body = {"rows": X[:3].tolist()}
    queries = ("recall=1.0", "exact=1", "exact=true")
    found, exact, other = (alone.post(f"/v1/neighbors?{query}", body).json for query in queries)
    assert other == exact
    assert alone.post("/v1/neighbors?recall=1.0&exact=false", body).json == found
    assert found["ids"] == exact["ids"]
    assert found["similarity"] == exact["similarity"]


def test_fewer_rows_than_asked_for_are_not_filled_up(alone):
    answer = near(alone, "n in (3, 4, 9)", k=5, rows=1).json
    assert [sorted(row) for row in answer["ids"]] == [[3, 9]] * 3
    assert [len(row) for row in answer["similarity"]] == [2] * 3
    assert answer["rows"][0] == X[answer["ids"][0]].tolist()
    nothing = near(alone, "n < 0").json
    assert (nothing["ids"], nothing["similarity"]) == ([[]] * 3, [[]] * 3)
    some = near(alone, "n < 8", {"rows": X[:1].tolist(), "ids": [2, 3, 100]}).json
    assert sorted(some["ids"][0]) == [2, 3]


def test_bits_are_searched_under_a_condition_too(both):
    embedding = Embedding(ladder().specification(200).to_dict())
    codes, fingerprint = embedding.encode(X[:2]), embedding.fingerprint
    answer = near(both, "n >= 50 and n < 53", pack_message(codes, 200, fingerprint), k=9).json
    assert [sorted(row) for row in answer["ids"]] == [[50, 51, 52]] * 2
    assert near(both, "n < 0", pack_message(codes, 200, fingerprint)).json["ids"] == [[], []]


@pytest.mark.parametrize(
    ("query", "body", "code", "message"),
    [
        ("where=moed%3D1", {}, "where", "where, character 1, at moed: there is no such column. Did you mean 'mode'?"),
        ("where=", {}, "where", "at the end: expected a column name"),
        ("filter=1", {}, "parameters", 'There is no parameter "filter". There are k, where, exact, recall, rows.'),
        ("were=n%3D1", {}, "parameters", "Did you mean 'where'?"),
        ("k=1&k=2", {}, "parameters", "more than once"),
        ("k=1", {"where": "n = 1"}, "keys", '"ids"'),
        ("k=1", {"ids": []}, "ids", "a list of one or more ids"),
        ("k=1", {"ids": [True]}, "ids", "a list of one or more ids"),
        ("k=1", {"ids": [10**9]}, "ids", "found no row with the id 1000000000"),
        ("exact=yes", {}, "exact", "exact must be 1, true, 0 or false."),
        ("exact=2", {}, "exact", "exact must be 1, true, 0 or false."),
        ("recall=most", {}, "recall", "recall must be a number"),
        ("recall=1.5", {}, "recall", "> 0 and <= 1"),
        ("recall=0.9&exact=1", {}, "recall", "Remove recall"),
    ],
)
def test_what_is_not_understood_is_refused(alone, query, body, code, message):
    answer = alone.post(f"/v1/neighbors?{query}", {"rows": X[:1].tolist(), **body})
    assert (answer.status, answer.code) == (422, code)
    assert message in answer.json["error"]["message"]


def test_the_description_has_all_that_a_search_takes(alone):
    asked = alone.get("/openapi.json").json["paths"]["/v1/neighbors"]["post"]
    assert [each["name"] for each in asked["parameters"]] == ["k", "where", "exact", "recall", "rows"]
    bodies = asked["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    assert all(each["properties"]["ids"]["minItems"] == 1 for each in bodies)


def test_no_route_ignores_a_parameter(both):
    rows = {"rows": X[:1].tolist()}
    assert both.post("/v1/classify?k=3", rows).code == "parameters"
    assert both.post("/v1/classify", {**rows, "ids": [1]}).code == "keys"
    assert both.get("/v1/model?x=1").code == "parameters"
    assert both.get("/v1/embedding?bit=64").code == "parameters"
    assert both.post("/v1/reload?x=1", {}).code == "parameters"


def test_an_index_alone_says_what_it_is_and_classifies_nothing(alone):
    card = alone.get("/v1/model").json
    assert (card["task"], card["name"], card["rates"], card["n_features"]) == ("search", "KernelIndex", [], 64)
    assert card["index"]["data"] == {"n": "integer", "mode": "text", "day": "date", "x": "float"}
    assert alone.get("/health/ready").json == {"status": "ready", "model": None}
    assert alone.post("/v1/classify", {"rows": X[:1].tolist()}).code == "no-model"
    assert alone.get("/v1/embedding").code == "raw-only"
    assert 'task="search"' in alone.get("/metrics").body.decode()
    with pytest.raises(mercer.InputError, match=r"nothing to serve\. Give a model"):
        Running(None)
