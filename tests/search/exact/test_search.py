"""Exact search finds what brute force finds: the same rows in the same order, whatever kernel, data and filter."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import InputError, KernelIndex
from mercer.kernels import KERNELS, Chi2, JensenShannon, get_kernel
from mercer.search import Certificate, exact_knn
from mercer.search.exact import bounds as _bounds
from mercer.search.exact import directions as _directions
from mercer.search.exact import search as _exact
from mercer.search.exact import searcher as _searcher
from mercer.search.exact.bounds import Bounds
from mercer.search.exact.directions import Directions, level_ends
from mercer.search.exact.search import search_bounded
from mercer.search.model.measure import Measure
from tests.pairs import all_pairs
from tests.search.index_samples import answer, as_storage, brute_force, histograms, index

CASES = {name: get_kernel(name) for name in KERNELS} | {
    "js-signed": JensenShannon(signed=True),
    "sum": Chi2() + 0.5 * get_kernel("rbf"),
    "product": Chi2() * get_kernel("laplacian"),
}


@pytest.fixture(autouse=True)
def many_small_chunks(monkeypatch):
    """Several chunks, rounds and levels, on few rows."""
    monkeypatch.setattr(_bounds, "CHUNK_ROWS", 64)
    monkeypatch.setattr(_directions, "WIDTHS", (4, 32, 96))
    monkeypatch.setattr(_exact, "SEED_STRIPS", 2)
    monkeypatch.setattr(_exact, "ROUNDS", (0, 0.5, 1))
    monkeypatch.setattr(_searcher, "BRUTE_FORCE_ROWS", 0)


def adversarial(seed=0, n=140, d=7):
    """Rows twice, rows of nothing, rows that differ in the last bit, large and small rows; float32."""
    X = histograms(n, d, seed)
    rng = np.random.default_rng(seed)
    X[10:14] = X[30]
    X[40] = X[41] = 0
    X[50] = np.nextafter(X[51], np.float32(1))
    X[55:60] *= 10.0 ** rng.integers(-9, 9, (5, 1)).astype(np.float32)
    X[60, 1:] = 0
    return X


def made_bounds(measure, X, n_landmarks=24):
    """Bounds of rows that came in two parts."""
    directions = Directions(measure, n_landmarks=n_landmarks, random_state=0).fit(X)
    some = Bounds(directions).extended(min(73, X.shape[0]), lambda positions: X[positions])
    return some.extended(X.shape[0], lambda positions: X[positions])


def exact(measure, X, Q, k, keys=None, allowed=None, limits=None, n_landmarks=24, first_of=None):
    """`search_bounded` of rows that came in two parts, (positions, scores) and the evaluations."""
    bounds = made_bounds(measure, X, n_landmarks)
    keys_of = (lambda positions: positions) if keys is None else (lambda positions: keys[positions])
    take = X.__getitem__
    return search_bounded(bounds, measure, Q, k, take, keys_of, allowed, limits, first_of=first_of)


def assert_as_brute_force(measure, X, Q, k, keys=None, allowed=None, n_landmarks=24):
    (positions, scores), evaluations = exact(measure, X, Q, k, keys, allowed, n_landmarks=n_landmarks)
    ids = np.arange(X.shape[0]) if keys is None else keys
    found, values = brute_force(measure, X, Q, k, ids.tolist(), allowed)
    got = [ids[row[row >= 0]].tolist() for row in positions]
    assert got == found
    assert [row[np.isfinite(row)].tolist() for row in scores] == values
    assert (evaluations <= (X.shape[0] if allowed is None else allowed.sum())).all()  # no row is scored twice


# -------------------------------------------------------------------------------------------------- as brute force


@pytest.mark.parametrize(
    ("name", "normalize", "kind", "is_sparse"),
    all_pairs(list(CASES), [True, False], ["similarity", "distance"], [False, True]),
)
def test_every_kernel_and_measure(name, normalize, kind, is_sparse):
    X, Q = adversarial(), np.concatenate([adversarial(1)[:4], adversarial()[[11, 40, 51, 57]]])
    rows, queries = as_storage(X, is_sparse), as_storage(Q, is_sparse)
    measure = Measure(CASES[name], normalize, kind)
    assert_as_brute_force(measure, rows, queries, 5)
    allowed = np.arange(len(X)) % 3 > 0
    assert_as_brute_force(measure, rows, queries, 8, np.arange(len(X))[::-1] % 50, allowed)


@pytest.mark.parametrize("k", [1, 140])
@pytest.mark.parametrize("n_landmarks", [1, 5, 140])
def test_one_neighbour_all_of_them_and_rows_that_are_landmarks(k, n_landmarks):
    X = adversarial()
    assert_as_brute_force(Measure(Chi2(), False, "distance"), X, X[::5], k, n_landmarks=n_landmarks)


@pytest.mark.parametrize("kind", ["similarity", "distance"])
@pytest.mark.parametrize("name", ["linear", "chi2", "hellinger"])
def test_scores_that_single_precision_cannot_tell_apart(name, kind, rng):
    # components span the rows, so that bounds leave no more room than rounding does
    X = (np.array([0.5, 0.3, 0.2]) + 1e-4 * rng.random((300, 3))).astype(np.float32)
    Q = np.concatenate([X[:4], rng.random((6, 3), dtype=np.float32)])
    for normalize in (True, False):
        assert_as_brute_force(Measure(CASES[name], normalize, kind), X, Q, 6, n_landmarks=60)


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_equal_rows_come_in_the_order_of_their_keys(kind):
    X = np.tile(histograms(1, 6), (40, 1))
    keys = np.random.default_rng(0).permutation(40)
    (positions, _), _ = exact(Measure(Chi2(), True, kind), X, X[:2], 7, keys)
    assert keys[positions].tolist() == [list(range(7))] * 2


@settings(max_examples=80)
@given(data=st.data())
def test_whatever_the_rows(data):
    kernel = CASES[data.draw(st.sampled_from(sorted(CASES)))]
    measure = Measure(kernel, data.draw(st.booleans()), data.draw(st.sampled_from(["similarity", "distance"])))
    n, d = data.draw(st.integers(24, 50)), data.draw(st.integers(1, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    levels = data.draw(st.sampled_from([2, 4, 1000]))  # few levels: many ties
    X = (rng.integers(0, levels, (n, d)) / levels * rng.choice([1.0, 1e-3, 1e3], (n, 1))).astype(np.float32)
    X *= np.float32(data.draw(st.sampled_from([1.0, 1e-6, 1e6])))
    allowed = rng.random(n) < data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    Q = np.concatenate([X[rng.integers(0, n, 2)], rng.random((2, d), dtype=np.float32)])
    k = data.draw(st.integers(1, n))
    rows = as_storage(X, data.draw(st.booleans()))
    assert_as_brute_force(measure, rows, as_storage(Q, rows is not X), k, rng.permutation(n), allowed, n_landmarks=16)


@pytest.mark.parametrize(
    ("name", "kind", "scale"),
    all_pairs(["linear", "chi2", "jensen-shannon"], ["similarity", "distance"], [1e-30, 1e-18, 1e17, 1e30]),
)
def test_rows_at_the_ends_of_single_precision(name, kind, scale):
    X = histograms(60, 7) * np.float32(scale)
    for normalize in (True, False):
        measure = Measure(CASES[name], normalize, kind)
        if measure.energy(X).max() < 1e37:
            assert_as_brute_force(measure, X, X[:5], 4)
        else:
            with pytest.raises(InputError, match=r"up to 1e.37, but found K.x, x. = .* Scale the"):
                exact(measure, X, X[:5], 4)


@pytest.mark.parametrize("name", ["chi2", "linear", "rbf"])
def test_all_rows_above_a_limit_and_none_below(name):
    X, Q = adversarial(), adversarial(1)[:6]
    for kind, normalize in (("similarity", True), ("distance", False)):
        measure = Measure(CASES[name], normalize, kind)
        every = [measure.scores(Q, X, np.full(140, q), np.arange(140)) for q in range(6)]
        limit = float(np.sort(np.concatenate(every))[-60])  # a score that occurs: it is within
        (queries, positions, scores), _ = exact(measure, X, Q, None, limits=limit)
        want = [
            (q, row, -cost) for q in range(6) for cost, row in sorted(zip(-every[q], range(140), strict=True))
            if -cost >= limit
        ]  # fmt: skip
        assert list(zip(queries.tolist(), positions.tolist(), scores.tolist(), strict=True)) == want


def test_every_level_ends_with_a_tail():
    assert level_ends(2) == [2]
    assert level_ends(100) == [3, 34, 100]  # of 4, 32 and 96 bytes


# ----------------------------------------------------------------------------------------------- through the index


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("texts", [False, True], ids=["numbers", "texts"])
@pytest.mark.parametrize(("normalize", "kind"), [(True, "similarity"), (False, "distance")])
def test_an_index_with_removed_rows_and_filters_answers_as_brute_force(is_sparse, texts, normalize, kind):
    X, Q = adversarial(n=90), adversarial(1)[:7]
    ids = [f"row {i % 7} {i}" if texts and i % 2 else 1000 - i for i in range(90)]
    made = index(as_storage(X, is_sparse), "jensen-shannon", normalize=normalize, measure=kind, ids=ids)
    made.search(as_storage(Q, is_sparse), 3, exact=True)  # bounds are built here, and extended below
    made.remove(ids[::4]).update(as_storage(X[1:9:4], is_sparse), [ids[2], ids[3]])
    made.add(as_storage(X[::4], is_sparse), ids[::4])
    order = [i for i in range(90) if i % 4 and i not in (2, 3)] + [1, 5] + list(range(0, 90, 4))
    names = [ids[i] for i in range(90) if i % 4 and i not in (2, 3)] + [ids[2], ids[3]] + ids[::4]
    measure = Measure(JensenShannon(), normalize, kind)
    for wanted in (None, names[::3], names[:2], []):
        allowed = None if wanted is None else [name in wanted for name in names]
        found, values = brute_force(measure, X[order], Q, 6, names, allowed)
        got = answer(made.search(as_storage(Q, is_sparse), 6, filter=wanted, exact=True))
        assert got[0] == found
        assert got[1] == [measure.reported(np.array(row)).tolist() for row in values]


def test_range_search_of_an_index_is_that_of_brute_force():
    X, Q = histograms(90), histograms(8, seed=3)
    for kind, limit in (("similarity", {"min_similarity": 0.9}), ("distance", {"max_distance": 0.4})):
        made = index(X, measure=kind).remove([5, 6])
        ids, values = made.range_search(Q, **limit, exact=True)
        rows, nearest = exact_knn("chi2", X, Q, 90, measure=kind)
        for q in range(8):
            within = nearest[q] >= 0.9 if kind == "similarity" else nearest[q] <= 0.4
            kept = within & (rows[q] != 5) & (rows[q] != 6)
            assert ids[q].tolist() == rows[q][kept].tolist()
            assert values[q].tolist() == nearest[q][kept].tolist()
        assert 0 < sum(map(len, ids)) < 8 * 88


def test_a_certificate_counts_what_was_computed(monkeypatch):
    monkeypatch.setattr(_bounds, "CHUNK_ROWS", 512)
    X, Q = histograms(4000, 24, n_centres=60), histograms(50, 24, seed=5, n_centres=60)
    made = index(X, n_landmarks=256)
    made.search(Q, 5, exact=True)
    certificate = made.certificate_
    assert isinstance(certificate, Certificate)
    assert (certificate.exact, certificate.confidence, certificate.n_rows) == (True, 1.0, 4000)
    assert certificate.kernel_evaluations.shape == (50,)
    assert (certificate.kernel_evaluations >= 5).all()
    assert np.median(certificate.kernel_evaluations) < 400  # a tenth of the rows; brute force takes all
    assert "50 queries over 4,000 rows, identical to brute force" in str(certificate)


def words(n, seed, n_topics=30, d=600):
    """Bags of words: rows of few words each, of which two topics share most."""
    topics = np.random.default_rng(98).dirichlet(np.full(d, 0.05), n_topics)
    rng = np.random.default_rng(seed)
    mixed = rng.dirichlet(np.full(n_topics, 0.1), n) @ topics
    counts = rng.multinomial(60, mixed / mixed.sum(axis=1, keepdims=True)).astype(np.float32)
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("ask", ["nearest", "range"])
def test_the_lower_the_confidence_the_fewer_rows_are_evaluated_and_it_holds(ask):
    X, Q = words(1500, 0), words(600, 1)
    made = index(X, n_landmarks=256)
    search = partial(made.search, Q, 5) if ask == "nearest" else partial(made.range_search, Q, min_similarity=0.35)
    truth = [set(row) for row in search(exact=True)[0]]
    counts = [made.certificate_.kernel_evaluations.mean()]
    assert counts[0] > 300  # bounds exclude little here
    for confidence in (0.98, 0.9, 0.7):
        found = [set(row) for row in search(exact="probable", confidence=confidence)[0]]
        certificate = made.certificate_
        covered = [len(some & every) / len(every) for some, every in zip(found, truth, strict=True) if every]
        # the confidence is of the mean over queries like the stored rows; these are some of them
        assert np.mean(covered) + np.std(covered) / np.sqrt(len(covered)) >= confidence
        assert certificate.confidence >= confidence
        assert 0 <= certificate.share_of_tails < 1
        counts.append(certificate.kernel_evaluations.mean())
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0] / 4


def test_a_confidence_that_is_none_is_refused():
    made = index(histograms(60))
    for confidence in (0, 1, 1.5, np.nan, True, "high"):
        with pytest.raises(InputError, match="`confidence` must be"):
            made.search(histograms(2), 3, exact="probable", confidence=confidence)


@pytest.mark.parametrize("found", [0, 2, 20])
def test_candidates_of_a_store_give_the_first_threshold_and_change_no_answer(found):
    X, Q = adversarial(), adversarial(1)[:6]
    measure = Measure(Chi2(), True, "similarity")

    def first_of(Q, k):
        rng = np.random.default_rng(0)
        chosen = np.stack([rng.choice(len(X), found, replace=False) for _ in Q])
        return np.repeat(np.arange(len(Q)), found), chosen.ravel()

    (positions, scores), evaluations = exact(measure, X, Q, 5, first_of=first_of)
    (wanted, values), _ = exact(measure, X, Q, 5)
    assert positions.tolist() == wanted.tolist()
    assert scores.tolist() == values.tolist()
    assert ((evaluations >= found) & (evaluations <= len(X))).all()


def test_a_probable_search_says_how_probable_and_finds_most():
    X = histograms(2000, 24, n_centres=60)
    made = index(X, n_landmarks=256)
    Q = histograms(60, 24, seed=5, n_centres=60)
    truth, _ = made.search(Q, 5, exact=True)
    cost = made.certificate_.kernel_evaluations.sum()
    found, _ = made.search(Q, 5, exact="probable")
    certificate = made.certificate_
    assert not certificate.exact
    assert 0.99 <= certificate.confidence <= 1
    assert certificate.kernel_evaluations.sum() <= cost
    assert np.mean(found == truth) > 0.97
    assert f"confidence {certificate.confidence:.4f}" in str(certificate)


# --------------------------------------------------------------------------------------------------------- refusals


def test_rounded_rows_are_refused_and_searched_as_they_are_stored():
    X = histograms(60)
    made = index(X, vectors="float16")
    with pytest.raises(InputError, match=r"stores 60 of them rounded \(vectors='float16'\)"):
        made.search(X[:2], 3, exact=True)
    found, values = made.search(X[:4], 3, exact="stored")
    rows, nearest = exact_knn("chi2", X.astype(np.float16).astype(np.float32), X[:4], 3)
    assert (found.tolist(), values.tolist()) == (rows.tolist(), nearest.tolist())
    exact_ones = index(X.astype(np.float16).astype(np.float32), vectors="float16")
    exact_ones.search(X[:2], 3, exact=True)


def test_double_rows_that_single_precision_does_not_hold_are_refused():
    X = histograms(60).astype(np.float64)
    assert index(X).search(X[:2], 3, exact=True)[0].shape == (2, 3)  # these it holds
    with pytest.raises(InputError, match="of them rounded"):
        index(X / 3).search(X[:2], 3, exact=True)


def test_whole_numbers_that_single_precision_does_not_hold_are_refused():
    counts = np.arange(2**24, 2**24 + 90).reshape(30, 3)
    assert index(counts // 2, "intersection").search(counts[:2] // 2, 3, exact=True)[0].shape == (2, 3)
    with pytest.raises(InputError, match="stores 30 of them rounded"):
        index(counts, "intersection").search(counts[:2], 3, exact=True)


def test_an_index_without_rows_of_its_own_cannot_be_exact():
    X = histograms(60)
    for ask in ("search", "range_search"):
        made, limit = index(X, vectors=None), {"k": 3} if ask == "search" else {"min_similarity": 0.5}
        with pytest.raises(InputError, match=r"needs the rows, but this index stores codes only"):
            getattr(made, ask)(X[:2], **limit, exact=True)


def test_an_unknown_kind_of_exactness_is_named():
    with pytest.raises(InputError, match="exact to be one of False, True, 'stored', 'probable', got 'very'"):
        index(histograms(60)).search(histograms(2), 3, exact="very")


@pytest.mark.filterwarnings("ignore:.*not positive definite on")
def test_a_kernel_that_is_not_positive_definite_is_reported():
    def indefinite(A, B):
        return 1.0 - np.abs(A[:, None] - B[None]).sum(axis=-1) ** 2

    X = histograms(80)
    with pytest.raises(InputError, match=r"the kernel is not positive definite on this data.* Use exact_knn"):
        index(X, indefinite).search(X[:3], 3, exact=True)
    rows, _ = exact_knn(indefinite, X, X[:3], 1)
    assert rows.ravel().tolist() == [0, 1, 2]


def test_a_certificate_never_counts_more_evaluations_than_there_are_rows():
    X = histograms(200, 16)
    made = index(X, n_landmarks=8)  # loose bounds: most rows are looked at
    for k in (5, 150, 200):
        made.search(X[:5], k, exact=True)
        assert made.certificate_.n_components > 0
        assert (made.certificate_.kernel_evaluations <= 200).all()
    made.search(X[:5], 60, exact=True, filter=range(100))
    assert (made.certificate_.kernel_evaluations <= 100).all()


def test_equal_rows_within_a_limit_come_in_the_order_of_their_ids():
    X = np.repeat(histograms(1, seed=1), 4, axis=0)
    found = index(histograms(60)).add(X, ids=[730, 720, 710, 740])
    ids, _ = found.range_search(X[:1], min_similarity=0.999999, exact=True)
    assert ids[0].tolist() == [710, 720, 730, 740]


def test_bounds_of_distances_drop_rows_far_from_zero_and_near_it(rng):
    X = (rng.normal(size=(2000, 4)) * rng.uniform(0.1, 10, size=(2000, 1))).astype(np.float32)
    found = KernelIndex("linear", measure="distance", normalize=False, effort="low", random_state=0).fit(X).add(X)
    found.search(X[:20], 5, exact=True)
    # four components hold all of a row, so bounds are tight: measured 30 of 2,000
    assert found.certificate_.kernel_evaluations.mean() < 200
