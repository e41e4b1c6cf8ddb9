"""What words are to filters: features whose inner product is a kernel of words.

A filter on words is a table with a number for each cell and each word, and a table can hold any function of the cell,
not only a linear one. Which tables are learned is a matter of the geometry H of the words [vedaldi12sparse] (10):

    linear    k(z, z') = z . z'                                      weights of the 32 channels, as on full cells
    rbf       k(z, z') = z . z' + m exp(-|z - z'|^2 / (2 s^2))       and a smooth function of the cell beside them

The second costs the same to score, because it ends in the same tables. Its features are

    (z, sqrt(m) K_LL^(-1/2) k(L, z))      L, the first words of the codebook, all of them if there are few

and mirroring permutes them, as L is closed under mirroring and the symmetric root keeps its order.
"""

__all__ = ["rbf_features"]

import numpy as np

from mercer._base.linalg import eigh_descending
from mercer._base.threads import single_threaded
from mercer.detection.cells.codebook import CHANNELS, flip_channels

MOST_LANDMARKS = 64  # more of them find no more, and the weights of a filter grow with them
# Chosen on held-out training photographs of INRIA, with roots only.
SHARE = 0.5  # m over the mean square of a word
WIDTH = 0.5  # s^2 over the mean square of the distance of two words
LEAST = 1e-6  # share of the largest eigenvalue of K_LL that counts


def rbf_features(words):
    """Features (D, 32 + L) float32 of words (D, 32), so that those of mirrored words are mirrored, bit for bit."""
    z = words.astype(np.float64)
    inside = z[1:]  # without the word of padding
    landmarks = z[: min(len(z), MOST_LANDMARKS)]
    spread = 2 * ((inside - inside.mean(axis=0)) ** 2).sum(axis=1).mean()  # mean square of all distances
    with single_threaded():  # BLAS gives other bits on other numbers of threads
        square = ((z**2).sum(axis=1)[:, None] - 2 * z @ landmarks.T + (landmarks**2).sum(axis=1)).clip(0)
        K = np.exp(-square / (2 * WIDTH * max(spread, 1e-12)))
        values, vectors = eigh_descending(K[: len(landmarks)])
        root = (vectors / np.sqrt(np.maximum(values, LEAST * values[0]))) @ vectors.T
        smooth = np.sqrt(SHARE * (inside**2).sum(axis=1).mean()) * (K @ root)
    features = np.concatenate([z, smooth], axis=1).astype(np.float32)
    features[:2, CHANNELS:] = (features[:2] + flip_channels(features[:2]))[:, CHANNELS:] / 2
    features[3::2] = flip_channels(features[2::2])
    return features
