"""An index in a directory: the same answers as in memory, after any change, in any handle and any process."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import mercer
from mercer import InputError, KernelIndex
from mercer.search.model.parameters import CODES
from mercer.search.rows.collection import Collection
from mercer.search.storage.directory.files import LockedError
from tests.search.index_samples import ROWS, STEPS, Life, answer, histograms, index
from tests.search.storage.samples import process

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
X, Q = histograms(120), histograms(9, seed=7)
IDS = [i if i % 3 else f"row {i}" for i in range(120)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index"


def answers(made):
    """What is asked of an index in all ways."""
    return [
        answer(made.search(Q, 5)),
        answer(made.search(Q, 5, rerank=False))[0],
        answer(made.search(Q, 5, exact=True)),
        answer(made.search(Q, 5, filter=[1, 2, "row 3"], exact=True)),
        [part.tolist() for part in made.range_search(Q, min_similarity=0.8)[0]],
    ]


# -------------------------------------------------------------------------------------------------- as in memory


@pytest.mark.parametrize("code", CODES)
def test_a_persisted_index_answers_as_before_and_as_it_is_opened(code, path):
    made = index(X, code=code, ids=IDS, bytes_per_item=8).remove([1, "row 6"]).add(X[1:2], [1])
    before, plan = answers(made), made.plan_
    made.persist(path)
    assert answers(made) == before
    assert made.stats()["path"] == str(path)
    assert made.stats()["removed"] == 0
    made.close()
    with KernelIndex.open(path) as again:
        assert answers(again) == before
        assert again.plan_ == plan
        assert again.get_params(deep=False) == made.get_params(deep=False) | {"n_jobs": None, "store": "codes"}
    assert answers(again) == before  # rows stay mapped after the files were given back


@pytest.mark.parametrize("vectors", ["float32", "float16", "uint8", None])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_rows_of_every_kind_come_back(vectors, is_sparse, path):
    rows = sparse.csr_array(X) if is_sparse else X
    with index(rows, vectors=vectors).persist(path) as made:
        made.add(rows[:3], ["a", "b", "c"]).update(rows[5:6], ["b"])
        want = answer(made.search(Q, 4))
        kept = made.stats()["vectors"]
    with KernelIndex.open(path, verify=False) as again:
        assert answer(again.search(Q, 4)) == want
        assert again.stats()["vectors"] == kept == vectors
        if vectors is None:
            with pytest.raises(InputError, match="stores codes only"):
                again.search(Q, 4, exact="stored")
        else:
            assert answer(again.search(Q, 4, exact="stored"))[0] == answer(made.search(Q, 4, exact="stored"))[0]


@settings(max_examples=12)
@given(steps=STEPS, reopened=st.sets(st.integers(0, 8)))
def test_whatever_is_done_every_handle_sees_it(steps, reopened):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "index"
        made = index(ROWS, "js", add=False, code="flat", n_components=4, oversample=1000)
        life = Life(made.persist(place))
        reader = KernelIndex.open(place)
        for number, step in enumerate(steps):
            life.step(*step)
            if number in reopened:
                life.index.close()
                life.index = KernelIndex.open(place, "w")
            life.check()
            life.check(reader.refresh())
        life.index.close()
        reader.close()
        with KernelIndex.open(place) as again:
            life.check(again)


@pytest.mark.process
def test_an_index_goes_on_in_another_process(path):
    index(X, ids=IDS).persist(path).close()
    with KernelIndex.open(path) as reader, process(add_and_wait, path) as (_, pipe):
        assert pipe.recv() == "added"
        assert len(reader) == 120
        assert "new" not in reader.search(X[:1], 5)[0]
        reader.refresh()
        assert len(reader) == 120  # one row came, one went
        assert set(reader.search(X[:1], 2)[0][0]) == {"row 0", "new"}
        with pytest.raises(LockedError, match=r"(?s)another|writ"):
            KernelIndex.open(path, "w")
        pipe.send("refit")
        assert pipe.recv() == "refitted"
        before = answers(reader)  # the old generation is still whole
        reader.refresh()
        assert answers(reader)[2] == before[2]
        assert reader.plan_["bytes_per_item"] == 4
    with KernelIndex.open(path, "w") as writer:  # the other process was killed
        assert len(writer.add(X[:1], ["after"])) == 121


def add_and_wait(pipe, path):
    """In another process: add a row, remove one, say so; refit when asked, and stay."""
    import warnings

    warnings.simplefilter("ignore")
    writer = KernelIndex.open(path, "w")
    writer.add(X[:1], ["new"]).remove([4])
    pipe.send("added")
    pipe.recv()
    writer.refit()
    pipe.send("refitted")
    pipe.recv()


def test_refit_and_compact_are_seen_by_a_reader(path):
    made = index(X).persist(path)
    with KernelIndex.open(path) as reader:
        want = answer(reader.search(Q, 5, exact=True))
        made.remove(range(60, 120)).compact().refit()
        assert answer(reader.search(Q, 5, exact=True)) == want  # what it has seen stays
        reader.refresh()
        assert len(reader) == 60
        assert answer(reader.search(Q, 5, exact=True)) == answer(made.search(Q, 5, exact=True))
        assert answer(reader.search(Q, 5)) == answer(made.search(Q, 5))
    made.close()


def test_an_id_of_a_removed_row_is_never_given_again(path):
    made = index(X[:5]).remove([4]).compact()  # in memory
    assert 5 in made.add(X[:1]).search(X[:1], 5)[0]
    made.remove([5]).persist(path).close()
    for number in (6, 7):  # in one process after the other
        with KernelIndex.open(path, "w") as made:
            assert number in made.add(X[:1]).search(X[:1], 5)[0]
            made.remove([number]).compact()
    with KernelIndex.open(path, "w") as made:
        made.refit()
        assert 8 in made.add(X[:1]).search(X[:1], 5)[0]


def test_a_pickle_of_an_index_in_memory_holds_its_rows(path):
    made = index(X, ids=IDS).remove([4])
    before = answers(made)
    again = pickle.loads(pickle.dumps(made))
    assert answers(again) == before
    again.add(X[4:5], [4])
    assert (len(again), len(made)) == (120, 119)
    assert len(pickle.loads(pickle.dumps(KernelIndex("js")))) == 0
    assert len(pickle.loads(pickle.dumps(index(X, add=False))).add(X)) == 120


def test_a_pickle_of_an_index_in_a_directory_opens_it_for_reading(path):
    with index(X, ids=IDS).persist(path) as made:
        content = pickle.dumps(made)
        assert len(content) < 60_000  # the model, and where the rows are
        with pickle.loads(content) as again:
            assert answers(again) == answers(made)
            with pytest.raises(InputError, match="mode='w'"):
                again.remove([1])
            made.remove([1])
            assert len(again.refresh()) == 119


# -------------------------------------------------------------------------------------------------------- refusals


def test_an_index_is_no_model_file(path, tmp_path):
    for made in (index(X), KernelIndex("js"), index(X).persist(path)):
        with pytest.raises(TypeError, match=r"KernelIndex.*Use persist\(path\) to write it"):
            mercer.save(made, tmp_path / "index.mercer")
    made.close()
    assert not (tmp_path / "index.mercer").exists()


def test_a_failed_persist_leaves_the_place_free_and_the_index_in_memory(path, monkeypatch):
    made = index(X, ids=IDS)
    before = answers(made)
    monkeypatch.setattr(Collection, "batches", lambda *_: iter(1 // 0 for _ in range(1)))
    with pytest.raises(ZeroDivisionError):
        made.persist(path)
    monkeypatch.undo()
    assert made.stats()["path"] is None
    assert answers(made) == before
    assert answers(made.persist(path)) == before
    made.close()


def test_a_reader_changes_nothing(path):
    index(X[:40], add=False).add(X).persist(path).close()  # a model of other rows than a refit would learn from
    with KernelIndex.open(path) as reader:
        before = answer(reader.search(Q, 5, rerank=False))
        for verb, change in {
            "add": lambda: reader.add(X),
            "remove": lambda: reader.remove([1]),
            "update": lambda: reader.update(X[:1], [1]),
            "compact": reader.compact,
            "refit": reader.refit,
        }.items():
            with pytest.raises(InputError, match=f"KernelIndex.{verb} needs mode='w'"):
                change()
        assert answer(reader.search(Q, 5, rerank=False)) == before
        assert len(reader) == 120


def test_what_is_for_an_index_in_memory_is_refused(path, tmp_path):
    with index(X).persist(path) as made:
        with pytest.raises(InputError, match=r"KernelIndex.fit works only on an index in memory, but this one is in"):
            made.fit(X)
        with pytest.raises(InputError, match=r"KernelIndex.persist works only on an index in memory"):
            made.persist(tmp_path / "other")


def test_a_directory_that_holds_something_is_not_taken(path):
    path.mkdir()
    (path / "thesis.tex").write_text("all my work")
    made = index(X)
    with pytest.raises(InputError, match=r"thesis\.tex"):
        made.persist(path)
    assert len(made.add(X[:1])) == 121  # still an index in memory
    assert (path / "thesis.tex").read_text() == "all my work"


def test_what_cannot_be_saved_is_refused_and_the_index_stays(path):
    made = index(X, lambda A, B: A @ B.T)
    with pytest.raises(TypeError, match="a function is code"):
        made.persist(path)
    assert made.search(Q, 3)[0].shape == (9, 3)


@pytest.mark.parametrize("what", ["nothing", "a file", "another model"])
def test_what_is_no_index_is_not_opened(what, path):
    if what == "a file":
        path.write_text("no index")
    if what == "another model":
        index(X).persist(path).close()
        (model,) = path.rglob("*.mercer")
        mercer.save(mercer.Chi2(), model)
    with pytest.raises((InputError, mercer.ModelFileError, OSError), match=r"index|model|Chi2"):
        KernelIndex.open(path)
    if what == "another model":  # and no lock is left behind
        with pytest.raises((InputError, mercer.ModelFileError)):
            KernelIndex.open(path, "w")


def test_bad_input_leaves_a_directory_as_it_was(path):
    with index(X, ids=IDS).persist(path) as made:
        files = {entry: entry.read_bytes() for entry in path.rglob("*") if entry.is_file() and entry.suffix != ".db"}
        for change in (
            lambda: made.add(X[:2], [7, 500]),
            lambda: made.add(np.full((1, 10), np.nan)),
            lambda: made.add(X[:, :3]),
            lambda: made.remove(["unknown"]),
            lambda: made.update(X[:1], [999]),
        ):
            with pytest.raises((InputError, ValueError)):
                change()
        assert len(made) == 120
    for entry, content in files.items():
        assert not entry.exists() or entry.read_bytes() == content or "-wal" in entry.name or "-shm" in entry.name
    with KernelIndex.open(path) as again:
        assert len(again) == 120


@pytest.mark.parametrize("part", ["codes", "flags", "id_number", "id_text", "id_text.offsets", "vectors", "model"])
def test_a_damaged_file_is_named(part, path):
    index(X, ids=IDS).persist(path).close()
    damaged = path / "generation-1" / ("model.mercer" if part == "model" else f"segment-000000.{part}")
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(mercer.ModelFileError, match=damaged.name):
        KernelIndex.open(path)
