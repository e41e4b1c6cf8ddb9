"""An index in PostgreSQL: the caller's table and transactions, the graph, limits of pgvector, a killed server."""

import uuid
from contextlib import closing

import numpy as np
import pytest

from mercer import InputError, KernelIndex, MercerError
from tests.search.index_samples import histograms, index
from tests.servers import kill, postgres_server, restart

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
X = histograms(120)
Q = histograms(15, seed=7)


@pytest.fixture
def connection(postgres):
    import psycopg

    with psycopg.connect(postgres) as opened:
        yield opened


# --------------------------------------------------------------------------------------------- the caller's own table


def test_a_table_that_was_there_keeps_its_columns_and_rows(connection):
    connection.execute('CREATE TABLE images (name uuid PRIMARY KEY, year int NOT NULL, "it\'s" text)')
    names = [str(uuid.UUID(int=i)) for i in range(120)]
    for number, name in enumerate(names):
        connection.execute("INSERT INTO images VALUES (%s, %s, 'kept')", [name, 2000 + number % 10])
    connection.commit()

    made = index(X, add=False, oversample=1000).add(X[:100], names[:100])
    found = made.push(connection, "images", id_column="name", embedding_column="chi2", row_column="chi2 row")
    assert len(found) == 100
    found.add(X[100:110], names[100:110], {"it's": ["new"] * 10})

    old, _ = found.search(Q, 5, filter=("year >= %(since)s AND \"it's\" LIKE 'k%%'", {"since": 2007}))
    assert {uuid.UUID(value).int % 10 for value in old.ravel()} == {7, 8, 9}
    new, _ = found.search(Q, 5, filter="\"it's\" LIKE '%new%'")  # a condition without values is SQL as it stands
    assert {uuid.UUID(value).int // 10 for value in new.ravel()} == {10}

    with pytest.raises(InputError, match=r"are uuid: badly formed"):
        found.add(X[:1], ["seven"])
    assert names[60].upper() in found
    found.remove([name.upper() for name in names[:50]])
    count = 'SELECT count(*), count(chi2), count("chi2 row") FROM images WHERE year >= 2000'
    assert connection.execute(count).fetchone() == (120, 60, 60)
    with pytest.raises(MercerError, match=r"null value in column \"year\""):  # the table's own rules hold
        found.add(X[:1], [str(uuid.uuid4())])

    other = index(X, "js", add=False, oversample=1000).add(X[:30], names[:30])
    second = other.push(connection, "images", id_column="name", embedding_column="js", row_column="js row")
    assert (len(found), len(second)) == (60, 30)
    found.drop()
    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'images' ORDER BY 1"
    assert [name for (name,) in connection.execute(columns)] == ["it's", "js", "js row", "name", "year"]
    assert len(second) == 30


def test_names_are_quoted_wherever_they_stand(connection):
    connection.execute('CREATE SCHEMA "my shop"')
    hostile = 'rows"; DROP SCHEMA "my shop" CASCADE; --'
    columns = {"id_column": 'the "id"', "embedding_column": "em'bed", "row_column": "{} row"}
    made = index(X, oversample=1000)
    with pytest.raises(InputError, match=r"Names of tables and columns must not contain a percent sign; got '%s'"):
        made.push(connection, "shop", id_column="%s")
    found = made.push(connection, f"my shop.{hostile}", **columns)
    np.testing.assert_array_equal(found.search(Q, 3)[0], made.search(Q, 3)[0])
    found.remove([3]).add(X[3:4], [3]).update(X[3:4], [3])
    again = KernelIndex.connect(connection, f"my shop.{hostile}", embedding_column="em'bed")
    assert len(again) == 120
    assert np.array_equal(again.search(Q, 3, exact=True, filter=[1, 2, 3])[0] > 0, np.ones((15, 3), dtype=bool))


def test_a_table_whose_ids_are_not_unique_is_refused(connection):
    connection.execute("CREATE TABLE log (id bigint, line text)")
    with pytest.raises(InputError, match=r"must be its primary key or have a UNIQUE constraint"):
        index(X).push(connection, "log")
    with pytest.raises(InputError, match=r"has no column 'key'"):
        index(X).push(connection, "log", id_column="key")
    connection.execute("CREATE TABLE words (id text PRIMARY KEY)")
    with pytest.raises(InputError, match=r"ids of this index are numbers, but the column 'id' of the table words is"):
        index(X).push(connection, "words")


# -------------------------------------------------------------------------------------------------------- transactions


def test_a_transaction_that_is_rolled_back_leaves_no_vector(connection, postgres):
    made = index(X)
    made.push(postgres, "shop").close()
    found = KernelIndex.connect(connection, "shop")
    before = found.search(Q, 5)

    def change_and_fail():
        with connection.transaction():
            found.add(X[:3] + 1, [500, 501, 502])
            found.remove([1, 2])
            assert (len(found), 500 in found, 1 in found) == (121, True, False)
            raise RuntimeError("after the changes")

    with pytest.raises(RuntimeError, match="after the changes"):
        change_and_fail()
    assert (len(found), 500 in found, 1 in found) == (120, False, True)
    np.testing.assert_array_equal(found.search(Q, 5)[0], before[0])
    assert connection.execute("SELECT count(*) FROM shop").fetchone() == (120,)

    found.add(X[:1], [500])  # no transaction was begun by hand
    assert 500 in found
    connection.rollback()
    assert 500 not in found

    connection.rollback()

    def add_one_that_is_there():
        with KernelIndex.connect(postgres, "shop") as own, own.transaction():
            own.add(X[:1], [600])
            own.add(X[:1], [7])

    with pytest.raises(InputError, match="the id 7, which is already in the index"):
        add_one_that_is_there()
    assert 600 not in found


def test_a_push_that_fails_leaves_nothing(connection, monkeypatch):
    from mercer.search.databases.postgres.store import PostgresStore

    def fail(store):
        raise RuntimeError("in the middle")

    monkeypatch.setattr(PostgresStore, "finish", fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        index(X).push(connection, "shop")
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
    assert connection.execute(tables).fetchone() == (0,)


def test_a_connection_of_the_callers_own_stays_as_it_was(connection):
    from psycopg.pq import TransactionStatus

    found = index(X).push(connection, "shop")
    assert connection.info.transaction_status == TransactionStatus.INTRANS  # changes are committed by the caller
    connection.commit()
    found.search(Q, 3)
    with pytest.raises(InputError, match="the id 7, which is already in the index"):
        found.add(X[:1], [7])
    assert connection.info.transaction_status == TransactionStatus.IDLE
    text = connection.execute("SELECT embedding FROM shop LIMIT 1").fetchone()[0]
    assert isinstance(text, str)  # vectors are read as the caller is used to
    found.close()
    assert not connection.closed


@pytest.mark.process
def test_a_server_that_is_killed_comes_back_with_everything_that_was_committed():
    import psycopg

    with (
        postgres_server(durable=True) as server,
        index(X).push(server.get_uri(), "shop") as found,
        closing(psycopg.connect(server.get_uri())) as connection,
    ):
        found.add(X[:2], [500, 501])
        found.remove([7])
        KernelIndex.connect(connection, "shop").add(X[:1], [600])
        connection.commit()
        expected = found.search(Q, 5)
        KernelIndex.connect(connection, "shop").add(X[:1], [700])  # not committed when the server dies
        kill(server)
        restart(server)
        with pytest.raises(MercerError, match=r"reported: .*terminating connection"):  # the call that finds out
            len(found)
        assert [value in found for value in (500, 501, 600, 7, 700)] == [True, True, True, False, False]
        assert len(found) == 122
        np.testing.assert_array_equal(found.search(Q, 5)[0], expected[0])
        np.testing.assert_array_equal(found.search(Q, 5, exact=True)[1], expected[1])


# --------------------------------------------------------------------------------------------------------- the graph


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_graph_is_used_and_finds_what_a_scan_finds(postgres, dtype):
    rows = histograms(2000, seed=5)
    made = index(rows, oversample=10)
    with made.push(postgres, "shop", dtype=dtype) as found, made.push(postgres, "flat", method="exact") as scanned:
        for filter in (None, "id > 100"):
            plan = found.explain(Q[:1], 5, filter=filter)
            assert "Index Scan using shop_embedding_idx" in plan
            assert "Order By: (embedding <#>" in plan
        assert "Index Scan" not in scanned.explain(Q[:1], 5)
        same = found.search(Q, 10)[0] == scanned.search(Q, 10)[0]
        assert same.mean() > 0.99  # measured 1.0; a graph promises nothing
        assert found.stats()["dtype"] == dtype


def test_a_filter_that_the_graph_gives_up_on_is_answered_by_a_scan(connection):
    rows = histograms(1500, seed=5)
    found = index(rows, oversample=2).push(connection, "shop")
    connection.execute("ALTER TABLE shop ADD COLUMN rare boolean")
    far = np.argsort(found.embed(rows) @ found.embed(Q[:1])[0])[:4]  # the last that the graph would come to
    connection.execute("UPDATE shop SET rare = true WHERE id = ANY(%s)", [far.tolist()])
    connection.execute("SET enable_seqscan = off; SET hnsw.max_scan_tuples = 100")
    ids, _ = found.search(np.repeat(Q[:1], 30, axis=0), 4, filter="rare")  # so many that the plan is prepared
    assert [sorted(row) for row in ids.tolist()] == [sorted(far.tolist())] * 30


# ------------------------------------------------------------------------------------------------------------- limits


def test_too_many_dimensions_are_refused_with_the_way_out(postgres):
    from mercer.search.databases.layout import Layout
    from mercer.search.databases.postgres.tables import check_width

    def layout(width, **parameters):
        return Layout("shop", width, "inner product", "numbers", 10, **parameters)

    for fits in (layout(2000), layout(4000, dtype="float16"), layout(16_000, method="exact")):
        check_width(fits)
    ways = r"Use dtype='float16', a halfvec, which may have 4,000, or fewer components .*, or method='exact'"
    with pytest.raises(InputError, match=rf"2,001 dimensions, but an HNSW index on a vector .* at most 2,000. {ways}"):
        check_width(layout(2001))
    with pytest.raises(InputError, match=r"4,001 dimensions, but an HNSW index on a halfvec .* at most 4,000"):
        check_width(layout(4001, dtype="float16"))
    with pytest.raises(InputError, match=r"a column of pgvector supports at most 16,000. Use fewer components"):
        check_width(layout(16_001, method="exact"))


def test_two_thousand_and_one_dimensions_go_into_a_halfvec(postgres):
    from mercer import HomogeneousMap

    rows = histograms(30, d=667)  # three features for each column
    made = index(rows, embedding=HomogeneousMap("chi2", order=1), code="flat", n_components=None, bytes_per_item=8004)
    with pytest.raises(InputError, match=r"This embedding has 2,001 dimensions"):
        made.push(postgres, "wide")
    with made.push(postgres, "wide", dtype="float16") as found:
        assert found.search(rows[:5], 1)[0].ravel().tolist() == [0, 1, 2, 3, 4]


def test_what_the_server_says_is_said_by_name(postgres):
    with pytest.raises(MercerError, match=r"postgresql://127.0.0.1:1/db reported: connection"):
        KernelIndex.connect("postgresql://me:secret@127.0.0.1:1/db", "shop")
    with index(X).push(postgres, "shop") as found:
        with pytest.raises(MercerError, match=r"reported: column \"color\" does not exist"):
            found.search(Q, 2, filter="color = 'red'")
        with pytest.raises(InputError, match=r"must be a dictionary"):
            found.search(Q, 2, filter=("id > %(mercer_x)s", {"mercer_x": 3}))
        assert len(found) == 120  # the connection is still good


# ------------------------------------------------------------------------------------------- what others have written


def test_a_table_that_somebody_dropped_is_named_and_replaced(connection):
    made = index(X, oversample=1000)
    made.push(connection, "shop")
    connection.execute("DROP TABLE shop")
    with pytest.raises(
        InputError, match=r"shop of PostgreSQL held an index, but another program dropped it. .* replace=True"
    ):
        KernelIndex.connect(connection, "shop")
    found = made.push(connection, "shop", replace=True)
    np.testing.assert_array_equal(found.search(Q, 3)[0], made.search(Q, 3)[0])
    connection.execute("ALTER TABLE shop DROP COLUMN features")
    with pytest.raises(InputError, match=r"whose column 'features' was bytea and is gone: .* replace=True"):
        KernelIndex.connect(connection, "shop")
    assert len(made.push(connection, "shop", replace=True)) == 120
    connection.execute("ALTER TABLE shop ALTER COLUMN embedding TYPE vector")
    with pytest.raises(InputError, match=r"whose column 'embedding' was vector\(\d+\) and is vector: "):
        KernelIndex.connect(connection, "shop")
    assert len(made.push(connection, "shop", replace=True)) == 120


FORGED = {
    "n_features": ("20", r"a description with n_features=20, but its embedding has 10"),
    "width": ("3", r"column 'embedding' was vector\(3\) and is vector"),
    "metric": ('"cosine"', r"not written by Mercer: KernelIndex.push: `metric` must be one of .*; got 'cosine'\. Push"),
    "kept": ('"float64"', r"not written by Mercer: KernelIndex.push: `vectors` must be one of .*; got 'float64'"),
    "oversample": ("null", r"not written by Mercer: KernelIndex.push: `oversample` must be a number >= 1.*; got None"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_description_that_does_not_fit_the_model_is_refused(connection, name):
    index(X).push(connection, "shop")
    value, message = FORGED[name]
    connection.execute(f"UPDATE mercer_indexes SET layout = jsonb_set(layout, '{{{name}}}', '{value}')")
    with pytest.raises(InputError, match=message):
        KernelIndex.connect(connection, "shop")


def test_rows_that_others_emptied_or_overwrote_are_named(connection):
    found = index(X, oversample=1000).push(connection, "shop")
    connection.execute("UPDATE shop SET features = NULL WHERE id = 7")
    for exact in (False, True):
        with pytest.raises(InputError, match=r"has no row with the id 7 in the column 'features' of shop"):
            found.search(Q, 5, exact=exact)
    connection.execute("UPDATE shop SET features = %s WHERE id = 7", [np.full(10, np.nan, "<f4").tobytes()])
    with pytest.raises(InputError, match=r"shop has damaged rows: a value is not a finite number. Another program"):
        found.search(Q, 5, exact=True)
    connection.execute("ALTER TABLE shop ADD COLUMN year int")
    connection.commit()
    with pytest.raises(MercerError, match=r"payload of the id '500' does not fit|reported: "):
        found.add(X[:1], [500], {"year": ["two thousand"]})
