"""Which of merging and convex selection serves a classifier better: a trial on rows that were left out.

Neither is better on all data. Of visual words those that (5) of [gavves12convex] selects serve no better than words
drawn at random, and merged ones do; of bins of mass spectra the selected ones are far better. No property of the rows
is known that tells the two apart, so two thirds of some rows are reduced in both ways, and linear machines on what is
left classify the last third; of few rows each third in turn, because their share says little.
"""

__all__ = ["CONTENDERS", "trial_scores"]

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils.multiclass import type_of_target

CONTENDERS = ("merge", "convex")  # the first is taken where there is nothing to decide by
TRIAL_ROWS = 9000  # rows of a trial at most
PARTS = 3  # one is left out
FEW = 3000  # rows up to which each part is left out once
FEWEST = 40  # rows below which a trial would be a toss of a coin
C, PASSES = 3.0, 300  # of the machines, for rows of length 1


def trial_scores(fit, X, y, random_state):
    """{method: share of left-out rows that are classified rightly}, or None if there are no classes to tell apart.

    Parameters
    ----------
    fit : function of (method, X, y) that returns a function from rows to features
    X : validated rows
    y : class of each row, or None
    """
    from sklearn.svm import LinearSVC  # takes long to load, and most fits need no trial

    if y is None or X.shape[0] < FEWEST or type_of_target(y) not in ("binary", "multiclass"):
        return None
    order = random_state.permutation(X.shape[0])[:TRIAL_ROWS]
    parts = np.array_split(order, PARTS)
    y = np.asarray(y).ravel()
    right, seen = dict.fromkeys(CONTENDERS, 0), 0
    for left_out in parts if len(order) <= FEW else parts[:1]:
        learned = np.setdiff1d(order, left_out)
        if len(np.unique(y[learned])) < 2:
            return None
        seen += len(left_out)
        for method in CONTENDERS:
            features = fit(method, X[learned], y[learned])
            rows, others = (_unit_rows(features(X[part])) for part in (learned, left_out))
            machine = LinearSVC(C=C, max_iter=PASSES, dual=True, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the last digits decide nothing
                machine.fit(rows, y[learned])
            right[method] += int((machine.predict(others) == y[left_out]).sum())
    return {method: count / seen for method, count in right.items()}


def _unit_rows(features):
    return normalize(features.astype(np.float64, copy=False))
