"""Columns of requests by their names: brought into the order of the model, or refused by name."""

import copy
import functools

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import Client
from mercer.serving import WireClassifier
from mercer.serving.client import FingerprintError
from tests.serving.running import Running
from tests.serving.samples import digits

NAMES = ["height", "width", "depth", "größe"]
MIXED = ["größe", "depth", "height", "width"]


@functools.cache
def table():
    """Rows of four named columns that mean different things, and two classes."""
    X = np.random.default_rng(0).random((300, 4)) * [1, 10, 100, 1000]
    frame = pd.DataFrame(X, columns=NAMES)
    return frame, np.where(X[:, 0] * 10 > X[:, 1], "tall", "wide")


@functools.cache
def named_model():
    return with_others(mercer.KernelClassifier("chi2", random_state=0).fit(*table()))


def with_others(model):
    """The model as mercer fit would leave it, that has seen the label and the id of its table."""
    model.other_columns_ = ["label", "id"]
    return model


@functools.cache
def named_ladder():
    embedding = mercer.UniversalEmbedding(64, delta=300.0, random_state=0)
    return with_others(WireClassifier(embedding, rates=[64], Cs=[1.0], cv=2).fit(*table()))


def index_in(order, **renamed):
    """An index of rows whose columns are in some order."""
    rows = table()[0][order].rename(columns=renamed)
    return mercer.KernelIndex("chi2", bytes_per_item=8, random_state=0).fit(rows).add(rows)


@pytest.fixture(scope="module")
def named():
    with Running(named_model(), index_in(MIXED), show_rows=True) as service:
        yield service


@pytest.fixture(scope="module")
def coded():
    with Running(named_ladder(), index_in(MIXED)) as service:
        yield service


def rows(order, n=5):
    return table()[0][order].iloc[:n]


def scores(model, n=5):
    return model.decision_function(table()[0].iloc[:n])


def test_the_card_and_the_embedding_tell_the_names(named, coded):
    assert named.get("/v1/model").json["columns"] == NAMES
    assert coded.get("/v1/embedding").json["columns"] == NAMES
    assert named.get("/v1/model").json["other_columns"] == ["label", "id"]
    assert coded.get("/v1/embedding").json["other_columns"] == ["label", "id"]


def test_columns_in_another_order_are_matched_by_name(named):
    frame = rows(MIXED)
    as_lists = {"rows": frame.to_numpy().tolist(), "columns": MIXED}
    as_objects = {"rows": frame.to_dict("records")}
    for body in (as_lists, as_objects):
        answer = named.post("/v1/classify", body).json
        np.testing.assert_allclose(np.array(answer["scores"])[:, 1], scores(named_model()), rtol=1e-6)
        assert "ignored_columns" not in answer


def test_bits_of_named_rows_are_those_of_the_order_of_the_model(coded):
    answer = coded.post("/v1/classify", {"rows": rows(MIXED).to_dict("records"), "bits": 64}).json
    np.testing.assert_allclose(np.array(answer["scores"])[:, 1], scores(named_ladder()), rtol=1e-6)


def test_label_and_id_may_stay_and_the_answer_names_what_was_left_out(named):
    frame = rows(MIXED).assign(label="wide", id=None)
    columns = frame.columns.tolist()
    as_lists = {"rows": [list(row) for row in frame.itertuples(index=False)], "columns": columns}
    for body in (as_lists, {"rows": frame.to_dict("records")}):
        for path in ("/v1/classify", "/v1/neighbors?k=2"):
            answer = named.post(path, body)
            assert answer.status == 200
            assert answer.json["ignored_columns"] == ["label", "id"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"rows": [[1, 2, 3]], "columns": NAMES[:3]}, 'missing: "gr\\u00f6\\u00dfe".'),
        ({"rows": [[1, 2, 3, 4]], "columns": [*NAMES[:3], "x\x1b[\ud800"]}, 'Unknown columns: "x\\u001b[\\ud800"'),
        ({"rows": [[1, 2, 3, 4, 5]], "columns": [*NAMES, "x\x1b"]}, 'Unknown columns: "x\\u001b". Remove them'),
        ({"rows": [dict.fromkeys([*NAMES, "id", "size"], 1)]}, 'Unknown columns: "size". Remove them'),
        ({"rows": [[1, 2, 3, 4, 5]], "columns": [*NAMES, "width"]}, 'repeated: "width"'),
        ({"rows": [[1, 2, 3]], "columns": NAMES}, "A row must have 4 values, one per column; row 0 has 3 values"),
        ({"rows": [[1, 2, 3, "4"]], "columns": NAMES}, "numbers only; row 0"),
        ({"rows": [[1, 2, 3, 4]], "columns": [1, 2, 3, 4]}, "each a string"),
        ({"rows": [[1, 2, 3, 4]], "columns": "abcd"}, "must be a list"),
        ({"rows": [dict.fromkeys(NAMES, 1), dict.fromkeys(NAMES[1:], 1)]}, 'missing: "height".'),
        ({"rows": [dict.fromkeys(NAMES, 1), [1, 2, 3, 4]]}, "row 1 is not"),
        ({"rows": [dict.fromkeys(NAMES, None)]}, "Row 0 has null, a missing value"),
        ({"rows": [dict.fromkeys(NAMES, 1)], "columns": NAMES}, 'Remove "columns"'),
    ],
)  # fmt: skip
def test_columns_that_do_not_fit_are_refused_by_name(named, body, words):
    for path in ("/v1/classify", "/v1/neighbors"):
        answer = named.post(path, body)
        assert answer.status == 422
        assert words in answer.json["error"]["message"]


def test_one_name_with_two_values_is_refused(named):
    body = '{"rows": [{"height": 1, "width": 2, "depth": 3, "gr\\u00f6\\u00dfe": 4, "width": 5}]}'
    answer = named.ask("POST", "/v1/classify", body, Content_Type="application/json")
    assert (answer.status, answer.code) == (422, "keys")


def test_without_names_on_either_side_columns_are_taken_by_position(named):
    answer = named.post("/v1/classify", {"rows": rows(NAMES).to_numpy().tolist()}).json
    np.testing.assert_allclose(np.array(answer["scores"])[:, 1], scores(named_model()), rtol=1e-6)
    plain = mercer.KernelClassifier("chi2", random_state=0).fit(table()[0].to_numpy(), table()[1])
    with Running(plain) as service:
        assert service.get("/v1/model").json["columns"] is None
        given = {"rows": rows(NAMES).to_numpy().tolist(), "columns": list("abcd")}
        assert service.post("/v1/classify", given).json["labels"] == plain.predict(rows(NAMES).to_numpy()).tolist()
        assert b"by position; got 3" in service.post("/v1/classify", {"rows": [[1]], "columns": [*"abc"]}).body
        assert b"has no column names" in service.post("/v1/classify", {"rows": [{"a": 1}]}).body


@pytest.mark.filterwarnings("error::UserWarning")
def test_an_index_of_the_same_columns_in_another_order_finds_the_rows_themselves(named, coded):
    for order in (NAMES, MIXED):
        answer = named.post("/v1/neighbors?k=1&rows=1", {"rows": rows(order).to_dict("records")}).json
        assert np.ravel(answer["ids"]).tolist() == list(range(5))
        np.testing.assert_allclose(np.array(answer["rows"])[:, 0], rows(NAMES), rtol=1e-6)
    near = Client(coded.url).neighbors(rows(MIXED), k=1)
    assert (near.similarity == 1).all()
    with Running(mercer.KernelClassifier("chi2").fit(table()[0].to_numpy(), table()[1]), index_in(MIXED)) as service:
        answer = service.post("/v1/neighbors?k=1", {"rows": rows(NAMES).to_dict("records")}).json
        assert np.ravel(answer["ids"]).tolist() == list(range(5))


def test_an_index_of_other_columns_is_refused():
    with pytest.raises(mercer.InputError, match='the columns of the model: it lacks "width" and has "x"'):
        Running(named_model(), index_in(NAMES, width="x"))


# ------------------------------------------------------------------------------------------------------------- client


def test_the_client_takes_data_frames_by_name(coded):
    client = Client(coded.url)
    for frame in (rows(NAMES), rows(MIXED), rows(MIXED).assign(label="wide")):
        np.testing.assert_allclose(client.classify(frame).scores[:, 1], scores(named_ladder()), rtol=1e-6)
    assert client.columns == NAMES
    assert client.other_columns == ["label", "id"]
    with pytest.raises(ValueError, match=r"unknown columns: 'size', 'gr\\xf6sse'\. Remove them"):
        client.classify(rows(NAMES).assign(size=1, größse=2).rename(columns={"größse": "grösse"}))
    missing = r"every column of the model exactly once; missing: 'width', 'gr\\xf6\\xdfe'\."
    with pytest.raises(ValueError, match=missing):
        client.classify(rows(["height", "depth"]))
    with pytest.raises(ValueError, match="repeated: 'width'"):
        client.neighbors(rows([*NAMES, "width"]))


def test_a_model_of_other_columns_is_refused_by_the_client_until_refresh(tmp_path):
    mercer.save(named_ladder(), tmp_path / "m.mercer")
    with Running(tmp_path / "m.mercer", token="a long one") as service:
        client = Client(service.url, token="a long one")
        client.classify(rows(MIXED))
        other = copy.copy(named_ladder())
        other.feature_names_in_ = np.array(MIXED, dtype=object)
        mercer.save(other, tmp_path / "m.mercer")
        assert service.post("/v1/reload", {}, Authorization="Bearer a long one").status == 200
        with pytest.raises(FingerprintError, match="a model with different columns"):
            client.classify(rows(MIXED))
        client.refresh()
        assert client.columns == MIXED
        client.classify(rows(MIXED))


def test_a_wire_classifier_refuses_a_frame_in_another_order():
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        named_ladder().predict(rows(MIXED))


# ----------------------------------------------------------------------------------------------- odd ids, odd labels


def test_ids_and_labels_that_are_no_plain_text_are_carried():
    X, y = digits()
    ids = ["\x07", "\x1b[2J", "\u202e", "plain"]
    index = mercer.KernelIndex("chi2", bytes_per_item=8, random_state=0).fit(X).add(X[:4], ids=ids)
    model = mercer.KernelClassifier("chi2", random_state=0).fit(X[:100], np.array(["\ud800", "\x07"])[y[:100] % 2])
    with Running(model, index) as service:
        assert np.ravel(service.post("/v1/neighbors?k=1", {"rows": X[:4].tolist()}).json["ids"]).tolist() == ids
        answer = service.post("/v1/classify", {"rows": X[:4].tolist()})
        assert answer.json["labels"] == model.predict(X[:4]).tolist()
        assert answer.json["classes"] == ["\x07", "\ud800"]
