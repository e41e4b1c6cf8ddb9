"""Scores of rows that had no part in the learning, by cross-validation, from which probabilities are made."""

__all__ = ["fit_sigmoids", "fold_scores", "stratified_folds"]

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._base.errors import InputError
from mercer.learners.fitting.softmax import fit_softmax

FOLDS = 5


def stratified_folds(codes, seed, who, n_folds=FOLDS):
    """Pairs (train, test) of row numbers that keep the shares of the classes; plain folds for labels."""
    if codes.ndim == 2:
        return list(KFold(min(n_folds, len(codes)), shuffle=True, random_state=seed).split(codes))
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise InputError(
            f"{who} needs at least two rows of every class for cross-validated probabilities, but one class has a "
            "single row. Use probability=False, or loss='logistic'."
        )
    folds = StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=seed)
    return list(folds.split(codes, codes))


def fold_scores(problem, solve, train, test):
    """Scores (n, P) of test rows by weights that were learned from train rows.

    Parameters
    ----------
    problem : the problem on all rows
    solve : function from a problem to its solution
    train, test : row numbers
    """
    found = solve(problem.take(train))
    return problem.design.take(test).scores(found.u) + found.intercept


def fit_sigmoids(scores, signs, weights):
    """(slopes, offsets), both (P,): P(+1 | s) = 1 / (1 + exp(-(a s + b))) of each label. [platt99probabilistic]

    A label is two classes with one column of scores, for which :func:`fit_softmax` finds the most likely a and b.

    Parameters
    ----------
    scores : (n, P)
    signs : (n, P) of -1, +1
    weights : (n,)
    """
    links = [fit_softmax(s[:, None], (y > 0).astype(np.int64), weights) for s, y in zip(scores.T, signs.T, strict=True)]
    return np.array([[link.slope for link in links], [link.offsets[0] for link in links]])
