"""A client of Milvus: the caller's own or one of ours; addresses, errors, and values in its expressions."""

__all__ = ["Session", "among", "literal"]

import json
import logging
from contextlib import contextmanager
from logging.handlers import BufferingHandler
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mercer._base.errors import InputError, StoreError, require_extra

PURPOSE = "A search in Milvus"
# Milvus Lite complains on standard error about a client that asks every ten seconds whether it is there
SELDOM = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}


class Session:
    """A MilvusClient and what is done with it everywhere.

    Parameters
    ----------
    place : a ``milvus://`` address or a ``pymilvus.MilvusClient``
        ``milvus://HOST:PORT[/DATABASE]`` is a server, over TLS with ``milvus+https://``; ``milvus://FILE.db`` a file of
        Milvus Lite, in this process.
    new : bool
        Whether a file that is not there may be made.
    """

    def __init__(self, place, new=True):
        self.pymilvus = require_extra("pymilvus", extra="milvus", purpose=PURPOSE)
        self._own = isinstance(place, str)
        self.name = "Milvus"
        if not self._own:
            self.client = place
            return
        settings, self.name = _settings(place)
        if settings["uri"].endswith(".db"):
            self.client = self._opened(settings, new)
            return
        with self.errors():
            self.client = self.pymilvus.MilvusClient(**settings)

    def _opened(self, settings, new):
        """A client of a file. Why a file cannot be opened, Milvus Lite does not say but log, with a traceback."""
        require_extra("milvus_lite", extra="milvus", purpose="A file of Milvus Lite")
        if not new and not Path(settings["uri"]).exists():
            raise InputError(f"There is no file {settings['uri']} of Milvus Lite. Push an index to it first.")
        with _overheard("milvus_lite") as records:
            try:
                with self.errors():
                    return self.pymilvus.MilvusClient(**settings, grpc_options=SELDOM)
            except StoreError as error:
                reason = next((record.exc_info[1] for record in records if record.exc_info), None)
                if reason is None:
                    raise
                if type(reason).__name__ == "DataDirLockedError":
                    reason = "it is open in another process, and only one may open it. Close it there, or use a server"
                raise StoreError(f"{self.name} cannot be opened: {reason}.") from error

    @contextmanager
    def errors(self):
        """What Milvus says becomes a StoreError, and is not logged as well."""
        log = logging.getLogger("pymilvus")
        before = log.level
        log.setLevel(logging.CRITICAL + 1)
        try:
            yield
        except self.pymilvus.MilvusException as error:
            said = " ".join(str(error.message).split())
            raise StoreError(f"{self.name} reported: {said}{'' if said.endswith('.') else '.'}") from error
        finally:
            log.setLevel(before)

    def create_collection(self, name, schema, indexes):
        """A new collection, ready to be searched. It is empty, so nobody waits for its index to be built."""
        self.client.create_collection(name, schema=schema, consistency_level="Strong")
        self.client.create_index(name, indexes, sync=False)
        self.client.load_collection(name)

    def close(self):
        """Close the client if it is ours."""
        if self._own:
            self.client.close()


@contextmanager
def _overheard(name):
    """The list of what a library logs meanwhile, which is not shown."""
    log, kept = logging.getLogger(name), BufferingHandler(100)
    before, log.propagate = log.propagate, False
    log.addHandler(kept)
    try:
        yield kept.buffer
    finally:
        log.removeHandler(kept)
        log.propagate = before


_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def literal(value):
    r"""A number or text as Milvus writes it in an expression. pymilvus itself does not escape quotes.

    Letters stand as they are but for those that the grammar does not take so: Milvus Lite knows no other escapes.

    >>> print(literal('a "b"'), literal(7), literal(True))
    "a \"b\"" 7 true
    """
    return f'"{value.translate(_ESCAPED)}"' if isinstance(value, str) else json.dumps(value)


def among(column, ids):
    """The expression for rows with these ids."""
    return f"{column} in [{', '.join(map(literal, ids))}]"


def _settings(url):
    """(parameters of a client, name for people)."""
    parts = urlsplit(url)
    rest = url.partition("://")[2]
    if rest.endswith(".db"):
        return {"uri": unquote(rest)}, f"milvus://{rest}"
    if not parts.hostname:
        raise InputError("A Milvus address must be milvus://HOST:PORT, or milvus://FILE.db for Milvus Lite.")
    scheme = "https" if parts.scheme == "milvus+https" else "http"
    where = parts.netloc.rpartition("@")[2]
    settings = {"uri": f"{scheme}://{where}", "db_name": parts.path.strip("/")}
    if parts.username:
        settings["token"] = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return settings, f"{parts.scheme}://{where}{parts.path}"
