"""A real server on a free port of this machine, and the plainest of clients."""

import http.client
import json
import logging
import socket
import threading
import time
from contextlib import contextmanager

import uvicorn

from mercer.serving.http.app import create_app
from mercer.serving.process.server import _config, _listen
from mercer.serving.process.settings import ServiceSettings

JSON, BITS = "application/json", "application/octet-stream"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]


class Running:
    """A service in a thread of this process."""

    def __init__(self, model, index=None, spectra=None, **settings):
        self.settings = ServiceSettings(**settings)
        self.app = create_app(model, index=index, spectra=spectra, settings=self.settings)
        self.shelf = self.app.state.shelf
        self.service = self.shelf.first
        self._listener = _listen("127.0.0.1", 0)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = uvicorn.Server(_config(self.app, self.settings, 1))
        self._thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self._listener]})

    def __enter__(self):
        self._thread.start()
        until(lambda: self.server.started and self.get("/health/ready").status == 200)
        return self

    def __exit__(self, *failure):
        self.server.should_exit = True
        self._thread.join(30)
        assert not self._thread.is_alive(), "the server did not end"

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, names)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, content, **headers):
        """Bytes as a message, anything else as JSON."""
        is_bits = isinstance(content, bytes)
        body = content if is_bits else json.dumps(content)
        return self.ask("POST", path, body, **{"Content_Type": BITS if is_bits else JSON, **headers})

    @contextmanager
    def plug(self):
        """A bare socket."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as plug:
            yield plug


@contextmanager
def kept_logging():
    """Put the loggers of the service back as they were."""
    loggers = [logging.getLogger(name) for name in ("mercer.serving", "mercer.serving.requests", "uvicorn.error")]
    before = [(logger, logger.handlers, logger.propagate, logger.level) for logger in loggers]
    try:
        yield
    finally:
        for logger, handlers, propagate, level in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


def read_answer(plug):
    """The answer on a bare socket."""
    response = http.client.HTTPResponse(plug)
    response.begin()
    return Answer(response.status, response.headers, response.read())


def until(holds, seconds=20):
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@contextmanager
def served(model, index=None, **settings):
    """The address of a service for a browser, which keeps its connections."""
    app = create_app(model, index=index, settings=ServiceSettings(**settings))
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(10)
