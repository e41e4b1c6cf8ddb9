"""An index with a graph: near rows are found, scores are exact, and what is on the disk is opened and not built."""

import pickle
import shutil

import numpy as np
import pytest
from hypothesis import given, settings

from mercer import InputError, KernelIndex
from mercer._base.files import container
from mercer.search import effort as _effort
from mercer.search import exact_knn
from mercer.search.graph import hnsw as _hnsw
from mercer.search.graph import rows as _rows
from mercer.search.graph import store as _store
from mercer.search.model import choice as _choice
from mercer.search.rows import derived as _derived
from tests.search.index_samples import STEPS, Life, histograms

PARAMETERS = {"store": "graph", "embedding": "kpca", "n_components": 12, "n_landmarks": 64, "random_state": 0}
X, Q = histograms(1200, 12, seed=1), histograms(30, 12, seed=2)
WANTED = exact_knn("chi2", X, Q, 10)


@pytest.fixture(autouse=True)
def small_graphs(monkeypatch):
    """Graphs from 100 rows on, through which a walk leads; few rows are no exception."""
    monkeypatch.setattr(_derived, "FEW_VALUES", 0)
    monkeypatch.setattr(_rows, "TAIL_ROWS", 100)
    monkeypatch.setattr(_store, "STEPS_PER_SCANNED", 9.0)


@pytest.fixture(scope="module")
def fitted():
    return pickle.dumps(KernelIndex("chi2", **PARAMETERS).fit(X))


@pytest.fixture
def index(fitted):
    return pickle.loads(fitted).add(X)


def recall(found, wanted):
    return np.mean([len(set(some) & set(true)) / len(true) for some, true in zip(found, wanted, strict=True)])


def assert_near(index, Q=Q, wanted=WANTED, **how):
    ids, values = index.search(Q, 10, **how)
    assert recall(ids.tolist(), wanted[0].tolist()) >= 0.98
    same = ids == wanted[0]
    np.testing.assert_array_equal(values[same], wanted[1][same])


def truth(left):
    positions, values = exact_knn("chi2", X[left], Q, 10)
    return left[positions], values


def graph_files(path):
    return sorted(path.glob("generation-*/derived-*.graph"))


# ------------------------------------------------------------------------------------------------------ answers


def test_near_rows_are_found_and_their_scores_are_exact(index):
    assert_near(index)
    for one in range(3):
        assert_near(index, Q[one : one + 1], (WANTED[0][one : one + 1], WANTED[1][one : one + 1]))
    found = index.stats()
    assert (found["store"], found["graph_rows"], found["bytes_per_item"]) == ("graph", 1200, 0)
    assert found["graph_bytes"] == index.rows_.derived.graph.nbytes
    exact = index.search(Q, 10, exact=True)
    np.testing.assert_array_equal(exact[0], WANTED[0])
    np.testing.assert_array_equal(exact[1], WANTED[1])


def test_rows_that_came_a_moment_ago_are_found(fitted):
    index = pickle.loads(fitted).add(X[:1000])
    assert index.stats()["graph_rows"] == 1000
    index.add(X[1000:1050])
    assert index.stats()["graph_rows"] == 1000  # scanned
    index.add(X[1050:])
    assert index.stats()["graph_rows"] == 1200
    assert_near(index)


def test_removed_rows_are_not_found_and_compaction_builds_without_them(index):
    index.remove(range(0, 1200, 3))
    left = np.setdiff1d(np.arange(1200), np.arange(0, 1200, 3))
    assert_near(index, wanted=truth(left))
    index.compact()
    assert index.stats()["graph_rows"] == len(left)
    assert_near(index, wanted=truth(left))
    index.update(X[[0]], [1])
    assert index.search(X[:1], 1)[0].tolist() == [[1]]


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_filters_are_honored_near_the_query_and_far_from_it(index, share, rng):
    some = np.flatnonzero(rng.random(1200) < share)
    assert_near(index, filter=some.tolist(), wanted=truth(some))
    far = np.sort(exact_knn("chi2", X, Q[:1], 1200)[0][0][-int(1200 * share) :])
    ids, values = index.search(Q[:1], 10, filter=far.tolist())
    assert set(ids[0].tolist()) <= set(far.tolist())
    assert (values[0] >= truth(far)[1][0, -1] - 0.01).all()  # far away, all are about as near


def test_a_range_search_finds_all_rows_within_the_limit(index):
    index.remove([int(WANTED[0][0, 0])])
    for limit in (0.95, 0.8):
        found, true = (index.range_search(Q, min_similarity=limit, exact=exact) for exact in (False, True))
        n_true = sum(map(len, true[0]))
        assert sum(len(set(some) & set(all_)) for some, all_ in zip(found[0], true[0], strict=True)) >= 0.99 * n_true
        assert all(set(some) <= set(all_) for some, all_ in zip(found[0], true[0], strict=True))
        assert all((values >= limit).all() for values in found[1])


@pytest.mark.parametrize("kernel", ["chi2", "rbf"])
@pytest.mark.parametrize("how", [{"normalize": False}, {"measure": "distance"}], ids=repr)
def test_every_measure_is_served(kernel, how):
    counts = np.round(300 * X)
    index = KernelIndex(kernel, **PARAMETERS, **how).fit(counts).add(counts)
    true, _ = exact_knn(index.kernel_, counts, np.round(300 * Q), 10, normalize=index.normalize, measure=index.measure)
    assert recall(index.search(np.round(300 * Q), 10)[0].tolist(), true.tolist()) >= 0.95


@given(STEPS)
@settings(max_examples=15, deadline=None)
def test_any_life_of_a_small_index_is_that_of_a_dictionary(fitted_small, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_rows, "TAIL_ROWS", 3)
        life = Life(pickle.loads(fitted_small))
        for step in steps:
            life.step(*step)
            life.check()


@pytest.fixture(scope="module")
def fitted_small():
    return pickle.dumps(KernelIndex("chi2", **PARAMETERS).fit(histograms(120)))


# ------------------------------------------------------------------------------------------------------- recall


def test_more_recall_asks_for_more_candidates_and_one_is_exact(index):
    before = []
    for wanted in (0.5, 0.95, 0.99, 0.999):
        before.append(_effort.planned(index.rows_, 10, False, True, wanted, 10)[1].oversample)
        assert recall(index.search(Q, 10, recall=wanted)[0].tolist(), WANTED[0].tolist()) >= wanted - 0.03
    assert before == sorted(before)
    np.testing.assert_array_equal(index.search(Q, 10, recall=1)[0], WANTED[0])
    assert index.certificate_.exact
    curve = index.plan_["recall"][0]
    assert curve["k"] == 10
    assert curve["n_rows"] == 1200
    assert curve["steps"][-1][-1] >= 0.999


def test_recall_of_codes_is_reached_by_candidates_or_exactly():
    index = KernelIndex("chi2", **PARAMETERS | {"store": "codes"}, bytes_per_item=2, effort="low", oversample=1)
    index.fit(X).add(X)
    assert recall(index.search(Q, 10)[0].tolist(), WANTED[0].tolist()) < 0.95
    for wanted in (0.95, 0.999):
        assert recall(index.search(Q, 10, recall=wanted)[0].tolist(), WANTED[0].tolist()) >= wanted - 0.02


def test_a_recall_that_candidates_do_not_reach_is_searched_exactly(index, monkeypatch):
    monkeypatch.setattr(_effort, "FACTORS", (1.0,))
    assert index.rows_.derived.known.curves
    index.rows_.derived.known.curves = []
    np.testing.assert_array_equal(index.search(Q, 10, recall=0.9999)[0], WANTED[0])
    assert index.certificate_.exact


def test_a_curve_is_measured_again_when_the_index_has_grown(fitted):
    index = pickle.loads(fitted).add(X[:400])
    assert [curve["n_rows"] for curve in index.plan_["recall"]] == [400]
    index.add(X[400:600])
    assert [curve["n_rows"] for curve in index.plan_["recall"]] == [400]
    index.add(X[600:])
    assert [curve["n_rows"] for curve in index.plan_["recall"]] == [1200]


def test_what_cannot_be_asked_is_refused(index):
    for value in (0, 1.5, "much", True):
        with pytest.raises(InputError, match=r"`recall` must be a number > 0.0 and <= 1.0"):
            index.search(Q, 3, recall=value)
    with pytest.raises(InputError, match="cannot combine recall= with exact= or rerank="):
        index.search(Q, 3, recall=0.9, exact=True)
    with pytest.raises(InputError, match=r"store='graph'\) has no lists"):
        KernelIndex(store="graph", n_lists=4).fit(X)
    with pytest.raises(InputError, match=r"store='graph'\) needs the rows, which"):
        KernelIndex(store="graph", vectors=None).fit(X)


def test_many_dense_rows_get_a_graph_unless_codes_are_asked_for(monkeypatch):
    monkeypatch.setattr(_choice, "GRAPH_FROM", 1000)
    few = {name: value for name, value in PARAMETERS.items() if name not in ("store", "embedding")}
    assert KernelIndex("chi2", **few).fit(X).plan_["store"] == "graph"
    assert KernelIndex("chi2", **few).fit(X[:999]).plan_["store"] == "codes"
    for asked in ({"bytes_per_item": 4}, {"vectors": None}, {"oversample": 5}):
        assert KernelIndex("chi2", **few, **asked, effort="low").fit(X).plan_["store"] == "codes"
    both = KernelIndex("chi2", **PARAMETERS, bytes_per_item=4, effort="low").fit(X).add(X)
    assert both.stats()["code_bytes"] == 4 * 1200
    assert_near(both)


# -------------------------------------------------------------------------------------------------- in a directory


@pytest.fixture(scope="module")
def stored(fitted, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_rows, "TAIL_ROWS", 100)
        made = tmp_path_factory.mktemp("graph") / "index"
        pickle.loads(fitted).add(X).persist(made).add(X[:30], range(5000, 5030)).close()
    return made


@pytest.fixture
def path(stored, tmp_path):
    """A directory with a graph of 1,200 rows and 30 rows behind it."""
    return shutil.copytree(stored, tmp_path / "index")


def refuse_to_build(monkeypatch):
    def refused(*_):
        raise AssertionError("A graph was built.")

    monkeypatch.setattr(_hnsw.Graph, "extended", refused)


@pytest.mark.parametrize("verify", [False, True])
def test_a_graph_is_opened_and_not_built(path, verify, monkeypatch):
    refuse_to_build(monkeypatch)
    with KernelIndex.open(path, verify=verify) as index:
        assert_near(index, filter=range(1200))
        assert index.stats()["graph_rows"] == 1200
        assert index.plan_["recall"][0]["n_rows"] == 1200
        assert index.search(X[:1], 2)[0].tolist() == [[0, 5000]]


def test_a_reader_sees_what_the_writer_adds(path):
    with KernelIndex.open(path, "w") as writer, KernelIndex.open(path) as reader:
        writer.add(Q, range(9000, 9030))
        assert 9003 not in reader.search(Q, 10)[0]
        reader.refresh()
        assert reader.search(Q, 1)[0].ravel().tolist() == list(range(9000, 9030))
        writer.add(X[:400], range(20000, 20400))
        late = KernelIndex.open(path)
        assert late.stats()["rows"] == 1660
        assert_near(late, filter=range(1200))


def test_a_file_of_a_writer_that_is_ahead_gives_no_rows_that_are_not_there(path):
    with KernelIndex.open(path, "w") as writer, KernelIndex.open(path, verify=False) as reader:
        writer.add(np.concatenate([Q] * 20), range(9000, 9600))  # the graph is written again
        ids, _ = reader.search(Q, 10)
        assert ids.max() < 9000
        assert_near(reader, filter=range(1200))


def test_a_missing_file_is_made_by_the_next_change(path):
    (file,) = graph_files(path)
    file.unlink()
    with KernelIndex.open(path) as index:
        assert_near(index, filter=range(1200))
    assert not graph_files(path)  # a reader writes nothing
    with KernelIndex.open(path, "w") as index:
        index.remove([5]).add(X[5:6], [5])
    assert graph_files(path) == [file]


def test_pickles_and_refits_keep_the_graph_or_build_it(path, index):
    assert_near(pickle.loads(pickle.dumps(index)), filter=range(1200))
    assert_near(pickle.loads(pickle.dumps(KernelIndex.open(path))), filter=range(1200))
    with KernelIndex.open(path, "w") as opened:
        opened.refit()
        assert_near(opened, filter=range(1200))
        assert {file.parent.name for file in graph_files(path)} == {"generation-2"}


# --------------------------------------------------------------------------------------------------- hostile files


def _set(name, place, value):
    return lambda arrays, _: arrays[name].__setitem__(place, value)


def _link_upwards(arrays, _):
    """A link in a higher layer to a row that is not in it."""
    levels, links = arrays["levels"].astype(int), arrays["neighbors"]
    slots = _hnsw.Graph(12).slots
    row = int(np.argmax(levels > 1))
    links[slots[levels[:row]].sum() + slots[1]] = int(np.argmax(levels == 1))


DAMAGES = {
    "links to no row": _set("neighbors", 7, 1200),
    "links before the first": _set("neighbors", 7, -2),
    "links out of a layer": _link_upwards,
    "no layers": _set("levels", 3, 0),
    "too many layers": _set("levels", 3, 200),
    "another layer": _set("levels", 3, 2),
    "vectors that are no numbers": _set("vectors", (5, 1), np.nan),
    "vectors of other rows": lambda arrays, _: arrays.update(vectors=arrays["vectors"][::-1]),
    "fewer vectors": lambda arrays, _: arrays.update(vectors=arrays["vectors"][1:]),
    "wider vectors": lambda arrays, _: arrays.update(vectors=np.repeat(arrays["vectors"], 2, axis=1)),
    "fewer links": lambda arrays, _: arrays.update(neighbors=arrays["neighbors"][1:]),
    "another type": lambda arrays, _: arrays.update(neighbors=arrays["neighbors"].astype(np.int64)),
    "nothing": lambda arrays, _: arrays.pop("neighbors"),
    "an entry beyond the last": lambda _, graph: graph.update(entry=1200),
    "an entry in the lowest layer": lambda _, graph: graph.update(entry=int(np.argmin(LEVELS))),
    "an entry that is no number": lambda _, graph: graph.update(entry="0"),
    "other links for each row": lambda _, graph: graph.update(links=7),
}
LEVELS = _hnsw.levels_of(0, 1200)


@pytest.mark.parametrize("what", DAMAGES)
def test_a_file_that_cannot_be_the_graph_is_done_without(path, what, monkeypatch):
    (file,) = graph_files(path)
    header, arrays = container.read(file)
    arrays, document = {name: array.copy() for name, array in arrays.items()}, dict(header.document["graph"])
    DAMAGES[what](arrays, document)
    container.write(file, {"graph": document}, arrays)
    built = []
    extended = _hnsw.Graph.extended
    monkeypatch.setattr(_hnsw.Graph, "extended", lambda *given: built.append(1) or extended(*given))
    with KernelIndex.open(path, verify=False) as index:
        assert_near(index, filter=range(1200))
    assert built


@pytest.mark.parametrize(
    "curves", [None, 7, [{}], [{"k": 10, "n_rows": 1, "drifted": 0, "n_queries": 1, "steps": [[1e9, None, 2]]}]]
)
def test_curves_that_nobody_measured_are_not_believed(path, curves):
    (file,) = graph_files(path)
    header, arrays = container.read(file)
    container.write(file, {"graph": header.document["graph"] | {"curves": curves}}, arrays)
    with KernelIndex.open(path, verify=False) as index:
        assert_near(index, filter=range(1200))
        assert index.plan_["recall"][0]["n_queries"] == 400


@pytest.mark.parametrize("verify", [False, True])
def test_a_file_that_was_cut_short_or_is_something_else_is_done_without(path, verify, tmp_path):
    (file,) = graph_files(path)
    whole = file.read_bytes()
    for content in (whole[:-100], b"nothing", whole[:-1] + bytes([whole[-1] ^ 1])):
        file.write_bytes(content)
        with KernelIndex.open(path, verify=verify) as index:
            assert_near(index, filter=range(1200))
    (tmp_path / "elsewhere").write_bytes(whole)
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    with KernelIndex.open(path, verify=verify) as index:
        assert_near(index, filter=range(1200))
