"""Mixtures of Gaussians with diagonal covariances: fitting, and posteriors, by products of blocks of rows.

Notation ([perronnin10improving])
    paper      code          meaning                                                          shape
    w_i        weights       shares of the words                                              (K,)
    mu_i       means         their means                                                      (K, D)
    sigma_i^2  variances     the diagonals of their covariances                               (K, D)
    gamma_t(i) posteriors    share of word i in descriptor t                                  (n, K)

    log w_i N(x; mu_i, sigma_i) = log w_i - 1/2 sum_d (log 2 pi sigma_id^2 + (x_d - mu_id)^2 / sigma_id^2)
                                = c_i + [x, x^2] L_i

so that the densities of a block of rows are one product of matrices, and the sums sum_t gamma_t(i) [x_t, x_t^2] of the
M-step another. scikit-learn's GaussianMixture, the oracle in the tests, works on all rows at once, with temporaries of
n x K numbers in float64; here blocks of float32 rows go through both products one after the other, over threads.
"""

__all__ = ["Mixture", "fit_em", "mixture_of_clusters"]

from dataclasses import dataclass

import numpy as np

from mercer._base.progress import track
from mercer._base.threads import run_row_blocks
from mercer.vision.words.kmeans import kmeans, nearest_words, sums_of_words

BLOCK_ROWS = 4096
FLOOR = 1e-3  # the smallest variance of a word, as a share of that of all rows
KMEANS_PASSES = 10


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians with diagonal covariances, in float64."""

    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def linear_form(self):
        """(L, c), float32, with log w_i N(x; i) = ([x, x^2] @ L + c)_i"""
        precisions = 1 / self.variances
        L = np.concatenate([(self.means * precisions).T, -0.5 * precisions.T])
        c = np.log(self.weights) - 0.5 * (
            np.log(2 * np.pi * self.variances).sum(axis=1) + (self.means**2 * precisions).sum(axis=1)
        )
        return L.astype(np.float32), c.astype(np.float32)

    def restricted(self, words):
        """The mixture of some of the words, their weights adding up to 1 again."""
        weights = self.weights[words]
        return Mixture(weights / weights.sum(), self.means[words], self.variances[words])


def log_densities(squared, form):
    """log w_i N(x; i) of rows [x, x^2]."""
    L, c = form
    return squared @ L + c


def to_posteriors(log_joint):
    """(posteriors, log likelihood of each row); the first are written over the input."""
    largest = log_joint.max(axis=1, keepdims=True)
    np.exp(np.subtract(log_joint, largest, out=log_joint), out=log_joint)
    total = log_joint.sum(axis=1, keepdims=True)
    log_joint /= total
    return log_joint, (largest + np.log(total))[:, 0]


def with_squares(rows):
    """[x, x^2]"""
    return np.concatenate([rows, rows * rows], axis=1)


def fit_em(points, n_words, random_state, n_iter=100, tol=1e-3, n_jobs=None, start=None):
    """(mixture, mean log likelihood per row) by expectation maximization from the clusters of k-means.

    Stops when the mean log likelihood of a row grows by less than ``tol``.

    Parameters
    ----------
    points : float32 (n, D)
    random_state : numpy.random.RandomState
    start : Mixture or None
        Where to start, instead of k-means.
    """
    centre, scale = _standard(points)
    standard = ((points - centre) / scale).astype(np.float32)  # [x, x^2] @ L must not cancel in float32
    if start is None:
        words = kmeans(standard, n_words, random_state, KMEANS_PASSES, n_jobs)
        mixture = _clusters(standard, nearest_words(standard, words, n_jobs=n_jobs)[0][:, 0], words)
    else:
        mixture = Mixture(start.weights, (start.means - centre) / scale, start.variances / scale**2)
    before = -np.inf
    for _ in track(range(n_iter), "mixture of Gaussians"):
        now, sums = _expectation(standard, mixture, n_jobs)
        mixture = _maximisation(sums, mixture, len(standard))
        if now - before < tol:
            break
        before = now
    found = Mixture(mixture.weights, mixture.means * scale + centre, mixture.variances * scale**2)
    return found, now - np.log(scale).sum()


def mixture_of_clusters(points, labels, n_words):
    """The mixture with the share, mean and variance of each cluster: EM after one hard pass. [gavves12convex] 4.1

    A cluster without rows has the mean and variance of all rows and the share of a single row.
    """
    centre, scale = _standard(points)
    mixture = _clusters(((points - centre) / scale).astype(np.float32), labels, np.zeros((n_words, points.shape[1])))
    return Mixture(mixture.weights, mixture.means * scale + centre, mixture.variances * scale**2)


def _standard(points):
    """(mean, deviation) of the columns; a column that is constant has deviation 1."""
    centre = points.mean(axis=0, dtype=np.float64)
    scale = points.std(axis=0, dtype=np.float64)
    return centre, np.where(scale > 0, scale, 1.0)


def _clusters(standard, labels, words):
    counts, sums = sums_of_words(labels, with_squares(standard), len(words))
    fallback = Mixture(np.full(len(words), 1 / len(words)), np.asarray(words, dtype=np.float64), np.ones(words.shape))
    return _maximisation((counts, sums), fallback, len(standard))


def _expectation(standard, mixture, n_jobs):
    """(mean log likelihood, (sum of posteriors, their products with [x, x^2])) of all rows."""
    form = mixture.linear_form()

    def block_sums(block):
        squared = with_squares(standard[block])
        posteriors, likelihoods = to_posteriors(log_densities(squared, form))
        return likelihoods.sum(dtype=np.float64), posteriors.sum(axis=0, dtype=np.float64), posteriors.T @ squared

    likelihood, counts, sums = 0.0, 0.0, 0.0
    for part in run_row_blocks(block_sums, len(standard), BLOCK_ROWS, n_jobs):
        likelihood, counts, sums = likelihood + part[0], counts + part[1], sums + part[2].astype(np.float64)
    return likelihood / len(standard), (counts, sums)


def _maximisation(sums, before, n_rows):
    """The mixture of these sums; a word with less than one row keeps its mean and variance."""
    counts, moments = sums
    D = moments.shape[1] // 2
    alive = counts >= 1
    shares = np.maximum(counts, 1)[:, None]
    means = np.where(alive[:, None], moments[:, :D] / shares, before.means)
    variances = np.where(alive[:, None], moments[:, D:] / shares - means**2, before.variances)
    weights = np.maximum(counts, 1) / np.maximum(counts, 1).sum()
    return Mixture(weights, means, np.maximum(variances, FLOOR))
