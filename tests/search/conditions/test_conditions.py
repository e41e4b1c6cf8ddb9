"""Conditions: what they find is what SQLite finds, and what is wrong with one is said with its place."""

import sqlite3
from contextlib import suppress
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._base.errors import InputError
from mercer.search.columns.blocks import read_block
from mercer.search.columns.types import DataColumn, DataTypes, storage_columns
from mercer.search.conditions import parse_condition
from mercer.search.conditions.evaluation import fulfilled
from mercer.search.storage.memory import MemoryStorage

COLUMNS = DataTypes(
    DataColumn(name, kind)
    for name, kind in [
        ("n", "integer"),
        ("x", "float"),
        ("mode", "text"),
        ("is ok", "boolean"),
        ("day", "date"),
        ("at", "timestamp"),
    ]
)
LETTERS = "ab%_'\"é\U0001f600\0\x7f"
DAY, MOMENT = date(2024, 2, 28), datetime(2024, 2, 28, 23, 59, 59, 999_999)
VALUES = {
    "n": st.one_of(st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63) + 1, 2**53 + 1])),
    "x": st.one_of(st.sampled_from([-1.5, 0.0, 0.5, 2.0, 1e300, float("inf")]), st.floats(allow_nan=False, width=16)),
    "mode": st.text(LETTERS.replace("\0", ""), max_size=4),
    "is ok": st.booleans(),
    "day": st.integers(-2, 2).map(lambda n: DAY + timedelta(days=n)),
    "at": st.integers(-2, 2).map(lambda n: MOMENT + timedelta(microseconds=n)),
}
ROWS = st.lists(st.tuples(*(st.none() | VALUES[column.name] for column in COLUMNS)), min_size=1, max_size=12)


def quoted(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f"'{value.isoformat(' ', 'microseconds')}'"
    if isinstance(value, date):
        return f"'{value}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def literals(name):
    if name in ("n", "x"):
        return st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -1.5, 2.5, 2**53 + 1])).map(quoted)
    return VALUES[name].map(quoted)


@st.composite
def leaves(draw):
    name = draw(st.sampled_from(COLUMNS.names))
    shown, value = f'"{name}"', literals(name)
    negated = draw(st.sampled_from(["", "not "]))
    kinds = ["compare", "in", "is"] + (["between"] if name != "is ok" else []) + (["like"] if name == "mode" else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "is":
        return f"{shown} is {negated}null"
    if kind == "in":
        return f"{shown} {negated}in ({', '.join(draw(st.lists(value, min_size=1, max_size=20)))})"
    if kind == "between":
        return f"{shown} {negated}between {draw(value)} and {draw(value)}"
    if kind == "like":
        pattern = st.text("ab%_é", max_size=5) | st.text("abé", max_size=3).map(lambda text: f"%{text}%")
        return f"{shown} {negated}like {quoted(draw(pattern))}"
    operators = ["=", "!=", "<>"] + (["<", "<=", ">", ">="] if name != "is ok" else [])
    return f"{shown} {draw(st.sampled_from(operators))} {draw(value)}"


CONDITIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        inner.map(lambda text: f"not ({text})"),
        st.tuples(inner, st.sampled_from([" and ", " OR ", " Or "]), inner).map(lambda parts: f"({''.join(parts)})"),
        st.tuples(inner, inner, inner).map(lambda parts: "{} or {} and not {}".format(*parts)),
    ),
    max_leaves=8,
)


def found_here(rows, where):
    storage = MemoryStorage(storage_columns(COLUMNS))
    storage.segment_rows = 5  # several segments
    table = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS.names)}
    with storage.transaction() as transaction:
        transaction.append(read_block(table, COLUMNS, len(rows), "test").packed())
    return fulfilled(parse_condition(where, COLUMNS, "test"), COLUMNS, storage.snapshot).tolist()


def found_by_sqlite(rows, where):
    with sqlite3.connect(":memory:") as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        database.execute('CREATE TABLE t (n, x, mode, "is ok", day, at)')
        plain = [
            [str(v) if type(v) is date else quoted(v)[1:-1] if type(v) is datetime else v for v in r] for r in rows
        ]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", plain)
        answer = database.execute(f"SELECT coalesce({where}, 0) FROM t ORDER BY rowid").fetchall()
    return [bool(value) for (value,) in answer]


@settings(max_examples=150, deadline=None)
@given(ROWS, CONDITIONS)
def test_a_condition_finds_what_sqlite_finds(rows, where):
    assert found_here(rows, where) == found_by_sqlite(rows, where)


@given(st.text("n x=<>'\"()., 1andoritlke%_", max_size=30))
def test_any_text_is_a_condition_or_refused(text):
    with suppress(InputError):
        parse_condition(text, COLUMNS, "test")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("moed = 'a'", "character 1, at moed: there is no such column. Did you mean 'mode'?"),
        (
            "n > 1 and x = 'a'",
            "character 15, at 'a': The column 'x' is float and must be compared with a number, not 'a'.",
        ),
        ("n > 1 or", "character 9, at the end: expected a column name"),
        ("n in (1, 2", "character 11, at the end: expected ')'"),
        ("n = null", "character 5, at null: nothing equals null; use is null"),
        ("mode = positive", "put strings in single quotes"),
        ("mode = 'a", "character 8, at 'a: the quote is not closed"),
        ("n > 1; drop", "character 6, at ; drop: unexpected text"),
        ("day > '2023-02-29'", "a date as '2024-12-31', not '2023-02-29'"),
        ('"is ok" > true', "boolean and cannot be ordered"),
        ("n like 'a%'", "like works only with strings"),
        ("n = 1e999", "compared with a number"),
        ("(" * 51 + "n = 1" + ")" * 51, "more than 50 nested parentheses"),
        ("not " * 51 + "n = 1", "more than 50 nested parentheses"),
        ("n = 1 or " * 2000 + "n = 1", "at most 10,000 characters; got 18,005"),
        ({"n": "a"}, "The column 'n' is integer"),
        ({"n": (1, 2, 3)}, "a pair (low, high)"),
        ({"moed": 1}, "Did you mean 'mode'?"),
        ({}, "needs where= to be a condition"),
        (7, "needs where= to be a condition"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(where, message):
    with pytest.raises(InputError) as error:
        parse_condition(where, COLUMNS, "test")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("mapping", "where"),
    [
        ({"n": (1, 3), "mode": "a"}, "n between 1 and 3 and mode = 'a'"),
        ({"n": (None, 3)}, "n <= 3"),
        ({"n": np.int64(2), "x": np.float32(0.5)}, "n = 2 and x = 0.5"),
        ({"mode": ["a", "b"]}, "mode in ('a', 'b')"),
        ({"day": None}, "day is null"),
        ({"day": (date(2024, 1, 1), None), "at": datetime(2024, 1, 2)}, "day >= '2024-01-01' and at = '2024-01-02'"),
        ({"is ok": True}, '"is ok" = true'),
    ],
)
def test_a_mapping_is_a_condition(mapping, where):
    assert parse_condition(mapping, COLUMNS, "test") == parse_condition(where, COLUMNS, "test")


@given(st.lists(st.text("ab", max_size=20), min_size=1, max_size=10), st.text("ab", max_size=20), st.data())
def test_texts_of_any_length_are_compared_with_all_of_their_letters(texts, text, data):
    text = data.draw(st.sampled_from([text, *texts]))
    rows = [(None, None, each, None, None, None) for each in texts]
    assert found_here(rows, f"mode = '{text}'") == [each == text for each in texts]
    assert found_here(rows, f"mode <= '{text}'") == [each <= text for each in texts]
    assert found_here(rows, f"mode like '{text}%'") == [each.startswith(text) for each in texts]
    assert found_here(rows, f"mode like '%{text}%'") == [text in each for each in texts]
    assert found_here(rows, f"mode like '%{text}'") == [each.endswith(text) for each in texts]


def test_a_pattern_with_many_wildcards_takes_no_time():
    rows = [(None, None, "a" * 50_000, None, None, None)]
    assert found_here(rows, f"mode like '{'%a' * 40}b'") == [False]
