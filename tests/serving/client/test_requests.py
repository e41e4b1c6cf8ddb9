"""What the Python client sends and how it behaves when a service fails, changes or is away."""

import ast
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from mercer.serving import client as client_module
from mercer.serving.client import Client, Embedding, FingerprintError, ServiceError
from mercer.serving.wire.messages import unpack_message
from tests.serving.client.test_oracle import code_of, specification

SOURCE = Path(client_module.__file__)
X = np.array([[1.0, 2.0, 3.0], [-4.0, 5.0, 60.0]])


class Service:
    """A service by the book, but that `faults` (status, headers) are answered first, one per request."""

    def __init__(self):
        self.embedding = Embedding(specification())
        self.faults, self.requests, self.stated, self.most_rows = [], [], None, 4096

    def answer(self, method, path, headers, body, peer):
        self.requests.append((method, path, headers, body, peer))
        if self.faults:
            status, extra = self.faults.pop(0)
            error = {"code": "scripted", "message": "This fault is in the script.", "request_id": "r-1"}
            return status, extra, {"error": error}
        if path.startswith("/v1/embedding"):
            fingerprint = self.stated or self.embedding.fingerprint
            return 200, {}, {"specification": self.embedding.specification, "fingerprint": fingerprint}
        if path == "/v1/model":
            return 200, {}, {"name": "scripted"}
        message = unpack_message(body)
        if message.fingerprint8 != self.embedding.fingerprint[:16]:
            return 409, {}, {"error": {"code": "fingerprint", "message": "Another embedding.", "request_id": "r-2"}}
        if len(message.codes) > self.most_rows:
            return 413, {}, {"error": {"code": "too-many-rows", "message": "Too many rows.", "request_id": "r-3"}}
        ones = np.unpackbits(message.codes, axis=1).sum(axis=1).tolist()
        if path.startswith("/v1/neighbors"):
            k = int(path.partition("k=")[2])
            return 200, {}, {"ids": [[one] * k for one in ones], "similarity": [[0.5] * k for _ in ones]}
        scores = [[one, -one] for one in ones]
        return 200, {}, {"labels": ones, "classes": ["a", "b"], "scores": scores, "bits": message.n_bits, "model": "ff"}


@contextmanager
def running(service):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = service.answer(self.command, self.path, self.headers, body, self.client_address)
            status, extra, content = answer
            data = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **extra}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = handle_any

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def url(service):
    with running(service) as address:
        yield address


@pytest.fixture
def pauses(monkeypatch):
    """Pauses that the client would make, none of which is made."""
    made = []
    monkeypatch.setattr(client_module.time, "sleep", made.append)
    return made


def test_only_bits_are_sent(service, url):
    answer = Client(url + "/", token="a secret").classify(X)
    *_, (method, path, headers, body, _) = service.requests
    assert (method, path, headers["Content-Type"]) == ("POST", "/v1/classify", "application/octet-stream")
    assert headers["Authorization"] == "Bearer a secret"
    message = unpack_message(body)
    assert [code.tobytes() for code in message.codes] == [code_of(specification(), row) for row in X]
    assert len(body) == 28 + 2 * 3
    assert answer.labels.tolist() == np.unpackbits(message.codes, axis=1).sum(axis=1).tolist()
    assert (answer.scores.shape, answer.classes, answer.bits, answer.model) == ((2, 2), ["a", "b"], 20, "ff")


def test_one_connection_and_one_embedding_serve_many_requests(service, url):
    client = Client(url)
    for _ in range(3):
        client.classify(X)
        assert client.neighbors(X, 4).ids.shape == (2, 4)
    assert client.model() == {"name": "scripted"}
    assert len({request[4] for request in service.requests}) == 1
    assert [request[1] for request in service.requests].count("/v1/embedding") == 1


def test_many_rows_are_sent_in_several_messages(service, url, rng):
    rows = rng.normal(size=(600, 3)) * 100
    whole = Client(url).classify(rows)
    sizes = [len(unpack_message(request[3]).codes) for request in service.requests[1:]]
    assert sizes == [256, 256, 88]
    ones = np.unpackbits(Embedding(specification()).encode(rows), axis=1).sum(axis=1)
    np.testing.assert_array_equal(whole.labels, ones)


def test_a_service_that_wants_fewer_rows_gets_shorter_messages(service, url, rng):
    rows = rng.normal(size=(300, 3)) * 100
    expected = Client(url).classify(rows).labels
    service.most_rows = 100
    np.testing.assert_array_equal(Client(url).classify(rows).labels, expected)
    service.most_rows = 0
    with pytest.raises(ServiceError, match="Too many rows"):
        Client(url).classify(rows)


def test_the_line_end_of_a_token_file_does_not_matter(service, url):
    Client(url, token="open sesame\n").model()
    assert service.requests[0][2]["Authorization"] == "Bearer open sesame"
    with pytest.raises(ValueError, match="printable ASCII") as caught:
        Client(url, token="two\nlines")
    assert "two" not in str(caught.value)


def test_no_rows_are_refused_before_anything_is_sent(service, url):
    client = Client(url)
    assert client.embedding.n_bits == 20
    with pytest.raises(ValueError, match="at least one row"):
        client.classify(np.zeros((0, 3)))
    assert len(service.requests) == 1


def test_the_rate_is_asked_for(service, url):
    assert Client(url, bits=20).embedding.n_bits == 20
    assert service.requests[0][1] == "/v1/embedding?bits=20"


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_service_that_is_busy_is_asked_again_with_longer_pauses(service, url, pauses, status):
    service.faults = [(status, {})] * 3
    assert Client(url).model() == {"name": "scripted"}
    assert len(service.requests) == 4
    # each pause is 0.1 s times 2^attempt, times something from 1/2 to 1
    assert all(0.05 * 2**i <= pause <= 0.1 * 2**i for i, pause in enumerate(pauses))
    assert len(pauses) == 3


def test_retry_after_is_respected_up_to_a_limit(service, url, pauses):
    service.faults = [(503, {"Retry-After": "7"}), (503, {"Retry-After": "9999"}), (503, {"Retry-After": "soon"})]
    Client(url).model()
    assert pauses[:2] == [7.0, 30.0]
    assert pauses[2] < 1


def test_retries_come_to_an_end(service, url, pauses):
    service.faults = [(503, {})] * 9
    with pytest.raises(ServiceError, match="This fault is in the script") as caught:
        Client(url, retries=2).model()
    assert (caught.value.status, caught.value.code, caught.value.request_id) == (503, "scripted", "r-1")
    assert len(service.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500])
def test_a_refusal_is_final(service, url, pauses, status):
    service.faults = [(status, {"Retry-After": "1"})]
    with pytest.raises(ServiceError) as caught:
        Client(url).model()
    assert caught.value.status == status
    assert (len(service.requests), pauses) == (1, [])


def test_a_service_that_is_away_is_named_after_all_retries(pauses):
    with pytest.raises(ServiceError, match=r"no answer from 127.0.0.1:9") as caught:
        Client("http://127.0.0.1:9", retries=2).model()
    assert (caught.value.status, len(pauses)) == (None, 2)


def test_a_connection_that_was_closed_meanwhile_is_opened_again(service, url, pauses):
    client = Client(url)
    client.model()
    client._local.connection.sock.shutdown(2)  # SHUT_RDWR: as if the service had closed it
    assert client.model() == {"name": "scripted"}
    assert len(pauses) == 1


def test_an_answer_that_is_not_json_is_an_error(service, url):
    service.answer = lambda *_: (200, {}, ["a list"])
    with pytest.raises(ServiceError, match="no JSON object"):
        Client(url).model()


def test_another_embedding_than_the_pinned_one_is_refused(service, url):
    right = service.embedding.fingerprint
    assert Client(url, fingerprint=right).classify(X).bits == 20
    with pytest.raises(FingerprintError, match=right):
        Client(url, fingerprint="0" * 64).classify(X)


def test_a_service_that_misstates_its_fingerprint_is_refused(service, url):
    service.stated = "0" * 64
    with pytest.raises(FingerprintError, match="0" * 64):
        Client(url).classify(X)


def test_an_embedding_that_changes_is_refused_until_refresh(service, url):
    client = Client(url)
    client.classify(X)
    service.embedding = Embedding(specification(seed="f" * 16))
    for _ in range(2):
        with pytest.raises(FingerprintError, match=service.embedding.fingerprint):
            client.classify(X)
    client.refresh()
    assert client.classify(X).bits == 20


def test_a_pinned_embedding_that_changes_is_refused_by_refresh_too(service, url):
    client = Client(url, fingerprint=service.embedding.fingerprint)
    client.classify(X)
    service.embedding = Embedding(specification(seed="f" * 16))
    with pytest.raises(FingerprintError):
        client.refresh()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ValueError, match="http://"):
        Client(url)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bits": "many"}, "bits to be an integer >= 1; got 'many'"),
        ({"bits": 0}, "bits to be an integer >= 1; got 0"),
        ({"retries": -1}, "retries to be an integer >= 0; got -1"),
        ({"timeout": 0}, "timeout > 0 in seconds, or None; got 0"),
        ({"timeout": "long"}, "timeout > 0 in seconds, or None; got 'long'"),
    ],
    ids=str,
)
def test_a_setting_that_is_none_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Client("http://localhost", **wrong)


def test_a_number_of_neighbors_that_is_none_is_not_sent(service, url):
    for k in (2.5, "three", 0):
        with pytest.raises(ValueError, match="k to be an integer >= 1"):
            Client(url).neighbors(X, k)


BARE = """
import importlib.util, json, sys
for name in ("mercer", "scipy", "sklearn", "numba"):
    assert importlib.util.find_spec(name) is None, name
import numpy
before = set(sys.modules)
import mercer_client
added = {name.partition(".")[0] for name in set(sys.modules) - before} - {"mercer_client"}
assert added <= set(sys.stdlib_module_names), added
url, rows = json.load(sys.stdin)
print(mercer_client.Client(url).classify(rows).labels.tolist())
"""


@pytest.mark.process
def test_the_file_works_alone_where_only_numpy_is(service, url, tmp_path):
    (tmp_path / "mercer_client.py").write_bytes(SOURCE.read_bytes())
    installed = Path(np.__file__).parent.parent
    for name in ("numpy", "numpy.libs"):
        if (installed / name).exists():
            (tmp_path / name).symlink_to(installed / name)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [sys.executable, "-S", "-c", BARE],
        input=json.dumps([url, X.tolist()]), env=environment, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == Client(url).classify(X).labels.tolist()


def test_the_file_is_one_that_python_3_9_can_read():
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 9))
    # syntax that the parser lets pass, but that 3.9 cannot run
    strict = [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "strict"]
    assert not strict
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match)]
