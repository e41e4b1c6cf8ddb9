"""Whatever happens to a writer or to its disk, what was acknowledged is there, and nothing of the rest by halves."""

import errno
import os
import random
import resource
import shutil
import sqlite3
import time
from contextlib import suppress
from itertools import count

import numpy as np
import pytest

from mercer._base.errors import InputError, ModelFileError
from mercer.search.storage.blocks import Column
from mercer.search.storage.directory import catalogue as catalogue_module
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.spaces.stored import StorageError
from tests.search.storage.samples import COLUMNS, contents, expected, new_directory, process, rows, rows_of, state_of

N_ROWS = 12  # of the index that most tests begin with


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index"


def files_of(path):
    return sorted(entry for entry in path.rglob("*") if entry.is_file())


def assert_usable(path, numbers, removed=()):
    """The index holds exactly this, to readers and to a writer, who can go on and leaves nothing behind."""
    assert state_of(path) == expected(numbers, removed)
    with DirectoryStorage.open(path, "w") as storage, storage.transaction() as t:
        assert t.append(rows(500, 2)) == len(numbers)
    assert state_of(path) == expected([*numbers, 500, 501], removed)
    folders = {entry.name for entry in path.glob("generation-*")}
    assert len(folders) == 1
    sizes = {entry.name: entry.stat().st_size for entry in (path / folders.pop()).iterdir()}
    codes = [size for name, size in sizes.items() if name.endswith(".code")]
    assert sum(codes) == 3 * (len(numbers) + 2)
    assert len(sizes) == 1 + 4 * len(codes)  # the model, and one file for each part of a segment


# ------------------------------------------------------------------------------------------------- remains and damages


def test_bytes_and_files_that_nobody_committed_are_ignored_and_then_removed(path):
    new_directory(path, N_ROWS).close()
    for file in (path / "generation-1").glob("segment-*"):
        with open(file, "ab") as stream:
            stream.write(b"torn")
    (path / "generation-1" / "segment-000001.code").write_bytes(b"torn")
    (path / "generation-2").mkdir()
    (path / "generation-2" / "segment-000000.code").write_bytes(b"torn")
    (path / "README").write_text("kept: not ours")
    assert_usable(path, range(N_ROWS))
    assert (path / "README").exists()


@pytest.mark.parametrize("mode", ["r", "w"])
def test_each_damaged_file_is_named(path, mode):
    new_directory(path, N_ROWS).close()
    files = [file for file in files_of(path / "generation-1") if file.stat().st_size]
    assert len(files) == 5
    for file in files:
        good = file.read_bytes()
        for at in {0, len(good) // 2, len(good) - 1}:
            bad = bytearray(good)
            bad[at] ^= 4
            file.write_bytes(bad)
            with pytest.raises(ModelFileError, match=f"generation-1/{file.name}': the checksum .* Restore the index"):
                DirectoryStorage.open(path, mode)
        file.write_bytes(good[:-1])
        for verify in (True, False):
            with pytest.raises(ModelFileError, match=f"{file.name}': it has .* were committed"):
                DirectoryStorage.open(path, mode, verify=verify)
        file.unlink()
        with pytest.raises(ModelFileError, match=f"'{file.name}' is missing"):
            DirectoryStorage.open(path, mode, verify=False)
        file.write_bytes(good)
    assert state_of(path) == expected(range(N_ROWS))


def test_damage_after_opening_is_found_by_verify(path):
    new_directory(path, N_ROWS).close()
    with DirectoryStorage.open(path, "w") as writer, DirectoryStorage.open(path) as reader:
        writer.verify()
        reader.verify()
        file = path / "generation-1/segment-000000.vector"
        with open(file, "r+b") as stream:
            stream.write(b"x")
        for storage in (writer, reader):
            with pytest.raises(ModelFileError, match=r"segment-000000\.vector"):
                storage.verify()


def test_no_flipped_bit_of_the_catalogue_changes_what_is_read(path):
    """Any error of ours is fine, and so is the right content: there are bytes that nobody reads."""
    with new_directory(path, N_ROWS) as storage, storage.transaction() as t:
        t.remove([2, 7, 8])
    file = path / "catalogue.sqlite"
    good, random_bits = file.read_bytes(), random.Random(0)
    used = [at for at, byte in enumerate(good) if byte]  # SQLite leaves most of its pages empty
    n_refused = 0
    for at in random_bits.sample(used, 150) + random_bits.sample(range(len(good)), 50):
        bad = bytearray(good)
        bad[at] ^= 1 << random_bits.randrange(8)
        file.write_bytes(bad)
        try:
            assert state_of(path) == expected(range(N_ROWS), [2, 7, 8])
        except ModelFileError:
            n_refused += 1
    assert n_refused > 50


# --------------------------------------------------------------------------------------------------- death at each step


AFTER = {"transaction": (range(N_ROWS + 9), [3, N_ROWS]), "rewrite": (range(20, 27), [])}  # rows and removed


def _change(storage, kind):
    if kind == "rewrite":
        storage.rewrite(COLUMNS, [rows(20, 3), rows(23, 4)])
        return
    with storage.transaction() as t:
        t.append(rows(N_ROWS, 4))
        t.append(rows(N_ROWS + 4, 5))
        t.remove([3, N_ROWS])


STEPS = ("pwrite", "fsync", "mkdir", "unlink", "link", "ftruncate", "rmdir")


def _die_at_step(path, kind, step):
    """Run a change, and die before its step-th call to the system or statement of SQLite."""
    storage = DirectoryStorage.open(path, "w", verify=False)
    storage.segment_rows = N_ROWS + 2  # so that a segment is continued and one is begun
    counter = iter(range(step))

    def dying(function):
        def wrapper(*arguments, **options):
            if next(counter, None) is None:
                os._exit(9)
            return function(*arguments, **options)

        return wrapper

    for name in STEPS:
        setattr(os, name, dying(getattr(os, name)))
    storage._catalogue._connection.set_trace_callback(dying(lambda statement: None))
    _change(storage, kind)
    os._exit(0)


def _die_at_every_step(pipe, path, kind):
    """Copies of the index, each with the remains of a process that got one step further, until one succeeds."""
    for step in count():
        place = path.with_name(f"step{step}")
        shutil.copytree(path, place)
        child = os.fork()
        if child == 0:
            _die_at_step(place, kind, step)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        pipe.send((place, code))
        if code != 9:
            break


@pytest.mark.process
@pytest.mark.parametrize("kind", ["transaction", "rewrite"])
def test_a_writer_that_dies_at_any_step_leaves_the_old_or_the_new_state(path, kind, monkeypatch):
    monkeypatch.setattr(catalogue_module, "_COMMIT_SECONDS", 0.0)  # nobody is alive: journals need not be waited for
    before = expected(range(N_ROWS))
    after = expected(*AFTER[kind])
    new_directory(path, N_ROWS).close()
    happened, codes = [], []
    with process(_die_at_every_step, path, kind) as (_, pipe):
        for place, code in _messages(pipe):
            found = state_of(place)
            assert found in (before, after)
            happened.append(found == after)
            codes.append(code)
            _assert_no_remains(place, found)
    assert codes[-1] == 0
    assert happened[-1]
    assert happened == sorted(happened)  # the commit is one step: once the new state is there it stays
    assert len(happened) > 20


def _assert_no_remains(path, found):
    """A writer that opens finds the same, and removes what is not part of it."""
    with DirectoryStorage.open(path, "w") as storage:
        assert contents(storage.snapshot) == found
        sizes = {file.name: file.stat().st_size for file in storage.model_path.parent.iterdir()}
        assert sizes.pop("model.mercer") == len(b"a model")
        assert sizes == {
            f"segment-{number:06d}.{name}": part.n_bytes
            for number, record in storage._contents.segments.items()
            for name, part in record.parts.items()
        }
    assert [place.name for place in path.glob("generation-*")] == [storage.model_path.parent.name]


def _leave_a_journal(pipe, path):
    """Die while SQLite is writing pages of the catalogue."""
    connection = sqlite3.connect(path / "catalogue.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = TRUNCATE")
    connection.execute("PRAGMA cache_size = 1")  # pages go to the file long before the commit
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE segment SET n_rows = 1")
    for number in range(50):
        connection.execute("INSERT INTO removal VALUES (?, zeroblob(9000), 0)", (number + 1,))
    pipe.send("half written")
    pipe.recv()


@pytest.mark.process
def test_readers_and_writers_get_over_a_commit_that_was_cut_short(path):
    new_directory(path, N_ROWS).close()
    good = (path / "catalogue.sqlite").read_bytes()
    with process(_leave_a_journal, path) as (_, pipe):
        pipe.recv()
        assert state_of(path) == expected(range(N_ROWS))  # while the writer sleeps
    assert (path / "catalogue.sqlite").read_bytes() != good
    before = {file: file.read_bytes() for file in files_of(path)}
    assert state_of(path) == expected(range(N_ROWS))
    assert {file: file.read_bytes() for file in files_of(path)} == before  # readers repair nothing
    reader = DirectoryStorage.open(path)
    assert_usable(path, range(N_ROWS))
    assert reader.refresh() == (True, False)
    assert reader.n_positions == N_ROWS + 2


def test_a_commit_counts_when_its_journal_is_gone_and_readers_notice_then(path, tmp_path):
    """All pages are written, the change counter too, and the writer falls asleep before it empties the journal."""
    journal, kept = path / "catalogue.sqlite-journal", tmp_path / "journal"
    with new_directory(path, N_ROWS) as writer:
        connection = writer._catalogue._connection
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.set_trace_callback(lambda statement: statement == "COMMIT" and os.link(journal, kept))
        with writer.transaction() as t:
            t.append(rows(N_ROWS, 1))
        connection.set_trace_callback(None)
    kept.rename(journal)
    with DirectoryStorage.open(path) as reader:
        assert contents(reader.snapshot) == expected(range(N_ROWS))
        assert reader.refresh() == (False, False)
        os.truncate(journal, 0)
        assert reader.refresh() == (True, False)
        assert contents(reader.snapshot) == expected(range(N_ROWS + 1))


# ------------------------------------------------------------------------------------------------------------- kill -9


def _work_until_killed(pipe, path, seed, numbers, removed):
    """Random changes for ever: each says what there will be, is made, and is then acknowledged."""
    choose, following = random.Random(seed), max(numbers, default=0) + 1
    with DirectoryStorage.open(path, "w", verify=False) as storage:
        storage.segment_rows = 40
        while True:
            if len(numbers) > 150:
                numbers, removed = [number for at, number in enumerate(numbers) if at not in removed][:60], []
                pipe.send((numbers, removed))
                storage.rewrite(COLUMNS, [rows_of(numbers[:20]), rows_of(numbers[20:])])
            else:
                sizes = [choose.randrange(12) for _ in range(choose.randrange(1, 4))]
                numbers = [*numbers, *range(following, following + sum(sizes))]
                gone = choose.sample(range(len(numbers)), min(3, len(numbers)))
                removed = sorted({*removed, *gone})
                pipe.send((numbers, removed))
                with storage.transaction() as t:
                    for size in sizes:
                        t.append(rows(following, size))
                        following += size
                    t.remove(gone)
            pipe.send("done")


def _messages(pipe):
    with suppress(EOFError):
        while True:
            yield pipe.recv()


def kill_and_compare(path, n_kills, seed):
    """Start, kill, compare, again and again on one index; returns how many changes were acknowledged."""
    new_directory(path).close()
    state, n_acknowledged, moments = ([], []), 0, random.Random(seed)
    for kill in range(n_kills):
        with process(_work_until_killed, path, seed + kill, *state) as (child, pipe):
            possible, last = [state], n_acknowledged + moments.randrange(8)
            for message in _messages(pipe):
                # a new state is possible once it was announced, and certain once it was acknowledged
                possible = [*possible, message] if message != "done" else possible[-1:]
                n_acknowledged += message == "done"
                if child.is_alive() and n_acknowledged >= last:
                    time.sleep(moments.uniform(0, 0.015))  # a transaction takes about 5 ms
                    child.kill()
                    child.join()
        found = state_of(path)
        matching = [state for state in possible if found == expected(*state)]
        assert matching, f"After kill {kill} there is neither what was acknowledged nor what was under way."
        state = matching[0]
    assert_usable(path, *state)
    return n_acknowledged


@pytest.mark.process
def test_nothing_acknowledged_is_lost_by_kills_at_random_moments(path):
    assert kill_and_compare(path, n_kills=15, seed=1) > 30


@pytest.mark.process
@pytest.mark.slow
def test_nothing_acknowledged_is_lost_by_200_kills(path):
    assert kill_and_compare(path, n_kills=200, seed=1000) > 400


# ------------------------------------------------------------------------------------------------------------ full disk


WIDE = [Column("wide", np.uint8, (1000,)), Column("word", np.int32, ragged=True)]


def _append_too_much(storage):
    with storage.transaction() as t:
        t.append(rows(10, 5, WIDE))
        t.append(rows(15, 50, WIDE))


TOO_MUCH = {
    "append": _append_too_much,
    "rewrite": lambda storage: storage.rewrite(WIDE, [rows(10, 50, WIDE)]),
    "model": lambda storage: storage.rewrite(WIDE, [], lambda path: path.write_bytes(bytes(50_000))),
}


def _fill_the_disk(pipe, path, what):
    """No file may grow beyond 20,000 bytes: the system writes as much as fits, then refuses, as a full disk does."""
    storage = DirectoryStorage.open(path, "w")
    before = contents(storage.snapshot)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    with pytest.raises(StorageError, match=r"index'.* did not fit on the disk .* index is unchanged"):
        TOO_MUCH[what](storage)
    assert contents(storage.snapshot) == before
    sizes = {file.name: file.stat().st_size for file in storage.model_path.parent.iterdir()}
    assert sizes == {"model.mercer": 7, "segment-000000.wide": 10_000, "segment-000000.word": 4 * 13} | {
        "segment-000000.word.offsets": 8 * 11
    }
    with storage.transaction() as t:  # what fits is taken
        t.append(rows(10, 2, WIDE))
    pipe.send(contents(storage.snapshot))


@pytest.mark.process
@pytest.mark.parametrize("what", TOO_MUCH)
def test_a_full_disk_leaves_the_index_as_it_was_and_usable(path, what):
    new_directory(path, 10, WIDE).close()
    with process(_fill_the_disk, path, what) as (_, pipe):
        assert pipe.poll(30)
        assert pipe.recv() == expected(range(12), columns=WIDE)
    assert state_of(path) == expected(range(12), columns=WIDE)


def _fill_the_disk_with_the_catalogue(pipe, path):
    """The rows fit and what is to be said of them in the catalogue does not."""
    storage = DirectoryStorage.open(path, "w")
    with storage.transaction() as t:
        t.append({"x": np.zeros(400_000, np.uint8)})
    limit = (path / "catalogue.sqlite").stat().st_size + 500_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def change():
        with storage.transaction() as t:
            t.append({"x": np.ones(1000, np.uint8)})
            t.remove(np.arange(300_000))

    with pytest.raises(StorageError, match=r"catalogue.sqlite' could not be written"):
        change()
    assert (storage.n_positions, storage.removed.any()) == (400_000, False)
    with storage.transaction() as t:
        t.append({"x": np.ones(2000, np.uint8)})
        t.remove([5])
    pipe.send("went on")


@pytest.mark.process
def test_a_disk_that_is_full_when_the_catalogue_is_written_leaves_the_index_as_it_was(path):
    new_directory(path, columns=[Column("x", np.uint8)]).close()
    with process(_fill_the_disk_with_the_catalogue, path) as (_, pipe):
        assert pipe.poll(30)
        assert pipe.recv() == "went on"
    with DirectoryStorage.open(path) as storage:
        assert storage.n_positions == 402_000
        assert np.flatnonzero(storage.removed).tolist() == [5]
        assert [segment.arrays["x"].sum() for segment in storage.segments()] == [0, 2000]


def test_a_creation_on_a_full_disk_says_so_and_can_be_repeated(path):
    def write_too_much(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageError, match="a new index did not fit on the disk"):
        DirectoryStorage.create(path, COLUMNS, write_too_much, {})
    new_directory(path, 2).close()
    assert state_of(path) == expected(range(2))


# ----------------------------------------------------------------------------------- commits whose end was not seen


@pytest.mark.parametrize("kind", ["transaction", "rewrite"])
@pytest.mark.parametrize("happened", [True, False])
def test_an_interrupted_commit_is_settled_by_what_the_catalogue_says(path, monkeypatch, kind, happened):
    """Ctrl-C may come before SQLite's commit or behind it: bytes that the catalogue counts must not be cut off."""
    with new_directory(path, N_ROWS) as storage:
        for name in ("commit", "replace"):
            original = getattr(storage._catalogue, name)

            def interrupted(*arguments, original=original):
                if happened:
                    original(*arguments)
                raise KeyboardInterrupt

            monkeypatch.setattr(storage._catalogue, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            _change(storage, kind)
        monkeypatch.undo()
        state = AFTER[kind] if happened else (range(N_ROWS), [])
        assert contents(storage.snapshot) == expected(*state)
        storage.verify()
    assert_usable(path, *state)


def test_a_storage_whose_disk_failed_twice_asks_to_be_opened_again(path, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    with new_directory(path, N_ROWS) as storage:
        monkeypatch.setattr(os, "fsync", fail)
        monkeypatch.setattr(os, "ftruncate", fail)
        with pytest.raises(OSError, match="Input/output"), storage.transaction() as t:
            t.append(rows(N_ROWS, 5))
        monkeypatch.undo()
        assert contents(storage.snapshot) == expected(range(N_ROWS))
        with pytest.raises(InputError, match="to be opened again"), storage.transaction():
            pass
    assert_usable(path, range(N_ROWS))


def test_a_reader_waits_for_a_commit_instead_of_reading_half_of_it(path, monkeypatch):
    """A commit falls between two looks at the catalogue: the first reading is thrown away."""
    with new_directory(path, N_ROWS) as writer:
        commits = iter([lambda t: t.append(rows(N_ROWS, 1))])
        original = catalogue_module.read_contents

        def read_while_committing(connection, verify):
            result = original(connection, verify)
            for change in commits:
                with writer.transaction() as t:
                    change(t)
            return result

        monkeypatch.setattr(catalogue_module, "read_contents", read_while_committing)
        assert state_of(path) == expected(range(N_ROWS + 1))
