"""An index in a directory: what it refuses to open, one writer, readers that see whole states and disturb nobody."""

import os
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from mercer._base.errors import InputError, ModelFileError
from mercer.search.storage.blocks import Column
from mercer.search.storage.directory import storage as _directory
from mercer.search.storage.directory.files import LockedError
from mercer.search.storage.directory.storage import DirectoryStorage
from tests.search.storage.samples import (
    COLUMNS,
    HEADER,
    contents,
    expected,
    new_directory,
    process,
    rows,
    state_of,
    write_model,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "an index?#%20"  # characters that mean something in the address of a database


def listing(path):
    return {entry: entry.read_bytes() for entry in path.rglob("*") if entry.is_file()}


# ----------------------------------------------------------------------------------------------------- create and open


def test_header_columns_and_model_come_back(path):
    new_directory(path, 5).close()
    with DirectoryStorage.open(path) as storage:
        assert storage.header == HEADER
        assert storage.columns == COLUMNS
        assert storage.model_path.read_bytes() == b"a model"
        assert contents(storage.snapshot) == expected(range(5))


def test_an_index_without_rows_opens(path):
    new_directory(path).close()
    assert state_of(path) == expected([])


def test_a_directory_with_an_index_or_anything_else_is_not_taken(path):
    path.mkdir()
    (path / "thesis.tex").write_text("all my work")
    with pytest.raises(InputError, match=r"empty directory, but .* contains 'thesis.tex'"):
        new_directory(path)
    assert os.listdir(path) == ["thesis.tex"]
    (path / "thesis.tex").rename(path / "generation-1")  # a name of ours, but nothing that we wrote
    with pytest.raises(InputError, match="empty directory"):
        new_directory(path)
    (path / "generation-1").unlink()
    new_directory(path).close()
    before = listing(path)
    with pytest.raises(InputError, match="already holds an index"):
        new_directory(path)
    assert listing(path) == before


def test_a_creation_that_fails_can_be_repeated(path):
    with pytest.raises(ZeroDivisionError):
        DirectoryStorage.create(path, COLUMNS, lambda path: 1 / 0, HEADER)
    with pytest.raises(InputError, match="JSON"):
        DirectoryStorage.create(path, COLUMNS, write_model, {"kernel": np.float64})
    with pytest.raises(ModelFileError, match="is not an index"):
        DirectoryStorage.open(path)
    new_directory(path, 2).close()
    assert state_of(path) == expected(range(2))


def test_what_is_not_an_index_is_refused_by_name(tmp_path):
    with pytest.raises(ModelFileError, match="nothing' does not exist"):
        DirectoryStorage.open(tmp_path / "nothing")
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match="file' is not a directory"):
        DirectoryStorage.open(tmp_path / "file")
    with pytest.raises(ModelFileError, match="is not an index"):
        DirectoryStorage.open(tmp_path, mode="w")
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(InputError, match="mode='r' or mode='w'; got 'a'"):
        DirectoryStorage.open(tmp_path, mode="a")


def test_a_rewrite_keeps_the_model_or_takes_a_new_one_and_deletes_the_old_files(path):
    with new_directory(path, 3) as storage:
        storage.rewrite(COLUMNS, [rows(7, 1)])
        assert storage.model_path.read_bytes() == b"a model"
        storage.rewrite(COLUMNS, [rows(8, 2)], lambda path: path.write_bytes(b"another"), {"refit": 1})
        assert storage.model_path.read_bytes() == b"another"
    assert {entry.name for entry in path.glob("generation-*")} == {"generation-3"}
    with DirectoryStorage.open(path) as storage:
        assert (storage.header, storage.model_path.read_bytes()) == ({"refit": 1}, b"another")
        assert contents(storage.snapshot) == expected([8, 9])


# ---------------------------------------------------------------------------------------------------------- one writer


def _hold(pipe, path):
    with DirectoryStorage.open(path, "w"):
        pipe.send(os.getpid())
        pipe.recv()


@pytest.mark.process
def test_a_second_writer_is_refused_and_told_where_the_first_is(path):
    with new_directory(path, 3):
        with pytest.raises(LockedError, match=f"open for writing by process {os.getpid()}. Close it there, or"):
            DirectoryStorage.open(path, "w")
        assert state_of(path) == expected(range(3))
    with process(_hold, path) as (child, pipe):
        assert pipe.recv() == child.pid
        with pytest.raises(LockedError, match=f"process {child.pid}. Close it there, or"):
            DirectoryStorage.open(path, "w")
    DirectoryStorage.open(path, "w").close()  # the lock died with the process


def test_a_failed_opening_gives_the_lock_back(path):
    new_directory(path, 3).close()
    damaged = path / "generation-1/segment-000000.code"
    damaged.write_bytes(b"\xff" * 9)
    for _ in range(2):
        with pytest.raises(ModelFileError, match=r"generation-1/segment-000000\.code': the checksum"):
            DirectoryStorage.open(path, "w")


def test_a_reader_cannot_write(path):
    new_directory(path, 3).close()
    before = listing(path)
    with DirectoryStorage.open(path) as reader:
        with pytest.raises(InputError, match="transaction needs mode='w'"), reader.transaction():
            pass
        with pytest.raises(InputError, match="rewrite needs mode='w'"):
            reader.rewrite(COLUMNS, [])
    assert listing(path) == before


def test_what_a_mistake_writes_into_a_segment_does_not_reach_the_file(path):
    new_directory(path, 3).close()
    with DirectoryStorage.open(path) as reader:
        reader.segments()[0].arrays["code"][:] = 9
    assert state_of(path) == expected(range(3))


# -------------------------------------------------------------------------------------------------------------- readers


def test_a_reader_sees_new_commits_when_it_refreshes_and_not_before(path):
    with new_directory(path, 3) as writer, DirectoryStorage.open(path) as reader:
        assert reader.refresh() == (False, False)
        with writer.transaction() as t:
            t.append(rows(3, 2))
            assert reader.refresh() == (False, False)
        assert contents(reader.snapshot) == expected(range(3))
        assert reader.refresh() == (True, False)
        assert contents(reader.snapshot) == expected(range(5))
        with writer.transaction() as t:
            t.remove([1, 4])
        assert reader.refresh() == (True, False)
        assert contents(reader.snapshot) == expected(range(5), [1, 4])
        assert reader.refresh() == (False, False)
        assert writer.refresh() == (False, False)


def test_a_reader_keeps_its_snapshot_across_a_compaction(path):
    with new_directory(path, 3) as writer, DirectoryStorage.open(path) as reader:
        writer.rewrite(COLUMNS, [rows(8, 2)], header={"second": 2})
        assert not (path / "generation-1").exists()
        assert contents(reader.snapshot) == expected(range(3))
        assert reader.refresh() == (True, True)
        assert (contents(reader.snapshot), reader.header) == (expected([8, 9]), {"second": 2})


@pytest.mark.parametrize("opening", [True, False])
def test_a_reader_that_meets_a_switch_of_generations_tries_again(path, monkeypatch, opening):
    """The catalogue is read, then the generation it names is replaced, then its files are opened."""
    with new_directory(path, 3) as writer, DirectoryStorage.open(path) as reader:
        with writer.transaction() as t:
            t.append(rows(3, 1))
        switches = iter([lambda: writer.rewrite(COLUMNS, [rows(8, 2)])])
        original = _directory.read_catalogue

        def read_then_switch(*arguments):
            result = original(*arguments)
            next(switches, lambda: None)()
            return result

        monkeypatch.setattr(_directory, "read_catalogue", read_then_switch)
        if opening:
            assert state_of(path) == expected([8, 9])
        else:
            assert reader.refresh() == (True, True)
            assert contents(reader.snapshot) == expected([8, 9])


def _write_steadily(pipe, path):
    """Each transaction replaces all rows by more of its own number; now and then a compaction."""
    with DirectoryStorage.open(path, "w") as storage:
        for number in range(1, 10**6):
            live = np.flatnonzero(~storage.removed)
            with storage.transaction() as t:
                t.append({"number": np.full(len(live) % 50 + 1, number)})
                t.remove(live)
            if number % 7 == 0:
                last = storage.segments()[-1].arrays["number"]
                storage.rewrite(storage.columns, [{"number": last[last == number]}])
            if number == 20:
                pipe.send("under way")


@pytest.mark.process
def test_readers_see_whole_states_while_a_writer_commits_and_compacts(path):
    columns = [Column("number", np.int64)]
    with DirectoryStorage.create(path, columns, write_model, {}) as storage, storage.transaction() as t:
        t.append({"number": np.zeros(1, np.int64)})
    with process(_write_steadily, path) as (child, pipe):
        pipe.recv()
        seen, deadline = set(), time.monotonic() + 1.5
        with DirectoryStorage.open(path, verify=False) as reader:
            while time.monotonic() < deadline:
                reader.refresh()
                with DirectoryStorage.open(path) as fresh:
                    for snapshot in (reader.snapshot, fresh.snapshot):
                        numbers = np.concatenate([segment.arrays["number"] for segment in snapshot.segments])
                        live = numbers[~snapshot.removed]
                        # transaction i leaves i % 50 + 1 rows, or so: what counts is that all are of one transaction
                        assert len(set(live.tolist())) == 1
                        assert len(live) == live[0] % 50 + 1
                        seen.add(int(live[0]))
        assert child.is_alive()
    assert len(seen) > 10


def _read_as_nobody(pipe, path):
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    assert not os.access(path, os.W_OK)
    with DirectoryStorage.open(path) as storage:
        pipe.send(contents(storage.snapshot))
        while pipe.recv():
            changed = storage.refresh()
            pipe.send((changed, contents(storage.snapshot)))


@pytest.mark.process
def test_readers_need_no_permission_to_write():
    with tempfile.TemporaryDirectory() as folder:  # unlike tmp_path, another user can be let in here
        path = Path(folder) / "index"
        with new_directory(path, 3) as storage:
            places = [Path(folder), path, path / "generation-1"]
            for place in places:
                place.chmod(0o555)
            for file in path.rglob("*.*"):
                file.chmod(0o644)
            with process(_read_as_nobody, path) as (_, pipe):
                assert pipe.recv() == expected(range(3))
                if os.geteuid() == 0:  # who may write all the same
                    with storage.transaction() as t:
                        t.append(rows(3, 1))
                    pipe.send(True)
                    assert pipe.recv() == ((True, False), expected(range(4)))
        for place in places:
            place.chmod(0o755)


def _change_in_fork(storage):
    with pytest.raises(InputError, match="cannot run in a fork of process"), storage.transaction():
        pass
    storage.close()


def _fork_a_writer(pipe, path):
    with DirectoryStorage.open(path, "w") as storage:
        child = os.fork()
        if child == 0:
            try:
                _change_in_fork(storage)
            except BaseException:
                os._exit(1)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        with pytest.raises(LockedError):
            DirectoryStorage.open(path, "w")
        with storage.transaction() as t:
            t.append(rows(3, 1))
    pipe.send(status)


@pytest.mark.process
def test_a_fork_of_the_writer_neither_writes_nor_gives_the_lock_away(path):
    new_directory(path, 3).close()
    with process(_fork_a_writer, path) as (_, pipe):
        assert pipe.recv() == 0
    assert state_of(path) == expected(range(4))


# ---------------------------------------------------------------------------------------------------- hostile catalogue


def _execute(path, *statements):
    connection = sqlite3.connect(path / "catalogue.sqlite", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 7", "was written by format 7; this version reads format 1. Upgrade mercer"),
        ("PRAGMA application_id = 1", "is a different database"),
        ("PRAGMA journal_mode = WAL", "write-ahead logging"),
        ("DROP TABLE removal", "tables do not belong to an index"),
        ("CREATE VIEW more AS SELECT 1", "tables do not belong to an index"),
        ("CREATE TRIGGER t AFTER INSERT ON part BEGIN DELETE FROM part; END", "tables do not belong to an index"),
        ("DELETE FROM generation", "does not name one generation"),
        ("UPDATE generation SET number = 2", "'generation-2' is missing"),
        ("UPDATE generation SET number = -1", "damaged catalogue"),
        ("UPDATE generation SET document = replace(document, 'code', '../../code')", "checksum"),
        ("UPDATE generation SET document = x'00'", "checksum"),
        ("UPDATE segment SET n_rows = n_rows + 1", "3 rows|4 rows"),
        ("UPDATE segment SET n_rows = -3", "impossible number of rows"),
        ("UPDATE segment SET n_rows = 1e18", "impossible number of rows"),
        ("UPDATE segment SET n_rows = 'many'", "impossible number of rows"),
        ("UPDATE segment SET number = 1", "segment 0 is missing"),
        ("INSERT INTO segment VALUES (1, 5)", "segment 1 does not have the columns"),
        ("UPDATE part SET n_bytes = -8", "impossible size"),
        ("UPDATE part SET n_bytes = 4 WHERE name = 'word.offsets'", "not as many in column 'word.offsets'"),
        ("UPDATE part SET n_bytes = 800 WHERE name = 'word'", "word': it has 12 bytes, but 800 were committed"),
        ("UPDATE part SET n_bytes = 8 WHERE name = 'word'", "checksum|overlap"),
        ("UPDATE part SET crc32 = 1 WHERE name = 'vector'", "vector': the checksum"),
        ("UPDATE part SET name = '../../etc/passwd' WHERE name = 'code'", "does not have the columns"),
        ("INSERT INTO part VALUES (5, 'code', 9, 0)", "segments that do not exist"),
        ("INSERT INTO removal VALUES (1, x'0300000000000000', 3266236001)", "checksum|do not exist"),
        ("INSERT INTO removal VALUES (1, x'00', 0)", "removed rows"),
        ("INSERT INTO removal VALUES (1, 'text', 0)", "removed rows"),
    ],
)
@pytest.mark.parametrize("mode", ["r", "w"])
def test_a_catalogue_that_says_what_cannot_be_is_refused(path, statement, message, mode):
    new_directory(path, 3).close()
    _execute(path, statement)
    before = listing(path)
    with pytest.raises(ModelFileError, match=f"an index.*({message})"):
        DirectoryStorage.open(path, mode)
    after = listing(path)
    assert all(after[name] == content for name, content in before.items() if "generation" in str(name))


def _forge_document(path, old, new):
    """Change the description with its checksum, as only an enemy does."""
    connection = sqlite3.connect(path / "catalogue.sqlite", isolation_level=None)
    connection.create_function("crc", 1, lambda text: __import__("zlib").crc32(text.encode()))
    connection.execute("UPDATE generation SET document = replace(document, ?, ?)", (old, new))
    connection.execute("UPDATE generation SET crc32 = crc(document)")
    connection.close()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"code"', '"../code"'),
        ('"code"', '"/etc/passwd"'),
        ('"|u1"', '"|O8"'),
        ('"|u1"', '"<f8"'),
        ("[3]", "[-3]"),
        ("[3]", "[99999999999, 99999999999]"),
        ("[3]", "3"),
        ('"ragged": true', '"ragged": 7'),
        ('"columns"', '"rows"'),
        ('"n_bytes": 7', '"n_bytes": -7'),
        ('"n_bytes": 7', '"n_bytes": 6'),
        ('"header": {', '"header": [] , "rest": {'),
        ("null", "[" * 100_000),
    ],
)
def test_a_forged_description_with_the_right_checksum_is_refused(path, old, new):
    new_directory(path, 3).close()
    _forge_document(path, old, new)
    with pytest.raises(ModelFileError, match="an index"):
        DirectoryStorage.open(path, verify=False)


def test_forged_offsets_are_refused_even_if_nothing_is_verified(path):
    new_directory(path, 8).close()
    offsets = path / "generation-1/segment-000000.word.offsets"
    numbers = np.fromfile(offsets, "<i8")
    numbers[3] = 10**9
    numbers.tofile(offsets)
    with pytest.raises(ModelFileError, match="damaged segment 0: the rows of column 'word' overlap"):
        DirectoryStorage.open(path, verify=False)


@pytest.mark.parametrize("name", ["catalogue.sqlite", "generation-1", "generation-1/segment-000000.code"])
def test_links_out_of_the_directory_are_not_followed(path, tmp_path, name):
    new_directory(path, 3).close()
    shutil.move(path / name, tmp_path / "elsewhere")
    (path / name).symlink_to(tmp_path / "elsewhere")
    for mode in ("r", "w"):
        with pytest.raises(ModelFileError, match=r"not a regular file|cannot be (read|opened)"):
            DirectoryStorage.open(path, mode)


def test_a_pipe_in_the_place_of_a_file_does_not_stop_the_reader(path):
    new_directory(path, 3).close()
    (path / "generation-1/segment-000000.code").unlink()
    os.mkfifo(path / "generation-1/segment-000000.code")
    with pytest.raises(ModelFileError, match=r"segment-000000\.code': it is not a regular file"):
        DirectoryStorage.open(path)


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + bytes(84), bytes(5000)])
def test_a_catalogue_that_is_no_database_is_refused(path, content):
    new_directory(path, 3).close()
    (path / "catalogue.sqlite").write_bytes(content)
    for mode in ("r", "w"):
        with pytest.raises(ModelFileError, match="catalogue"):
            DirectoryStorage.open(path, mode)


def test_a_journal_that_names_a_foreign_file_is_refused(path, tmp_path):
    """SQLite would look at that file, and delete it when it finds no other database in it."""
    new_directory(path, 3).close()
    (path / "catalogue.sqlite-journal").write_bytes(bytes(512) + bytes.fromhex("d9d505f920a163d7"))
    for mode in ("r", "w"):
        with pytest.raises(ModelFileError, match="journal belongs to a different database"):
            DirectoryStorage.open(path, mode)


def test_a_read_of_the_catalogue_that_was_interrupted_does_not_stop_the_next(path):
    with new_directory(path, 5) as storage:
        storage._catalogue._connection.execute("BEGIN")  # as far as Ctrl-C let it come
        assert storage._catalogue.read().n_positions == 5
