"""Ctrl-C at any line of a change: the index in memory and the one on the disk are both as before the call, or after."""

import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer.search
from mercer import KernelIndex
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.search.storage.memory import MemoryStorage
from tests.search.index_samples import histograms, index

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")

FOLDER = str(Path(mercer.search.__file__).parent)
X = histograms(60, 8, seed=3)
IDS = [*range(30), *(f"t{i}" for i in range(10))]
BEFORE = {value: tuple(row) for value, row in zip(IDS, X[:40].tolist(), strict=True) if value not in (3, 29, "t4")}
SAMPLED = 7  # lines of each call that are tried unless all are asked for


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(an index in memory, pickled; the same in a directory; another model for refit)."""
    path = tmp_path_factory.mktemp("interrupts") / "index"
    small = index(X, add=False, n_components=6, n_landmarks=24, bytes_per_item=2)
    small.add(X[:40], IDS).remove([3, 29, "t4"])
    other = index(X[::-1], add=False, n_components=6, n_landmarks=24, bytes_per_item=2).model_
    pickled = pickle.dumps(small)
    # rows are removed in the directory itself, where moving there would have left them out
    copy = index(X, add=False, n_components=6, n_landmarks=24, bytes_per_item=2).persist(path)
    copy.add(X[:40], IDS).remove([3, 29, "t4"]).close()
    return pickled, path, other


class Scene:
    """One index that is changed and interrupted, and what it must hold."""

    def __init__(self, made, place, what, path):
        pickled, source, self.other = made
        self.what, self.path, self.before, self.after = what, path / "index", dict(BEFORE), dict(BEFORE)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        self.writer = None
        if place == "memory":
            self.index = pickle.loads(pickled)
        else:
            shutil.copytree(source, self.path)
            if what == "refresh":
                self.writer = KernelIndex.open(self.path, "w", verify=False)
            self.index = KernelIndex.open(self.path, "r" if what == "refresh" else "w", verify=False)
        self.index.search(X[:1], 2)  # what scans the codes is there already
        if self.writer:
            self.writer.add(X[50:51], ["new"]).compact()
        if what == "refit":
            self.index._new_model = lambda: self  # learning is not what is tried here
        _expected(what, self.after)

    def fit(self, rows):
        """In the place of a model that is to be fitted."""
        return self.other

    def change(self):
        """The call that is interrupted."""
        if self.what == "add":
            self.index.add(X[50:53], ["new", 70, 71])
        elif self.what == "update":
            self.index.update(X[50:53], [5, "t1", 6])
        elif self.what == "remove":
            self.index.remove(["t0", 7, 8])
        elif self.what == "persist":
            self.index.persist(self.path)
        elif self.what == "chunks":
            self.index.add(_chunked(X[50:54]))
        else:
            getattr(self.index, self.what)()

    def check(self):
        """Before or after, here and when it is opened again; and further calls do what they say."""
        if self.what == "close":
            self.index.close()
        else:
            held = _held(self.index)
            assert held in _allowed(self.what, self.before, self.after)
            self.go_on(held)
        if self.writer:
            self.writer.close()
        if self.path.exists() and (self.what != "persist" or hasattr(self.index.rows_.storage, "path")):
            with KernelIndex.open(self.path, "w") as again:
                assert _held(again) == (BEFORE if self.what == "close" else _held(self.index))

    def go_on(self, held):
        """The same index goes on, as the dictionary ``held`` does."""
        if self.what == "refresh":
            assert _held(self.index.refresh()) == self.after
            return
        for value in ("t1", 6):
            row = np.array([held[value]], dtype="f4")
            assert (
                self.index.search(row, 1)[0].tolist() == self.index.search(row, 1, exact=True)[0].tolist() == [[value]]
            )
        highest = max(value for value in [*held, 29] if not isinstance(value, str))
        self.index.add(X[55:56]).remove(["t2"])
        assert highest + 1 in self.index  # a number that was given is not given again
        gone = held.pop("t2")
        assert self.index.search(np.array([gone], dtype="f4"), 1)[0].tolist() != [["t2"]]
        assert _held(self.index) == held | {highest + 1: tuple(X[55].tolist())}
        if self.what == "persist":
            self.index.close()
            if not hasattr(self.index.rows_.storage, "path"):
                pickle.loads(pickle.dumps(self.index)).persist(self.path).close()
                shutil.rmtree(self.path)
        else:
            self.index.close()


def _expected(what, rows):
    if what == "update":
        rows.update(zip([5, "t1", 6], map(tuple, X[50:53].tolist()), strict=True))
    elif what == "remove":
        for value in ("t0", 7, 8):
            rows.pop(value)
    elif what == "add":
        rows.update(zip(["new", 70, 71], map(tuple, X[50:53].tolist()), strict=True))
    elif what == "refresh":
        rows["new"] = tuple(X[50].tolist())
    elif what == "chunks":
        rows.update(zip(range(30, 34), map(tuple, X[50:54].tolist()), strict=True))


def _allowed(what, before, after):
    """States that an interrupted call may leave; of the chunks of a Dask array, the first ones may be there."""
    middle = {**before, **{value: after[value] for value in (30, 31)}} if what == "chunks" else before
    return before, middle, after


def _chunked(rows):
    import dask.array as da

    return da.from_array(rows, chunks=(2, -1))


def _held(found):
    rows = found.rows_
    alive = np.flatnonzero(~rows.snapshot.removed)
    kept = dict(zip(rows.ids.at(alive).tolist(), map(tuple, rows.take(alive).tolist()), strict=True))
    assert len(kept) == len(alive) == len(found)
    # the codes are those of the model that is in use
    assert np.array_equal(rows.column("codes")[alive], rows.model.coder_.encode(rows.model.embed(rows.take(alive))[0]))
    assert rows.ids.positions(rows.ids.at(alive).tolist()).tolist() == alive.tolist()
    return kept


def interrupted(call, line):
    """Call, and raise KeyboardInterrupt at the line-th line of the search package; how many lines were met."""
    count = 0

    def at_line(frame, event, argument):
        nonlocal count
        if event == "line":
            count += 1
            if count == line:
                raise KeyboardInterrupt
        return at_line

    def at_call(frame, event, argument):
        return at_line if frame.f_code.co_filename.startswith(FOLDER) else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return count


CALLS = [("memory", what) for what in ("add", "update", "remove", "compact", "refit", "persist", "chunks")] + [
    ("directory", what) for what in ("add", "update", "remove", "compact", "refit", "chunks", "close", "refresh")
]


@pytest.mark.parametrize("share", ["some", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("place", "what"), CALLS)
def test_an_interrupt_at_any_line_leaves_the_index_before_or_after(made, tmp_path, place, what, share):
    if what == "chunks":
        pytest.importorskip("dask.array")
    whole = Scene(made, place, what, tmp_path / "whole")
    n_lines = interrupted(whole.change, None)
    if what != "close":
        assert _held(whole.index) == whole.after
    step = 1 if share == "all" else max(1, n_lines // SAMPLED)
    for line in range(1 if share == "all" else 1 + step // 2, n_lines + 1, step):
        scene = Scene(made, place, what, tmp_path / "scene")
        interrupted(scene.change, line)
        scene.check()


@pytest.mark.parametrize("what", ["add", "remove", "refit"])
def test_ctrl_c_while_sqlite_commits_leaves_no_wrong_ids(made, tmp_path, what):
    """Python raises it when the commit returns: the rows are on the disk, and the index in memory knows them."""
    scene = Scene(made, "directory", what, tmp_path / "scene")
    catalogue = scene.index.rows_.storage._catalogue
    commit = catalogue._change

    def late(change):
        commit(change)
        raise KeyboardInterrupt

    catalogue._change = late
    with pytest.raises(KeyboardInterrupt):
        scene.change()
    del catalogue._change
    assert _held(scene.index) == scene.after
    scene.check()


@pytest.mark.parametrize("step", ["begins", "ends"])
@pytest.mark.parametrize(("place", "what"), [("memory", "add"), ("directory", "update"), ("directory", "compact")])
def test_a_second_ctrl_c_while_the_first_is_cleared_away_is_as_harmless(made, tmp_path, monkeypatch, place, what, step):
    scene = Scene(made, place, what, tmp_path / "scene")
    kind = MemoryStorage if place == "memory" else DirectoryStorage
    undo, finished = kind._undo, type(scene.index.rows_.storage).commit

    def interrupted_undo(self):
        if step == "ends":
            undo(self)
        raise KeyboardInterrupt

    def interrupted_commit(self, *arguments):
        finished(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_undo", interrupted_undo)
    monkeypatch.setattr(kind, "commit", interrupted_commit)
    monkeypatch.setattr(kind, "_rewrite", interrupted_commit if what != "compact" else _fails)
    with pytest.raises(KeyboardInterrupt):
        scene.change()
    monkeypatch.undo()
    scene.check()


def _fails(self, *arguments):
    raise KeyboardInterrupt


def test_a_persist_that_is_interrupted_before_its_catalogue_has_a_name_leaves_nothing(made, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.search.storage.directory.storage.Catalogue.create", staticmethod(_fails_creating))
    scene = Scene(made, "memory", "persist", tmp_path / "scene")
    with pytest.raises(KeyboardInterrupt):
        scene.change()
    assert scene.index.stats()["path"] is None
    assert [entry.name for entry in scene.path.iterdir()] == ["writer.lock"]
    monkeypatch.undo()
    scene.change()
    assert _held(scene.index) == BEFORE
    scene.check()


def _fails_creating(path, contents):
    path.with_name(path.name + ".new").touch()
    raise KeyboardInterrupt
