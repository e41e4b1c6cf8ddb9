"""Embedded rows in a table of PostgreSQL, through pgvector.

    metric           operator    operator class
    inner product    <#>         vector_ip_ops, halfvec_ip_ops
    distance         <->         vector_l2_ops, halfvec_l2_ops

A row of the table belongs to the index if its embedding is not NULL, so the table may be one that was there before,
with columns and rows of its own.
"""

__all__ = ["PostgresStore"]

from dataclasses import replace

import numpy as np

from mercer._base.errors import InputError
from mercer.search.databases.external import Candidates
from mercer.search.databases.layout import Layout
from mercer.search.databases.postgres.registry import Registry
from mercer.search.databases.postgres.session import Session, identifier
from mercer.search.databases.postgres.statements import TYPES, Statements
from mercer.search.databases.postgres.tables import check_table, check_width, create_table, drop_table
from mercer.search.databases.postgres.writing import TableWriter

CLASSES = {"inner product": "{}_ip_ops", "distance": "{}_l2_ops"}
LONGEST_LIST = 1000  # the largest hnsw.ef_search
LEAST_LIST = 100
BUILD_MEMORY = 2**30  # at most; a graph that does not fit is built many times slower


class PostgresStore:
    """The table of an index.

    Parameters
    ----------
    place : a ``postgresql://`` address or a ``psycopg.Connection``
    """

    language = "SQL"
    has_transactions = True

    def __init__(self, place):
        self._session = Session(place)
        self._session.prepare()
        self.place = self._session.name

    # ---------------------------------------------------------------------------------------------- create and open

    def create(self, layout, fingerprint, model):
        check_width(layout)
        registry = Registry(self._session, layout.name, layout.embedding_column)
        if registry.read() is not None:
            raise InputError(
                f"The table {layout.name} of {self.place} already holds an index in the column "
                f"{layout.embedding_column!r}. Connect to it, push with replace=True, or name another table or column."
            )
        with self._session.changes():
            layout = create_table(self._session, layout, TYPES[layout.dtype])
            registry.write(layout, fingerprint, model)
        self._use(layout, fingerprint)
        return layout

    def open(self, name, embedding_column):
        identifier(name)  # refuses what is no name of a table
        registry = Registry(self._session, name, embedding_column)
        found = registry.read()
        if found is None:
            there = registry.names()
            raise InputError(
                f"{self.place} has no index of Mercer in the table {name}, column {embedding_column!r}; there "
                f"{'are: ' + ', '.join(there) if there else 'are none in its schema'}. Use KernelIndex.push."
            )
        layout, fingerprint, model = found
        layout = replace(layout, name=name)
        check_table(self._session, layout, TYPES[layout.dtype], f"The table {name} of {self.place}")
        self._use(layout, fingerprint)
        return layout, fingerprint, model

    def _use(self, layout: Layout, fingerprint):
        self.layout, self.fingerprint = layout, fingerprint
        self._registry = Registry(self._session, layout.name, layout.embedding_column)
        self._sql = Statements(self._session, layout)
        self._writer = TableWriter(self._session, self._sql, self._registry, fingerprint)

    def finish(self):
        """Build the graph, which takes less time when the rows are there than row by row."""
        from psycopg import sql

        layout = self.layout
        if layout.method == "exact":
            self._session.run(self._sql.statement("ANALYZE {table}"))
            return
        needed = self.count() * (layout.width * np.dtype(layout.dtype).itemsize + 10 * layout.m + 200)
        memory = f"{max(64 * 2**20, min(BUILD_MEMORY, 2 * needed)) // 1024}kB"
        with self._session.changes():
            self._session.run("SELECT set_config('maintenance_work_mem', %s, true)", [memory])
            family = sql.SQL(CLASSES[layout.metric].format(TYPES[layout.dtype]))
            settings = sql.SQL("m = {}, ef_construction = {}").format(layout.m, layout.ef_construction)
            query = "CREATE INDEX ON {table} USING hnsw ({embedding} {family}) WITH ({settings})"
            self._session.run(self._sql.statement(query, family=family, settings=settings))
            # without statistics a rare condition looks like a third of the table, and the graph would be walked for it
            self._session.run(self._sql.statement("ANALYZE {table}"))

    def drop_if_there(self, name, embedding_column):
        """Take out an index that may be there, or what is left of one whose table somebody has dropped."""
        registry = Registry(self._session, name, embedding_column)
        found = registry.read()
        if found is not None:
            with self._session.changes():
                registry.erase()
                drop_table(self._session, replace(found[0], name=name))

    def abandon(self):
        """After a failure: the transaction takes everything back."""

    def drop(self):
        with self._session.changes():
            self._registry.erase()
            drop_table(self._session, self.layout)

    # ------------------------------------------------------------------------------------------- writing and looking

    def insert(self, ids, blocks, payload):
        self._writer.insert(ids, blocks, payload)

    def update(self, ids, blocks, payload):
        self._writer.update(ids, blocks, payload)

    def delete(self, ids):
        self._writer.delete(ids)

    def search(self, Z, k, condition, ef, rows):
        statement, values = self._nearest(k, condition, rows)
        with self._session.transaction():
            self._registry.check(self.fingerprint)
            self._settings(k, ef)
            found = [self._found(statement, values, z) for z in Z]
            short = [number for number, each in enumerate(found) if len(each.ids) < k]
            if short and self.layout.method == "hnsw":
                # a graph gives up after so many rows that the condition refuses; a scan does not
                self._session.run(
                    "SELECT set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'on', true)"
                )
                for number in short:
                    # planned anew: a plan that PostgreSQL has prepared would use the graph whatever the settings say
                    found[number] = self._found(statement, values, Z[number], prepare=False)
        return found

    def _settings(self, k, ef):
        """Of the transaction: how many candidates the graph keeps, and that it goes on until there are k."""
        length = min(LONGEST_LIST, max(LEAST_LIST, k) if ef is None else ef)
        self._session.run(
            "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
            [str(length)],
        )

    def _nearest(self, k, condition, rows, before=""):
        """(statement, values but for the query)."""
        from psycopg import sql

        where, values = self._sql.where(condition)
        score = "-({embedding} {near} %(mercer_query)s)"
        statement = self._sql.statement(
            before + "SELECT {shown}, {kept}, " + score + " FROM {table} WHERE {where} "
            "ORDER BY {embedding} {near} %(mercer_query)s LIMIT {k}",
            k=sql.Literal(k),  # in the text: a plan for any k would be made for a tenth of the table
            kept=self._sql.kept(rows),
            where=where,
        )
        return statement, values

    def _found(self, statement, values, z, prepare=None):
        cursor = self._session.run(statement, {**values, "mercer_query": self._sql.vector(z)}, prepare)
        found = cursor.fetchall()
        ids, kept, scores = zip(*found, strict=True) if found else ((), (), ())
        if self.layout.metric == "distance":  # the objective is the squared distance
            scores = [-(score**2) for score in scores]
        return Candidates(list(ids), list(scores), list(kept))

    def scan(self, condition, size, rows):
        where, values = self._sql.where(condition)
        statement = self._sql.statement(
            "SELECT {shown}, {kept} FROM {table} WHERE {where}",
            kept=self._sql.kept(rows),
            where=where,
        )
        session = self._session
        with session.transaction():
            self._registry.check(self.fingerprint)
            with session.connection.cursor("mercer_scan") as cursor:
                cursor.execute(statement, values, binary=True)
                while block := cursor.fetchmany(size):
                    ids, kept = zip(*block, strict=True)
                    yield Candidates(list(ids), [], list(kept))

    def explain(self, z, k, condition):
        statement, values = self._nearest(k, condition, True, before="EXPLAIN ")
        with self._session.transaction():
            self._settings(k, None)
            lines = self._session.run(statement, {**values, "mercer_query": self._sql.vector(z)}).fetchall()
        return "\n".join(line for (line,) in lines)

    def known(self, ids):
        return self._sql.known(ids)

    def count(self):
        return self._session.one(self._sql.statement("SELECT count({embedding}) FROM {table}"))[0]

    def transaction(self):
        return self._session.transaction()

    def changes(self):
        return self._session.changes()

    def close(self):
        self._session.close()
