"""Columns beside the rows of an index: every type and kind of table goes in and comes out, in memory and on disk."""

import json
import pickle
import sqlite3
import zlib
from datetime import UTC, date, datetime

import numpy as np
import pytest

from mercer import KernelIndex
from mercer._base.errors import InputError, MissingExtraError, ModelFileError

X = np.random.default_rng(0).dirichlet(np.ones(8), size=60).astype(np.float32)
TABLE = {
    "n": [1, None, -3],
    "x": [0.5, float("nan"), float("inf")],
    "mode": ["", None, "é\U0001f600\0"],
    "is ok": [True, None, False],
    "day": [date(1, 1, 1), None, date(9999, 12, 31)],
    "at": [datetime(2024, 2, 29, 23, 59, 59, 999_999), None, datetime(1900, 1, 1)],
}
EXPECTED = {**TABLE, "x": [0.5, None, float("inf")]}
TYPES = {"n": "integer", "x": "float", "mode": "text", "is ok": "boolean", "day": "date", "at": "timestamp"}


@pytest.fixture(scope="module")
def fitted():
    return KernelIndex(
        "chi2", bytes_per_item=2, embedding="map", effort="low", vectors="float32", random_state=0, n_jobs=1
    ).fit(X)


@pytest.fixture
def index(fitted):
    return pickle.loads(pickle.dumps(fitted))


def pandas_frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(TABLE).astype({"n": "Int64", "is ok": "boolean", "at": "datetime64[us]"})


def arrow_table():
    return pytest.importorskip("pyarrow").table(TABLE)


def polars_frame():
    return pytest.importorskip("polars").DataFrame(TABLE, strict=False)


class Capsule:
    """Anything that speaks Arrow."""

    def __arrow_c_stream__(self, schema=None):
        return arrow_table().__arrow_c_stream__(schema)


@pytest.mark.parametrize("table", [lambda: TABLE, pandas_frame, arrow_table, polars_frame, Capsule])
def test_every_kind_of_table_comes_back(index, table):
    index.add(X[:3], data=table())
    assert index.columns_ == TYPES
    assert index.data([0, 1, 2]) == EXPECTED
    assert index.data([2, 0]) == {name: [values[2], values[0]] for name, values in EXPECTED.items()}


def test_arrays_are_taken_as_they_are(index):
    times = np.array(["2024-01-01T00:00:01", "NaT", "1999-12-31"], dtype="M8[ns]")
    index.add(X[:3], data={"n": np.array([1, 2, 3], "u1"), "at": times, "x": np.array([1, np.nan, 2], "f2")})
    aware = datetime(2024, 1, 1, 12, tzinfo=UTC)
    index.add(X[3:5], data={"n": [4.0, None], "at": [aware, date(2024, 1, 2)], "x": [3, None]})
    assert index.data(range(5)) == {
        "n": [1, 2, 3, 4, None],
        "at": [
            datetime(2024, 1, 1, 0, 0, 1),
            None,
            datetime(1999, 12, 31),
            datetime(2024, 1, 1, 12),
            datetime(2024, 1, 2),
        ],
        "x": [1.0, None, 2.0, 3.0, None],
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"n": [1, 2]}, "got 3 rows, but 2 values of the column 'n'"),
        ({"id": [1, 2, 3]}, "'id' has the name of a result column"),
        ({"n": [1, "a", 2]}, "row 1 (counted from 0) of 'n' has 'a', below integers"),
        ({"n": [[], [], []]}, "row 0 (counted from 0) of 'n' has []"),
        ({"n": [None, None, None]}, "cannot infer the type of the column 'n'"),
        ({"n": [1, 2, 2**63]}, "row 2 (counted from 0) has 9223372036854775808. Integers have 64 bits."),
        ({"t": ["a", "b", "\ud800"]}, "stores strings in the column 't', but row 2"),
        ({"n": np.zeros((3, 2))}, "one value per row in the column 'n'"),
        ({7: [1, 2, 3]}, "strings as names of data columns; got 7"),
        ({}, "data without columns"),
        ([1, 2, 3], "needs data to be a dictionary of columns, a data frame or an Arrow table; got list"),
        ({"n": "abc"}, "needs a sequence of values in the column 'n'"),
        ({"a\nb": [1, 2, 3]}, "unprintable characters in its name"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(index, data, message):
    with pytest.raises(InputError) as error:
        index.add(X[:3], data=data)
    assert message in str(error.value)
    assert len(index) == 0
    assert index.columns_ == {}


@pytest.mark.parametrize("place", ["memory", "directory"])
def test_a_first_table_that_fails_half_way_has_not_happened(index, place, tmp_path, monkeypatch):
    index.add(X[:5])
    if place == "directory":
        index.persist(tmp_path / "index")

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("mercer.search.rows.packing.packed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.update(X[:3], [0, 1, 2], data=TABLE)
    assert index.columns_ == {}
    assert len(index) == 5
    index.update(X[:3], [0, 1, 2], data=TABLE)
    assert index.data([0, 1, 2]) == EXPECTED
    index.close()


def test_chunks_of_dask_take_their_part_of_the_table(index):
    array = pytest.importorskip("dask.array").from_array(X[:9], chunks=(4, 8))
    index.add(array, data={"n": [None, *range(1, 8), 8.5], "mode": [None] * 8 + ["last"]})
    assert index.columns_ == {"n": "float", "mode": "text"}
    assert index.data([0, 5, 8]) == {"n": [None, 5.0, 8.5], "mode": [None, None, "last"]}


def test_later_tables_must_match(index):
    index.add(X[:3], data=TABLE)
    index.add(X[3:4], data={"mode": ["a"]}).add(X[4:5])
    assert index.data([3, 4]) == {**{key: [None, None] for key in TYPES}, "mode": ["a", None]}
    with pytest.raises(InputError, match=r"found no column 'moed'. Did you mean 'mode'\?"):
        index.add(X[5:6], data={"moed": ["a"]})
    with pytest.raises(InputError, match=r"stores integers in the column 'n', but row 0 .* has 1.5"):
        index.add(X[5:6], data={"n": [1.5]})
    assert len(index) == 5


def test_an_update_keeps_columns_that_it_does_not_name(index):
    index.add(X[:3], data=TABLE)
    index.update(X[3:5], [2, 0], data={"mode": ["new", None]})
    assert index.data([0, 2]) == {**{n: [v[0], v[2]] for n, v in EXPECTED.items()}, "mode": [None, "new"]}


@pytest.mark.parametrize("place", ["memory", "directory"])
def test_rows_without_columns_get_them_and_keep_them(index, place, tmp_path):
    index.add(X[:5]).remove([4])
    if place == "directory":
        index.persist(tmp_path / "index")
    index.update(X[:3], [0, 1, 2], data=TABLE)
    index.add(X[5:7], data={"n": [5, 6]})
    wanted = {name: [*values, None, None, None] for name, values in EXPECTED.items()} | {"n": [1, None, -3, None, 5, 6]}
    ids = [0, 1, 2, 3, 5, 6]
    for change in (lambda: None, index.compact, index.refit):
        change()
        assert index.data(ids) == wanted
    assert pickle.loads(pickle.dumps(index)).data(ids) == wanted
    if place == "directory":
        index.close()
        with KernelIndex.open(tmp_path / "index") as found:
            assert found.columns_ == TYPES
            assert found.data(ids) == wanted
    else:
        index.persist(tmp_path / "index")
        assert index.data(ids) == wanted
        index.close()


@pytest.mark.parametrize("exact", [False, True])
def test_only_rows_that_fulfill_the_condition_are_found(index, exact):
    values = np.arange(60) % 7
    index.add(X, data={"n": values, "mode": ["even" if v % 2 == 0 else "odd" for v in values]}).remove([0, 14])
    wanted = set(np.flatnonzero((values == 0) | (values == 3)).tolist()) - {0, 14}
    where = "n in (0, 3) and (mode = 'odd' or n = 0)"
    ids, _ = index.search(X[:4], k=20, where=where, exact=exact)
    assert [set(row) - {-1} for row in ids.tolist()] == [wanted] * 4
    both, _ = index.search(X[:1], k=5, where=where, filter=[7, 8, 10], exact=exact)
    assert set(both[0].tolist()) == {7, 10, -1}
    (close,), _ = index.range_search(X[:1], min_similarity=-1.0, where={"n": [0, 3]}, exact=exact)
    assert set(close.tolist()) == wanted
    nothing, _ = index.search(X[:1], k=2, where="n > 100", exact=exact)
    assert nothing.tolist() == [[-1, -1]]


def test_a_condition_sees_what_was_added_since(index):
    index.add(X[:30], data={"n": np.arange(30)})
    assert index.search(X[:1], k=3, where="n >= 29")[0].tolist() == [[29, -1, -1]]
    index.add(X[30:31], data={"n": [30]}).remove([29])
    assert index.search(X[:1], k=3, where="n >= 29")[0].tolist() == [[30, -1, -1]]


def test_an_index_without_columns_says_so(index):
    index.add(X)
    with pytest.raises(InputError, match=r"This index stores no columns\. Add rows with data="):
        index.search(X[:1], where="n > 1")


@pytest.mark.parametrize("library", [True, "pandas", "polars", "pyarrow"])
def test_answers_are_data_frames(index, library):
    pytest.importorskip("pandas" if library is True else library)
    index.add(X[:3], ["a", "b", 3], data=TABLE)
    frame = index.search(X[:2], k=3, as_frame=library)
    names = frame.column_names if library == "pyarrow" else list(frame.columns)
    assert names == ["query", "rank", "id", "similarity", *TYPES]
    lines = (
        frame.to_dict("list")
        if library in (True, "pandas")
        else frame.to_pydict()
        if library == "pyarrow"
        else frame.to_dict(as_series=False)
    )
    assert lines["query"] == [0, 0, 0, 1, 1, 1]
    assert lines["rank"] == [1, 2, 3, 1, 2, 3]
    ids, values = index.search(X[:2], k=3)
    assert list(map(str, lines["id"])) == list(map(str, ids.ravel()))
    assert lines["similarity"] == values.ravel().tolist()
    assert lines["mode"][0] == ""
    assert lines["n"][0] == 1
    close = index.range_search(X[:2], min_similarity=-1.0, where="n = 1", as_frame=library)
    assert close.shape[0] == 2
    assert index.data(["b"], as_frame=library).shape == (1, 1 + len(TYPES))


def test_a_data_frame_of_something_else_is_refused(index, monkeypatch):
    index.add(X[:3])
    with pytest.raises(InputError, match="as_frame to be False, True or one of pandas, polars, pyarrow, got 'spark'"):
        index.search(X[:1], k=1, as_frame="spark")
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(MissingExtraError, match="pip install polars"):
        index.search(X[:1], k=1, as_frame="polars")


# ------------------------------------------------------------------------------------------------------- hostile files


def forge(path, change):
    """Change the document of a catalogue, with the right checksum."""
    with sqlite3.connect(path / "catalogue.sqlite") as catalogue:
        ((text,),) = catalogue.execute("SELECT document FROM generation")
        document = json.loads(text)
        change(document)
        text = json.dumps(document)
        catalogue.execute("UPDATE generation SET document = ?, crc32 = ?", (text, zlib.crc32(text.encode())))
    catalogue.close()


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        [7],
        [{}],
        [{"name": "n"}],
        [{"name": "n", "type": "integer"}, {"name": "n", "type": "float"}],
        [{"name": "n", "type": "integer", "more": 1}],
        [{"name": 7, "type": "integer"}],
        [{"name": "n", "type": "object"}],
        [{"name": "n", "type": ["integer"]}],
        [{"name": "n", "type": "float"}],
        [{"name": "n", "type": "text"}],
        [],
    ],
)
def test_a_forged_description_of_columns_is_refused(index, tmp_path, data):
    index.add(X[:3], data={"n": [1, 2, 3]}).persist(tmp_path / "index").close()
    forge(tmp_path / "index", lambda document: document["header"].update(data=data))
    with pytest.raises(ModelFileError, match="damaged catalogue"):
        KernelIndex.open(tmp_path / "index")


@pytest.mark.parametrize(
    ("name", "values", "content", "message"),
    [
        ("flag", [True, False, None], b"\0\3\1", "3 is not a value of the boolean column"),
        ("mode", ["aa", "b", None], b"\xc3\xc3b\xff", "is not UTF-8 text"),
        ("day", [date(2024, 1, 1)] * 3, np.full(3, 2**40, "<i8").tobytes(), "outside the years 1 to 9999"),
        ("at", [datetime(2024, 1, 1)] * 3, np.full(3, 2**62, "<i8").tobytes(), "outside the years 1 to 9999"),
    ],
)
def test_forged_values_are_refused_and_never_trusted(index, tmp_path, name, values, content, message):
    place = tmp_path / "index"
    index.add(X[:3], data={name: values}).persist(place).close()
    (place / "generation-1" / "segment-000000.data_0").write_bytes(content)
    with sqlite3.connect(place / "catalogue.sqlite") as catalogue:
        catalogue.execute("UPDATE part SET crc32 = ? WHERE name = 'data_0'", (zlib.crc32(content),))
    catalogue.close()
    with pytest.raises(ModelFileError, match=message):
        KernelIndex.open(place)
    with KernelIndex.open(place, verify=False) as found:
        found.search(X[:1], k=3, where=f"{name} is not null")
        with pytest.raises(ModelFileError, match=message):
            found.data([0, 1, 2])


def test_bytes_of_columns_are_those_of_the_manual(index, tmp_path):
    index.add(X[:3], data=TABLE).persist(tmp_path / "index").close()
    folder = tmp_path / "index" / "generation-1"
    read = lambda number, dtype: np.fromfile(folder / f"segment-000000.data_{number}", dtype)  # noqa: E731
    assert read(0, "<i8").tolist() == [1, -(2**63), -3]
    assert np.isnan(read(1, "<f8")).tolist() == [False, True, False]
    assert read(2, "u1").tobytes() == b"\xff" + "é\U0001f600\0".encode()
    assert read(3, "u1").tolist() == [1, 2, 0]
    assert read(4, "<i8")[:2].tolist() == [date(1, 1, 1).toordinal() - date(1970, 1, 1).toordinal(), -(2**63)]
    assert read(5, "<i8")[2] == (datetime(1900, 1, 1) - datetime(1970, 1, 1)).total_seconds() * 10**6
