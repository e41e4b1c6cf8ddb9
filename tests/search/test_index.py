"""The life of an index in memory: rows come and go by their ids, and answers follow."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import validation as _validation

import mercer
from mercer import InputError, KernelIndex, thread_limit
from mercer.kernels import RBF, Chi2
from mercer.search import exact_knn, recall_1_at, recall_k_at
from mercer.search.exact import searcher as _searcher
from mercer.search.model.parameters import CODES
from mercer.search.rows import derived as _derived
from mercer.search.rows import packing as _packing
from tests.search.index_samples import answer, histograms, index

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
X = histograms(120)
Q = histograms(15, seed=7)


@pytest.fixture(autouse=True)
def codes_of_few_rows(monkeypatch):
    """So few rows would all be compared: see tests/search/exact/test_few.py."""
    monkeypatch.setattr(_derived, "FEW_VALUES", 0)


THOROUGH = {"oversample": 1000}  # all rows get their final score: the answer is that of brute force


# ------------------------------------------------------------------------------------------------- rows come and go


def test_the_method_of_the_paper_is_there_by_name():
    # [bourrier15explicit]: kernel principal components through landmarks, and words of a product quantizer
    made = KernelIndex("chi2", store="codes", embedding="kpca", code="pq", n_components=8, n_landmarks=32).fit(X)
    assert [made.plan_[name] for name in ("store", "embedding", "code", "n_components")] == ["codes", "kpca", "pq", 8]
    assert made.add(X).stats()["bytes_per_item"] == 8  # a word at least for each component


def test_ids_are_numbered_on_from_the_largest():
    made = index(X[:10], add=False).add(X[:3]).add(X[3:5], ["a", 40]).add(X[5:7])
    assert sorted(i for i in made.search(X[:1], 7)[0][0] if i != "a") == [0, 1, 2, 40, 41, 42]
    made.remove([42]).add(X[7:8])
    assert 43 in made.search(X[:1], 7)[0][0]
    with pytest.raises(InputError, match=r"no 64-bit integers left after the id 9223372036854775807"):
        made.add(X[:1], [2**63 - 1]).add(X[:1])


@pytest.mark.parametrize("give", [list, tuple, np.array, set], ids=lambda kind: kind.__name__)
def test_ids_in_any_sequence(give):
    made = index(X)
    assert len(made.remove(give([4, 5, 5]))) == 118
    assert len(made.remove(7)) == 117
    assert len(made.add(X[:1], ["one"]).remove("one")) == 117


REFUSED = {
    "an id that is there": (lambda i: i.add(X[:3], [500, 7, 8]), "got the id 7, which is already in the index"),
    "a text that is there": (lambda i: i.add(X[:1], ["text"]), "got the id 'text', which is already in the index"),
    "an id twice": (lambda i: i.add(X[:3], [500, 501, 500]), "the id 500 occurs more than once. Nothing was changed"),
    "a text twice": (lambda i: i.add(X[:2], ["x", "x"]), "the id 'x' occurs more than once"),
    "too few ids": (lambda i: i.add(X[:3], [500]), "there are 3 rows and 1 ids"),
    "no ids to update": (lambda i: i.update(X[:3], None), "there are 3 rows and 0 ids"),
    "an update of an unknown id": (lambda i: i.update(X[:2], [1, 500]), "update found no row with the id 500"),
    "an update of an id twice": (lambda i: i.update(X[:2], [1, 1]), "the id 1 occurs more than once"),
    "removal of an unknown id": (lambda i: i.remove([1, "no"]), "remove found no row with the id 'no'. Nothing was"),
    "an id that is no id": (lambda i: i.add(X[:1], [1.5]), "supports as ids 64-bit integers"),
    "rows of a different width": (lambda i: i.add(X[:, :9]), "has 9 features, but .* is expecting 10 features"),
    "NaN": (lambda i: i.add(np.full((2, 10), np.nan)), "NaN"),
    "infinity": (lambda i: i.update(np.full((1, 10), np.inf), [1]), "infinity"),
    "negative values": (lambda i: i.add(-X[:2]), r"X\[0, 0\] is -"),
    "no rows": (lambda i: i.add(X[:0]), "0 sample"),
    "one row as a vector": (lambda i: i.add(X[0]), "Expected 2D array"),
    "words": (lambda i: i.add([["a"] * 10]), "could not convert"),
    "queries of another width": (lambda i: i.search(X[:2, :4], 3), "has 4 features"),
    "NaN among queries": (lambda i: i.search(np.full((1, 10), np.nan), 3), "NaN"),
    "negative queries": (lambda i: i.search(-X[:2], 3), r"Q\[0, 0\] is -"),
    "k = 0": (lambda i: i.search(Q, 0), "needs k from 1 to 121, the number of rows in the index; got k=0"),
    "k < 0": (lambda i: i.search(Q, -3, exact=True), "got k=-3"),
    "k > n": (lambda i: i.search(Q, 122), "needs k from 1 to 121, .* got k=122"),
    "half a k": (lambda i: i.search(Q, 2.5), r"got k=2\.5"),
    "k = True": (lambda i: i.search(Q, True), "got k=True"),
    "an unknown id in a filter": (lambda i: i.search(Q, 3, filter=[1, 500]), "found no row with the id 500"),
    "a filter that is a number": (lambda i: i.search(Q, 3, filter=3.5), "needs a sequence of ids"),
    "a list that is asked for as an id": (lambda i: [1] in i, r"supports as ids 64-bit integers .* got \[1\]"),
    "no limit": (lambda i: i.range_search(Q), "needs min_similarity"),
    "the other limit": (lambda i: i.range_search(Q, max_distance=1), "ranks by similarity needs min_similarity"),
}  # fmt: skip


@pytest.fixture(scope="module")
def one_for_all():
    """The same index for all refusals, since none may change it."""
    return index(X).add(X[:1], ["text"])


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(what, one_for_all):
    made = one_for_all
    before = answer(made.search(Q, 5))
    act, message = REFUSED[what]
    with pytest.raises((InputError, ValueError), match=message):
        act(made)
    assert len(made) == 121
    assert answer(made.search(Q, 5)) == before


def test_a_failure_inside_a_large_addition_leaves_the_index_as_it_was(monkeypatch):
    made = index(X[:40])
    before = answer(made.search(Q, 5))
    packed, calls = _packing.packed, []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return packed(*arguments)

    monkeypatch.setattr(_packing, "ADD_ROWS", 10)
    monkeypatch.setattr(_packing, "packed", failing)
    with pytest.raises(KeyboardInterrupt):
        made.add(X[40:80])
    monkeypatch.setattr(_packing, "packed", packed)
    assert len(made) == 40
    assert answer(made.search(Q, 5)) == before
    made.add(X[40:80])
    assert sorted(made.search(Q[:1], 80)[0][0]) == list(range(80))


def test_before_fit_and_before_add():
    made = KernelIndex()
    assert len(made) == 0
    for ask in (
        lambda: made.add(X),
        lambda: made.search(X, 1),
        lambda: made.range_search(X, min_similarity=0.5),
        lambda: made.remove([1]),
        lambda: made.plan_,
        lambda: made.stats(),
        lambda: made.refit(),
    ):
        with pytest.raises(NotFittedError):
            ask()
    empty = index(X, add=False)
    assert len(empty) == 0
    assert empty.stats()["rows"] == 0
    for exact in (False, True):
        with pytest.raises(InputError, match=r"search needs rows in the index. Use add"):
            empty.search(Q, 1, exact=exact)
    with pytest.raises(InputError, match="refit needs rows in the index"):
        empty.refit()
    with pytest.raises(InputError, match="search needs rows in the index"):
        index(X[:5]).remove(range(5)).compact().search(Q, 1)


# ----------------------------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize(("normalize", "kind"), [(True, "similarity"), (False, "distance")])
@pytest.mark.parametrize("code", CODES)
def test_every_code_finds_most_neighbours_and_estimates_their_similarity(code, normalize, kind):
    if code == "lsh":
        normalize = True
    rows, queries = histograms(1500, 24, n_centres=80), histograms(60, 24, seed=5, n_centres=80)
    sizes = {"flat": 96, "lsh": 16, "universal": 32}
    made = index(
        rows, code=code, normalize=normalize, measure=kind, bytes_per_item=sizes.get(code, 12), n_components=None,
        n_landmarks=200,
    )  # fmt: skip
    truth, nearest = exact_knn("chi2", rows, queries, 10, normalize=normalize, measure=kind)
    found, values = made.search(queries, 10)
    assert recall_k_at(found, truth, 10, 10) > {"lsh": 0.9, "universal": 0.85}.get(code, 0.97)
    there = found == truth
    np.testing.assert_array_equal(values[there], nearest[there])
    scanned, estimates = made.search(queries, 100, rerank=False)
    assert recall_1_at(scanned, truth, 100) > 0.98
    real = made.exact_values(queries, scanned)  # ids are positions here
    if code not in ("lsh", "universal"):  # which rank, and know distances only roughly
        assert np.median(abs(estimates[:, :10] - real[:, :10])) < 0.06
    # rows whose codes look nearer are nearer
    assert np.mean([np.corrcoef(estimates[q], real[q])[0, 1] for q in range(60)]) > 0.4


def test_an_index_of_codes_alone_reports_estimates():
    rows = histograms(800, 16, n_centres=50)
    made, full = (index(rows, "js", vectors=kept, bytes_per_item=12, n_components=None) for kept in (None, "auto"))
    ids, values = made.search(rows[:50], 5)
    again, estimates = full.search(rows[:50], 5, rerank=False)
    np.testing.assert_array_equal(ids, again)
    np.testing.assert_array_equal(values, estimates)
    assert recall_1_at(ids, np.arange(50), 5) > 0.95
    assert abs(np.median(values[:, 0]) - 1) < 0.05
    assert made.stats()["vectors"] is None
    close, near = made.range_search(rows[:50], min_similarity=0.9)
    assert all((value >= 0.9).all() for value in near)
    assert np.mean([i in found for i, found in enumerate(close)]) > 0.9
    with pytest.raises(InputError, match="refit needs the rows, but this index stores codes only"):
        made.refit()


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_range_search_finds_nearly_all_within_the_limit_and_nothing_beyond(kind):
    rows = histograms(900, 16, n_centres=50)
    made = index(rows, measure=kind, bytes_per_item=8, n_components=None)
    limit = {"min_similarity": 0.85} if kind == "similarity" else {"max_distance": 0.5}
    ids, values = made.range_search(rows[:40], **limit, filter=lambda i: i != 3)
    exact_ids, exact_values = made.range_search(rows[:40], **limit, filter=lambda i: i != 3, exact=True)
    total = 0
    for found, value, all_ids, all_values in zip(ids, values, exact_ids, exact_values, strict=True):
        lookup = dict(zip(all_ids.tolist(), all_values.tolist(), strict=True))
        assert all(lookup[i] == v for i, v in zip(found.tolist(), value.tolist(), strict=True))
        assert value.tolist() == sorted(value.tolist(), reverse=kind == "similarity")
        assert 3 not in found
        total += len(all_ids)
    assert sum(map(len, ids)) >= 0.98 * total > 200


def test_range_search_returns_as_many_rows_as_there_are():
    made = index(np.repeat(X[:2], 400, axis=0))
    ids, _ = made.range_search(X[:2], min_similarity=0.999)
    assert ids[0].tolist() == list(range(400))
    assert ids[1].tolist() == list(range(400, 800))
    none, values = made.range_search(X[:1], min_similarity=2.0)
    assert (len(none), none[0].tolist(), values[0].tolist()) == (1, [], [])


@pytest.mark.parametrize("exact", [False, True])
def test_filters_that_leave_few_or_none(exact):
    made = index(X, **THOROUGH)
    ids, values = made.search(Q[:2], 5, filter=[7, 3], exact=exact)
    assert [sorted(row[:2]) for row in ids.tolist()] == [[3, 7], [3, 7]]
    assert (ids[:, 2:] == -1).all()
    assert (values[:, 2:] == -np.inf).all()
    assert (made.search(Q[:2], 5, filter=[], exact=exact)[0] == -1).all()
    assert (made.search(Q[:2], 5, filter=lambda _: False, exact=exact)[0] == -1).all()
    far = index(X, measure="distance", ids=[f"row {i}" for i in range(120)])
    ids, values = far.search(Q[:1], 3, filter="row 5", exact=exact)
    assert ids.tolist() == [["row 5", None, None]]
    assert values[0, 1:].tolist() == [np.inf, np.inf]


def test_kneighbors_is_search_in_the_order_of_scikit_learn():
    made = index(X, measure="distance")
    distances, ids = made.kneighbors(Q, 4)
    np.testing.assert_array_equal(ids, made.search(Q, 4)[0])
    np.testing.assert_array_equal(distances, made.search(Q, 4)[1])
    np.testing.assert_array_equal(made.kneighbors(Q, 4, return_distance=False), ids)


def test_oversample_decides_how_many_rows_get_their_final_score():
    made = [index(X, bytes_per_item=1, n_components=2, oversample=oversample) for oversample in (1, 3, 1000)]
    truth, _ = exact_knn("chi2", X, Q, 10)
    recalls = [recall_k_at(one.search(Q, 10)[0], truth, 10, 10) for one in made]
    assert recalls[0] < recalls[1] <= recalls[2] == 1


def test_inverted_lists_answer_as_the_scan():
    rows = histograms(1200, 16, n_centres=50)
    flat = index(rows, bytes_per_item=8, n_components=None)
    lists = index(rows, bytes_per_item=8, n_components=None, n_lists=8)
    assert lists.stats()["lists"] == 8
    assert np.mean(lists.search(rows[:80], 5)[0] == flat.search(rows[:80], 5)[0]) > 0.95
    lists.remove(range(100)).add(rows[:50], [f"again {i}" for i in range(50)])
    found, _ = lists.search(rows[:50], 1)
    assert found[:, 0].tolist() == [f"again {i}" for i in range(50)]
    assert set(lists.search(rows[:5], 5, filter=[500, 501])[0].ravel()) == {500, 501, None}


def test_words_of_four_bits_are_scanned_fast_until_something_is_filtered_or_removed(tmp_path):
    rows = histograms(1200, 16, n_centres=50)
    truth, _ = exact_knn("chi2", rows, rows[:80], 5)
    made = index(rows, "chi2", bytes_per_item=8, bits=4, n_components=None)
    assert made.plan_["bits"] == 4
    assert made.stats()["code_bytes"] == 8 * len(made)
    found, scores = made.search(rows[:80], 5)
    assert recall_k_at(found, truth, 5, 5) > 0.9  # measured 1.0
    made.persist(tmp_path / "i").close()
    with KernelIndex.open(tmp_path / "i", mode="w") as again:
        assert answer(again.search(rows[:80], 5)) == answer((found, scores))
        assert set(again.search(rows[:5], 5, filter=[500, 501])[0].ravel()) == {500, 501, -1}
        again.remove(range(0, 1200, 2))
        left, _ = again.search(rows[:80], 5)
        assert (left % 2 == 1).all()
        again.add(rows[:40], range(5000, 5040))
        assert again.search(rows[:40:2], 1)[0].ravel().tolist() == list(range(5000, 5040, 2))


# ------------------------------------------------------------------------------------------------------- inputs


def test_all_kinds_of_numbers_are_the_same_rows(rng):
    counts = rng.integers(0, 256, (150, 8))
    answers = []
    for rows in (
        counts,
        counts.astype(np.uint8),
        counts.astype(np.float32),
        counts.astype(np.float64),
        counts.tolist(),
    ):
        made = index(rows, "intersection", normalize=False)
        assert made.stats()["vectors"] == "uint8"
        assert made.stats()["rounded_rows"] == 0
        answers.append([answer(made.search(rows[:5], 3, exact=exact)) for exact in (False, True)])
    assert all(other == answers[0] for other in answers[1:])


def test_rows_are_kept_as_whole_numbers_only_if_all_of_them_are():
    assert index(X).stats()["vectors"] == "float32"
    late = np.concatenate([np.ones((1100, 4)), np.full((5, 4), 0.5)]).astype(np.float32)
    assert index(late).stats()["vectors"] == "float32"
    assert index(late, add=False).add(late).stats()["rounded_rows"] == 0
    assert index(256 * np.ones((5, 4))).stats()["vectors"] == "float32"


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows_and_dense_queries_and_the_reverse(make):
    dense, from_sparse = index(X, **THOROUGH), index(make(X), **THOROUGH)
    want = dense.search(Q, 4)
    for rows, queries in ((dense, make(Q)), (from_sparse, Q), (from_sparse, make(Q))):
        ids, values = rows.search(queries, 4)
        np.testing.assert_array_equal(ids, want[0])
        np.testing.assert_allclose(values, want[1], rtol=1e-12)
    from_sparse.add(X[:2], ["dense", "rows"])
    assert set(from_sparse.search(X[:1], 2)[0][0]) == {0, "dense"}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("code", CODES)
def test_a_handful_of_rows(code, n):
    for rows in (X[:n], np.ones((n, 3)), np.zeros((n, 3)), sparse.csr_array(X[:n])):
        made = index(rows, code=code, effort="default", n_components=None)
        for exact in (False, True):
            ids, values = made.search(rows, n, exact=exact)
            assert sorted(ids[0]) == list(range(n))
            assert np.isfinite(values).all()
        assert len(made.range_search(rows, min_similarity=-1.0)[0]) == n


def test_rows_unlike_those_of_fit_are_counted():
    rows = histograms(500, 16, n_centres=20)
    made = index(rows, "js", n_components=40, n_landmarks=100)
    assert made.stats()["drift"]["share"] < 0.02
    made.add(np.eye(16, dtype=np.float32))
    drift = made.stats()["drift"]
    assert drift["rows"] > 10
    assert drift["share"] == drift["rows"] / 516


def test_refit_learns_from_the_rows_of_the_index():
    made = index(X[:30], ids=[f"r{i}" for i in range(30)]).add(X[30:]).remove(["r3"])
    before = made.model_
    truth = answer(made.search(Q, 6, exact=True))
    made.refit()
    assert made.model_ is not before
    assert len(made) == 119
    assert answer(made.search(Q, 6, exact=True)) == truth
    found = made.search(Q, 6)[0].tolist()
    assert np.mean([len(set(one) & set(other)) / 6 for one, other in zip(found, truth[0], strict=True)]) > 0.8


def test_a_second_fit_begins_anew():
    made = index(X)
    made.fit(X[:50])
    assert len(made) == 0
    made.set_params(measure="distance").fit(X).add(X)
    assert made.search(X[:1], 1)[1][0, 0] == pytest.approx(0, abs=1e-6)


# --------------------------------------------------------------------------------------------- parameters and seeds


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"code": "lsh", "normalize": False}, r"KernelIndex\(code='lsh'\).*Use code='pq'"),
        ({"code": "universal", "normalize": False}, r"KernelIndex\(code='universal'\)"),
        ({"code": "lsh", "normalize": False, "measure": "distance"}, "ranks by directions"),
        ({"code": "flat", "bytes_per_item": 7}, "must be a multiple of 4; got 7"),
        ({"code": "flat", "n_lists": 4}, "supports inverted lists only with code='pq' and code='opq', not with 'flat'"),
        ({"kernel": "rbf", "embedding": "map"}, "needs an additive, homogeneous kernel"),
        ({"kernel": "js", "embedding": mercer.KernelPCA("chi2")}, "got a map of Chi2"),
        ({"oversample": 0.5}, "`oversample` must be a number >= 1.0"),
        ({"oversample": "many"}, "`oversample` must be a number >= 1.0"),
        ({"oversample": np.inf}, "`oversample` must be a number >= 1.0"),
        ({"vectors": "int8"}, "`vectors` must be one of 'auto', 'float32', 'float16', 'uint8', or None"),
        ({"n_lists": -1}, "`n_lists` must be an integer >= 0, or 'auto'"),
        ({"n_lists": "many"}, "`n_lists` must be an integer >= 0, or 'auto'"),
        ({"code": "lsh", "bits": 4}, r"KernelIndex uses bits=4 only with code='pq' and code='opq', not with 'lsh'"),
        ({"bits": 9}, "`bits` must be an integer >= 4 and <= 8"),
        ({"code": "gif"}, "`code` must be one of 'pq', 'opq', 'lsh', 'universal', 'flat'"),
        ({"bytes_per_item": 0}, "`bytes_per_item` must be an integer >= 1"),
        ({"kernel": 3}, "A kernel must be a name"),
    ],
)
def test_what_does_not_go_together_is_refused_by_fit(parameters, message):
    made = KernelIndex(**parameters)
    assert len(made) == 0
    with pytest.raises(InputError, match=message):
        made.fit(X)


def test_an_index_is_cloned_with_its_parameters_and_without_its_rows():
    made = index(X, RBF(2.0), bytes_per_item=3)
    again = clone(made)
    assert again.get_params() == made.get_params()
    assert not hasattr(again, "model_")
    assert "bytes_per_item=3" in repr(again)


@pytest.mark.parametrize(("code", "bits"), [*((code, 8) for code in CODES), ("pq", 4)])
def test_one_seed_gives_the_same_codes_and_answers_on_one_and_two_threads(code, bits):
    rows, found = histograms(700, 16), []
    for n_jobs in (1, 2):
        with thread_limit(n_jobs):
            made = index(
                rows, code=code, bits=bits, effort="default", n_components=None, bytes_per_item=8, n_jobs=n_jobs
            )
            answers = [answer(made.search(Q2, 5, exact=exact)) for Q2 in (rows[:30],) for exact in (False, True)]
            found.append((made._collection.column("codes"), answers))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_stats_say_how_large_an_index_is():
    made = index(X, Chi2(), bytes_per_item=6).remove([1, 2])
    stats = made.stats()
    assert {name: stats[name] for name in ("rows", "removed", "bytes_per_item", "code_bytes", "path")} == {
        "rows": 118, "removed": 2, "bytes_per_item": 6, "code_bytes": 720, "path": None,
    }  # fmt: skip
    assert stats["kernel"] == "Chi2(signed=False)"
    assert stats["bounds_bytes"] == 0
    made.range_search(Q, min_similarity=0.9, exact=True)
    assert made.stats()["bounds_bytes"] > 0
    assert made.stats()["plan"] == made.plan_


def test_few_rows_are_all_looked_at():
    made = index(X).remove([3])
    ids, values = made.search(Q, 5, exact=True)
    assert (made.certificate_.n_components, set(made.certificate_.kernel_evaluations)) == (0, {len(X) - 1})
    made.range_search(Q, min_similarity=0.9, exact=True)  # builds bounds, which are then there to be used
    with_bounds = made.search(Q, 5, exact=True)
    assert made.certificate_.n_components > 0
    assert answer((ids, values)) == answer(with_bounds)


def test_threads_may_search_together_from_the_first(monkeypatch):
    monkeypatch.setattr(_searcher, "BRUTE_FORCE_ROWS", 0)
    rows = histograms(1500, 16)
    made, found = index(rows), [None] * 4

    def ask(place):
        found[place] = answer(made.search(rows[:9], 5, exact=("probable" if place == 3 else True)))

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[:3] == [answer(made.search(rows[:9], 5, exact=True))] * 3
    assert len(found[3][0]) == 9


@pytest.fixture
def passes(monkeypatch):
    """How often rows are validated, and looked through for what is not finite, since the list was last cleared."""
    found = []

    def counted(name, real):
        def call(*arguments, **named):
            found.append(name)
            return real(*arguments, **named)

        return call

    for name in ("check_array", "_assert_all_finite"):
        monkeypatch.setattr(_validation, name, counted(name, getattr(_validation, name)))
    return found


@pytest.mark.parametrize("embedding", ["kpca", "map"])
@pytest.mark.parametrize("code", CODES)
def test_rows_and_queries_are_validated_once(code, embedding, passes):
    made = index(X, code=code, embedding=embedding, n_components=None, add=False, bytes_per_item=8)
    rows, queries = np.asfortranarray(X), np.asfortranarray(Q)  # scikit-learn has to make something else of them
    for ask in (
        lambda: made.add(rows),
        lambda: made.update(rows[:3], [0, 1, 2]),
        lambda: made.search(queries, 3),
        lambda: made.search(queries, 3, rerank=False),
        lambda: made.search(queries, 3, exact=True),
        lambda: made.range_search(queries, min_similarity=0.9),
    ):
        passes.clear()
        ask()
        assert passes == ["check_array", "_assert_all_finite"]
    made.range_search(Q, min_similarity=0.9, exact=True)  # builds the bounds
    passes.clear()
    made.search(queries, 3, exact=True)
    assert passes == ["check_array", "_assert_all_finite"]
    passes.clear()
    made.search(Q, 3)
    assert passes == []  # as they should be: a look of our own is enough
