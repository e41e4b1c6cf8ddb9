"""The table of an index in PostgreSQL: made, or widened by two columns if it was there before; and taken back."""

__all__ = ["check_table", "check_width", "create_table", "drop_table", "id_type", "names_of"]

from dataclasses import replace

from mercer._base.errors import InputError
from mercer.search.databases.postgres.conditions import SQL_TYPES
from mercer.search.databases.postgres.session import column, identifier

INDEXED = {"float32": 2000, "float16": 4000}  # dimensions that pgvector takes into a graph
STORED = 16_000  # and into a column
NUMBERS = ("smallint", "integer", "bigint")
TEXTS = ("text", "character varying", "uuid")


def check_width(layout):
    """Refuse an embedding that pgvector cannot hold, with the ways out."""
    limit = INDEXED[layout.dtype] if layout.method == "hnsw" else STORED
    if layout.width <= limit:
        return
    ways = [f"fewer components (n_components={INDEXED['float32']})"]
    if layout.method == "hnsw" and layout.dtype == "float32" and layout.width <= INDEXED["float16"]:
        ways.insert(0, "dtype='float16', a halfvec, which may have 4,000")
    if layout.method == "hnsw" and layout.width <= STORED:
        ways.append("method='exact', which scans all rows")
    kind = {"float32": "vector", "float16": "halfvec"}[layout.dtype]
    what = f"an HNSW index on a {kind}" if layout.method == "hnsw" else "a column"
    raise InputError(
        f"This embedding has {layout.width:,} dimensions, but {what} of pgvector supports at most {limit:,}. Use "
        f"{', or '.join(ways)}."
    )


def create_table(session, layout, kind):
    """The layout as the table now is: a new one, or one that was there, with columns for embedded and kept rows."""
    from psycopg import sql

    table = identifier(layout.name)
    names = {"table": table, "id": column(layout.id_column)}
    columns = [sql.SQL("{} " + f"{kind}({layout.width})").format(column(layout.embedding_column))]
    if layout.kept is not None:
        columns.append(sql.SQL("{} bytea").format(column(layout.row_column)))
    for each in layout.data:
        columns.append(sql.SQL("{} " + SQL_TYPES[each.type]).format(column(each.name)))
    there = session.one("SELECT to_regclass(%s)::oid", [table.as_string(session.connection)])[0] is not None
    if there:
        found = id_type(session, layout)
        ids = "numbers" if found in NUMBERS else "texts"
        layout = replace(layout, own=False, ids=layout.ids or ids)
        if ids != layout.ids:
            raise InputError(
                f"The ids of this index are {layout.ids}, but the column {layout.id_column!r} of the table "
                f"{layout.name} is {found}. Use ids of that type."
            )
        added = sql.SQL(", ").join(sql.SQL("ADD COLUMN {}").format(each) for each in columns)
        session.run(sql.SQL("ALTER TABLE {table} {added}").format(**names, added=added))
    else:
        layout = replace(layout, ids=layout.ids or "numbers")
        key = sql.SQL("{id} " + ("bigint" if layout.ids == "numbers" else "text") + " PRIMARY KEY").format(**names)
        session.run(
            sql.SQL("CREATE TABLE {table} ({columns})").format(**names, columns=sql.SQL(", ").join([key, *columns]))
        )
    return layout


def names_of(layout):
    """The table of an index and its columns as SQL, quoted."""
    return {
        "table": identifier(layout.name),
        "id": column(layout.id_column),
        "embedding": column(layout.embedding_column),
        "row": column(layout.row_column),
    }


def drop_table(session, layout):
    """The table itself if Mercer made it, otherwise its columns; those of them that are still there."""
    from psycopg import sql

    own = [layout.embedding_column, layout.row_column, *layout.data.names]
    dropped = sql.SQL(", ").join(sql.SQL("DROP COLUMN IF EXISTS {}").format(column(name)) for name in own)
    query = "DROP TABLE IF EXISTS {table}" if layout.own else "ALTER TABLE IF EXISTS {table} {dropped}"
    session.run(sql.SQL(query).format(**names_of(layout), dropped=dropped))


def check_table(session, layout, kind, where):
    """Refuse a table that is gone, or whose columns are not those that its description names."""
    table = identifier(layout.name).as_string(session.connection)
    if session.one("SELECT to_regclass(%s)::oid", [table])[0] is None:
        raise InputError(
            f"{where} held an index, but another program dropped it. Push the index again with replace=True."
        )
    query = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
    )
    found = dict(session.run(query, [table]).fetchall())
    wanted = {layout.embedding_column: f"{kind}({layout.width})"}
    if layout.kept is not None:
        wanted[layout.row_column] = "bytea"
    wanted |= {each.name: SQL_TYPES[each.type] for each in layout.data}
    for name, needed in wanted.items():
        if found.get(name, "").rpartition(".")[2] != needed:  # a type may be shown with the schema of pgvector
            there = f"is {found[name]}" if name in found else "is gone"
            raise InputError(
                f"{where} held an index whose column {name!r} was {needed} and {there}: another program changed the "
                "table. Push the index again with replace=True."
            )


def id_type(session, layout):
    """The type of the id column, which must be unique."""
    table = identifier(layout.name).as_string(session.connection)
    found = session.one(
        "SELECT format_type(atttypid, NULL), EXISTS (SELECT FROM pg_index i WHERE i.indrelid = attrelid AND "
        "i.indisunique AND i.indnkeyatts = 1 AND i.indkey[0] = attnum AND i.indpred IS NULL) "
        "FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped",
        [table, layout.id_column],
    )
    if found is None:
        raise InputError(f"The table {layout.name} has no column {layout.id_column!r}. Name the column of the ids.")
    if found[0] not in NUMBERS + TEXTS:
        raise InputError(
            f"The column {layout.id_column!r} of the table {layout.name} is {found[0]}; ids must be integers, strings "
            "or uuid."
        )
    if not found[1]:
        raise InputError(
            f"The column {layout.id_column!r} of the table {layout.name} must be its primary key or have a UNIQUE "
            "constraint, because ids must be unique."
        )
    return found[0]
