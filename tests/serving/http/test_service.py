"""Every route of the service, asked over HTTP, against the model asked directly."""

import base64
import io
import json
import logging
import re

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

import mercer
from mercer.serving.client import Embedding
from mercer.serving.model.served import ServedModel
from mercer.serving.process import logs
from mercer.serving.wire.messages import pack_message
from tests.serving.running import Running, kept_logging, until
from tests.serving.samples import Slow, bits_model, chi2_model, digits, index, ladder

X, y = digits()
RATES = (64, 200)


@pytest.fixture(scope="module")
def bits():
    """A model with two rates and an index."""
    with Running(ladder(), index(), show_rows=True) as running:
        yield running


@pytest.fixture(scope="module")
def raw():
    """A model of raw rows."""
    with Running(chi2_model()) as running:
        yield running


def codes_at(rate, rows):
    """(codes, fingerprint) as the client of another machine finds them."""
    embedding = Embedding(ladder().specification(rate).to_dict())
    return embedding.encode(rows), embedding.fingerprint


# ------------------------------------------------------------------------------------------------- what is being served


def test_the_card_says_what_the_model_is_and_takes(bits, raw):
    card = bits.get("/v1/model").json
    assert card["rates"] == list(RATES)
    assert card["classes"] == list(range(10))
    assert (card["task"], card["n_features"], card["input"]["type"]) == ("classification", 64, "drawing")
    assert (card["index"]["rows"], card["index"]["takes_codes"], card["index"]["shows_rows"]) == (599, True, True)
    assert card["limits"]["max_rows"] == bits.settings.max_rows
    assert card["needs_token"] is False
    assert [point["bits"] for point in card["curve"]] == list(RATES)
    other = raw.get("/v1/model").json
    assert (other["rates"], other["index"], other["name"]) == ([], None, "KernelClassifier")


@pytest.mark.parametrize("rate", RATES)
def test_the_embedding_is_told_at_every_rate(bits, rate):
    told = bits.get(f"/v1/embedding?bits={rate}").json
    assert told["fingerprint"] == ladder().specification(rate).fingerprint
    np.testing.assert_array_equal(Embedding(told["specification"]).encode(X[:20]), codes_at(rate, X[:20])[0])


def test_without_a_rate_the_longest_embedding_is_told(bits):
    assert bits.get("/v1/embedding").json == bits.get("/v1/embedding?bits=200").json


@pytest.mark.parametrize("query", ["?bits=63", "?bits=0", "?bits=-1", "?bits=x", "?bits=" + 30 * "9", "?bits="])
def test_a_rate_that_the_model_does_not_have_is_refused(bits, query):
    assert bits.get("/v1/embedding" + query).status in (404, 422)


def test_a_model_of_raw_rows_has_no_embedding(raw):
    assert raw.get("/v1/embedding").status == 404
    body = pack_message(*message_parts(64, X[:1]))
    assert raw.post("/v1/classify", body).status == 409


# ------------------------------------------------------------------------------------------------------------- classify


def message_parts(rate, rows):
    codes, fingerprint = codes_at(rate, rows)
    return codes, rate, fingerprint


@pytest.mark.parametrize("rate", RATES)
def test_bits_are_classified_as_the_model_does_it(bits, rate):
    codes, fingerprint = codes_at(rate, X[:50])
    expected = ladder().decision_codes(codes, rate)
    assert (ladder().classes_[expected.argmax(axis=1)] == y[:50]).mean() > 0.7
    by_message = bits.post("/v1/classify", pack_message(codes, rate, fingerprint)).json
    texts = [base64.b64encode(code.tobytes()).decode() for code in codes]
    by_json = bits.post("/v1/classify", {"codes": texts, "fingerprint": fingerprint}).json
    by_rows = bits.post("/v1/classify", {"rows": X[:50].tolist(), "bits": rate}).json
    for other in (by_json, by_rows):
        assert (other["labels"], other["bits"]) == (by_message["labels"], rate)
        np.testing.assert_allclose(other["scores"], by_message["scores"], rtol=1e-12, atol=1e-12)
    assert by_message["labels"] == ladder().classes_[expected.argmax(axis=1)].tolist()
    np.testing.assert_allclose(by_message["scores"], expected, rtol=1e-12, atol=1e-12)
    assert by_message["bits"] == rate


def test_raw_rows_are_classified_as_the_model_does_it(raw, bits):
    answer = raw.post("/v1/classify", {"rows": X[:50].tolist()}).json
    assert answer["labels"] == chi2_model().predict(X[:50]).tolist()
    # BLAS may round the last bit by how an array lies in memory
    np.testing.assert_allclose(answer["scores"], chi2_model().decision_function(X[:50]), rtol=1e-12)
    assert (answer["bits"], answer["classes"]) == (None, list(range(10)))
    assert bits.post("/v1/classify", {"rows": X[:5].tolist()}).json["bits"] == 200


def test_words_two_classes_labels_and_numbers_are_served_too():
    two = y[:100] < 5
    words = np.where(two, "small", "large")
    classifier = mercer.KernelClassifier("chi2", random_state=0).fit(X[:100], words)
    answer = ServedModel(classifier).answer("rows", X[:40])
    assert answer.labels.tolist() == classifier.predict(X[:40]).tolist()
    np.testing.assert_allclose(answer.scores[:, 1], classifier.decision_function(X[:40]), rtol=1e-12)
    labels = mercer.KernelClassifier("chi2", random_state=0).fit(X[:100], np.column_stack([two, y[:100] % 2]))
    answer = ServedModel(labels).answer("rows", X[:40])
    np.testing.assert_array_equal(answer.labels, labels.predict(X[:40]))
    numbers = mercer.KernelRegressor("chi2", random_state=0).fit(X[:100], y[:100] / 2)
    with Running(numbers) as running:
        told = running.post("/v1/classify", {"rows": X[:3].tolist()}).json
    np.testing.assert_allclose(told["labels"], numbers.predict(X[:3]), rtol=1e-12)
    assert told["classes"] is None
    assert told["scores"] is None


def test_a_classifier_on_bits_takes_codes_and_rows():
    model = bits_model()
    served = ServedModel(model)
    codes = model.map_.transform(X[:40])
    assert served.rates == (128,)
    np.testing.assert_array_equal(served.answer("codes", codes, 128).scores, model.decision_function(X[:40]))
    np.testing.assert_array_equal(served.answer("rows", X[:40]).scores, model.decision_function(X[:40]))


@pytest.mark.parametrize("embedding", [mercer.QuantizedJL(40, bits=2), mercer.CompactEmbedding(4, block_size=16)])
def test_every_rate_of_any_ladder_is_served(embedding):
    """Shorter codes of learned projections are not beginnings of longer ones; each rate has an embedding of its own."""
    rates = (1, 3, 4) if embedding.block_size else (16, 40)
    model = mercer.WireClassifier(embedding, rates=rates, Cs=[1.0], cv=2, random_state=0).fit(X[:200], y[:200])
    served = ServedModel(model)
    assert len(served.rates) == len(rates)
    for bits in served.rates:
        told = served.embedding(bits)
        codes = Embedding(told["specification"]).encode(X[:20])
        assert served.knows(bits, told["fingerprint"][:16])
        np.testing.assert_array_equal(served.encode(X[:20], bits), codes)
        np.testing.assert_array_equal(
            served.answer("codes", codes, bits).scores, served.answer("rows", X[:20], bits).scores
        )


# ----------------------------------------------------------------------------------------------------------- neighbors


@pytest.mark.parametrize("rate", RATES)
def test_neighbors_by_bits_are_those_of_smallest_hamming_distance(bits, rate):
    codes, fingerprint = codes_at(rate, X[:20])
    answer = bits.post("/v1/neighbors?k=5", pack_message(codes, rate, fingerprint)).json
    kept = np.delete(np.arange(len(X)), 5)  # one row was removed from the index
    differ = np.unpackbits(codes[:, None] ^ codes_at(rate, X[kept])[0][None], axis=2).sum(axis=2)
    order = np.argsort(differ, axis=1, kind="stable")[:, :5]
    assert answer["ids"] == [[f"image {kept[i]}" for i in row] for row in order]
    np.testing.assert_allclose(answer["similarity"], 1 - np.take_along_axis(differ, order, axis=1) / rate, rtol=1e-15)


def test_neighbors_of_raw_rows_are_those_of_the_index(bits):
    answer = bits.post("/v1/neighbors?k=4&rows=1", {"rows": X[:10].tolist()}).json
    ids, similarity = index().search(X[:10], 4)
    assert answer["ids"] == ids.tolist()
    np.testing.assert_array_equal(answer["similarity"], similarity)
    shown = [[X[int(name.split()[1])].tolist() for name in row] for row in answer["ids"]]
    assert answer["rows"] == shown


def test_labels_of_the_rows_come_from_a_file(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("".join(f"image {i},{digit}\n" for i, digit in enumerate(y) if i != 7))
    with Running(ladder(), index(), index_labels=str(path)) as running:
        answer = running.post("/v1/neighbors?k=3", {"rows": X[6:9].tolist()}).json
    numbers = [[int(name.split()[1]) for name in row] for row in answer["ids"]]
    assert numbers[1][0] == 7
    assert answer["labels"] == [[None if i == 7 else y[i] for i in row] for row in numbers]
    path.write_text("one,two\nthree\n")
    with pytest.raises(mercer.InputError, match="line 2 has 1 cells"):
        Running(ladder(), index(), index_labels=str(path))


def test_k_has_a_default_and_limits(bits):
    rows = {"rows": X[:1].tolist()}
    assert len(bits.post("/v1/neighbors", rows).json["ids"][0]) == 10
    for k in ("0", "101", "-1", "1.5", "many", "9" * 40):
        assert bits.post(f"/v1/neighbors?k={k}", rows).status == 422


def test_without_an_index_or_leave_there_are_no_neighbors_and_no_rows(raw):
    assert raw.post("/v1/neighbors", {"rows": X[:1].tolist()}).code == "no-index"
    with Running(ladder(), index()) as running:
        assert running.post("/v1/neighbors?rows=1", {"rows": X[:1].tolist()}).status == 403


def test_an_index_of_other_rows_is_refused():
    other = mercer.KernelIndex("chi2", effort="low", bytes_per_item=4, random_state=0).fit(X[:, :32]).add(X[:, :32])
    with pytest.raises(mercer.InputError, match="rows of 32 numbers"):
        Running(ladder(), other)


# ------------------------------------------------------------------------------------------------------------- refusals


ROW = [0.0] * 64


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (422, []),
        (422, 7),
        (422, None),
        (422, {}),
        (422, {"rows": []}),
        (422, {"rows": {}}),
        (422, {"rows": "rows"}),
        (422, {"rows": [[]]}),
        (422, {"rows": [ROW[:63]]}),
        (422, {"rows": [ROW, [*ROW, 0.0]]}),
        (422, {"rows": [[True, *ROW[1:]]]}),
        (422, {"rows": [["0", *ROW[1:]]]}),
        (422, {"rows": [[None, *ROW[1:]]]}),
        (422, {"rows": [[[0.0], *ROW[1:]]]}),
        (422, {"rows": [[10**400, *ROW[1:]]]}),
        (422, {"rows": [ROW], "more": 1}),
        (422, {"rows": [ROW], "bits": 65}),
        (422, {"rows": [ROW], "bits": 64.0}),
        (422, {"rows": [ROW], "bits": True}),
        (422, {"rows": [ROW], "codes": []}),
        (422, {"codes": ["AAAAAAAAAAA="]}),
        (422, {"codes": [], "fingerprint": "a" * 64}),
        (422, {"codes": [1], "fingerprint": "a" * 64}),
        (422, {"codes": ["AAAAAAAAAAA="], "fingerprint": ""}),
        (422, {"codes": ["AAAAAAAAAAA="], "fingerprint": 5}),
        (409, {"codes": ["AAAAAAAAAAA="], "fingerprint": "a" * 64}),
        (422, {"codes": ["AAAA"], "fingerprint": "64"}),
        (422, {"codes": ["not base64!"], "fingerprint": "64"}),
        (422, {"codes": ["\u00e4\u00e4\u00e4="], "fingerprint": "64"}),
    ],
)
def test_json_of_another_shape_is_refused(bits, status, content):
    if isinstance(content, dict) and content.get("fingerprint") == "64":
        content["fingerprint"] = ladder().specification(64).fingerprint
    answer = bits.post("/v1/classify", content)
    assert answer.status == status
    assert set(answer.json["error"]) == {"code", "message", "request_id"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"rows": [[NaN]]}',
        b'{"rows": [[Infinity]]}',
        b'{"rows": [[-Infinity]]}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"rows": [[' + b"9" * 5000 + b"]]}",
        '{"rows": [[0]]}'.encode("utf-16"),
    ],
)
def test_what_is_not_json_is_refused(bits, body):
    answer = bits.ask("POST", "/v1/classify", body, Content_Type="application/json")
    assert answer.status == 400


def test_numbers_that_overflow_are_refused(bits):
    body = b'{"rows": [[1e400' + b", 0" * 63 + b"]]}"
    assert bits.ask("POST", "/v1/classify", body, Content_Type="application/json").status == 422


def test_rows_that_a_kernel_refuses_or_that_overflow_in_it_are_the_clients_fault(raw):
    assert raw.post("/v1/classify", {"rows": [[-1.0, *ROW[1:]]]}).code == "rows-refused"
    assert raw.post("/v1/classify", {"rows": [[1e308] * 64]}).status in (200, 422)


def test_bits_of_another_embedding_are_refused(bits):
    codes, _ = codes_at(64, X[:2])
    assert bits.post("/v1/classify", pack_message(codes, 64, "f" * 64)).code == "other-embedding"
    assert bits.post("/v1/classify", pack_message(codes, 64, codes_at(200, X[:1])[1])).code == "other-embedding"
    assert bits.post("/v1/classify", b"MRCW").code == "message-short"


def test_other_media_types_methods_and_paths_are_refused(bits):
    wrong = bits.ask("POST", "/v1/classify", b"{}", Content_Type="text/plain")
    assert wrong.status == 415
    assert {"application/json,", "text/csv,", "application/octet-stream"} <= set(wrong.json["error"]["message"].split())
    assert bits.ask("POST", "/v1/classify", b"{}").status == 415
    assert bits.get("/v1/classify").status == 405
    assert bits.get("/v2/classify").code == "not-found"
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/%2e%2e%2fapp.py",
        "/static/none.js",
        "/docs",
        "/redoc",
    ):
        assert bits.get(path).status == 404


# ------------------------------------------------------------------------------------------------- headers and the page


def test_every_answer_tells_browsers_to_do_little(bits):
    for answer in (bits.get("/"), bits.get("/v1/model"), bits.get("/none"), bits.post("/v1/classify", {})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_another_origin_is_let_in_only_if_the_operator_says_so(bits):
    assert "access-control-allow-origin" not in bits.get("/v1/model", Origin="https://a.example").headers
    with Running(chi2_model(), allow_origin="https://a.example") as running:
        allowed = running.get("/v1/model", Origin="https://a.example").headers
        assert allowed["access-control-allow-origin"] == "https://a.example"
        assert "access-control-allow-origin" not in running.get("/v1/model", Origin="https://b.example").headers
        asked = {"Origin": "https://a.example", "Access_Control_Request_Method": "POST"}
        preflight = running.ask("OPTIONS", "/v1/classify", Access_Control_Request_Headers="authorization", **asked)
        assert preflight.status == 200


def test_nothing_that_is_served_names_another_host(bits):
    from mercer.serving.http.pages import page_files

    for name, file in page_files().items():
        answer = bits.get("/" if name == "index.html" else f"/static/{name}")
        assert (answer.status, answer.body) == (200, file.content)
        assert bits.get(f"/static/{name}", If_None_Match=answer.headers["etag"]).status == 304
        text = file.content.decode("utf-8", "replace")
        loaded = re.findall(r"""(?:src|href|import|from|url|fetch)\s*[=(]?\s*["']?\s*(?:https?:)?//[\w.]+""", text)
        assert not loaded, name


def test_the_openapi_description_names_every_route_and_the_token(bits):
    described = bits.get("/openapi.json").json
    assert set(described["paths"]) == {
        "/v1/classify", "/v1/neighbors", "/v1/model", "/v1/embedding", "/v1/models", "/v1/reload",
        *(f"/v1/models/{{name}}/{each}" for each in ("classify", "neighbors", "model", "embedding")),
        "/health/live", "/health/ready", "/metrics",
    }  # fmt: skip
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


@pytest.mark.parametrize("path", ["/", "/v1/model", "/v1/embedding", "/health/live", "/health/ready", "/openapi.json"])
def test_head_is_answered_as_get_without_the_body(bits, path):
    got, head = bits.get(path), bits.ask("HEAD", path)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"] == str(len(got.body))
    assert head.headers["content-type"] == got.headers["content-type"]


def test_head_of_what_get_does_not_answer_is_refused(bits):
    assert bits.ask("HEAD", "/v1/classify").status == 405
    assert bits.ask("HEAD", "/v1/embedding?bits=7").status == 404
    assert bits.ask("HEAD", "/nothing").status == 404


# --------------------------------------------------------------------------------------------------------- ids and logs


@pytest.mark.parametrize("given", ["abc-1.2_3", "A" * 64])
def test_a_sane_request_id_is_kept(bits, given):
    assert bits.get("/health/live", X_Request_ID=given).headers["x-request-id"] == given
    assert bits.post("/v1/classify", {}, X_Request_ID=given).json["error"]["request_id"] == given


@pytest.mark.parametrize("given", ["", "a b", "A" * 65, "a;b", "\u00e4"])
def test_any_other_request_id_is_replaced(bits, given):
    assert re.fullmatch("[0-9a-f]{32}", bits.get("/health/live", X_Request_ID=given).headers["x-request-id"])


def test_requests_are_logged_as_json_without_bodies_or_tokens(bits):
    stream = io.StringIO()
    with kept_logging():
        logs.configure(stream=stream)
        bits.post("/v1/classify", {"rows": [[123456.0] * 64]}, X_Request_ID="one", Authorization="Bearer hidden-token")
        bits.post("/v1/classify?q=secret", {"rows": [[123456.0]]}, X_Request_ID="two")
        bits.get("/health/live")
        until(lambda: stream.getvalue().count("\n") >= 2)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["request_id"], line["status"], line["path"]) for line in lines] == [
        ("one", 200, "/v1/classify"),
        ("two", 422, "/v1/classify"),
    ]  # probes are not logged
    assert (lines[0]["rows"], lines[0]["kind"]) == (1, "rows")
    assert lines[0]["seconds"] > 0
    for word in ("123456", "hidden-token", "secret"):
        assert word not in stream.getvalue()


def test_a_failure_of_ours_is_logged_with_its_traceback_and_hides_it_from_the_client():
    class Broken(Slow):
        def decision_function(self, X):
            if X[0, 0] == 7:
                raise KeyError("inner detail")
            return super().decision_function(X)

    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    logs.REQUESTS.addHandler(handler)
    try:
        with Running(Broken()) as running:
            answer = running.post("/v1/classify", {"rows": [[7, 0]]})
    finally:
        logs.REQUESTS.removeHandler(handler)
    assert (answer.status, answer.code) == (500, "internal")
    assert b"inner detail" not in answer.body
    assert "KeyError" in stream.getvalue()


def test_metrics_are_prometheus_text_and_count(raw):
    def counted():
        text = raw.get("/metrics").body.decode()
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return {(s.name, *sorted(s.labels.items())): s.value for s in samples}

    route = ("route", "/v1/classify")
    before = counted()
    raw.post("/v1/classify", {"rows": X[:7].tolist()})
    raw.post("/v1/classify", {"rows": []})
    after = counted()

    def grown(name, *labels):
        return after.get((name, *labels), 0) - before.get((name, *labels), 0)

    assert grown("mercer_requests_total", route, ("status", "200")) == 1
    assert grown("mercer_requests_total", route, ("status", "422")) == 1
    assert grown("mercer_request_seconds_count", route) == 2
    assert grown("mercer_rows_total", ("kind", "rows"), route) == 7
    assert grown("mercer_batch_rows_sum") == 7
    assert grown("mercer_body_bytes_total", route) > 7 * 64
    assert after[("mercer_ready",)] == 1
    assert any(key[0] == "mercer_model_info" and ("name", "KernelClassifier") in key for key in after)
