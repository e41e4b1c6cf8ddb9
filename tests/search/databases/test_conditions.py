"""Columns and conditions in a store: the same words find the same rows as in the index that was pushed."""

from datetime import date, datetime, timedelta

import numpy as np
import pytest

from mercer import InputError, KernelIndex
from tests.search.index_samples import histograms, index

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")]
X = histograms(60)
TEXTS = [
    "a",
    "A",
    "ab",
    "",
    "it's",
    'q"\\',
    "100%",
    "a_b",
    "é\U0001f600",
    "') or (1=1",
    None,
    "\x01\x7f\u2028\n\t\r",
    "%(q)s {0}",
]
TABLE = {
    "n": [None if i % 7 == 0 else i - 30 if i % 11 else 2**53 + i for i in range(60)],
    "x": [None if i % 5 == 0 else i / 4 for i in range(60)],
    "mode": [TEXTS[i % len(TEXTS)] for i in range(60)],
    "ok": [None if i % 3 == 0 else i % 2 == 0 for i in range(60)],
    "day": [None if i % 4 == 0 else date(2024, 2, 1) + timedelta(days=i) for i in range(60)],
    "at": [None if i % 6 == 0 else datetime(2024, 2, 1) + timedelta(hours=i, microseconds=i) for i in range(60)],
}
CONDITIONS = [
    "n > 3",
    "n < 2.5 and x >= 2",
    "not (n > 3 or x is null)",
    "n in (1, 2, 9007199254740993, 9007199254741003)",
    "n not in (1, 2.5) and n = 9007199254741003",
    "n = 2.5",
    "n != 2.5",
    "not x between 2 and 10.25",
    "x = 0.25 or mode = 'it''s'",
    "mode < 'ab'",
    "mode >= 'a' and mode != 'ab'",
    "mode in ('', '100%', 'q\"\\')",
    "mode not in ('a', 'é\U0001f600', ''') or (1=1')",
    "mode like 'a%'",
    "mode like 'a_b'",
    "mode not like '%\"%'",
    "mode like '_\U0001f600'",
    "mode in ('\x01\x7f\u2028\n\t\r', '%(q)s {0}')",
    "mode like '%\x7f%'",
    "mode is null or ok = true",
    "ok != true and not mode is null",
    "ok in (true, false)",
    "day between '2024-02-10' and '2024-02-20'",
    "day = '2024-02-12' or day > '2024-03-20'",
    "at <= '2024-02-02 00:00:00.000024'",
    "at = '2024-02-02 01:00:00.000025' or at > '2024-02-03'",
    {"n": (0, 20), "mode": ["a", "ab"], "at": (datetime(2024, 2, 1, 5), None)},
    {"day": None, "x": 1.0},
]


@pytest.fixture(scope="module")
def made():
    return index(X, "js", add=False, oversample=100).add(X, data=TABLE)


@pytest.fixture(params=["postgres", "milvus"])
def place(request):
    return request.getfixturevalue(request.param)


def test_a_condition_finds_in_a_store_what_it_finds_in_the_index(place, made):
    with made.push(place, "shop", method="exact"), KernelIndex.connect(place, "shop") as found:
        assert found.columns_ == made.columns_
        n_found = []
        for where in CONDITIONS:
            wanted = made.search(X[:1], 60, where=where)
            np.testing.assert_array_equal(found.search(X[:1], 60, where=where)[0], wanted[0], err_msg=str(where))
            n_found.append(int((wanted[0] >= 0).sum()))
        assert n_found.count(0) == 1  # n = 2.5
        if place.startswith("milvus"):
            with pytest.raises(InputError, match="Milvus does not support a backslash in a like pattern"):
                found.search(X[:1], where="mode like '%\\'")
        else:
            wanted = made.search(X[:1], 6, where="mode like '%\\'")[0]
            np.testing.assert_array_equal(found.search(X[:1], 6, where="mode like '%\\'")[0], wanted)
        both = found.search(X[:1], 5, where="n > 3", filter="x < 10")[0]
        np.testing.assert_array_equal(both, made.search(X[:1], 5, where="n > 3 and x < 10")[0])
        some = found.search(X[:1], 5, where="n > 3", filter=[1, 40, 41], exact=True)[0]
        assert set(some[0].tolist()) == {40, 41, -1}
        with pytest.raises(InputError, match=r"character 1, at moed: there is no such column. Did you mean 'mode'\?"):
            found.search(X[:1], where="moed = 'a'")


def test_columns_are_written_with_new_rows(place, made):
    with made.push(place, "shop", replace=True) as found:
        found.add(X[:2], [100, 101], {"n": [5, None], "mode": ["new", None], "ok": [True, False], "x": [1.5, 2.5]})
        found.add(X[2:3], [102])
        assert found.search(X[:1], 3, where="mode = 'new'")[0].tolist() == [[100, -1, -1]]
        ids, _ = found.search(X[:1], 60, where="n is null and mode is null")
        assert {101, 102} <= set(ids[0].tolist())
        found.update(X[:1], [100])
        assert found.search(X[:1], 3, where="mode = 'new'")[0].tolist() == [[100, -1, -1]]


def test_a_name_is_quoted_in_sql_and_refused_by_milvus(postgres, milvus):
    odd = index(X, "js", add=False, oversample=100).add(X, data={'odd "name"; --': np.arange(60)})
    with odd.push(postgres, "odd") as found:
        assert found.search(X[:1], 2, where='"odd ""name""; --" = 7')[0].tolist() == [[7, -1]]
    with pytest.raises(InputError, match="letters, digits and underscores"):
        odd.push(milvus, "odd")
    with pytest.raises(InputError, match=r"cannot store the column 'n' .* also named 'n'. Rename .* row_column="):
        index(X, "js", add=False).add(X, data={"n": np.arange(60)}).push(postgres, "n", row_column="n")


def test_a_zero_character_is_told_of_before_postgresql_trips_over_it(postgres, made):
    with made.push(postgres, "shop") as found:
        for where in ("mode = 'a\0'", "mode not like '\0%'", "n = 1 or mode in ('b', '\0')"):
            with pytest.raises(InputError, match=r"PostgreSQL does not support NUL characters .* got '.*\\x00"):
                found.search(X[:1], 2, where=where)
        with pytest.raises(InputError, match="NUL characters in strings, but the row with the id '900' contains one"):
            found.add(X[:1], [900], {"mode": ["a\0"]})
        assert len(found) == 60


def test_words_of_its_expressions_are_no_names_of_columns_in_milvus(milvus):
    odd = index(X, "js", add=False, oversample=100).add(X, data={"Threshold": np.arange(60)})
    with pytest.raises(InputError, match=r"'Threshold' is a reserved word of Milvus .* Rename the column"):
        odd.push(milvus, "odd")


def test_a_table_that_was_there_loses_the_columns_again(postgres, made):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as mine:
        mine.execute("CREATE TABLE lab (id bigint PRIMARY KEY, note text)")
        mine.execute("INSERT INTO lab VALUES (1, 'mine')")
        with made.push(mine, "lab") as found:
            ids, _ = found.search(X[:1], 60, where="n = -29", filter="note = 'mine'")
            assert ids[0, 0] == 1
            found.drop()
        assert [each.name for each in mine.execute("SELECT * FROM lab").description] == ["id", "note"]
