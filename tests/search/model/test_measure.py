"""How rows are compared: what is reported, what ranks, and that a score depends on its two rows alone."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, KernelIndex, exact_knn, thread_limit
from mercer.kernels import RBF, BrayCurtis, CallableKernel, Chi2, Hellinger, JensenShannon, Linear, PowerMean
from mercer.search.exact.best import Best, best_of_pairs
from mercer.search.model import measure as _measure
from mercer.search.model.measure import Measure, as_double
from tests.search.index_samples import histograms

X = histograms(30) * np.linspace(0.5, 2, 30, dtype=np.float32)[:, None]
EVERY = np.repeat(np.arange(30), 30), np.tile(np.arange(30), 30)


@pytest.mark.parametrize("is_distance", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_reported_values_are_kernel_values_or_distances(normalize, is_distance):
    measure = Measure(Chi2(), normalize, "distance" if is_distance else "similarity")
    kernel = Chi2().normalized() if normalize else Chi2()
    objective = measure.scores(X, X, *EVERY).reshape(30, 30)
    rows = X.astype(np.float64)
    # the root of what remains of a difference: 1e-15 of K becomes 3e-8 of a distance
    np.testing.assert_allclose(
        measure.reported(objective), kernel.distance(rows) if is_distance else kernel(rows), rtol=1e-12, atol=1e-7
    )
    assert (np.argmax(objective, axis=1) == np.arange(30)).all() or (not normalize and not is_distance)
    assert (measure.nothing, measure.name) == ((np.inf, "distance") if is_distance else (-np.inf, "similarity"))
    assert not is_distance or (objective <= 0).all()


@pytest.mark.parametrize("make", [lambda rows: rows, sparse.csr_array], ids=["dense", "csr"])
def test_a_score_has_the_same_bits_in_any_company(make, monkeypatch):
    measure, rows = Measure(Chi2(), True, "distance"), make(X)
    with thread_limit(1):
        whole = measure.scores(rows, rows, *EVERY)
    monkeypatch.setattr(_measure, "PAIRS_PER_TASK", 7)
    np.testing.assert_array_equal(measure.scores(rows, rows, *EVERY, n_jobs=2), whole)
    back = np.arange(900)[::-1]
    np.testing.assert_array_equal(measure.scores(rows, rows, EVERY[0][back], EVERY[1][back]), whole[back])
    np.testing.assert_array_equal(
        measure.scores(rows[[4]], rows, np.zeros(30, dtype=int), np.arange(30)), whole[120:150]
    )


@pytest.mark.parametrize("is_distance", [False, True])
@pytest.mark.parametrize(
    "kernel", [Chi2(), Chi2(signed=True), JensenShannon(), Hellinger(), PowerMean(-2), RBF()], ids=repr
)
def test_one_query_has_the_bits_of_pairs(kernel, is_distance):
    rows = np.concatenate([X, np.zeros((1, 10), dtype=np.float32), X[:1] * np.float32(1e-37)])
    signs = np.where(np.arange(10) % 3, 1, -1).astype(np.float32) if getattr(kernel, "signed", False) else np.float32(1)
    for normalize in (True, False):
        measure = Measure(kernel, normalize, "distance" if is_distance else "similarity")
        for i in (3, 30, 31):
            query, left = rows[[i]] * signs, np.zeros(32, dtype=int)
            expected = measure.scores(query, rows, left, np.arange(32))
            np.testing.assert_array_equal(measure.scores_of_one(query, rows), expected)


def test_energies_and_roots():
    rows = np.concatenate([X[:3], np.zeros((1, 10), dtype=np.float32)])
    sums = rows.astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(Measure(Chi2(), False).energy(rows), sums)
    np.testing.assert_array_equal(Measure(Chi2(), True).energy(rows), [1, 1, 1, 0])
    np.testing.assert_allclose(Measure(Chi2(), True).roots(rows), np.sqrt(np.append(sums[:3], 1)))
    assert Measure(Linear(), True).unit_diagonal
    assert Measure(RBF(), False).unit_diagonal
    assert not Measure(Linear(), False).unit_diagonal


def test_limits_are_those_of_the_measure():
    similarity, distance = Measure(Chi2()), Measure(Chi2(), measure="distance")
    assert similarity.threshold("search", 0.5, None) == 0.5
    assert similarity.threshold("search", -2, None) == -2.0
    assert distance.threshold("search", None, 0.5) == -0.25
    for measure, limits, message in [
        (similarity, (None, None), "an index that ranks by similarity needs min_similarity and no other limit"),
        (similarity, (None, 0.5), "ranks by similarity needs min_similarity"),
        (similarity, (0.5, 0.5), "no other limit"),
        (distance, (0.5, None), "an index that ranks by distance needs max_distance"),
        (distance, (None, -1.0), r"needs max_distance to be a finite number.*; got -1\.0"),
        (similarity, (np.nan, None), "needs min_similarity to be a finite number; got nan"),
        (similarity, (np.inf, None), "needs min_similarity to be a finite number; got inf"),
        (similarity, ("much", None), "needs min_similarity to be a finite number; got 'much'"),
        (similarity, ([0.5], None), r"needs min_similarity to be a finite number; got \[0.5\]"),
        (similarity, (True, None), "needs min_similarity to be a finite number; got True"),
    ]:
        with pytest.raises(InputError, match=message):
            measure.threshold("search", *limits)


def test_rows_become_double_as_they_are():
    assert as_double(X[:, ::2]).flags.c_contiguous
    assert as_double(sparse.csr_array(X)).dtype == np.float64
    np.testing.assert_array_equal(as_double(X), X)


def test_the_best_of_pairs_come_first_and_ties_by_key():
    queries, positions = np.array([1, 0, 1, 1, 0]), np.array([4, 9, 5, 6, 8])
    scores, keys = np.array([2.0, 1.0, 3.0, 2.0, 1.0]), np.array([7, 2, 0, 3, 1])
    found, values = best_of_pairs(3, 2, queries, positions, scores, keys)
    assert found.tolist() == [[8, 9], [5, 6], [-1, -1]]
    assert values.tolist() == [[1.0, 1.0], [3.0, 2.0], [-np.inf, -np.inf]]


def test_pairs_that_come_in_parts_and_twice_are_kept_once(rng):
    scores = rng.integers(0, 4, (5, 40)).astype(float)
    best = Best(5, 6, lambda positions: -positions)
    for _ in range(12):
        queries, positions = rng.integers(0, 5, 30), rng.integers(0, 40, 30)
        best.merge(queries, positions, scores[queries, positions])
        assert (best.thresholds <= best.scores.min(axis=1)).all()
    best.merge(*(part.ravel() for part in (*np.indices((5, 40)), scores)))
    order = np.lexsort((np.broadcast_to(-np.arange(40), (5, 40)), -scores), axis=1)[:, :6]
    np.testing.assert_array_equal(best.positions, order)
    np.testing.assert_array_equal(best.scores, np.take_along_axis(scores, order, axis=1))
    best.merge(np.empty(0, dtype=int), np.empty(0, dtype=int), np.empty(0))
    np.testing.assert_array_equal(best.positions, order)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", [JensenShannon(), Chi2(signed=True), BrayCurtis(), RBF(), Linear()], ids=repr)
def test_rounding_takes_no_similarity_of_equal_or_opposite_rows_beyond_one(kernel, make):
    rng = np.random.default_rng(0)
    rows = (rng.random((300, 200)) * (rng.random((300, 200)) < 0.1)).astype(np.float32)
    X, opposite = make(rows), make(-rows)
    index = KernelIndex(kernel).fit(X).add(X)
    exact = exact_knn(index.kernel_, X, X, k=1)
    assert exact[1].max() <= 1
    for found in (index.search(X, k=1), index.search(X, k=1, exact=True)):
        np.testing.assert_array_equal(found, exact)
    for i in range(40):  # one query has ways of its own
        np.testing.assert_array_equal(index.search(X[[i]], k=1), [exact[0][[i]], exact[1][[i]]])
    if getattr(kernel, "signed", isinstance(kernel, Linear)):
        assert index.search(opposite, k=300)[1].min() >= -1


def test_values_of_a_function_that_may_be_indefinite_are_left_as_they_are():
    values = np.array([1.5, -1.5])
    assert Measure(CallableKernel(np.inner)).cut(values).tolist() == [1.5, -1.5]
    assert Measure(Chi2(), normalize=False).cut(values).tolist() == [1.5, -1.5]
    assert Measure(Chi2()).cut(values).tolist() == [1, -1]
