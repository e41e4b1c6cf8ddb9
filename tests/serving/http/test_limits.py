"""Limits and the token: what is too long, too slow, too much or not allowed is refused, and leaves nothing behind."""

import socket
import threading
import time

import pytest

from mercer import InputError
from mercer.serving.http import protocol
from mercer.serving.process.settings import ServiceSettings, read_token
from tests.serving.running import Running, read_answer, until
from tests.serving.samples import Slow

TOKEN = "a-token-of-the-tests"
BEARER = f"Bearer {TOKEN}"
ROW = {"rows": [[0, 1]]}
HEAD = b"POST /v1/classify HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def small():
    """Small limits."""
    with Running(Slow(), max_body_bytes=1000, max_rows=5, timeout=0.4, concurrency=2) as running:
        yield running


@pytest.fixture(scope="module")
def guarded():
    with Running(Slow(), token=TOKEN) as running:
        yield running


def free(running):
    until(lambda: running.shelf.gate.taken == 0)


# -------------------------------------------------------------------------------------------------------------- lengths


def test_an_announced_length_that_is_too_large_is_refused_before_a_byte_of_the_body_is_sent(guarded):
    started = time.monotonic()
    with guarded.plug() as plug:
        plug.sendall(HEAD + f"Authorization: {BEARER}\r\nContent-Length: {4 * 2**20 + 1}\r\n\r\n".encode())
        answer = read_answer(plug)
        assert (answer.status, answer.code) == (413, "body-too-long")
        assert answer.headers["connection"] == "close"
    assert time.monotonic() - started < 8  # it did not wait for the body, which has 10 s
    free(guarded)


def test_a_client_that_waits_for_leave_to_send_gets_the_refusal_instead(small):
    with small.plug() as plug:
        plug.sendall(HEAD + b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
        assert plug.recv(12) == b"HTTP/1.1 413"


def test_a_client_that_sends_all_the_same_still_reads_the_refusal(small):
    for _ in range(3):
        answer = small.ask("POST", "/v1/classify", b"[" * 12_000_000, Content_Type="application/json")
        assert answer.status == 413


def test_a_body_without_a_length_is_cut_off_at_the_limit(small):
    with small.plug() as plug:
        plug.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        plug.sendall(b"258\r\n" + b" " * 600 + b"\r\n")
        plug.sendall(b"258\r\n" + b" " * 600 + b"\r\n")  # no end
        answer = read_answer(plug)
        assert (answer.status, answer.code) == (413, "body-too-long")
    free(small)


def test_a_body_as_long_as_the_limit_is_read(small):
    body = b'{"rows": [[0, 1]]}'
    assert small.ask("POST", "/v1/classify", body.ljust(1000), Content_Type="application/json").status == 200
    assert small.ask("POST", "/v1/classify", body.ljust(1001), Content_Type="application/json").status == 413


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"9" * 40, b"0x10", b"", b"5, 6"])
def test_a_length_that_is_no_sane_number_is_refused(small, length):
    with small.plug() as plug:
        plug.sendall(HEAD + b"Content-Length: " + length + b"\r\n\r\n")
        assert read_answer(plug).status in (400, 413)


def test_headers_without_end_are_refused(small):
    with small.plug() as plug:
        plug.sendall(HEAD)
        for _ in range(200):
            try:
                plug.sendall(b"X: " + b"a" * 10_000 + b"\r\n")
            except (BrokenPipeError, ConnectionResetError):
                return
            time.sleep(0.005)
    pytest.fail("two million bytes of headers were taken")


@pytest.mark.parametrize(
    ("earlier", "beginning"), [(0, b""), (0, b"POST /v1/cla"), (0, HEAD), (1, b"POST /v1/cla"), (1, HEAD)]
)
def test_headers_that_do_not_come_to_an_end_are_given_up(guarded, monkeypatch, earlier, beginning):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    with guarded.plug() as plug:
        for _ in range(earlier):
            plug.sendall(b"GET /health/live HTTP/1.1\r\nHost: here\r\n\r\n")
            assert read_answer(plug).status == 200
        plug.sendall(beginning)
        assert plug.recv(100) == b""  # closed, well before the 30 s after which this would fail


@pytest.mark.parametrize("head", [HEAD, HEAD + b"Authorization: " + BEARER.encode() + b"\r\n"])
@pytest.mark.parametrize("body", [b"xyz\r\n", b"-5\r\nabc", b"4\r\nabcdefgh\r\n"])
def test_a_body_that_is_no_http_is_refused_or_cut_off(guarded, head, body, caplog):
    with guarded.plug() as plug:
        plug.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        time.sleep(0.05)  # so that without the token the answer is on its way already
        plug.sendall(body)
        assert read_answer(plug).status == (400 if b"Authorization" in head else 401)
        assert plug.recv(100) == b""
    free(guarded)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_slow_request_in_work_is_not_mistaken_for_slow_headers(monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    with Running(Slow()) as running:
        assert running.post("/v1/classify", {"rows": [[0.6, 1]]}).status == 200


def test_more_rows_than_allowed_are_refused(small):
    assert small.post("/v1/classify", {"rows": [[0, 1]] * 5}).status == 200
    assert small.post("/v1/classify", {"rows": [[0, 1]] * 6}).code == "too-many-rows"


# ------------------------------------------------------------------------------------------------------ time and places


def test_a_body_that_does_not_come_is_given_up(small):
    with small.plug() as plug:
        plug.sendall(HEAD + b"Content-Length: 500\r\n\r\n{")
        answer = read_answer(plug)
        assert (answer.status, answer.code) == (408, "slow-body")
    free(small)


def test_a_client_that_goes_away_leaves_its_place(small):
    with small.plug() as plug:
        plug.sendall(HEAD + b"Content-Length: 500\r\n\r\n{")
        until(lambda: small.shelf.gate.taken == 1)
    free(small)


def test_an_answer_that_takes_too_long_is_given_up(small):
    answer = small.post("/v1/classify", {"rows": [[0.8, 1]]})
    assert (answer.status, answer.code) == (504, "timeout")
    until(lambda: small.post("/v1/classify", ROW).status == 200)  # the thread is free again after a while


def test_more_requests_than_places_are_sent_away_and_probes_are_not():
    with Running(Slow(), concurrency=2) as running:
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(running.post("/v1/classify", {"rows": [[0.7, 1]]})))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        until(lambda: running.shelf.gate.taken == 2)
        refused = running.post("/v1/classify", ROW)
        assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "busy", "1")
        assert running.get("/health/live").status == 200
        assert running.get("/health/ready").status == 200
        for thread in threads:
            thread.join()
        assert [answer.status for answer in answers] == [200, 200]
        assert running.post("/v1/classify", ROW).status == 200


# ---------------------------------------------------------------------------------------------------------------- token


@pytest.mark.parametrize("path", ["/v1/classify", "/v1/neighbors", "/v1/reload"])
@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {TOKEN}",
        TOKEN,
        f"{BEARER}x",
        BEARER[:-1],
        "Bearer \u00fc",
    ],
)
def test_every_post_needs_the_token(guarded, path, given):
    headers = {} if given is None else {"Authorization": given}
    answer = guarded.post(path, ROW, **headers)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_with_the_token_posts_are_answered(guarded):
    assert guarded.post("/v1/classify", ROW, Authorization=BEARER).status == 200
    assert guarded.post("/v1/classify", ROW, Authorization=f"bearer {TOKEN}").status == 200
    assert guarded.get("/v1/model").json["needs_token"] is True


def test_without_the_token_a_body_is_not_even_read(guarded):
    with guarded.plug() as plug:
        plug.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        assert read_answer(plug).status == 401


def test_reloading_over_http_needs_a_service_with_a_token(small):
    assert small.post("/v1/reload", {}).code == "no-token"


def test_the_token_is_never_shown():
    assert TOKEN not in repr(ServiceSettings(token=TOKEN))
    with pytest.raises(InputError) as refusal:
        ServiceSettings(token="short")
    assert "short" not in str(refusal.value).replace("shorter", "")


def test_a_token_is_read_from_the_first_line_of_a_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    assert read_token(path) == (TOKEN, False)
    path.chmod(0o644)
    assert read_token(path) == (TOKEN, True)
    for content in ("", "\n", "one\ntwo\n"):
        path.write_text(content)
        with pytest.raises(InputError, match="one line"):
            read_token(path)


@pytest.mark.parametrize(
    "settings",
    [{"max_rows": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"concurrency": True}, {"allow_origin": "*"}],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(InputError, match="ServiceSettings needs"):
        ServiceSettings(**settings)


# --------------------------------------------------------------------------------------------------------------- ending


def test_at_the_end_what_is_in_work_is_finished_and_nothing_new_begins():
    answers = []
    with Running(Slow()) as running:
        thread = threading.Thread(target=lambda: answers.append(running.post("/v1/classify", {"rows": [[1.2, 1]]})))
        thread.start()
        until(lambda: running.shelf.gate.taken == 1)
        running.server.should_exit = True
        until(lambda: _is_refused(running.port))
        assert not answers
    thread.join()
    assert [answer.status for answer in answers] == [200]


def _is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return True
    return False
