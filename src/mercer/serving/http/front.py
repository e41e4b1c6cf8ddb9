"""What surrounds every request: its id, its line in the log, its numbers, the headers of its answer, and its end.

An answer may be given before the body has been read: that is how an oversized one is refused. Closing the connection at
once would then reset it, and the client might never see the answer. So the answer goes out whole, what still comes is
thrown away for a moment, and then the connection is closed.
"""

__all__ = ["Front"]

import asyncio
import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from mercer.serving.http.faults import Fault, fault_response
from mercer.serving.http.headers import ANSWER_HEADERS
from mercer.serving.process.logs import REQUESTS, request_id

LINGER_SECONDS = 2.0
LINGER_BYTES = 16 * 2**20  # thrown away at most
LONGEST_PATH = 200  # in a log
PROBED = ("/health/live", "/health/ready", "/metrics")
REFUSALS = (503, 504)  # a limit was reached: no fault of the program
CLIENT_GONE = 499  # in logs and metrics, as nginx has it: nobody is there to get a status


class Front:
    """The outermost layer of the application.

    Parameters
    ----------
    app : ASGI application
    metrics : Metrics
    """

    def __init__(self, app, metrics):
        self._app, self._metrics = app, metrics

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send)
        scope.setdefault("state", {})["exchange"] = exchange
        started = time.perf_counter()
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.status = CLIENT_GONE
        except Exception:
            REQUESTS.exception("failure", extra={"fields": {"event": "failure", "request_id": exchange.id}})
            if not exchange.has_started:
                fault = Fault(500, "internal", "The service failed to answer. Its log has the details.")
                await fault_response(fault, exchange.id)(scope, exchange.receive, exchange.send)
        finally:
            self._tell(scope, exchange, time.perf_counter() - started)

    def _tell(self, scope, exchange, seconds):
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(route, str(exchange.status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if exchange.bytes_in:
            self._metrics.bytes_in.labels(route).inc(exchange.bytes_in)
        client = scope.get("client")
        fields = {
            "event": "request",
            "request_id": exchange.id,
            "method": scope["method"],
            "path": scope["path"][:LONGEST_PATH],
            "status": exchange.status,
            "seconds": round(seconds, 6),
            "bytes_in": exchange.bytes_in,
            "client": client[0] if client else None,
            **exchange.notes,
        }
        REQUESTS.log(_level(route, exchange.status), "request", extra={"fields": fields})


def _level(route, status):
    """Failures of ours are errors; what probes ask every few seconds is for those who look closely."""
    if status >= 500 and status not in REFUSALS:
        return logging.ERROR
    return logging.DEBUG if route in PROBED else logging.INFO


class Exchange:
    """One request and its answer, as they pass by."""

    def __init__(self, scope, receive, send):
        self._receive, self._send = receive, send
        headers = Headers(scope=scope)
        self.id = request_id(headers.get("x-request-id"))
        length = headers.get("content-length", "0")
        self._is_read = "transfer-encoding" not in headers and not length.strip("0")
        self.has_started = False
        self.status, self.bytes_in, self.notes = CLIENT_GONE, 0, {}

    async def receive(self):
        """The next part of the body, counted."""
        message = await self._receive()
        self.bytes_in += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._is_read = True
        return message

    async def send(self, message):
        """A part of the answer, with our headers at its beginning and a careful end."""
        if message["type"] == "http.response.start":
            self.has_started, self.status = True, message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self.id
            for name, value in ANSWER_HEADERS.items():
                headers.setdefault(name, value)
            if not self._is_read:
                headers["connection"] = "close"
            await self._send(message)
        elif self._is_read or message.get("more_body", False):
            await self._send(message)
        else:
            await self._send({**message, "more_body": True})
            await self._throw_away()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _throw_away(self):
        left = LINGER_BYTES
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0 and not self._is_read:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    if message["type"] == "http.disconnect" or not message.get("more_body", False):
                        self._is_read = True
        except TimeoutError:
            pass
