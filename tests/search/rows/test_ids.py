"""Ids: what is one, where rows stand, and that a table behaves as a dictionary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import InputError, KernelIndex
from mercer.search.rows.ids import ID_COLUMNS, IdTable, as_ids, pack_ids
from mercer.search.storage.memory import MemoryStorage
from tests.search.index_samples import histograms, index

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([3, 1, 2], np.array([3, 1, 2])),
        (np.array([3, 1], dtype=np.uint8), np.array([3, 1])),
        (np.array([5, -(2**63), LARGEST]), np.array([5, -(2**63), LARGEST])),
        ((), np.array([], dtype=np.int64)),
        (["a", 3, "é"], ["a", 3, "é"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([1, "b"], dtype=object), [1, "b"]),
        ([np.int32(4), np.str_("x")], [4, "x"]),
    ],
)
def test_whole_numbers_and_texts_are_ids(given, wanted):
    got = as_ids(given, len(given), "add")
    assert type(got) is type(wanted)
    assert list(got) == list(wanted)
    assert all(type(value) in (int, str, np.int64) for value in got)


@pytest.mark.parametrize(
    "value", [1.0, None, True, np.bool_(True), b"x", "", "x" * 65536, 2**63, -(2**63) - 1, [1], float("nan")]
)
def test_all_others_are_refused_by_name(value):
    with pytest.raises(InputError, match="add supports as ids 64-bit integers and strings of 1 to 65535 bytes; got"):
        as_ids([1, value], 2, "add")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("abc", "needs a sequence of ids, one per row; got str"),
        (7, "needs a sequence of ids, one per row; got int"),
        ([1, 2], "there are 3 rows and 2 ids"),
        (
            np.array([2**63, 1, 2], dtype=np.uint64),
            r"needs integer ids below 2\*\*63; got 9223372036854775808",
        ),
        (np.ones(3), "supports as ids 64-bit integers"),
        (np.ones((3, 1), dtype=int), "supports as ids 64-bit integers"),
        (np.array([True, False, True]), "supports as ids 64-bit integers"),
    ],
)
def test_what_is_no_list_of_ids_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        as_ids(given, 3, "add")


def stored(ids):
    """The segment of a storage that holds these ids."""
    storage = MemoryStorage(ID_COLUMNS)
    with storage.transaction() as transaction:
        transaction.append(pack_ids(ids))
    return storage.snapshot.segments[0]


IDS = st.one_of(st.integers(-3, 40), st.sampled_from(["a", "b", "aa", "ä", "-1", "zz", "B"]))


def normalised(ids):
    return as_ids(ids, len(ids), "test")


@settings(max_examples=150)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "remove", "update"]), st.lists(IDS, unique=True, max_size=9)), max_size=12
    )
)
def test_a_table_is_a_dictionary_that_survives_a_reload(steps):
    table, where, at, gone, pieces = IdTable(), {}, [], [], []
    for what, ids in steps:
        known = [value for value in ids if value in where]
        if what == "add":
            fresh = [value for value in ids if value not in where]
        else:
            positions = [where.pop(value) for value in known]
            table.remove(np.array(positions, dtype=np.int64))
            gone += positions
            fresh = known if what == "update" else []
        if fresh:
            table.append(normalised(fresh))
            pieces.append(fresh)
            where.update({value: len(at) + place for place, value in enumerate(fresh)})
            at += fresh
        assert len(table) == len(at)
        assert_is(table, where, at)
    again = IdTable()
    for piece in pieces:
        again.load(stored(normalised(piece)))
    again.remove(np.array(sorted(gone), dtype=np.int64))  # all at once, after everything was loaded
    assert_is(again, where, at)
    assert again.highest == table.highest


def assert_is(table, where, at):
    asked = [*range(-4, 42), "a", "b", "aa", "ä", "-1", "zz", "B", "other"]
    assert table.positions(asked).tolist() == [where.get(value, -1) for value in asked]
    numbers = [value for value in asked if isinstance(value, int)]
    assert table.positions(np.array(numbers)).tolist() == [where.get(value, -1) for value in numbers]
    found = table.at(np.array([[*range(len(at)), -1]]))
    nothing = None if any(isinstance(value, str) for value in at) else -1
    assert found.tolist() == [[*at, nothing]]
    keys = table.keys(np.arange(len(at)))
    for i in range(len(at)):
        for j in range(len(at)):
            assert (keys[i] < keys[j]) == (order(at[i]) < order(at[j]))


def order(value):
    return (isinstance(value, str), value)


def test_many_numbers_are_found_whether_sorted_or_recent(rng):
    table, numbers = IdTable(), rng.permutation(5000)
    for start in range(0, 5000, 37):  # some parts are sorted in, some are not yet
        table.append(numbers[start : start + 37])
    np.testing.assert_array_equal(table.positions(numbers), np.arange(5000))
    table.remove(np.arange(0, 5000, 2))
    np.testing.assert_array_equal(table.positions(numbers), np.where(np.arange(5000) % 2, np.arange(5000), -1))
    assert table.highest == 4999


def test_columns_of_ids_are_bytes_and_numbers():
    columns = pack_ids(["é", 5])
    assert columns["id_number"].tolist() == [0, 5]
    assert columns["id_text"][0].tobytes() == "é".encode()
    assert columns["id_text"][1].tolist() == [2, 0]
    plain = pack_ids(np.array([7, 8]))
    assert (plain["id_text"][0].size, plain["id_text"][1].tolist()) == (0, [0, 0])


CONTROL = ["\0", "a\nb", "\x1b[31m", "\u202e", "\x7f", "\t", "\r\n", "\U0010ffff"]


def test_control_characters_in_ids_are_carried_exactly(tmp_path):
    rows = histograms(len(CONTROL))
    made = index(rows, ids=CONTROL).persist(tmp_path / "index")
    with made:
        assert made.search(rows, 1, exact=True)[0].ravel().tolist() == CONTROL
    with KernelIndex.open(tmp_path / "index", "w") as found:
        assert found.search(rows, 1, exact=True)[0].ravel().tolist() == CONTROL
        found.update(rows[:2], CONTROL[:2]).remove(CONTROL[2:]).compact()
        assert [value in found for value in CONTROL] == [True] * 2 + [False] * 6


@pytest.mark.parametrize("verb", ["add", "update", "remove"])
def test_half_a_surrogate_pair_is_refused_with_the_id_escaped(verb):
    rows = histograms(3)
    made = index(rows)
    arguments = (["\udcff!"],) if verb == "remove" else (rows[:1], ["\udcff!"])
    message = rf"KernelIndex.{verb} needs string ids .* '\\udcff!' contains a lone surrogate"
    with pytest.raises(InputError, match=message) as error:
        getattr(made, verb)(*arguments)
    str(error.value).encode()  # can be printed
    assert len(made) == 3
