"""HTTP/1.1 as uvicorn speaks it over h11, which bounds the size of headers; here their time is bounded too."""

__all__ = ["BoundedProtocol"]

from h11 import LocalProtocolError
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0  # from the first byte of a request, or from connecting, to the end of its headers


class BoundedProtocol(H11Protocol):
    """Closes a connection whose headers do not come to an end."""

    _late = None

    def connection_made(self, transport):
        """Someone connected, and should now ask."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data):
        """Bytes came: of headers until a request is in work."""
        try:
            super().data_received(data)
        except LocalProtocolError:  # uvicorn would refuse what is no HTTP, but an answer is on its way already
            self.transport.close()
            return
        if self.cycle is None or self.cycle.response_complete:
            self._expect()
        else:
            self._forget()

    def connection_lost(self, exc):
        """The end."""
        self._forget()
        super().connection_lost(exc)

    def on_response_complete(self):
        """From here on uvicorn's own limit for idle connections holds, until the next byte comes."""
        self._forget()
        super().on_response_complete()

    def _expect(self):
        if self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget(self):
        if self._late is not None:
            self._late.cancel()
            self._late = None
