"""A connection to PostgreSQL: the caller's own or one of ours, names, errors and the types of pgvector."""

__all__ = ["Session", "column", "identifier"]

from contextlib import contextmanager
from urllib.parse import urlsplit

from mercer._base.errors import InputError, StoreError, require_extra

PURPOSE = "A search in PostgreSQL"
OLDEST = (0, 8)  # iterative scans, without which a filter may leave fewer rows than there are


class Session:
    """A psycopg connection and what is done with it everywhere.

    Parameters
    ----------
    place : a ``postgresql://`` address or a ``psycopg.Connection``
        A connection stays the caller's: its transactions are his, it is never closed here, and its way of reading
        vectors is not changed.
    """

    def __init__(self, place):
        self.psycopg = require_extra("psycopg", extra="pgvector", purpose=PURPOSE)
        self._pgvector = require_extra("pgvector.psycopg", extra="pgvector", purpose=PURPOSE)
        self._url = place if isinstance(place, str) else None
        self._connection = None if self._url else place
        self._types = None
        self._depth = 0  # of transactions
        self._closed = False
        self.name = _shown(place) if self._url else "PostgreSQL"

    @property
    def connection(self):
        """Ours is opened again if the server was gone meanwhile, but for the middle of a transaction."""
        if self._closed:
            raise StoreError(f"This index in {self.name} was closed. Connect again.")
        if self._url and not self._depth and (self._connection is None or self._connection.closed):
            with self.errors():
                self._connection = self.psycopg.connect(self._url, autocommit=True)
        return self._connection

    def prepare(self):
        """Make sure of the extension, and learn its types."""
        version = self._version()
        if version is None:
            try:
                with self.transaction():
                    self.run("CREATE EXTENSION IF NOT EXISTS vector")
            except StoreError as error:
                raise StoreError(
                    f"{self.name} has no extension 'vector', and it could not be created. {error} Ask a database "
                    "administrator to run CREATE EXTENSION vector."
                ) from error
            version = self._version()
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise StoreError(
                f"{self.name} has pgvector {version}; Mercer needs 0.8 or newer. Update it, and run: "
                "ALTER EXTENSION vector UPDATE."
            )
        with self.errors():
            fetch = self.psycopg.types.TypeInfo.fetch
            self._types = {name: fetch(self.connection, name) for name in ("vector", "halfvec")}

    def _version(self):
        found = self.one("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        return found and found[0]

    @contextmanager
    def errors(self):
        """What PostgreSQL says becomes a StoreError."""
        try:
            yield
        except self.psycopg.Error as error:
            detail = getattr(error.diag, "message_primary", None) or str(error).strip().splitlines()[0]
            hint = getattr(error.diag, "message_detail", None)
            raise StoreError(f"{self.name} reported: {detail}{f' ({hint})' if hint else ''}.") from error

    @contextmanager
    def transaction(self):
        """A transaction, or a savepoint within the caller's."""
        with self.errors(), self.connection.transaction():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @contextmanager
    def changes(self):
        """A transaction for changes. On the caller's own connection they wait for his commit, as his statements do."""
        began = self._begin_callers()
        try:
            with self.transaction():
                yield
        except BaseException:
            if began and not self.connection.closed:
                self.connection.rollback()
            raise

    def _begin_callers(self):
        """Begin the transaction that a statement of the caller's would have begun; whether that was done."""
        connection = self.connection
        is_idle = connection.info.transaction_status == self.psycopg.pq.TransactionStatus.IDLE
        if self._url or connection.autocommit or not is_idle:
            return False
        with self.errors():
            connection.execute("SELECT")
        return True

    def cursor(self):
        """A cursor that knows vectors. They are made known to the cursor alone: the connection may be the caller's."""
        cursor = self.connection.cursor(binary=True)
        if self._types is not None:
            self._pgvector.vector.register_vector_info(cursor, self._types["vector"])
            self._pgvector.halfvec.register_halfvec_info(cursor, self._types["halfvec"])
        return cursor

    def run(self, statement, values=None, prepare=None):
        """Execute a statement; its cursor. ``prepare=False`` plans it anew."""
        with self.errors():
            if self._depth or self.connection.autocommit:
                return self.cursor().execute(statement, values, prepare=prepare)
            with self.connection.transaction():  # or a look at the catalogue would leave the caller in a transaction
                return self.cursor().execute(statement, values, prepare=prepare)

    def one(self, statement, values=None):
        """The first row of the answer, or None."""
        return self.run(statement, values).fetchone()

    def close(self):
        """Close the connection if it is ours."""
        if self._url and self._connection is not None:
            self._connection.close()
        self._closed = True


def identifier(name):
    """A table's name as SQL, quoted: ``table`` or ``schema.table``."""
    from psycopg import sql

    parts = name.split(".")
    if len(parts) > 2 or not all(parts):
        raise InputError(f"A PostgreSQL table must be 'table' or 'schema.table'; got {name!r:.80}.")
    return sql.Identifier(*map(_checked, parts))


def column(name):
    """A column's name as SQL, quoted."""
    from psycopg import sql

    return sql.Identifier(_checked(name))


def _checked(name):
    """psycopg looks for places of values inside quoted names, too."""
    if "%" in name:
        raise InputError(f"Names of tables and columns must not contain a percent sign; got {name!r:.80}.")
    return name


def _shown(url):
    """The address without user and password."""
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
