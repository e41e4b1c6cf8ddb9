"""Bags of words of Scenes-15, and machines on them with and without the map of the chi2 kernel."""

from __future__ import annotations

import numpy as np

WORDS = 4000


def bags(paths, n_words=WORDS, pyramid=((1, 1),), **parameters):
    """(the fitted encoder, rows of each list of paths); words are learnt from the first list."""
    from benchmarks.vision._scenes15 import fitted
    from mercer import BagOfWords

    parameters = {"n_words": n_words, "pyramid": pyramid, "random_state": 0, **parameters}
    encoder = fitted(BagOfWords(**parameters), paths[0])
    return encoder, [encoder.transform(some) for some in paths]


def whole_image(rows, n_words):
    """The histograms of the first cell, which is the whole image, with sum 1."""
    flat = np.ascontiguousarray(rows[:, :n_words])
    return flat / flat.sum(axis=1, keepdims=True)


def linear_precision(rows, sets):
    """mAP of linear machines on l2-normalised rows of training and test images."""
    from sklearn.preprocessing import normalize

    from benchmarks.vision._scenes15 import judged_rows

    y, y_test = sets
    return judged_rows(normalize(rows[0]), y, normalize(rows[1]), y_test)["mAP"]


def chi2_features(rows, order=1):
    """Rows of both sets mapped by the chi2 kernel, 2 order + 1 numbers for each; signs are kept where there are any."""
    from mercer import HomogeneousMap

    signed = bool((rows[0] < 0).any())
    found = HomogeneousMap("chi2", order=order, signed=signed).fit(rows[0])
    return [found.transform(part) for part in rows]
