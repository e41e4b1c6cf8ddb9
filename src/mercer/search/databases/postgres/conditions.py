"""A condition on columns as SQL: names are quoted identifiers, values are bound, and nothing else of it is text."""

__all__ = ["SQL_TYPES", "as_sql"]

from mercer._base.errors import InputError
from mercer.search.conditions.tree import All, Among, Any, Compare, Like, Missing
from mercer.search.databases.postgres.session import column

SQL_TYPES = {
    "integer": "bigint",
    "float": "double precision",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp without time zone",
}


def as_sql(tree, values, prefix):
    """The SQL of a tree; its values are put into a dictionary under names that begin with ``prefix``."""
    from psycopg import sql

    if isinstance(tree, (All, Any)):
        joint = sql.SQL(" AND " if isinstance(tree, All) else " OR ")
        return sql.SQL("({})").format(joint.join(as_sql(part, values, prefix) for part in tree.parts))
    name = column(tree.column.name)
    if isinstance(tree, Missing):
        return sql.SQL("{} IS NOT NULL" if tree.negated else "{} IS NULL").format(name)
    _check_texts(tree)
    place = f"{prefix}{len(values)}"
    bound = sql.Placeholder(place)
    kind = sql.SQL(SQL_TYPES[tree.column.type])
    if isinstance(tree, Compare):
        values[place] = tree.value
        # the order of code points, whatever the language of the database
        order = sql.SQL(' COLLATE "C"' if tree.column.type == "text" else "")
        operator = sql.SQL(tree.operator.replace("!=", "<>"))
        return sql.SQL("{}{} {} {}::{}").format(name, order, operator, bound, kind)
    if isinstance(tree, Like):
        values[place] = tree.pattern
        return sql.SQL("{} {} {}::text ESCAPE ''").format(name, sql.SQL("NOT LIKE" if tree.negated else "LIKE"), bound)
    assert isinstance(tree, Among)
    values[place] = list(tree.values)
    return sql.SQL("{} <> ALL({}::{}[])" if tree.negated else "{} = ANY({}::{}[])").format(name, bound, kind)


def _check_texts(leaf):
    """Refuse a zero character, which no text of PostgreSQL has and no statement can ask for."""
    values = leaf.values if isinstance(leaf, Among) else (leaf.pattern if isinstance(leaf, Like) else leaf.value,)
    bad = next((value for value in values if isinstance(value, str) and "\0" in value), None)
    if bad is not None:
        raise InputError(f"PostgreSQL does not support NUL characters in strings; got {bad!r:.80}.")
