"""An index in a store, whichever it is: rows come and go by their ids, and answers are those of brute force."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer import InputError, KernelIndex, SearchModel, StoreIndex
from mercer.search.model.measure import Measure
from tests.search.index_samples import answer, as_storage, brute_force, histograms, index

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")]
X = histograms(120)
Q = histograms(15, seed=7)
THOROUGH = {"oversample": 1000}  # all rows are candidates: the answer is that of brute force


@pytest.fixture(params=["postgres", "milvus"])
def place(request):
    return request.getfixturevalue(request.param)


# ------------------------------------------------------------------------------------------------- the same answers

KINDS = {
    "similarities_of_unequal_rows": (False, {"normalize": False}),
    "distances_of_sparse_unequal_rows": (True, {"normalize": False, "measure": "distance"}),
    "sparse_rows_in_bytes": (True, {"vectors": "uint8"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_pushed_index_answers_as_the_index_itself(place, kind):
    is_sparse, parameters = KINDS[kind]
    rows, queries = as_storage(X * np.linspace(1, 3, 120)[:, None], is_sparse), as_storage(Q, is_sparse)
    made = index(rows, **THOROUGH, **parameters)
    made.remove([5, 17])
    ids, values = made.search(queries, 6)
    with made.push(place, "shop") as pushed, KernelIndex.connect(place, "shop") as opened:
        for found in (pushed, opened):
            assert isinstance(found, StoreIndex)
            assert len(found) == 118
            for how in ({}, {"exact": True}):
                np.testing.assert_array_equal(found.search(queries, 6, **how)[0], ids)
                np.testing.assert_array_equal(found.search(queries, 6, **how)[1], values)


def test_without_reranking_inner_products_stand_for_the_kernel(place):
    for measure in ("similarity", "distance"):
        made = index(X, "js", n_components=40, measure=measure)
        with made.push(place, f"by_{measure}", method="exact") as found:
            estimates = found.search(Q, 10, rerank=False)[1]
            exact = found.search(Q, 10)[1]
            assert np.abs(estimates - exact).max() < 0.1  # measured 0.02 and 0.06: the embedding is cut
            products = found.embed(Q) @ found.embed(X).T
            best = np.sort(products, axis=1)[:, ::-1][:, :10]
            shown = np.sqrt(np.maximum(2 - 2 * best, 0)) if measure == "distance" else best
            np.testing.assert_allclose(estimates, shown, atol=2e-3)  # a root magnifies what float32 loses


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "update", "remove"]),
        st.lists(st.sampled_from(["a", "b", "it's", 'q"\\', "ü", "id) OR (1=1"]), unique=True, min_size=1, max_size=4),
        st.integers(0, 30),
    ),
    max_size=6,
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
def test_an_index_in_a_store_is_a_dictionary_of_rows(place, steps):
    made = index(X, "js", add=False, **THOROUGH).add(X[:1], ["first"])
    with made.push(place, "life", replace=True) as found:
        rows = {"first": X[0]}
        for verb, ids, start in steps:
            new = X[start : start + len(ids)]
            refused = [value for value in ids if (value in rows) == (verb == "add")]
            change = {
                "add": lambda: found.add(new, ids),
                "update": lambda: found.update(new, ids),
                "remove": lambda: found.remove(ids),
            }[verb]
            if refused:
                with pytest.raises(
                    InputError, match=r"in the index. Nothing was added|found no row with the id"
                ) as error:
                    change()
                assert any(f"id {value!r}" in str(error.value) for value in refused)
            else:
                change()
                if verb == "remove":
                    rows = {value: row for value, row in rows.items() if value not in ids}
                else:
                    rows.update(zip(ids, new, strict=True))
            check(found, rows)


def check(found, rows):
    assert len(found) == len(rows)
    for value in ("a", 'q"\\', "first"):
        assert (value in found) == (value in rows)
    kept = np.stack(list(rows.values())) if rows else np.empty((0, 10))
    wanted = brute_force(Measure.of(found.model_), kept, Q[:3], 4, list(rows)) if rows else ([[]] * 3, [[]] * 3)
    assert answer(found.search(Q[:3], 4)) == wanted
    assert answer(found.search(Q[:3], 4, exact=True)) == wanted
    some = [value for value in rows if value > "b"]
    if some:
        allowed = [value in some for value in rows]
        filtered = brute_force(Measure.of(found.model_), kept, Q[:3], 4, list(rows), allowed)
        assert answer(found.search(Q[:3], 4, filter=some)) == filtered


# -------------------------------------------------------------------------------------------- filters and payload


def test_a_condition_in_the_language_of_the_store_filters_and_finds_k_rows_if_there_are(place):
    made = index(histograms(1200, seed=3), add=False)
    with made.push(place, "shop", id_column="article") as found:
        found.add(histograms(1200, seed=3), np.arange(1200))
        ids, _ = found.search(Q, 10, filter="article >= 1190")
        assert {tuple(sorted(row)) for row in ids.tolist()} == {tuple(range(1190, 1200))}
        few, values = found.search(Q[:1], 4, filter="article in (3, 8)" if place[0] == "p" else "article in [3, 8]")
        assert sorted(few[0].tolist()) == [-1, -1, 3, 8]
        assert np.isinf(values[0, 2:]).all()
        listed, _ = found.search(Q, 10, filter=range(1190, 1200))
        np.testing.assert_array_equal(listed, ids)


def test_rows_that_the_store_does_not_keep_come_from_a_function(place):
    made = index(X, **THOROUGH)
    asked = []

    def rows(ids):
        asked.extend(ids)
        return X[ids]

    made.push(place, "bare", vectors=None).close()
    with KernelIndex.connect(place, "bare", rows=rows) as found:
        ids, values = made.search(Q, 5)
        np.testing.assert_array_equal(found.search(Q, 5)[0], ids)
        np.testing.assert_array_equal(found.search(Q, 5, exact=True)[1], values)
        assert len(asked) == 3 * 120 - 120  # each row once per search, not once per query
        found.rows = lambda ids: X[:3]
        with pytest.raises(InputError, match=r"rows\(ids\) must return 120 rows, but returned 3"):
            found.search(Q, 5)
    with KernelIndex.connect(place, "bare") as found:
        with pytest.raises(InputError, match=r"does not store them .* Connect with rows="):
            found.search(Q, 5)
        assert found.search(Q, 5, rerank=False)[0].shape == (15, 5)


# ---------------------------------------------------------------------------------------------- one embedding only


def test_another_embedding_is_refused(place):
    made, other = index(X), index(X, n_components=11)
    with made.push(place, "shop") as found:
        written = found.fingerprint_
        KernelIndex.connect(place, "shop", model=made).close()
        KernelIndex.connect(place, "shop", model=SearchModel(**made.model_.get_params()).fit(X)).close()  # same seed
        with pytest.raises(InputError, match=rf"filled with a different embedding \(fingerprint {written}\)"):
            KernelIndex.connect(place, "shop", model=other)
        with pytest.raises(InputError, match=r"shop of .* already holds an index"):
            other.push(place, "shop")
        assert len(found) == 120
        with other.push(place, "shop", replace=True) as newer:
            assert newer.fingerprint_ != written
            for change in (lambda: found.add(X[:1], [999]), lambda: found.remove([1])):
                with pytest.raises(InputError, match=r"has got a different embedding since it was opened"):
                    change()
            newer.drop()
        with pytest.raises(InputError, match=r"has no index of Mercer in the \w+ shop"):
            KernelIndex.connect(place, "shop")


REFUSED = {
    "ids that are made up": (lambda i: i.add(X[:2], None), "needs ids, because other programs"),
    "an id twice": (lambda i: i.add(X[:2], [500, 500]), "the id 500 occurs more than once. Nothing was changed"),
    "an id of the other type": (lambda i: i.add(X[:1], ["x"]), "needs integers as ids in shop, got 'x'"),
    "too few ids": (lambda i: i.add(X[:3], [500]), "there are 3 rows and 1 ids"),
    "some that are there": (lambda i: i.add(X[:2], [500, 7]), "got the id 7, which is already in the index"),
    "rows of a different width": (lambda i: i.add(X[:2, :4], [500, 501]), "expecting 10 features"),
    "no number of rows": (lambda i: i.search(Q, 0), "`k` must be an integer >= 1; got 0"),
    "a function as a filter": (lambda i: i.search(Q, 2, filter=lambda v: True), "cannot use a Python function"),
    "relaxed bounds": (lambda i: i.search(Q, 2, exact="probable"), "`exact` must be True or False; got 'probable'"),
    "a payload in an own column": (lambda i: i.add(X[:1], [500], {"id": [1]}), "own columns .id, embedding, features"),
    "a short payload": (lambda i: i.add(X[:2], [500, 501], {"year": [1]}), "needs 2 values for the column 'year'"),
}  # fmt: skip


def test_what_cannot_be_done_is_refused_and_changes_nothing(place):
    with index(X).push(place, "shop") as found:
        for refused, message in REFUSED.values():
            with pytest.raises(ValueError, match=message):
                refused(found)
        assert len(found) == 120
        assert 500 not in found


def test_an_index_of_codes_only_or_of_mixed_ids_cannot_be_pushed(place):
    with pytest.raises(InputError, match=r"push needs the rows"):
        index(X, vectors=None).push(place, "shop")
    with pytest.raises(InputError, match=r"all integers or all strings"):
        index(X[:2], add=False).add(X[:2], ["a", 1]).push(place, "shop")


@pytest.mark.parametrize("place", ["mysql://host/db", "shop.index", 3])
def test_a_place_that_is_no_store_is_refused(place):
    with pytest.raises(InputError, match=r"A store must be postgresql://"):
        KernelIndex.connect(place, "shop")
