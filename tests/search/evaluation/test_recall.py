"""Recall against its definition, with ids of both kinds, padding and ties."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import InputError
from mercer.search import recall_1_at, recall_k_at, recall_table


def by_definition(found, true, k, R):
    """Sets, one query after the other."""
    padding = {-1, None}
    shares = [len(set(t[:k]) & (set(f[:R]) - padding)) / k for f, t in zip(found, true, strict=True)]
    return sum(shares) / len(shares)


@st.composite
def searches(draw):
    """(found, true): true rows of different ids, found rows of any, with padding."""
    names = draw(st.sampled_from([range(12), range(-8, -1), range(2**62, 2**62 + 12), "abcdefghijkl"]))
    words = isinstance(names, str)
    n_queries, k, R = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 8))
    anything = st.sampled_from([*names, None if words else -1])
    true = [draw(st.lists(st.sampled_from(names), min_size=k, max_size=k, unique=True)) for _ in range(n_queries)]
    found = [draw(st.lists(anything, min_size=R, max_size=R)) for _ in range(n_queries)]
    return found, true


@given(search=searches(), as_arrays=st.booleans())
def test_recall_is_what_its_definition_says(search, as_arrays):
    found, true = search
    k, R = len(true[0]), len(found[0])
    given_found, given_true = (np.array(found), np.array(true)) if as_arrays else search
    for j in range(1, k + 1):
        for r in range(1, R + 1):
            expected = by_definition(found, true, j, r)
            assert recall_k_at(given_found, given_true, j, r) == pytest.approx(expected, abs=1e-12)
    assert recall_1_at(given_found, given_true, R) == pytest.approx(by_definition(found, true, 1, R), abs=1e-12)
    assert recall_1_at(given_found, [row[0] for row in true], R) == recall_1_at(given_found, given_true, R)


def test_a_row_as_near_as_the_last_neighbour_is_as_good():
    rng = np.random.default_rng(0)
    distances = rng.integers(0, 6, size=(40, 30)).astype(float)  # many equal ones
    true = np.argsort(distances, axis=1, kind="stable")
    other = 29 - np.argsort(distances[:, ::-1], axis=1, kind="stable")  # ties the other way round
    scores = {
        "true_scores": np.take_along_axis(distances, true, axis=1),
        "found_scores": np.take_along_axis(distances, other, axis=1),
    }
    for k in (1, 7, 20):
        assert recall_k_at(other, true, k, k) < 1
        assert recall_k_at(other, true, k, k, **scores) == 1
    assert recall_1_at(other, true, 1, **scores) == 1
    assert (
        recall_1_at(other, true[:, 0], 1, found_scores=scores["found_scores"], true_scores=distances.min(axis=1)) == 1
    )


def test_a_row_that_is_further_or_named_twice_is_not_as_good():
    true, distances = [[1, 2, 3]], [[1.0, 2.0, 2.0]]
    for found, scores, expected in [
        ([[1, 9, 8]], [[1.0, 2.0, 2.0]], 3),
        ([[1, 9, 9]], [[1.0, 2.0, 2.0]], 2),
        ([[9, 2, 3]], [[1.0, 2.0, 2.0]], 2),  # where the nearest lies, but further neighbors are the last
        ([[1, 2, 9]], [[1.0, 2.0, 2.5]], 2),
        ([[1, -1, -1]], [[1.0, 2.0, 2.0]], 1),
    ]:
        assert recall_k_at(found, true, 3, 3, found_scores=scores, true_scores=distances) == expected / 3


def test_the_table_names_what_it_holds():
    rng = np.random.default_rng(0)
    true = np.array([rng.permutation(500)[:100] for _ in range(20)])
    found = np.array([rng.permutation(500)[:100] for _ in range(20)])
    table = recall_table(found, true, neighbors=(1, 10))
    assert list(table) == ["recall_1@1", "recall_1@10", "recall_1@100", "recall_10@10", "recall_10@100"]
    assert table["recall_10@100"] == recall_k_at(found, true, 10, 100)
    assert list(recall_table(found, true)) == ["recall_1@1", "recall_1@10", "recall_1@100"]
    assert set(recall_table(true, true, neighbors=(1, 10, 100)).values()) == {1.0}


def test_ten_thousand_queries_take_no_patience():
    offsets = np.random.default_rng(0).integers(0, 10**6, size=(10_000, 1))
    found = (offsets + 997 * np.arange(1000)) % 10**6  # different ids in each row
    start = time.perf_counter()
    assert recall_k_at(found, found[:, ::-1], 20, 1000) == 1
    assert time.perf_counter() - start < 15, "measured 1 to 2 s on a busy machine"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: recall_k_at([[1, 2]], [[1, 2]], 1, 3), r"found_ids must have the shape .*R=3, got \(1, 2\)"),
        (lambda: recall_k_at([[1, 2]], [[1, 2]], 3, 1), r"true_ids must have .*k=3, got \(1, 2\)"),
        (lambda: recall_k_at([[1, 2], [3]], [[1], [2]], 1, 1), "found_ids must have the shape .*Pad short rows"),
        (lambda: recall_k_at([[1]], [[1], [2]], 1, 1), "got 1 and 2"),
        (lambda: recall_k_at(np.empty((0, 1), int), np.empty((0, 1), int), 1, 1), "got 0 and 0"),
        (lambda: recall_k_at([[1]], [[1]], 0, 1), "k to be an integer >= 1; got 0"),
        (lambda: recall_k_at([[1]], [[1]], 1, 1.0), "R to be an integer >= 1; got 1.0"),
        (lambda: recall_k_at([[1, 2]], [[1, -1]], 2, 2), "must hold 2 neighbors of every query"),
        (lambda: recall_k_at([["a"]], [[None]], 1, 1), "must hold 1 neighbors of every query"),
        (lambda: recall_k_at([["1"]], [[1]], 1, 1), "strings and the other numbers"),
        (lambda: recall_k_at([["a", 1]], [["a"]], 1, 2), "found_ids mixes numbers and strings"),
        (lambda: recall_k_at(np.ones((1, 1)), [[1]], 1, 1), "found_ids needs integers.*float64"),
        (lambda: recall_k_at([[2**63]], [[1]], 1, 1), r"below 2\*\*63"),
        (lambda: recall_k_at([[1]], [[1]], 1, 1, found_scores=[[0.5]]), "or neither"),
        (lambda: recall_1_at([[1]], [1], 1, found_scores=[[1.0]], true_scores=[1.0, 2.0]), r"true_scores.*\(1, 1 "),
        (lambda: recall_table([[1]], [[1]], ranks=1), "needs sequences of ranks"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
