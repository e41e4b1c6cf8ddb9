"""Bounds in a directory: opened without being made again, extended with the rows, believed in nothing."""

import shutil

import numpy as np
import pytest

from mercer import KernelIndex
from mercer._base.files import container
from mercer.search import exact_knn
from mercer.search.exact import bounds as _bounds
from mercer.search.exact import files as _files
from mercer.search.exact import searcher as _searcher
from mercer.search.exact.directions import Directions
from tests.search.index_samples import histograms, index

N = 220  # three chunks and a part of one
X = histograms(300)
Q = histograms(12, seed=3)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    for module in (_bounds, _files):
        monkeypatch.setattr(module, "CHUNK_ROWS", 64)
    monkeypatch.setattr(_files, "SAVED_ROWS", 16)
    monkeypatch.setattr(_searcher, "BRUTE_FORCE_ROWS", 0)


@pytest.fixture
def path(tmp_path):
    """An index of rows whose bounds were made by an exact search."""
    with index(X[:N]).persist(tmp_path / "index") as made:
        made.search(Q, 5, exact=True)
    return tmp_path / "index"


@pytest.fixture
def coded(monkeypatch):
    """How many rows were projected to be kept, and how often directions were looked for."""
    counts = {"rows": 0, "fits": 0}
    own, fit = Directions.coded, Directions.fit

    def counted(self, rows):
        counts["rows"] += len(rows)
        return own(self, rows)

    def fitted(self, rows):
        counts["fits"] += 1
        return fit(self, rows)

    monkeypatch.setattr(Directions, "coded", counted)
    monkeypatch.setattr(Directions, "fit", fitted)
    return counts


def assert_exact(made, rows, ids=None, k=5):
    found, values = made.search(Q, k, exact=True)
    positions, wanted = exact_knn("chi2", rows, Q, k)
    names = np.arange(len(rows)) if ids is None else np.asarray(ids)
    assert found.tolist() == names[positions].tolist()
    assert values.tolist() == wanted.tolist()
    assert made.certificate_.exact


def bound_files(path):
    return sorted(path.glob("generation-*/derived-*.bounds"))


@pytest.mark.parametrize("verify", [False, True])
def test_bounds_are_opened_and_not_made(path, verify, coded):
    assert len(bound_files(path)) == 4
    with KernelIndex.open(path, verify=verify) as made:
        assert_exact(made, X[:N])
        assert made.stats()["bounds_bytes"] > 0
    assert coded == {"rows": 4 * _files.COMPARED_ROWS, "fits": 0}  # those that are compared


def test_bounds_are_extended_as_rows_are_added(path, coded):
    with KernelIndex.open(path, "w") as made:
        made.add(X[N:260])
        for i in range(260, 300):
            made.add(X[i : i + 1])
    coded["rows"] = 0
    with KernelIndex.open(path) as made:
        assert_exact(made, X)
    assert coded["fits"] == 0
    assert coded["rows"] < 5 * _files.COMPARED_ROWS + _files.SAVED_ROWS


def test_every_change_keeps_the_answer(path):
    with KernelIndex.open(path, "w") as made:
        assert_exact(made, X[:N])
        made.remove([5, 150]).update(X[N : N + 2], [7, 8])
        kept = [i for i in range(N) if i not in (5, 7, 8, 150)]
        rows, ids = np.concatenate([X[kept], X[N : N + 2]]), [*kept, 7, 8]
        assert_exact(made, rows, ids)
        made.compact()
        assert not bound_files(path)  # of the generation before
        assert_exact(made, rows, ids)
        assert len(bound_files(path)) == 4
        made.refit()
        assert_exact(made, rows, ids)
    with KernelIndex.open(path) as made:
        assert_exact(made, rows, ids)


def test_a_reader_sees_what_the_writer_adds(path):
    with KernelIndex.open(path, "w") as writer, KernelIndex.open(path) as reader:
        assert_exact(reader, X[:N])
        writer.add(X[N:290])
        assert_exact(reader, X[:N])
        reader.refresh()
        assert_exact(reader, X[:290])


def test_filters_hold_in_the_bounds(path):
    with KernelIndex.open(path) as made:
        for wanted in (list(range(0, N, 3)), list(range(40)), [17]):
            ids, values = made.search(Q, 5, filter=wanted, exact=True)
            found, nearest = exact_knn("chi2", X[wanted], Q, min(5, len(wanted)))
            assert ids[:, : len(wanted)].tolist() == np.asarray(wanted)[found].tolist()
            assert values[:, : len(wanted)].tolist() == nearest.tolist()
            assert (made.certificate_.kernel_evaluations <= len(wanted)).all()


# ------------------------------------------------------------------------------------------------- files not believed


def _forge(name, change):
    def forge(path):
        file = next(path.glob(f"generation-*/derived-000000.{name}"))
        header, arrays = container.read(file)
        arrays = {key: array.copy() for key, array in arrays.items()}
        document = change(arrays, dict(header.document))
        container.write(file, document if isinstance(document, dict) else header.document, arrays)

    return forge


def _cut(path):
    for file in bound_files(path):
        file.write_bytes(file.read_bytes()[:-50])


def _flip(path):
    file = bound_files(path)[1]
    content = bytearray(file.read_bytes())
    content[-2000] ^= 255
    file.write_bytes(content)


def _swap(path):
    first, second = bound_files(path)[:2]
    shutil.copy(second, first)


def _nothing(kind):
    return lambda path: [file.unlink() for file in path.glob(f"generation-*/derived-*.{kind}")]


def _loose(row, arrays):
    plain = np.ones((1, arrays["plain"].shape[1]), dtype=np.float32)
    return {"loose": np.array([row], dtype=np.int32), "plain": plain}


DAMAGE = {
    "cut": _cut,
    "a byte flipped": _flip,
    "the file of other rows": _swap,
    "no bounds": _nothing("bounds"),
    "no rounding": _nothing("rounding"),
    "no directions": _nothing("directions"),
    "steps below zero": _forge("rounding", lambda arrays, _: arrays["step"].__imul__(-1)),
    "steps that are no numbers": _forge("rounding", lambda arrays, _: arrays["step"].fill(np.nan)),
    "too few steps": _forge("rounding", lambda arrays, _: arrays.update(step=arrays["step"][1:])),
    "too few tails": _forge("rounding", lambda arrays, _: arrays.update(origin=arrays["origin"][1:])),
    "norms that are no numbers": _forge("bounds", lambda arrays, _: arrays["norms"].fill(np.nan)),
    "other bytes": _forge("bounds", lambda arrays, _: arrays["strips"].fill(3)),
    "too few bytes": _forge("bounds", lambda arrays, _: arrays.update(strips=arrays["strips"][1:])),
    "loose rows beyond the last": _forge("bounds", lambda arrays, _: arrays.update(_loose(64, arrays))),
    "more rows than there are": _forge(
        "bounds", lambda arrays, document: document | {"bounds": document["bounds"] | {"rows": 10**6}}
    ),
    "rows that are no number": _forge(
        "bounds", lambda arrays, document: document | {"bounds": document["bounds"] | {"rows": "64"}}
    ),
    "the layout of another version": _forge(
        "bounds", lambda arrays, document: document | {"bounds": document["bounds"] | {"layout": 1}}
    ),
    "no document": _forge("bounds", lambda arrays, document: {"bounds": [1]}),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_missing_stale_or_damaged_is_made_again(path, damage):
    damage(path)
    with KernelIndex.open(path) as made:
        assert_exact(made, X[:N])
    with KernelIndex.open(path, "w") as made:
        assert_exact(made, X[:N])
        made.add(X[N:])
        assert_exact(made, X)


def test_a_folder_that_cannot_be_written_is_done_without(path, monkeypatch):
    _nothing("bounds")(path)

    def refuse(*arguments):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(container, "write", refuse)
    with KernelIndex.open(path) as made:
        assert_exact(made, X[:N])
    assert not bound_files(path)
