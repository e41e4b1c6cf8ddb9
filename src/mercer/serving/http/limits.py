"""Limits on what one request may take: bytes, time, and a place among those in work."""

__all__ = ["Gate", "read_body"]

import asyncio
from contextlib import contextmanager

from starlette.requests import ClientDisconnect

from mercer.serving.http.faults import Fault


async def read_body(request, most, seconds, remedy="Send fewer rows per request."):
    """The body of a request, at most so many bytes and within so many seconds; ``remedy`` is for a longer one.

    A length that is announced and too large is refused before a byte is read; a body without an announced length is
    refused as soon as it is too long.
    """
    announced = request.headers.get("content-length")
    if announced is not None:
        if not (announced.isascii() and announced.isdecimal()):
            raise Fault(400, "bad-length", "Content-Length must be an integer.")
        if int(announced[:20]) > most:
            raise _too_long(most, remedy)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                body += message.get("body", b"")
                if len(body) > most:
                    raise _too_long(most, remedy)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Fault(408, "slow-body", f"The body did not arrive within {seconds:g} s.") from None


def _too_long(most, remedy):
    return Fault(413, "body-too-long", f"The maximum size of a body is {most} bytes. {remedy}")


class Gate:
    """Lets so many requests in at the same time, and refuses the others at once."""

    def __init__(self, places):
        self._places = places
        self.taken = 0

    @contextmanager
    def entered(self):
        """A place, or a fault that says to come again."""
        if self.taken >= self._places:
            raise Fault(
                503,
                "busy",
                f"The maximum number of concurrent requests, {self._places}, is reached.",
                {"Retry-After": "1"},
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1
