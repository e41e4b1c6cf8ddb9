"""HTTP/1.1 as uvicorn speaks it over httptools, with bounds on the size and the time of headers.

httptools parses in C and uvloop writes head and body of an answer by one system call; under load, requests wait for one
another less than with h11 and asyncio's own loop.
"""

__all__ = ["BoundedProtocol"]

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 2**14  # of the first line and the headers of a request
HEAD_SECONDS = 10.0  # from the first byte of a request, or from connecting, to the end of its headers


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose headers do not come to an end."""

    _late = None
    _head_bytes = 0  # of headers so far

    def connection_made(self, transport):
        """Someone connected, and should now ask."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data):
        """Bytes came: of headers until a request is in work."""
        if self._is_in_work():
            super().data_received(data)
        else:
            room = HEAD_BYTES - self._head_bytes
            self._head_bytes += len(data)
            super().data_received(data[:room])
            if len(data) > room and not self.transport.is_closing():
                if not self._head_bytes:  # the headers came to an end: this is of a body
                    super().data_received(data[room:])
                else:
                    self.send_400_response(f"The maximum size of the request headers is {HEAD_BYTES} bytes.")
        if self._is_in_work():
            self._forget()
        else:
            self._expect()

    def on_headers_complete(self):
        """A request goes to work."""
        self._head_bytes = 0
        super().on_headers_complete()

    def send_400_response(self, msg):
        """Refuse what is no HTTP, unless an answer is on its way already."""
        if self._is_in_work() and self.cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def connection_lost(self, exc):
        """The end."""
        self._forget()
        super().connection_lost(exc)

    def on_response_complete(self):
        """From here on uvicorn's own limit for idle connections holds, until the next byte comes."""
        self._forget()
        super().on_response_complete()

    def _is_in_work(self):
        return self.cycle is not None and not self.cycle.response_complete

    def _expect(self):
        if self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget(self):
        if self._late is not None:
            self._late.cancel()
            self._late = None
