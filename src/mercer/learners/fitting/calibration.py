"""Probabilities from scores: P(+1 | s) = 1 / (1 + exp(-(a s + b))), one sigmoid per column. [platt99probabilistic]

The sigmoids are fitted to scores of rows that had no part in the learning (cross-validation), by Newton's method in
the form of [lin07note], which neither overflows nor loses digits. Rows count with their weights.
"""

__all__ = ["apply_sigmoids", "cross_validated_scores", "fit_sigmoids", "stratified_folds"]

import numpy as np
from scipy.special import expit
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._base.errors import InputError
from mercer.learners.base import subset

FOLDS = 5
MOST_STEPS = 100
LEAST_STEP = 1e-10
RIDGE = 1e-12  # keeps the Hessian invertible where all scores are equal
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must bring
SMALL_GRADIENT = 1e-8  # per unit of weight


def stratified_folds(codes, seed, who, n_folds=FOLDS):
    """Pairs (train, test) of row numbers that keep the shares of the classes; plain folds for labels."""
    if codes.ndim == 2:
        return list(KFold(min(n_folds, len(codes)), shuffle=True, random_state=seed).split(codes))
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise InputError(
            f"{who} needs two rows or more of every class for cross-validated probabilities, but one class has a "
            "single row. Use probability=False, or loss='logistic'."
        )
    folds = StratifiedKFold(min(n_folds, smallest), shuffle=True, random_state=seed)
    return list(folds.split(codes, codes))


def cross_validated_scores(problem, folds, solve):
    """Scores (n, P) of each row by weights that were learnt without it.

    Parameters
    ----------
    problem : the problem on all rows
    folds : pairs (train, test) of row numbers
    solve : function from a problem to its solution
    """
    scores = np.zeros((len(problem.weights), problem.n_columns))
    for train, test in folds:
        found = solve(subset(problem, train))
        scores[test] = problem.design.take(test).scores(found.u) + found.intercept
    return scores


def fit_sigmoids(scores, signs, weights):
    """(slopes, offsets), both (P,): the most likely a and b of each column, over the rows with a sign in it.

    Parameters
    ----------
    scores : (n, P)
    signs : (n, P) of -1, 0, +1
    weights : (n,)
    """
    found = []
    for s, y in zip(scores.T.astype(np.float64), signs.T, strict=True):
        part = y != 0
        found.append(_fit_sigmoid(s[part], y[part] > 0, weights[part]))
    return np.array(found).T


def apply_sigmoids(scores, slopes, offsets):
    """Probabilities of the positive sides, (n, P)."""
    return expit(slopes * scores + offsets)


def _fit_sigmoid(s, is_positive, weights):
    positive, negative = weights[is_positive].sum(), weights[~is_positive].sum()
    # targets a little inside (0, 1), as if one more row of the other kind had been seen [platt99probabilistic] Sec. 2.2
    t = np.where(is_positive, (positive + 1) / (positive + 2), 1 / (negative + 2))
    scale = np.abs(s).max(initial=0.0) or 1.0  # Newton's steps do not mind the scale, the ridge does
    s = s / scale
    ab = np.array([0.0, np.log((positive + 1) / (negative + 1))])
    value = _cross_entropy(ab, s, t, weights)
    for _ in range(MOST_STEPS):
        p = expit(ab[0] * s + ab[1])
        residual, curvature = weights * (p - t), weights * p * (1 - p)
        gradient = np.array([residual @ s, residual.sum()])
        if np.abs(gradient).max() < SMALL_GRADIENT * weights.sum():
            break
        cross = curvature @ s
        hessian = np.array([[curvature @ (s * s), cross], [cross, curvature.sum()]]) + RIDGE * weights.sum() * np.eye(2)
        step = -np.linalg.solve(hessian, gradient)
        length = 1.0
        while length >= LEAST_STEP:
            reached = _cross_entropy(ab + length * step, s, t, weights)
            if reached < value + SUFFICIENT * length * (gradient @ step):
                ab, value = ab + length * step, reached
                break
            length /= 2
        else:
            break  # no step is better: rounding has the last word
    return ab[0] / scale, ab[1]


def _cross_entropy(ab, s, t, weights):
    """-sum_i w_i (t_i log p_i + (1 - t_i) log(1 - p_i)) = sum_i w_i (log(1 + exp(f_i)) - t_i f_i)."""
    f = ab[0] * s + ab[1]
    return weights @ (np.logaddexp(0.0, f) - t * f)
