"""What the operator of a service decides: limits, token, origin."""

__all__ = ["ServiceSettings", "read_token"]

import os
import stat
from dataclasses import dataclass, field

from mercer._base.errors import InputError

_SHORTEST_TOKEN = 8
_LONGEST_FILE = 4096  # of a token
_COUNTS = ("max_body_bytes", "max_table_bytes", "max_pixels", "max_rows", "max_neighbors")


@dataclass(frozen=True)
class ServiceSettings:
    """Limits of a service and who may use it.

    Parameters
    ----------
    token : token that every POST must carry in ``Authorization: Bearer``, or None
    max_body_bytes : maximum size of a request body; a larger one is refused before it is read
    max_table_bytes : maximum size of a csv table, whose rows are not limited
    max_pixels : maximum number of pixels of a picture
    max_rows : maximum number of rows per request
    max_batch_rows : maximum number of rows scored together
    max_neighbors : the largest k of ``/v1/neighbors``
    timeout : seconds for reading a body, and again for answering it
    concurrency : maximum number of concurrent requests with a body
    allow_origin : origin whose pages may send requests (CORS), or None
    index_labels : csv file of ids and labels of the rows of the index, or None; of several indexes a dict by name
    show_rows : whether ``/v1/neighbors?rows=1`` may return rows of the index
    mmap : whether the model file is mapped and so shared by all processes, or read into memory

    Examples
    --------
    >>> ServiceSettings(max_rows=100).max_rows
    100
    """

    token: str | None = field(default=None, repr=False)
    max_body_bytes: int = 4 * 2**20
    max_table_bytes: int = 32 * 2**20
    max_pixels: int = 16_000_000
    max_rows: int = 4096
    max_batch_rows: int = 4096
    max_neighbors: int = 100
    timeout: float = 10.0
    concurrency: int = 256
    allow_origin: str | None = None
    index_labels: str | dict | None = None
    show_rows: bool = False
    mmap: bool = False

    def __post_init__(self):
        for name in (*_COUNTS, "max_batch_rows", "concurrency"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"ServiceSettings needs {name} to be an integer >= 1; got {value!r:.80}.")
        if not isinstance(self.timeout, (int, float)) or not 0 < self.timeout < float("inf"):
            raise InputError(f"ServiceSettings needs timeout to be a number of seconds > 0; got {self.timeout!r:.80}.")
        token = self.token
        if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
            raise InputError(  # the token itself is not shown
                f"ServiceSettings needs a token of {_SHORTEST_TOKEN} or more printable ASCII characters, got "
                f"{len(token)} characters. `python -c 'import secrets; print(secrets.token_urlsafe())'` creates one."
            )
        origin = self.allow_origin
        if origin is not None and not (origin.isascii() and origin.isprintable() and "://" in origin):
            raise InputError(
                f"ServiceSettings needs allow_origin to be https://host or https://host:port; got {origin!r:.80}."
            )

    def limits(self):
        """The limits, for clients."""
        return {name: getattr(self, name) for name in (*_COUNTS, "timeout", "concurrency")}


def read_token(path):
    """Read the token in the first line of a file, and whether other users can read the file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        is_open = bool(stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077)
        text = file.read(_LONGEST_FILE).strip()
    if not text or "\n" in text:
        raise InputError(f"{path} must contain the token on one line.")
    return text, is_open
