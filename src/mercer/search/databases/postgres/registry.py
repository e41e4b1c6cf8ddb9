"""The table ``mercer_indexes``: which table holds an index, how, and with which embedding.

It lies in the schema of the table, one row for each column of embedded rows. A dump of the schema takes it along.
"""

__all__ = ["Registry"]

import json

from mercer._base.errors import InputError, StoreError
from mercer.search.databases.layout import Layout

TABLE = "mercer_indexes"


class Registry:
    """What is written down about one column of embedded rows.

    Parameters
    ----------
    session : Session
    name : the table of the index, ``table`` or ``schema.table``
    column : of its embedded rows
    """

    def __init__(self, session, name, column):
        from psycopg import sql

        self._session, self.name, self.column = session, name, column
        *schema, self._table = name.split(".")
        self._own = sql.Identifier(*schema, TABLE)
        self._sql = sql.SQL

    def _exists(self):
        found = self._session.one("SELECT to_regclass(%s)::oid", [self._own.as_string(self._session.connection)])
        return found[0] is not None

    def write(self, layout, fingerprint, model):
        """Write down a new index; one that is there is never replaced."""
        create = (
            "CREATE TABLE IF NOT EXISTS {} (table_name text, embedding_column text, fingerprint text NOT NULL, "
            "layout jsonb NOT NULL, model bytea NOT NULL, PRIMARY KEY (table_name, embedding_column))"
        )
        if not self._exists():
            self._session.run(self._sql(create).format(self._own))
        self._session.run(
            self._sql("INSERT INTO {} VALUES (%s, %s, %s, %s::jsonb, %s)").format(self._own),
            [self._table, self.column, fingerprint, json.dumps(layout.document()), model],
        )

    def read(self):
        """(layout, fingerprint, model), or None if there is no index."""
        if not self._exists():
            return None
        query = "SELECT layout::text, fingerprint, model FROM {} WHERE table_name = %s AND embedding_column = %s"
        found = self._session.one(self._sql(query).format(self._own), [self._table, self.column])
        if found is None:
            return None
        where = f"The table {self.name} of {self._session.name}"
        return Layout.of_document(json.loads(found[0]), where), found[1], found[2]

    def names(self):
        """The indexes that there are, for people."""
        if not self._exists():
            return []
        rows = self._session.run(
            self._sql("SELECT table_name, embedding_column FROM {} ORDER BY 1, 2").format(self._own)
        )
        return [f"{table} ({column})" for table, column in rows]

    def erase(self):
        """Forget the index."""
        query = "DELETE FROM {} WHERE table_name = %s AND embedding_column = %s"
        self._session.run(self._sql(query).format(self._own), [self._table, self.column])

    def check(self, fingerprint, lock=False):
        """Refuse if the index is gone or belongs to another embedding by now; ``lock`` keeps it until the commit."""
        query = "SELECT fingerprint FROM {} WHERE table_name = %s AND embedding_column = %s"
        query = self._sql(f"{query} FOR SHARE" if lock else query)
        found = self._session.one(query.format(self._own), [self._table, self.column])
        if found is None:
            raise StoreError(f"{self._session.name} has no index in the table {self.name} anymore.")
        if found[0] != fingerprint:
            raise InputError(
                f"The table {self.name} of {self._session.name} has got a different embedding since it was opened "
                f"(fingerprint {found[0]}, not {fingerprint}). Connect again."
            )
