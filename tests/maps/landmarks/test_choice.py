"""Landmark rules: the distribution they promise, what they cost, and what they do with repeated rows."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse, stats

from mercer import InputError, thread_limit
from mercer.kernels import RBF, Chi2, JensenShannon, Linear
from mercer.maps.landmarks import choice as _landmarks
from mercer.maps.landmarks.choice import LANDMARK_RULES, choose_landmarks

RULES = list(LANDMARK_RULES)
ADAPTIVE = ["kmeans++", "rpcholesky"]


def choose(X, rule, n_landmarks, seed=0, kernel=None, **options):
    kernel = kernel or Chi2()
    return choose_landmarks(kernel, X, rule, n_landmarks, random_state=np.random.RandomState(seed), **options)


@pytest.fixture
def histograms(rng):
    return rng.dirichlet(np.full(10, 0.5), size=400)


def nystroem_error(K, indices):
    """Trace of what the landmarks leave of K."""
    Z = K[np.ix_(indices, indices)]
    return np.trace(K) - np.trace(K[:, indices] @ np.linalg.pinv(Z, hermitian=True) @ K[indices])


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_picks_different_rows_and_repeats_with_its_seed(rule, histograms):
    rows, indices = choose(histograms, rule, 150)
    assert len(set(indices)) == 150
    np.testing.assert_array_equal(rows, histograms[indices])
    np.testing.assert_array_equal(choose(histograms, rule, 150)[1], indices)
    assert not np.array_equal(choose(histograms, rule, 150, seed=1)[1], indices)


def second_pick_weights(rule, K):
    """Row i: the weights with which the second landmark is drawn after i, from the definition of the rule."""
    diagonal = np.diag(K)
    if rule == "kmeans++":
        return diagonal[:, None] + diagonal - 2 * K
    return diagonal - K**2 / diagonal[:, None]


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_proposals_and_rejections_give_the_distribution_of_one_pick_at_a_time(rule):
    X = np.array([[1.0, 0.0], [0.9, 0.2], [0.0, 1.5], [0.1, 0.4], [2.0, 1.9]])
    K = Linear()(X)
    first = np.full(5, 0.2) if rule == "kmeans++" else np.diag(K) / np.trace(K)
    second = second_pick_weights(rule, K)
    expected = first[:, None] * second / second.sum(axis=1, keepdims=True)
    generator = np.random.RandomState(0)
    runs = 1500
    pairs = Counter(tuple(LANDMARK_RULES[rule](Linear(), X, 2, generator, 1)) for _ in range(runs))
    possible = [(i, j) for i in range(5) for j in range(5) if i != j and expected[i, j] * runs > 5]
    counts = [pairs[pair] for pair in possible]
    probabilities = [expected[pair] for pair in possible]
    rest = runs - sum(counts), 1 - sum(probabilities)
    result = stats.chisquare([*counts, rest[0]], [p * runs for p in [*probabilities, rest[1]]])
    assert result.pvalue > 0.01


def test_random_pivots_beat_a_uniform_sample_on_unbalanced_clusters(rng):
    sizes = [900, 50, 30, 15, 5]
    centres = rng.normal(scale=6, size=(5, 4))
    X = np.concatenate([c + rng.normal(scale=0.5, size=(n, 4)) for c, n in zip(centres, sizes, strict=True)])
    kernel = RBF(0.2)
    K = kernel(X)
    errors = {
        rule: np.mean([nystroem_error(K, choose(X, rule, 25, seed, kernel)[1]) for seed in range(10)]) for rule in RULES
    }
    assert errors["rpcholesky"] < 0.8 * errors["uniform"]  # measured 0.70
    assert errors["rpcholesky"] < errors["kmeans++"]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", [Chi2(), JensenShannon(), RBF(1.0)], ids=repr)
@pytest.mark.parametrize("rule", ADAPTIVE)
def test_repeated_rows_are_chosen_once(rule, kernel, dtype, histograms, rng):
    distinct = histograms[:12].astype(dtype)
    X = distinct[rng.integers(0, 12, 500)]
    for data in (X, sparse.csr_array(X)):
        rows, indices = choose(data, rule, 100, kernel=kernel)
        assert rows.dtype == dtype
        assert len(indices) == 12
        np.testing.assert_array_equal(np.unique(X[indices], axis=0), np.unique(distinct, axis=0))


def test_pivots_end_when_their_span_holds_every_row(rng):
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 40))
    assert len(choose(X, "rpcholesky", 60, kernel=Linear())[1]) == 5
    assert len(choose(X.astype("f4"), "rpcholesky", 60, kernel=Linear())[1]) == 5


def test_the_residual_that_steers_the_pivots_is_the_true_one(histograms, monkeypatch):
    extend, steps = _landmarks._extend_factor, []

    def watched(kernel, X, factor, k, pivots, cholesky, weights, n_jobs):
        extend(kernel, X, factor, k, pivots, cholesky, weights, n_jobs)
        steps.append((pivots, weights.copy()))

    monkeypatch.setattr(_landmarks, "_extend_factor", watched)
    _, indices = choose(histograms, "rpcholesky", 120)
    assert len(steps) > 1
    K = Chi2()(histograms)
    for step in range(len(steps)):
        chosen = np.concatenate([pivots for pivots, _ in steps[: step + 1]])
        projected = K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ K[chosen]
        np.testing.assert_allclose(steps[step][1], np.diag(K - projected), atol=1e-9)
    np.testing.assert_array_equal(chosen, indices)


@pytest.mark.parametrize("rule", RULES)
def test_few_rows_are_all_landmarks(rule, histograms):
    rows, indices = choose(histograms[:20], rule, 20)
    np.testing.assert_array_equal(indices, np.arange(20))
    np.testing.assert_array_equal(rows, histograms[:20])


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_all_zero_rows_give_one_landmark(rule):
    assert len(choose(np.zeros((50, 3)), rule, 10)[1]) == 1


@pytest.mark.parametrize("rule", RULES)
def test_sparse_rows_give_the_landmarks_of_dense_rows(rule, histograms):
    X = histograms * (histograms > 0.05)
    rows, indices = choose(sparse.csr_array(X), rule, 60)
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(indices, choose(X, rule, 60)[1])


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_landmarks_do_not_depend_on_the_number_of_threads(rule, rng):
    X = rng.dirichlet(np.full(6, 0.5), size=5000).astype("f4")
    with thread_limit(1):
        alone = choose(X, rule, 200)[1]
    with thread_limit(2):
        together = choose(X, rule, 200)[1]
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(choose(X, rule, 200, n_jobs=2)[1], alone)


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_candidates_can_be_limited_to_a_sample(rule, histograms, monkeypatch):
    looked_at = []
    monkeypatch.setitem(LANDMARK_RULES, rule, lambda kernel, X, n, *_: looked_at.append(len(X)) or np.arange(n))
    _, indices = choose(histograms, rule, 7, max_candidates=50)
    assert looked_at == [50]
    assert indices.max() > 7  # positions in all rows, not in the sample
    choose(histograms, rule, 60, max_candidates=50)
    assert looked_at == [50, 60]
    monkeypatch.setattr(_landmarks, "FACTOR_BYTES", 100 * 7 * 8)
    choose(histograms, rule, 7)
    assert looked_at == [50, 60, 100]


def test_landmarks_can_be_given_by_position_or_by_value(histograms):
    rows, indices = choose(histograms, np.array([5, 3, 8]), None)
    np.testing.assert_array_equal(rows, histograms[[5, 3, 8]])
    assert indices.tolist() == [5, 3, 8]
    given = np.full((2, 10), 0.1)
    for landmarks in (given, given.tolist(), sparse.csr_matrix(given)):
        rows, indices = choose(histograms.astype("f4"), landmarks, None)
        assert indices is None
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, given.astype("f4"))


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        ("uniforn", "`landmarks` must be 'uniform', 'kmeans"),
        (np.array([0, 400]), "has 400 rows to choose landmarks from, but landmarks names 400"),
        (np.array([0.5, 1.5]), "got an array of shape \\(2,\\) and type float64"),
        (np.ones((2, 9)), "got landmarks of 9 features for rows of 10 features"),
        (-np.ones((2, 10)), "needs values >= 0, but landmarks\\[0, 0\\] is -1"),
    ],
)
def test_landmarks_that_cannot_be_used_are_refused(landmarks, message, histograms):
    with pytest.raises(InputError, match=message):
        choose(histograms, landmarks, 10)


@pytest.mark.parametrize("wrong", [{"n_landmarks": 0}, {"n_landmarks": 2.5}, {"max_candidates": -1}])
def test_counts_must_be_positive_whole_numbers(wrong, histograms):
    with pytest.raises(InputError, match=f"`{next(iter(wrong))}` must be an integer >= 1"):
        choose(histograms, "rpcholesky", **{"n_landmarks": 10, **wrong})
