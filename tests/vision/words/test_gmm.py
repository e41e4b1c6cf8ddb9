"""k-means and mixtures of Gaussians: against scikit-learn, and the identities that hold at their ends."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from mercer.vision.words.gmm import Mixture, fit_em, log_densities, mixture_of_clusters, to_posteriors, with_squares
from mercer.vision.words.kmeans import kmeans, nearest_words, sums_of_words


@pytest.fixture
def points(rng):
    """Clusters of different sizes and widths, far from the origin in some columns."""
    centres = rng.normal(size=(6, 5)) * 3 + [0, 40, 0, -7, 0]
    labels = rng.choice(6, 9000, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])
    return (centres[labels] + rng.normal(size=(9000, 5)) * [0.5, 1, 2, 0.1, 1]).astype(np.float32)


# ------------------------------------------------------------------------------------------------------- k-means


def test_kmeans_takes_the_passes_of_lloyd(points):
    start = points[np.sort(np.random.RandomState(3).permutation(len(points))[:7])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        oracle = KMeans(7, init=start, n_init=1, max_iter=4, tol=0, algorithm="lloyd").fit(points)
    # sums of a thousand rows in float32
    np.testing.assert_allclose(
        kmeans(points, 7, np.random.RandomState(3), 4), oracle.cluster_centers_, rtol=1e-4, atol=1e-4
    )


def test_words_are_the_means_of_their_rows_at_the_end(points):
    words = kmeans(points, 5, np.random.RandomState(0), 200)
    labels = nearest_words(points, words)[0][:, 0]
    means = np.stack([points[labels == i].mean(axis=0, dtype=np.float64) for i in range(5)])
    np.testing.assert_allclose(words, means, atol=2e-4)


def test_no_word_stays_without_rows(rng):
    points = np.repeat(rng.normal(size=(9, 3)), [500, 1, 1, 1, 1, 1, 1, 1, 1], axis=0).astype(np.float32)
    words = kmeans(points, 9, np.random.RandomState(0), 20)  # nearly all rows that it starts from are the same
    assert len(np.unique(nearest_words(points, words)[0])) == 9


def test_kmeans_does_not_depend_on_threads_or_on_units(points):
    one, two = (kmeans(np.tile(points, (2, 1)), 20, np.random.RandomState(0), 5, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    tiny = kmeans(np.ldexp(points, -100), 20, np.random.RandomState(0), 5)
    np.testing.assert_array_equal(np.ldexp(tiny, 100), kmeans(points, 20, np.random.RandomState(0), 5))


def test_the_nearest_words_are_those_of_all_distances(points):
    words = points[:40]
    labels, distances = nearest_words(points[:500], words, k=3)
    exact = ((points[:500, None].astype(np.float64) - words) ** 2).sum(axis=2)
    # |x|^2 - 2 x'w + |w|^2 in float32, in any order: (n + 2) roundings of eps / 2 of (|x| + |w|)^2
    longest = np.linalg.norm(points, axis=1).max()
    rounding = (points.shape[1] + 2) * np.finfo(np.float32).eps / 2 * (2 * longest) ** 2
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :3], atol=rounding)
    np.testing.assert_allclose(np.take_along_axis(exact, labels, 1), np.sort(exact, axis=1)[:, :3], atol=2 * rounding)


def test_sums_of_words(rng):
    points, labels = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    labels[labels == 2] = 3
    counts, sums = sums_of_words(labels, points, 5)
    assert counts.tolist() == [np.sum(labels == i) for i in range(5)]
    np.testing.assert_allclose(sums, [points[labels == i].sum(axis=0) for i in range(5)])


# ------------------------------------------------------------------------------------------------------ mixtures


def test_densities_are_those_of_gaussians(rng):
    mixture = Mixture(np.array([0.2, 0.5, 0.3]), rng.normal(size=(3, 4)), rng.uniform(0.5, 2, (3, 4)))
    rows = rng.normal(size=(20, 4)).astype(np.float32)
    exact = np.stack(
        [
            np.log(w) + stats.multivariate_normal(mean, np.diag(variance)).logpdf(rows)
            for w, mean, variance in zip(mixture.weights, mixture.means, mixture.variances, strict=True)
        ],
        axis=1,
    )
    found = log_densities(with_squares(rows), mixture.linear_form())
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
    posteriors, likelihoods = to_posteriors(found)
    np.testing.assert_allclose(likelihoods, np.log(np.exp(exact).sum(axis=1)), rtol=1e-5)
    np.testing.assert_allclose(posteriors, np.exp(exact - likelihoods[:, None]), atol=1e-5)


def test_posteriors_survive_rows_far_from_all_words():
    posteriors, likelihoods = to_posteriors(np.array([[-5000.0, -5001.0]], dtype=np.float32))
    np.testing.assert_allclose(posteriors, [[1 / (1 + np.exp(-1)), 1 / (1 + np.e)]], rtol=1e-6)
    np.testing.assert_allclose(likelihoods, -5000 + np.log1p(np.exp(-1)))


def test_em_takes_the_steps_of_scikit_learn(points, rng):
    start = Mixture(np.full(6, 1 / 6), points[:6].astype(np.float64), np.tile(points.var(axis=0), (6, 1)).astype(float))
    mixture, likelihood = fit_em(points, 6, None, n_iter=8, tol=-np.inf, start=start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        oracle = GaussianMixture(
            6,
            covariance_type="diag",
            max_iter=8,
            tol=0,
            reg_covar=0,
            weights_init=start.weights,
            means_init=start.means,
            precisions_init=1 / start.variances,
        ).fit(points.astype(np.float64))
    # float32 products of standardized values, eight passes
    np.testing.assert_allclose(mixture.weights, oracle.weights_, atol=1e-4)
    np.testing.assert_allclose(mixture.means, oracle.means_, atol=2e-3)
    np.testing.assert_allclose(mixture.variances, oracle.covariances_, rtol=5e-3)
    assert likelihood == pytest.approx(oracle.lower_bound_, abs=1e-4)


def test_em_ends_where_scikit_learn_would_not_go_on(points):
    mixture, likelihood = fit_em(points, 6, np.random.RandomState(0), tol=1e-5)
    oracle = GaussianMixture(
        6,
        covariance_type="diag",
        reg_covar=0,
        tol=1e-4,
        weights_init=mixture.weights,
        means_init=mixture.means,
        precisions_init=1 / mixture.variances,
    ).fit(points.astype(np.float64))
    assert oracle.n_iter_ <= 2
    assert likelihood == pytest.approx(oracle.lower_bound_, abs=2e-4)
    assert likelihood > fit_em(points, 6, np.random.RandomState(0), n_iter=1)[1] + 0.03  # that of the clusters; 0.05


def test_em_does_not_depend_on_threads(points):
    one, two = (fit_em(points, 6, np.random.RandomState(0), 5, n_jobs=n)[0] for n in (1, 2))
    np.testing.assert_array_equal(one.means, two.means)
    np.testing.assert_array_equal(one.variances, two.variances)


def test_the_mixture_of_clusters_has_their_moments(points, rng):
    labels = rng.integers(0, 4, len(points))
    mixture = mixture_of_clusters(points, labels, 4)
    np.testing.assert_allclose(mixture.weights, np.bincount(labels) / len(labels))
    for i in range(4):
        rows = points[labels == i].astype(np.float64)
        np.testing.assert_allclose(mixture.means[i], rows.mean(axis=0), atol=1e-4)
        np.testing.assert_allclose(mixture.variances[i], rows.var(axis=0), rtol=1e-3)


def test_variances_and_weights_never_vanish(rng):
    points = np.repeat(rng.normal(size=(3, 2)), 50, axis=0).astype(np.float32)
    points[:, 1] = 2  # constant
    for mixture in (fit_em(points, 4, np.random.RandomState(0))[0], mixture_of_clusters(points, np.zeros(150, int), 2)):
        assert mixture.weights.min() >= 1 / 200
        assert mixture.variances.min() > 0
        assert np.isfinite(mixture.means).all()
