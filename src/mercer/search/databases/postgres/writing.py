"""Rows into a table of PostgreSQL, and out of it: in one transaction, all of them or none.

New rows are copied into a table that lasts until the end of the step, and go from there to where they belong. So the
speed is that of COPY, and a row that was there before without an embedding keeps its other columns.
"""

__all__ = ["TableWriter"]

import struct
from uuid import UUID

from mercer._base.errors import InputError, StoreError
from mercer.search.databases.postgres.session import column

STAGE = "mercer_stage"
TAKEN = "KernelIndex.add got the id {}, which is already in the index. Nothing was added. Use update."
UNKNOWN = "KernelIndex.update found no row with the id {}. Nothing was changed."


class TableWriter:
    """Changes of the table of an index: `insert`, `update` and `delete` of `ExternalStore`.

    Parameters
    ----------
    session : Session
    statements : Statements
    registry : Registry
    fingerprint : of the embedding that the table must still have
    """

    def __init__(self, session, statements, registry, fingerprint):
        self._session, self._sql, self._registry = session, statements, registry
        self._fingerprint, self._layout = fingerprint, statements.layout

    def insert(self, ids, blocks, payload):
        with self._session.changes():
            columns = self._stage(ids, blocks, payload)
            self._refuse("JOIN", "t.{embedding} IS NOT NULL", TAKEN)
            changed = self._fill(columns, "t.{embedding} IS NULL")
            missing = "WHERE NOT EXISTS (SELECT FROM {table} t WHERE t.{id} = s.{id})"
            query = "INSERT INTO {table} ({columns}) SELECT {columns} FROM {stage} s " + missing
            changed += self._session.run(self._staged(query, columns)).rowcount
            self._unstage(changed, len(ids))

    def update(self, ids, blocks, payload):
        with self._session.changes():
            columns = self._stage(ids, blocks, payload)
            self._refuse("LEFT JOIN", "t.{embedding} IS NULL", UNKNOWN)
            self._unstage(self._fill(columns, "t.{embedding} IS NOT NULL"), len(ids))

    def delete(self, ids):
        forget = "UPDATE {table} SET {embedding} = NULL" + (", {row} = NULL" if self._layout.kept else "")
        query = "DELETE FROM {table}" if self._layout.own else forget
        with self._session.changes():
            self._registry.check(self._fingerprint, lock=True)
            ids = self._sql.keys(ids)
            known = self._sql.known(ids)
            unknown = next((value for value in ids if value not in known), None)
            if unknown is not None:
                raise InputError(f"KernelIndex.remove found no row with the id {unknown!r}. Nothing was changed.")
            where = " WHERE {embedding} IS NOT NULL AND {id} = ANY(%s::{type}[])"
            self._session.run(self._sql.statement(query + where), [list(ids)])

    # ------------------------------------------------------------------------------------------------------- helpers

    def _stage(self, ids, blocks, payload):
        """Copy rows beside the table; the names of their columns."""
        from psycopg import sql

        self._registry.check(self._fingerprint, lock=True)
        layout, session = self._layout, self._session
        names = [layout.id_column, layout.embedding_column, *([layout.row_column] if layout.kept else []), *payload]
        columns = sql.SQL(", ").join(map(column, names))
        # the types are those of the table, so that the payload may be of any type
        query = "CREATE TEMPORARY TABLE {stage} AS SELECT {columns} FROM {table} WITH NO DATA"
        session.run(self._staged(query, columns))
        types = session.run(self._staged("SELECT {columns} FROM {stage}", columns)).description
        keys = map(UUID, self._sql.keys(ids)) if self._sql.id_type == "uuid" else ids
        with (
            session.errors(),
            session.cursor().copy(self._staged("COPY {stage} FROM STDIN (FORMAT BINARY)", columns)) as copy,
        ):
            copy.set_types([each.type_code for each in types])
            for row in zip(keys, self._pairs(blocks), *payload.values(), strict=True):
                _write_row(copy, row, layout)
        return names

    def _pairs(self, blocks):
        """(vector, kept row) or (vector,) of every row."""
        for Z, rows in blocks:
            vectors = map(self._sql.vector, Z)
            yield from zip(vectors, rows, strict=True) if self._layout.kept else zip(vectors, strict=True)

    def _fill(self, names, condition):
        """Write staged rows over those of the table that a condition holds for; how many they were."""
        from psycopg import sql

        pairs = [sql.SQL("{0} = s.{0}").format(column(name)) for name in names[1:]]
        query = "UPDATE {table} t SET {pairs} FROM {stage} s WHERE t.{id} = s.{id} AND " + condition
        return self._session.run(self._staged(query, names, pairs=sql.SQL(", ").join(pairs))).rowcount

    def _refuse(self, join, condition, message):
        """Raise for the first staged id whose row in the table is not as it should be."""
        query = "SELECT s.{id} FROM {stage} s " + join + " {table} t ON t.{id} = s.{id} WHERE " + condition + " LIMIT 1"
        found = self._session.one(self._staged(query, ()))
        if found is not None:
            raise InputError(message.format(repr(found[0] if isinstance(found[0], int) else str(found[0]))))

    def _unstage(self, changed, n_rows):
        if changed < n_rows:
            raise StoreError(
                f"Another connection changed some of these rows in {self._session.name} at the same time. Try again."
            )
        self._session.run(self._staged("DROP TABLE {stage}", ()))

    def _staged(self, query, columns, **more):
        from psycopg import sql

        if not isinstance(columns, sql.Composable):
            columns = sql.SQL(", ").join(map(column, columns))
        return self._sql.statement(query, stage=sql.Identifier("pg_temp", STAGE), columns=columns, **more)


def _write_row(copy, row, layout):
    if any(isinstance(value, str) and "\0" in value for value in row):
        raise InputError(
            f"PostgreSQL does not support NUL characters in strings, but the row with the id {str(row[0])!r:.80} "
            "contains one."
        )
    try:
        copy.write_row((row[0], *row[1], *row[2:]))
    except (TypeError, ValueError, AttributeError, OverflowError, struct.error) as error:
        raise InputError(
            f"The payload of the id {str(row[0])!r:.80} does not fit the columns of {layout.name}: {error}."
        ) from error
