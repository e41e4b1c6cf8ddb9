"""Vocabularies: which clusters they find, and how often approximate assignment finds the nearest word."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import InputError, Intersection
from mercer.vision import Vocabulary


@pytest.fixture
def histograms(rng):
    """Sparse-ish histograms around forty centers."""
    centres = rng.gamma(0.5, size=(40, 12))
    return rng.gamma(4, centres[rng.integers(40, size=3000)] / 4 + 0.01).astype(np.float32)


@parametrize_with_checks([Vocabulary(3, random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the checks look at the class, hardly at its parameters
@parametrize_with_checks([Vocabulary(3, assignment="hnsw"), Vocabulary(3, assignment="ivf")])
def test_scikit_learns_checks_of_variants(estimator, check):
    check(estimator)


@pytest.mark.parametrize("assignment", ["exact", "hnsw", "ivf"])
def test_agreement_is_the_share_of_rows_with_the_nearest_word(histograms, assignment):
    vocabulary = Vocabulary(300, assignment=assignment, random_state=0).fit(histograms)
    distances = ((histograms[:, None].astype(np.float64) - vocabulary.words_) ** 2).sum(axis=2)
    found = vocabulary.predict(histograms)
    share = np.mean(found == distances.argmin(axis=1))
    assert vocabulary.agreement(histograms) == pytest.approx(share, abs=1e-3)  # ties of float32
    assert share > (0.999 if assignment == "exact" else 0.9)
    words, squared = vocabulary.nearest(histograms[:50], k=4)
    np.testing.assert_allclose(squared, np.take_along_axis(distances[:50], words, 1), rtol=1e-3, atol=1e-4)  # eps |x|^2
    assert (np.diff(squared) >= 0).all()


def test_rows_whose_lists_hold_too_few_words_are_compared_with_all(histograms):
    vocabulary = Vocabulary(300, assignment="ivf", random_state=0).fit(histograms)
    words, squared = vocabulary.nearest(histograms, k=300)
    assert np.isfinite(squared).all()
    np.testing.assert_array_equal(np.sort(words, axis=1)[::100], np.tile(np.arange(300), (30, 1)))


def kernel_objective(X, labels, n_words):
    """sum_x |phi(x) - mean of its cluster|^2 in the feature space of the intersection kernel, by its Gram matrix."""
    K = Intersection()(X)
    loss = np.trace(K)
    for i in range(n_words):
        rows = labels == i
        if rows.any():
            loss -= K[np.ix_(rows, rows)].sum() / rows.sum()
    return loss


def test_intersection_clusters_are_tighter_in_the_space_of_the_kernel(histograms):
    X = histograms[:1500].astype(np.float64)
    losses = {
        method: kernel_objective(X, Vocabulary(40, method=method, n_iter=50, random_state=0).fit(X).predict(X), 40)
        for method in ("kmeans", "intersection")
    }
    # kernel k-means itself: passes of [wu09beyond] Algorithm 1 on the Gram matrix, from the same number of clusters
    K = Intersection()(X)
    labels = np.random.RandomState(0).randint(0, 40, len(X))
    for _ in range(30):
        onehot = np.eye(40)[labels] / np.maximum(np.bincount(labels, minlength=40), 1)
        labels = ((onehot * (K @ onehot)).sum(axis=0) - 2 * K @ onehot).argmin(axis=1)
    exact = kernel_objective(X, labels, 40)
    assert losses["intersection"] < 0.97 * losses["kmeans"]
    assert losses["intersection"] < 1.02 * exact  # different local minima


def test_words_do_not_depend_on_threads(histograms):
    for method in ("kmeans", "intersection"):
        one, two = (Vocabulary(50, method=method, random_state=0, n_jobs=n).fit(histograms) for n in (1, 2))
        np.testing.assert_array_equal(one.words_, two.words_)
        np.testing.assert_array_equal(one.predict(histograms), two.predict(histograms))


@pytest.mark.parametrize("method", ["kmeans", "intersection"])
@pytest.mark.parametrize("assignment", ["exact", "hnsw", "ivf"])
def test_copies_and_files_give_the_same_words(histograms, method, assignment, tmp_path, monkeypatch):
    monkeypatch.setitem(mercer._NAMES, "Vocabulary", "mercer.vision")
    vocabulary = Vocabulary(60, method=method, assignment=assignment, random_state=0).fit(histograms)
    mercer.save(vocabulary, tmp_path / "v.mercer")
    copies = mercer.load(tmp_path / "v.mercer"), pickle.loads(pickle.dumps(vocabulary))
    for copied in (*copies, clone(vocabulary).fit(histograms)):
        np.testing.assert_array_equal(copied.predict(histograms), vocabulary.predict(histograms))


def test_no_more_rows_than_asked_for_are_learnt_from(histograms):
    few = Vocabulary(50, n_samples=50, random_state=0).fit(histograms)
    rows = {row.tobytes() for row in histograms}
    assert all(word.tobytes() in rows for word in few.words_)  # each is the mean of one row


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_words": 0}, "`n_words` must be an integer >= 1"),
        ({"n_words": 3001}, "n_samples=3000 for n_words=3001"),
        ({"method": "median"}, "'kmeans', 'intersection'"),
        ({"assignment": "lsh"}, "'exact', 'hnsw', 'ivf'"),
        ({"n_samples": 2.5}, "n_samples"),
        ({"n_iter": 0}, "n_iter"),
    ],
)
def test_parameters_without_a_meaning_are_refused(histograms, parameters, words):
    with pytest.raises(InputError, match=words):
        Vocabulary(**{"n_words": 5, **parameters}).fit(histograms)


def test_rows_without_a_meaning_are_refused(histograms):
    with pytest.raises(ValueError, match="Negative values"):
        Vocabulary(5, method="intersection").fit(-histograms)
    with pytest.raises(InputError, match="5 words, got k=6"):
        Vocabulary(5).fit(histograms).nearest(histograms, k=6)


@pytest.mark.parametrize("words", [np.zeros((5, 3), "f4"), np.zeros((5, 12)), np.full((5, 12), np.nan, "f4"), None])
def test_a_loaded_vocabulary_that_does_not_fit_together_is_refused(histograms, words):
    vocabulary = Vocabulary(5).fit(histograms)
    vocabulary._check_loaded()
    vocabulary.words_ = words
    with pytest.raises(ValueError, match=r"words_ must (be|have shape)"):
        vocabulary._check_loaded()
