"""Thousands of bodies that are nearly right: each is refused as the client's fault, and the service goes on."""

import base64
import http.client
from collections import Counter

from benchmarks.serving._fuzz import BITS, JSON, Service, malformed
from mercer.serving.client import Embedding
from mercer.serving.wire.messages import pack_message
from tests.serving.running import Running
from tests.serving.samples import digits, index, ladder

X, _ = digits()


def valid_bodies(model):
    """(what is valid, messages, documents) of a model with rates."""
    messages, documents, fingerprints = [], [{"rows": X[:2].tolist()}], {}
    for bits in model.rates_:
        fingerprint = fingerprints[bits] = model.specification(bits).fingerprint
        codes = Embedding(model.specification(bits).to_dict()).encode(X[:3])
        messages.append(pack_message(codes, bits, fingerprint))
        texts = [base64.b64encode(code.tobytes()).decode() for code in codes]
        documents += [{"codes": texts, "fingerprint": fingerprint}, {"rows": X[:1].tolist(), "bits": bits}]
    return Service(X.shape[1], fingerprints), messages, documents


def test_malformed_bodies_are_refused_and_never_break_the_service():
    service, messages, documents = valid_bodies(ladder())
    with Running(ladder(), index(), timeout=60) as running:  # what is compiled first takes longer on a busy machine
        statuses = Counter()
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        for media, body in malformed(service, messages, documents, 2000, seed=0):
            connection.request("POST", "/v1/classify", body, {"Content-Type": media})
            response = connection.getresponse()
            response.read()
            statuses[response.status] += 1
            assert 400 <= response.status < 500, (response.status, media, body[:200])
        for body in messages:
            assert running.post("/v1/classify", body).status == 200
        for document in documents:
            assert running.post("/v1/neighbors?k=1", document).status == 200
        assert running.shelf.gate.taken == 0
    assert {400, 409, 422} <= set(statuses)  # the ways of being wrong are all there


def test_the_judge_of_the_fuzzed_bodies_knows_what_is_valid():
    service, messages, documents = valid_bodies(ladder())
    import json

    assert all(service.is_valid(BITS, body) for body in messages)
    assert all(service.is_valid(JSON, json.dumps(document).encode()) for document in documents)
    assert not service.is_valid(BITS, messages[0][:-1])
