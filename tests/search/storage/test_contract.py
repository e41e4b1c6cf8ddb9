"""A storage is a list of rows with tombstones: both kinds, against a plain model."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mercer._base.errors import InputError
from mercer.search.storage.blocks import Column
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.search.storage.memory import MemoryStorage
from tests.search.storage.samples import COLUMNS, contents, expected, new_directory, rows, rows_of


@pytest.fixture(params=["memory", "directory"])
def storage(request, tmp_path):
    with MemoryStorage(COLUMNS) if request.param == "memory" else new_directory(tmp_path / "index") as storage:
        yield storage


def add(storage, first, n):
    with storage.transaction() as t:
        return t.append(rows(first, n))


class _Machine(RuleBasedStateMachine):
    """Appends, removals, failures and rewrites in any order. ``numbers`` says which row stands at each position."""

    @initialize()
    def begin(self):
        self.numbers, self.removed, self.next, self.old = [], set(), 0, []
        self.storage = self.make()
        # small segments, so that rows cross them all the time; 25 bytes and 4 per word and row
        self.storage.segment_rows, self.storage.segment_bytes = 5, 140

    def change(self, t, sizes, data):
        numbers, removed, following = list(self.numbers), set(self.removed), self.next
        for size in sizes:
            assert t.append(rows(following, size)) == len(numbers)
            numbers += range(following, following + size)
            following += size
            if numbers:
                gone = data.draw(st.lists(st.integers(0, len(numbers) - 1), max_size=4))
                t.remove(gone)
                removed.update(gone)
        return numbers, removed, following

    sizes = st.lists(st.integers(0, 12), max_size=3)

    @rule(sizes=sizes, data=st.data())
    def commit(self, sizes, data):
        with self.storage.transaction() as t:
            after = self.change(t, sizes, data)
            assert self.storage.n_positions == len(self.numbers)
        self.numbers, self.removed, self.next = after

    @rule(sizes=sizes, data=st.data())
    def fail(self, sizes, data):
        with suppress(ZeroDivisionError), self.storage.transaction() as t:
            self.change(t, sizes, data)
            raise ZeroDivisionError

    @rule(size=st.integers(1, 7))
    def compact(self, size):
        live = [number for at, number in enumerate(self.numbers) if at not in self.removed]
        batches = (rows_of(live[start : start + size]) for start in range(0, len(live), size))
        generation = self.storage.snapshot.generation
        self.storage.rewrite(COLUMNS, batches)
        assert self.storage.snapshot.generation == generation + 1
        self.numbers, self.removed = live, set()

    @rule()
    def fail_to_compact(self):
        def batches():
            yield rows(0, 7)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            self.storage.rewrite(COLUMNS, batches())

    @rule()
    def keep_a_snapshot(self):
        self.old.append((self.storage.snapshot, expected(self.numbers, self.removed)))

    @precondition(lambda self: isinstance(self.storage, DirectoryStorage))
    @rule(verify=st.booleans())
    def reopen(self, verify):
        limits = self.storage.segment_rows, self.storage.segment_bytes
        self.storage.close()
        self.storage = DirectoryStorage.open(self.storage.path, "w", verify)
        self.storage.segment_rows, self.storage.segment_bytes = limits

    @invariant()
    def holds_what_was_committed(self):
        assert contents(self.storage.snapshot) == expected(self.numbers, self.removed)
        segments = self.storage.segments()
        assert all(segment.n_rows <= 5 for segment in segments)
        assert len(segments) <= len(self.numbers)
        for snapshot, then in self.old:
            assert contents(snapshot) == then

    def teardown(self):
        self.storage.close()


class _InMemory(_Machine):
    def make(self):
        return MemoryStorage(COLUMNS)


class _InDirectory(_Machine):
    def make(self):
        self.folder = Path(tempfile.mkdtemp())
        return new_directory(self.folder / "index")

    def teardown(self):
        super().teardown()
        shutil.rmtree(self.folder)


TestMemoryAgainstTheModel = _InMemory.TestCase
TestMemoryAgainstTheModel.settings = settings(max_examples=30, stateful_step_count=12)
TestDirectoryAgainstTheModel = _InDirectory.TestCase
TestDirectoryAgainstTheModel.settings = settings(max_examples=15, stateful_step_count=12)


def test_a_failed_append_undoes_its_transaction_even_if_the_error_was_caught(storage):
    add(storage, 0, 3)

    def change():
        with storage.transaction() as t:
            t.append(rows(3, 2))
            with suppress(InputError):
                t.append({})

    with pytest.raises(InputError, match="the whole transaction was rolled back"):
        change()
    assert contents(storage.snapshot) == expected(range(3))
    assert add(storage, 3, 1) == 3


def test_many_single_rows_share_a_segment(storage):
    for number in range(300):
        add(storage, number, 1)
    assert [segment.n_rows for segment in storage.segments()] == [300]
    assert contents(storage.snapshot) == expected(range(300))


def test_a_large_block_is_cut_into_segments_of_limited_rows_and_bytes(storage):
    storage.segment_rows, storage.segment_bytes = 100, 2**28
    add(storage, 0, 250)
    assert [segment.n_rows for segment in storage.segments()] == [100, 100, 50]
    storage.segment_bytes = 10  # no row is that small: each gets a segment of its own
    add(storage, 250, 3)
    assert [segment.n_rows for segment in storage.segments()] == [100, 100, 50, 1, 1, 1]
    assert contents(storage.snapshot) == expected(range(253))


def test_a_rewrite_may_change_the_columns(storage):
    add(storage, 0, 4)
    columns = [Column("other", np.float16, (2,)), Column("many", np.uint64, ragged=True)]
    storage.rewrite(columns, [rows(5, 2, columns), rows(7, 1, columns)], header={"new": True})
    assert contents(storage.snapshot) == expected([5, 6, 7], columns=columns)
    assert storage.columns == tuple(columns)
    assert storage.header == {"new": True}
    with pytest.raises(InputError, match="need the columns other, many, got code"):
        add(storage, 0, 1)


def test_a_rewrite_reads_its_batches_from_the_storage_itself(storage):
    add(storage, 0, 4)
    storage.rewrite(COLUMNS[:2], ({name: s.arrays[name] for name in ("code", "vector")} for s in storage.segments()))
    assert contents(storage.snapshot) == expected(range(4), columns=COLUMNS[:2])


def test_arrays_are_what_compiled_loops_were_compiled_for(storage):
    """Contiguous, aligned and not marked as read-only: anything else makes numba compile each loop again."""
    add(storage, 0, 3)
    arrays = storage.segments()[0].arrays
    for array in (arrays["code"], arrays["vector"], *arrays["word"]):
        assert array.flags.carray


def test_removing_very_many_rows_is_one_small_step(storage):
    storage.rewrite([Column("x", np.uint8)], [{"x": np.zeros(2_500_000, np.uint8)}])
    gone = np.arange(0, 2_500_000, 2)
    with storage.transaction() as t:
        t.remove(gone)
    assert np.array_equal(np.flatnonzero(storage.removed), gone)


def test_one_transaction_at_a_time(storage):
    with storage.transaction() as t:
        with pytest.raises(InputError, match="another transaction"), storage.transaction():
            pass
        with pytest.raises(InputError, match="another transaction"):
            storage.rewrite(COLUMNS, [])
        t.append(rows(0, 1))
    assert storage.n_positions == 1


def test_a_closed_storage_refuses_changes_and_its_rows_stay_readable(storage):
    add(storage, 0, 3)
    storage.close()
    with pytest.raises(InputError, match="closed"), storage.transaction():
        pass
    assert contents(storage.snapshot) == expected(range(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": None}, "need the columns code, vector, word, got vector, word"),
        ({"code": np.zeros((2, 4), np.uint8)}, r"'code' needs uint8 of shape \(n, 3\), got uint8 of shape \(2, 4\)"),
        ({"code": np.zeros((2, 3))}, "'code' needs uint8 .* got float64"),
        ({"code": np.zeros((3, 3), np.uint8)}, "same number of rows; got .*'code': 3"),
        ({"word": (np.zeros(3, np.int32), [1, 1])}, "'word' has 3 values, but its lengths add up to 2"),
        ({"word": (np.zeros(0, np.int32), [1, -1])}, "'word' needs non-negative integers as lengths"),
    ],
)
def test_rows_that_do_not_fit_the_columns_are_refused(storage, change, message):
    arrays = {name: value for name, value in (rows(0, 2) | change).items() if value is not None}
    with pytest.raises(InputError, match=message), storage.transaction() as t:
        t.append(arrays)
    assert storage.n_positions == 0


@pytest.mark.parametrize("positions", [[3], [-1], [[0]], [0.5]])
def test_positions_that_do_not_exist_are_refused(storage, positions):
    add(storage, 0, 3)
    with pytest.raises(InputError, match="remove needs"), storage.transaction() as t:
        t.remove(positions)
    assert not storage.removed.any()


@pytest.mark.parametrize(
    "arguments",
    [("../x", "u1"), ("X", "u1"), ("", "u1"), ("x", "O"), ("x", "U4"), ("x", "?"), ("x", "u1", (0,)), ("x", "M8[s]")],
)
def test_columns_without_a_plain_name_or_type_are_refused(arguments):
    with pytest.raises(InputError):
        Column(*arguments)


def test_columns_need_different_names():
    with pytest.raises(InputError, match="unique names"):
        MemoryStorage([COLUMNS[0], COLUMNS[0]])
