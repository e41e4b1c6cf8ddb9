"""Lists in a directory: opened without being built again, made again where they are missing, believed in nothing."""

import functools
import pickle
import shutil

import numpy as np
import pytest

from mercer import KernelIndex, ModelFileError
from mercer._base.files import container
from mercer.search import exact_knn
from mercer.search.lists import block as _block
from mercer.search.lists import store as _store
from tests.search.lists.test_answers import assert_same, rows
from tests.search.store_samples import BLOCKS
from tests.search.test_hostile_index import edit_document

X = rows(200)
Q = X[:15]


@functools.cache
def wanted():
    return exact_knn("js", X, Q, 8)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for module in BLOCKS:
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)


@pytest.fixture
def path(tmp_path):
    """An index of three full blocks and a part of one, which came in pieces."""
    index = KernelIndex("js").fit(X).add(X[:100]).persist(tmp_path / "index")
    index.add(X[100:190])
    for i in range(190, 200):
        index.add(X[i : i + 1])
    index.close()
    return tmp_path / "index"


def list_files(path):
    return sorted(path.glob("generation-*/derived-*.lists"))


@pytest.mark.parametrize("verify", [False, True])
def test_full_blocks_are_opened_and_not_built(path, verify, monkeypatch):
    assert len(list_files(path)) == 3
    with KernelIndex.open(path, verify=verify) as index:
        built = []
        monkeypatch.setattr(_store, "build_block", lambda *a: built.append(a[1]) or _block.build_block(*a))
        assert_same(index.search(Q, 8), wanted())
        assert built == [192]
        assert index.stats()["store"] == index.store == "lists"


def test_changes_compaction_refit_and_pickles_keep_the_answer(path):
    with KernelIndex.open(path, "w") as index:
        index.remove([5, 150]).add(X[[5, 150]], [5, 150])
        assert_same(index.search(Q, 8), wanted())
        index.compact()
        assert_same(index.search(Q, 8), wanted())
        index.refit()
        assert_same(index.search(Q, 8), wanted())
        assert {file.parent.name for file in list_files(path)} == {"generation-3"}
    assert_same(pickle.loads(pickle.dumps(KernelIndex.open(path))).search(Q, 8), wanted())
    memory = KernelIndex("js").fit(X).add(X)
    assert_same(pickle.loads(pickle.dumps(memory)).search(Q, 8), wanted())


def test_a_reader_sees_what_the_writer_adds(path):
    with KernelIndex.open(path, "w") as writer, KernelIndex.open(path) as reader:
        reader.search(Q, 8)
        writer.add(X[:60], range(1000, 1060))
        assert len(list_files(path)) == 4
        assert 1003 not in reader.search(Q, 200)[0]
        reader.refresh()
        assert_same(reader.search(Q, 8), writer.search(Q, 8))


def test_files_that_are_missing_or_cut_short_are_done_without(path):
    first, second, third = list_files(path)
    first.unlink()
    second.write_bytes(second.read_bytes()[:-100])
    third.write_bytes(b"nothing")
    for verify in (True, False):
        with KernelIndex.open(path, verify=verify) as index:
            assert_same(index.search(Q, 8), wanted())
    with KernelIndex.open(path, "w") as index:
        index.add(X[:1])
        assert first.exists()  # the next change makes it again


def forge(path, change):
    """Alter the arrays of a file of lists, checksum and all."""
    file = list_files(path)[0]
    header, arrays = container.read(file)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays)
    container.write(file, header.document, arrays)


def _set(name, place, value):
    return lambda arrays: arrays[name].__setitem__(place, value)


STRUCTURE = {
    "columns that do not ascend": _set("columns", 1, 0),
    "columns beyond the last": _set("columns", -1, 10**6),
    "columns before the first": _set("columns", 0, -1),
    "offsets that overlap": _set("offsets", 1, 10**9),
    "offsets that begin late": _set("offsets", 0, 1),
    "totals below zero": _set("totals", (0, 3), -1.0),
    "totals that are no numbers": _set("totals", (0, 3), np.nan),
    "fewer totals": lambda arrays: arrays.update(totals=arrays["totals"][:, 1:]),
    "fewer rows than values": lambda arrays: arrays.update(rows=arrays["rows"][1:]),
    "another type": lambda arrays: arrays.update(rows=arrays["rows"].astype(np.int32)),
    "nothing": lambda arrays: arrays.pop("values"),
}
POSTINGS = {
    "rows beyond the last": lambda arrays: arrays["rows"].__ior__(np.uint16(2**15)),
    "rows that do not ascend": lambda arrays: arrays["rows"].__imul__(np.uint16(0)),
    "values that are no numbers": lambda arrays: arrays["values"].__imul__(np.float32(np.nan)),
}


@pytest.mark.parametrize("what", STRUCTURE)
def test_a_file_that_cannot_hold_lists_is_done_without(path, what):
    forge(path, STRUCTURE[what])
    with KernelIndex.open(path, verify=False) as index:
        assert_same(index.search(Q, 8), wanted())


@pytest.mark.parametrize("what", POSTINGS)
def test_postings_that_cannot_be_are_refused_before_a_loop_sees_them(path, what):
    forge(path, POSTINGS[what])
    with (
        KernelIndex.open(path, verify=False) as index,
        pytest.raises(ModelFileError, match="index' has damaged lists of the rows from 0 on"),
    ):
        index.search(Q, 8)


@pytest.mark.parametrize("what", [*POSTINGS, "other values", "other totals"])
def test_lists_of_other_rows_are_found_when_everything_is_looked_at(path, what):
    changes = {"other values": _set("values", 0, 0.5), "other totals": _set("totals", (0, 0), 7.0)}
    forge(path, (POSTINGS | changes)[what])
    with pytest.raises(ModelFileError, match=r"has damaged lists: 'derived-000000\.lists' .* Delete that file"):
        KernelIndex.open(path)


def test_lists_of_dense_rows_are_refused(path):
    edit_document(path, lambda document: document["header"].update(sparse=False))
    with pytest.raises(ModelFileError, match="its model has lists, which need sparse rows"):
        KernelIndex.open(path)


def test_a_link_is_not_followed(path, tmp_path):
    file = list_files(path)[0]
    shutil.move(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with KernelIndex.open(path, verify=False) as index:
        assert_same(index.search(Q, 8), wanted())
        assert index.rows_.derived.lists.blocks[0]._checked is None  # built here
