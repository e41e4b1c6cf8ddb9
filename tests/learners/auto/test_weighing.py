"""Weights of columns: they help where columns do not matter, and do not vouch for themselves where none does."""

import numpy as np

from mercer import RBF, KernelClassifier
from mercer.learners.auto.candidates import Candidate, families
from mercer.learners.auto.trials import Judge
from mercer.learners.auto.weighing import weigh


def _weighed(X, y, groups=None):
    judge = Judge(np.where(y, 1.0, -1.0)[:, None], y.astype(np.int64), np.ones(len(y)), groups)
    family = families(X, X, [RBF()], ["standard"])[0]
    return weigh(family, Candidate(family, 0.7).width, 1e-3, X, X, judge)


def test_columns_that_matter_get_the_largest_weights(rng):
    X = rng.normal(size=(300, 12))
    found = _weighed(X, X[:, 3] * X[:, 7] > 0)
    assert set(np.argsort(found.weights)[-2:]) == {3, 7}
    assert found.share < 0.9  # loss of rows that had no part in the weights, over that without weights
    (first, _), (second, _) = found.halves
    assert (first.start, first.stop, second.start, second.stop) == (0, 150, 150, 300)


def test_halves_do_not_cut_a_group(rng):
    X = rng.normal(size=(300, 12))
    groups = np.repeat(np.arange(4), [20, 190, 40, 50])
    found = _weighed(X, X[:, 3] * X[:, 7] > 0, groups)
    assert found.halves[0][0].stop == 210


def test_rows_do_not_vouch_for_themselves_through_the_weights_of_columns(rng):
    # labels at random: left-out scores with weights that saw these labels would look far better than chance
    scores = []
    for _ in range(3):
        X, y = rng.normal(size=(120, 40)), rng.integers(0, 2, 120)
        scores.append(KernelClassifier("rbf", C="auto", scaling="standard", random_state=0).fit(X, y).plan_.score)
    assert np.mean(scores) < 0.64  # three standard errors above a coin, and what the choice of a width brings
