"""Synthetic Fisher vectors: rows like those of [vedaldi12sparse] Sec. 5.1, without the images.

A Fisher vector holds, for each of K Gaussians and each of d dimensions of local descriptors, the gradient of an
image's descriptors with respect to the Gaussian's mean and to its deviation. Both are sums over the descriptors that
fall to the Gaussian, so they can be drawn without drawing a single descriptor:

    h_i   = m_class + noise                              what image i shows, 32 numbers
    p_ik  ~ pi_k exp(a_k' h_i) g_ik                      how its descriptors spread over the Gaussians, g ~ gamma(1/2)
    c_ik  ~ Poisson(T p_ik)                              how many of its T descriptors fall to Gaussian k
    mean gradients         c_ik s B_k h_i + sqrt(c_ik) z                           z standard normal
    deviation gradients    c_ik s D_k h_i + (chi2 of c_ik degrees - c_ik) / sqrt(2)

They are divided by T sqrt(pi_k), their roots are taken with the sign kept, and rows are scaled to length 1. What
matters for coding and for learning is there: the numbers of one Gaussian share their scale (where no descriptor falls,
all are zero), neighbouring dimensions are correlated through B_k and D_k, the signal of a class is spread thinly over
all dimensions, and classes overlap, because the noise of h moves images from one class into another.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

N_CLASSES = 20
N_DIMENSIONS = 80  # d, as in the paper
DESCRIPTORS = 2000  # T
LATENT = 32  # numbers of h
CLASS_SPREAD = 0.45  # of the m_class, the noise of h being 1: two images in three are then told apart
SHIFT = 0.04  # s
BLOCK_ROWS = 250


def fisher_like(n_rows, n_gaussians=256, seed=0, threads=2):
    """Rows and classes: float32 (n_rows, 160 * n_gaussians), int (n_rows,).

    The first rows of a larger set are the rows of a smaller one.
    """
    mixture = _Mixture(n_gaussians, np.random.default_rng([seed, 0]))
    X = np.empty((n_rows, 2 * n_gaussians * N_DIMENSIONS), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int64)

    def fill(start):
        rows, classes = mixture.images(BLOCK_ROWS, np.random.default_rng([seed, 1, start]))
        stop = min(start + BLOCK_ROWS, n_rows)
        X[start:stop], y[start:stop] = rows[: stop - start], classes[: stop - start]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, n_rows, BLOCK_ROWS)))
    return X, y


class _Mixture:
    """What all images share: weights of the Gaussians, centres of the classes, directions in which descriptors move."""

    def __init__(self, n_gaussians, rng):
        self.weights = rng.dirichlet(np.full(n_gaussians, 5.0))
        self.centres = CLASS_SPREAD * rng.standard_normal((N_CLASSES, LATENT), dtype=np.float32)
        self.tilt = 0.1 * rng.standard_normal((LATENT, n_gaussians), dtype=np.float32)
        self.moves = [self._smooth(rng.standard_normal((LATENT, n_gaussians, N_DIMENSIONS))) for _ in range(2)]

    @staticmethod
    def _smooth(directions):
        """Neighbouring dimensions move alike; the deviation stays 1."""
        mixed = directions + np.roll(directions, 1, axis=2) + np.roll(directions, 2, axis=2)
        return (mixed / np.sqrt(3)).reshape(LATENT, -1).astype(np.float32)

    def images(self, n, rng):
        shape = (n, len(self.weights), N_DIMENSIONS)
        classes = rng.integers(0, N_CLASSES, n)
        h = self.centres[classes] + rng.standard_normal((n, LATENT), dtype=np.float32)
        shares = self.weights * np.exp(h @ self.tilt) * rng.standard_gamma(0.5, shape[:2])
        counts = rng.poisson(DESCRIPTORS * shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)[:, :, None]
        normal = np.sqrt(counts) * rng.standard_normal(shape, dtype=np.float32)
        chi2 = 2 * rng.standard_gamma(np.broadcast_to(counts / 2, shape), dtype=np.float32)
        gradients = np.stack([normal, (chi2 - counts) / np.float32(np.sqrt(2))], axis=1)
        for k, move in enumerate(self.moves):
            gradients[:, k] += SHIFT * counts * (h @ move).reshape(shape)
        gradients /= (DESCRIPTORS * np.sqrt(self.weights[:, None])).astype(np.float32)
        rows = (np.sign(gradients) * np.sqrt(np.abs(gradients))).reshape(n, -1)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True), classes
