"""From an address, or from a connection that is open, to a store."""

__all__ = ["store_at"]

from mercer._base.errors import InputError

POSTGRES = ("postgresql://", "postgres://")
MILVUS = ("milvus://", "milvus+https://")


def store_at(place, new=True):
    """The store of an address or of an open connection.

    Parameters
    ----------
    place : ``postgresql://...``, ``milvus://...``, ``psycopg.Connection`` or ``pymilvus.MilvusClient``
    new : bool
        Whether a file of Milvus Lite that is not there may be made.
    """
    kind = type(place).__module__.partition(".")[0]
    if kind == "psycopg" or (isinstance(place, str) and place.startswith(POSTGRES)):
        from mercer.search.databases.postgres.store import PostgresStore

        return PostgresStore(place)
    if kind == "pymilvus" or (isinstance(place, str) and place.startswith(MILVUS)):
        from mercer.search.databases.milvus.store import MilvusStore

        return MilvusStore(place, new)
    shown = repr(place.partition("://")[0] + "://...") if isinstance(place, str) else type(place).__name__
    raise InputError(
        "A store must be postgresql://USER@HOST/DATABASE, milvus://HOST:PORT or milvus://FILE.db, or a "
        f"psycopg.Connection or pymilvus.MilvusClient; got {shown:.80}."
    )
