"""SQL about the table of an index: names, conditions, ids and vectors put in."""

__all__ = ["TYPES", "Statements"]

from uuid import UUID

from mercer._base.errors import InputError
from mercer.search.databases.postgres.conditions import as_sql
from mercer.search.databases.postgres.tables import id_type, names_of

OPERATORS = {"inner product": "<#>", "distance": "<->"}
TYPES = {"float32": "vector", "float16": "halfvec"}
OWN_PREFIX = "mercer_"  # of our values beside those of a condition


class Statements:
    """The words of one table.

    Parameters
    ----------
    session : Session
    layout : Layout

    Attributes
    ----------
    id_type : the type of its ids, as PostgreSQL calls it
    """

    def __init__(self, session, layout):
        from psycopg import sql

        self._session, self.layout = session, layout
        self.id_type = id_type(session, layout)
        self._names = {**names_of(layout), "near": sql.SQL(OPERATORS[layout.metric])}

    def statement(self, text, **more):
        """SQL with the names of this table put in."""
        from psycopg import sql

        shown = sql.SQL("{}::text" if self.layout.ids == "texts" else "{}::bigint").format(self._names["id"])
        return sql.SQL(text).format(**self._names, type=sql.SQL(self.id_type), shown=shown, **more)

    def kept(self, wanted):
        """The column of kept rows, or nothing in its place."""
        from psycopg import sql

        return self._names["row"] if wanted else sql.SQL("NULL::bytea")

    def known(self, ids):
        """Those of the ids that are in the index."""
        query = "SELECT {shown} FROM {table} WHERE {embedding} IS NOT NULL AND {id} = ANY(%s::{type}[])"
        return {found for (found,) in self._session.run(self.statement(query), [self.keys(ids)])}

    def where(self, condition):
        """(SQL, values) of a condition."""
        from psycopg import sql

        clauses, values = [sql.SQL("{} IS NOT NULL").format(self._names["embedding"])], {}
        if condition is not None and condition.tree is not None:
            clauses.append(as_sql(condition.tree, values, f"{OWN_PREFIX}where_"))
        if condition is not None and condition.ids is not None:
            clauses.append(self.statement("{id} = ANY(%(mercer_ids)s::{type}[])"))
            values["mercer_ids"] = self.keys(condition.ids)
        if condition is not None and condition.text is not None:
            clause, given = self._raw(condition.text, condition.values)
            clauses.append(clause)
            values |= given
        return sql.SQL(" AND ").join(clauses), values

    @staticmethod
    def _raw(text, values):
        """(SQL, values) of a caller's own condition."""
        from psycopg import sql

        if values is None:
            text, values = text.replace("%", "%%"), {}
        elif not isinstance(values, dict) or any(str(name).startswith(OWN_PREFIX) for name in values):
            raise InputError(
                "The values of an SQL filter must be a dictionary with names that do not start with 'mercer_': "
                "filter=('year > %(since)s', {'since': 2000})."
            )
        return sql.SQL("({})").format(sql.SQL(text)), values

    def keys(self, ids):
        """Ids as the table shows them: one uuid may be written in several ways."""
        if self.id_type != "uuid":
            return list(ids)
        try:
            return [str(UUID(value)) for value in ids]
        except ValueError as error:
            raise InputError(f"The ids of the table {self.layout.name} are uuid: {error}.") from error

    def vector(self, z):
        """An embedded row or query as pgvector takes it."""
        import pgvector

        return pgvector.HalfVector(z) if self.layout.dtype == "float16" else pgvector.Vector(z)
