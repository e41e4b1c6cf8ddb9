"""Inverted lists give the answer of brute force: the same ids, in the same order, with the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import InputError, KernelIndex, thread_limit
from mercer.kernels import (
    RBF,
    BrayCurtis,
    CallableKernel,
    Chi2,
    DotTanimoto,
    ExpChi2,
    Exponential,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    MinMax,
    NormalizedKernel,
    PowerMean,
    UniversalRBF,
)
from mercer.search import exact_knn
from mercer.search.lists import ranking as _ranking
from tests.pairs import all_pairs
from tests.search.store_samples import cut_lists

SERVED = [
    Linear(), Hellinger(), Chi2(), Intersection(), JensenShannon(), PowerMean(-2.0), PowerMean(-1.0),
    GeneralizedIntersection(0.5), GeneralizedIntersection(), BrayCurtis(), MinMax(), DotTanimoto(), RBF(0.1),
    RBF(2000.0),
    Laplacian(0.2), ExpChi2(0.3), Exponential(JensenShannon(), 0.5), Exponential(BrayCurtis(), 2.0),
    Exponential(NormalizedKernel(Chi2()), 1.0), Chi2() + 0.5 * Linear(), Chi2() + RBF(0.2), Chi2() * BrayCurtis(),
    RBF(0.1) * MinMax(),
]  # fmt: skip
SIGNED = [
    Linear(), Chi2(signed=True), Hellinger(signed=True), JensenShannon(signed=True), Intersection(signed=True),
    PowerMean(-2.0, signed=True), GeneralizedIntersection(2.0), RBF(0.1), Laplacian(0.1),
    Exponential(Chi2(signed=True), 0.2),
]  # fmt: skip
CASES = [*((kernel, False) for kernel in SERVED), *((kernel, True) for kernel in SIGNED)]


def rows(n=150, d=30, seed=0, signed=False):
    """Sparse rows, two of them empty, some equal; as many shared columns as none."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, 1.0, (n, d)) * (rng.random((n, d)) < 0.12)
    X = X * rng.choice([-1, 1], X.shape) if signed else X
    X[3] = X[7] = 0
    X[10:14] = X[9]
    return sparse.csr_array(X.astype(np.float32))


WHOLE = [0.0, 6.0, 1000.0]  # no block is looked at whole, some are, all are


def lists(X, kernel, **parameters):
    return KernelIndex(kernel, store="lists", **parameters).fit(X).add(X)


def assert_same(found, wanted):
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


@pytest.fixture
def small_blocks(whole, monkeypatch):
    """Blocks of 64 rows, so that there are several, and thresholds from one to the next; looked at whole or not."""
    cut_lists(monkeypatch, 64)
    monkeypatch.setattr(_ranking, "WHOLE", whole)


@pytest.mark.parametrize(
    ("case", "normalize", "measure", "whole"),
    all_pairs(range(len(CASES)), [True, False], ["similarity", "distance"], WHOLE),
    ids=lambda v: repr(CASES[v][0]) if type(v) is int else str(v),
)
def test_answers_are_those_of_brute_force(case, normalize, measure, whole, small_blocks):
    kernel, signed = CASES[case]
    X, Q = rows(signed=signed), sparse.vstack([rows(14, seed=1, signed=signed), rows(signed=signed)[:6]]).tocsr()
    how = {"normalize": normalize, "measure": measure}
    index = lists(X, kernel, **how)
    for k in (1, 6, 150):  # with the last one all rows, those without a shared column too
        wanted = exact_knn(kernel, X, Q, k, **how)
        assert_same(index.search(Q, k), wanted)
        for i in (0, 3, 5, 16):  # alone, by the shorter way; an empty one too
            assert_same(index.search(Q[i : i + 1], k), [part[i : i + 1] for part in wanted])
    assert index.certificate_.exact
    assert 0 <= index.certificate_.share_read <= 1


# --------------------------------------------------------------------------------------------------------------- traps


def test_rows_without_a_shared_column_are_ranked_by_their_totals():
    X = sparse.csr_array(np.diag([3.0, 1.0, 2.0, 5.0]).astype("f4"))
    Q = sparse.csr_array(np.array([[0, 0, 0, 0.5]], "f4"))
    for kernel, normalize, measure in ((RBF(0.1), True, "similarity"), (Chi2(), False, "distance")):
        ids, _ = lists(X, kernel, normalize=normalize, measure=measure).search(Q, 3)
        assert ids.tolist() == [[1, 2, 0]]  # nearer than row 3, which shares the column


def test_normalized_distance_puts_empty_rows_before_disjoint_ones():
    X = sparse.csr_array(np.array([[1, 0], [0, 0], [0, 2]], "f4"))
    ids, values = lists(X, "chi2", measure="distance").search(X[:1], 3)
    assert ids.tolist() == [[0, 1, 2]]
    np.testing.assert_array_equal(values, [[0, 1, np.sqrt(2.0)]])


def test_two_empty_rows_have_min_max_one():
    X = sparse.csr_array(np.array([[1, 0], [0, 0]], "f4"))
    ids, values = lists(X, "min-max").search(X[1:], 2)
    assert ids.tolist() == [[1, 0]]
    assert values.tolist() == [[1.0, 0.0]]


def test_signed_kernels_put_disjoint_rows_above_negative_ones():
    X = sparse.csr_array(np.array([[-1.0, 0], [0, 1.0], [1.0, 0]], "f4"))
    ids, values = lists(X, "linear").search(X[2:], 3)
    assert ids.tolist() == [[2, 1, 0]]
    assert values.tolist() == [[1.0, 0.0, -1.0]]


def test_what_is_missing_is_filled_in_the_order_of_ids():
    X = rows()
    index = KernelIndex("js").fit(X).add(X, [f"row {i:03}" for i in range(150)][::-1])
    Q = sparse.csr_array((1, 30), dtype=np.float32)
    assert index.search(Q, 3)[0].tolist() == [["row 000", "row 001", "row 002"]]


def test_exponentials_that_vanish_are_ties():
    X = rows()
    assert_same(lists(X, RBF(1e6)).search(X[20:30], 20), exact_knn(RBF(1e6), X, X[20:30], 20))


def test_values_far_apart_and_explicit_zeros_change_nothing():
    X = rows()
    X.data[::7] *= np.float32(1e-30)
    X.data[::11] = 0
    X.data[5] = np.float32(1e20)
    for kernel in ("js", "chi2", "linear", "min-max"):
        assert_same(lists(X, kernel).search(X[:20], 10), exact_knn(kernel, X, X[:20], 10))


def test_numbers_that_single_precision_does_not_hold_are_compared_one_by_one():
    X = rows()
    X.data *= np.float32(1e28)
    index = lists(X, "linear")
    assert_same(index.search(X[:5], 10), exact_knn("linear", X, X[:5], 10))
    assert {9, 10, 11, 12, 13} <= set(index.range_search(X[9:10], min_similarity=0.999)[0][0])


# ------------------------------------------------------------------------------------------------------- all the rest


@pytest.mark.parametrize(
    ("kernel", "measure", "whole"),
    all_pairs([JensenShannon(), Linear(), MinMax(), RBF(0.3), Chi2() + RBF(0.2)], ["similarity", "distance"], WHOLE),
    ids=str,
)
def test_a_range_search_finds_all_rows_within_the_limit(kernel, measure, whole, small_blocks):
    X = rows()
    index = lists(X, kernel, measure=measure)
    ids, values = exact_knn(kernel, X, X[:12], 150, measure=measure)
    for limit in (0.3, 1.0, 1.5) if measure == "distance" else (0.0, 0.2, 0.9):
        name = "max_distance" if measure == "distance" else "min_similarity"
        found = index.range_search(X[:12], **{name: limit})
        for row in range(12):
            kept = values[row] <= limit if measure == "distance" else values[row] >= limit
            assert found[0][row].tolist() == ids[row][kept].tolist()
            assert found[1][row].tolist() == values[row][kept].tolist()


@pytest.mark.parametrize("whole", WHOLE)
def test_rows_added_one_by_one_are_found_at_once(whole, small_blocks):
    X = rows()
    index = KernelIndex("js").fit(X).add(X[:60])
    for i in range(60, 150):
        index.add(X[i : i + 1])
        if X[i].nnz:
            assert i in index.search(X[i : i + 1], 6)[0]
    assert len(index.rows_.derived.lists.blocks) <= 8
    assert_same(index.search(X[:20], 10), exact_knn("js", X, X[:20], 10))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_any_rows_and_dense_queries(seed):
    X = rows(80, 15, seed)
    kernel = SERVED[seed % len(SERVED)]
    assert_same(lists(X, kernel).search(X[:9].toarray(), 7), exact_knn(kernel, X, X[:9], 7))


def test_threads_and_batches_change_nothing():
    X = rows()
    index = lists(X, "js", n_jobs=2)
    whole = index.search(X[:70], 5)
    for i in (0, 20, 69):
        assert_same(index.search(X[i : i + 1], 5), (whole[0][i : i + 1], whole[1][i : i + 1]))
    with thread_limit(1):
        assert_same(index.search(X[:70], 5), whole)


def test_rounded_rows_follow_the_rules_of_stored_ones():
    X = rows()
    index = lists(X, "js", vectors="float16")
    with pytest.raises(InputError, match="exact='stored'"):
        index.search(X[:1], 3, exact=True)
    kept = index.rows_.take(np.arange(150))
    assert_same(index.search(X[:9], 5, exact="stored"), exact_knn("js", kept, X[:9], 5))
    assert_same(index.search(X[:9], 5), exact_knn("js", kept, X[:9], 5))


# ---------------------------------------------------------------------------------------------------- which store it is


def test_dense_rows_can_have_lists_too():
    X = rows().toarray()
    assert_same(lists(X, "chi2").search(X[:9], 5), exact_knn("chi2", X, X[:9], 5))


def test_the_store_is_chosen_by_the_rows_and_what_is_asked_for():
    X = rows()
    for parameters, reason in (
        ({"bytes_per_item": 4}, "bytes_per_item=4 requires codes"),
        ({"code": "opq"}, "code='opq' requires codes"),
        ({"kernel": UniversalRBF(1.0)}, "do not support this kernel: UniversalRBF"),
    ):
        index = KernelIndex(**{"effort": "low", "n_landmarks": 16, "random_state": 0, **parameters}).fit(X)
        assert index.plan_["store"] == index.stats()["store"] == "codes"
        assert reason in index.plan_["store_reason"]
    index = KernelIndex().fit(X).add(X)
    assert index.plan_["store"] == index.stats()["store"] == "lists"
    assert index.stats()["bytes_per_item"] == 0
    assert index.search(X[:1], 1)[0].tolist() == [[0]]
    both = KernelIndex(store="lists", bytes_per_item=4, effort="low", n_landmarks=16, random_state=0).fit(X).add(X)
    assert both.stats()["bytes_per_item"] == 4
    assert_same(both.search(X[:9], 5), exact_knn("chi2", X, X[:9], 5))


REFUSED = {
    "a function": ({"kernel": CallableKernel(lambda x, y: x @ y.T)}, "functions of sums over shared columns"),
    "universal bits": ({"kernel": UniversalRBF(1.0)}, "UniversalRBF.* is not a function of sums"),
    "products with signs": ({"kernel": Linear() * Chi2()}, "may multiply negative values"),
    "lists of codes": ({"n_lists": 4}, "n_lists applies to lists of codes"),
    "no rows": ({"vectors": None}, "needs the rows, which"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_lists_cannot_do_is_refused_in_a_sentence(what):
    parameters, message = REFUSED[what]
    with pytest.raises(InputError, match=rf"KernelIndex\(store='lists'\) .*{message}"):
        KernelIndex(**{"store": "lists", **parameters}).fit(rows())
