"""A csv goes in and comes back with its labels: by name and by position, of any size that is allowed, or refused."""

import copy
import csv
import io

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.serving.client import Client, ServiceError
from tests.serving.running import Running

CSV = "text/csv"
NAMES = ["width, cm", "height", "depth"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((60, 3)).round(3), columns=NAMES)
    return X, np.where(X["height"] > X["depth"], "tall; thin", "flat")


@pytest.fixture(scope="module")
def model(table):
    return mercer.KernelClassifier("linear").fit(*table)


@pytest.fixture(scope="module")
def service(model, table):
    index = mercer.KernelIndex("chi2", random_state=0).fit(table[0]).add(table[0], data={"kind": table[1]})
    with Running(model, index, max_table_bytes=20_000, max_batch_rows=16) as running:
        yield running


def sent(service, text, query="", path="classify", content_type=CSV):
    body = text if isinstance(text, bytes) else text.encode()
    return service.ask("POST", f"/v1/{path}{query}", body, content_type=content_type)


def read(answer):
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith(CSV)
    return list(csv.reader(io.StringIO(answer.body.decode())))


def test_a_table_comes_back_line_by_line_with_its_labels(service, model, table):
    X = table[0].sample(frac=1, random_state=1)[NAMES[::-1]]  # columns are found by name, rows stay in their order
    text = X.to_csv(index=False)
    lines = sent(service, text, content_type=f"{CSV}; charset=utf-8").body.decode().splitlines()
    assert [line.split(",predicted")[0] for line in lines[:1]] == [text.splitlines()[0]]
    heading, *rows = read(sent(service, text, "?scores=1"))
    assert heading == [*NAMES[::-1], "predicted", "score flat", "score tall; thin"]
    assert [row[3] for row in rows] == model.predict(X[NAMES]).tolist()
    np.testing.assert_allclose([float(row[5]) for row in rows], model.decision_function(X[NAMES]), atol=1e-9)
    assert [line.startswith(one) for line, one in zip(lines, text.splitlines(), strict=True)] == [True] * 61
    assert Client(service.url).label_table(text.encode()).decode().splitlines() == lines


def test_other_separators_quotes_and_ends_of_lines_are_kept(service, model):
    text = '\ufeff"width, cm";height;depth;predicted\r\n\r\n0.5;0.9;0.1;"a ""note"",\nin two lines"\r\n'
    with Running(_with_others(model, "predicted")) as running:
        heading, row = csv.reader(io.StringIO(sent(running, text).body.decode(), newline=""), delimiter=";")
    assert heading == ["width, cm", "height", "depth", "predicted", "predicted_2"]
    assert row == ["0.5", "0.9", "0.1", 'a "note",\nin two lines', "tall; thin"]


def _with_others(model, *names):
    other = copy.copy(model)
    other.other_columns_ = list(names)
    return other


def test_without_a_heading_columns_are_taken_by_position(service, model, table):
    rows = read(sent(service, table[0].to_csv(index=False, header=False)))
    assert [row[-1] for row in rows] == model.predict(table[0]).tolist()


def test_the_nearest_rows_of_a_table_are_a_table(service, table):
    X = table[0][:40]
    heading, *rows = read(sent(service, X.to_csv(index=False), "?k=2", "neighbors"))
    assert heading == ["row", "rank", "id", "similarity", "kind"]
    assert [(int(row[0]), int(row[1])) for row in rows] == [(i + 1, rank) for i in range(40) for rank in (1, 2)]
    ids, similarity = service.shelf.first.slot.present.neighbors._index.search(X, 2)
    assert [int(row[2]) for row in rows] == ids.ravel().tolist()
    np.testing.assert_allclose([float(row[3]) for row in rows], similarity.ravel())
    found = Client(service.url).neighbors_table(X.to_csv(index=False).encode(), k=2)
    assert len(found.decode().splitlines()) == 81


def test_missing_values_get_the_means_that_a_model_or_an_index_keeps(model, table):
    means = np.array([0.5, 0.25, 0.75])
    whole, gaps = table[0][:6].copy(), table[0][:6].copy()
    whole.iloc[[1, 4], [1, 2]], gaps.iloc[[1, 4], [1, 2]] = means[1:], np.nan
    filling = copy.copy(model)
    filling.feature_means_ = means
    index = mercer.KernelIndex("chi2", random_state=0).fit(table[0]).add(table[0])
    index.model_.feature_means_ = means[::-1].copy()  # of the index alone: a search is filled by these
    other = whole.copy()
    other.iloc[[1, 4], [1, 2]] = means[::-1][1:]
    with Running(filling, index) as running:
        wanted = model.decision_function(whole).round(9).tolist()
        for empty in ("", "NA"):
            rows = read(sent(running, gaps.to_csv(index=False, na_rep=empty), "?scores=1"))[1:]
            assert [round(float(row[-1]), 9) for row in rows] == wanted
        said = {"columns": NAMES, "rows": [[None if value != value else value for value in row]
                                           for row in gaps[NAMES].to_numpy().tolist()]}  # fmt: skip
        scores = running.post("/v1/classify", said).json["scores"]
        assert [round(two, 9) for _, two in scores] == wanted
        near = running.post("/v1/neighbors?k=3", said).json
        assert near["ids"] == index.search(other, 3)[0].tolist()
    with Running(model) as running:
        answer = running.post("/v1/classify", said)
    assert answer.json["error"]["message"] == "Row 1 has null, a missing value, which this model does not accept."


HEAD = '"width, cm",height,depth\n'
REFUSED = {
    "no text": (b"\xff\xfe\x00", 400, "not UTF-8 text"),
    "nothing": ("\n \n", 422, "no rows"),
    "a heading alone": (HEAD, 422, "a header but no rows"),
    "a word": (HEAD + "1,2,3\n1,x,3\n", 422, 'Line 3 has no finite number in column "height"'),
    "an infinity": (HEAD + "1,inf,3\n", 422, "Line 2 has no finite number"),
    "an underscore": (HEAD + "1,1_0,3\n", 422, "Line 2 has no finite number"),
    "an empty cell": (HEAD + "1,,3\n", 422, "Line 2 has an empty cell, which this model does not accept"),
    "a short line": (HEAD + "1,2,3\n1,2\n", 422, "Line 3 has 2 cells; the first line has 3"),
    "an open quote": (HEAD + '1,2,"3\n', 400, "Check its quotes"),
    "an unknown column": ('"width, cm",height,depth,age\n1,2,3,4\n', 422, 'Unknown columns: "age"'),
    "a missing column": ("height,depth\n1,2\n", 422, 'missing: "width, cm"'),
    "another width": ("1,2\n", 422, "must have 3 columns; got 2"),
    "too long": (
        HEAD + "0.123,0.123,0.123\n" * 2000,
        413,
        "The maximum size of a body is 20000 bytes. Send the table in parts.",
    ),
}


@pytest.mark.parametrize(("text", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_table_of_this_model_is_refused_in_a_sentence(service, text, status, words):
    answer = sent(service, text)
    assert answer.status == status
    assert words in answer.json["error"]["message"]


def test_a_client_tells_why_a_table_was_refused(service):
    with pytest.raises(ServiceError, match="a header but no rows") as caught:
        Client(service.url).label_table(HEAD.encode())
    assert caught.value.status == 422


def test_a_client_that_is_raw_sends_numbers_with_their_names(service, model, table):
    client = Client(service.url, raw=True)
    X = table[0][NAMES[::-1]]
    assert client.classify(X).labels.tolist() == model.predict(table[0]).tolist()
    assert client.neighbors(X[:3], k=1).ids.ravel().tolist() == [0, 1, 2]
    with pytest.raises(ServiceError, match="cannot read bits"):
        Client(service.url).classify(X)


def test_a_regressor_answers_numbers_that_read_back_the_same(table):
    X, _ = table
    model = mercer.KernelRegressor("linear").fit(X, X["width, cm"] * 3)
    with Running(model) as running:
        _, *rows = read(sent(running, X.to_csv(index=False), "?scores=1"))
        np.testing.assert_array_equal([float(row[3]) for row in rows], model.predict(X))
        assert Client(running.url, raw=True).classify(X).scores is None
