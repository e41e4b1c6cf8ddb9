"""Weights of the columns, by the slopes of a learned function, judged by rows that had no part in them.

How much a column matters: mean squared slope along it. [radhakrishnan24mechanism] For f(x) = sum_m a_m
exp(-gamma |x - z_m|^2),

    df/dx_j = -2 gamma sum_m a_m K(x, z_m) (x_j - z_mj)

and columns weighed by a power of the mean of (df/dx_j)^2 bring rows together that differ in what does not matter.
Deviation from the paper: weights of columns, not a full matrix, and the fourth root; no other power was compared.

Weights come from the targets of all rows they are computed on, so the left-out scores of these rows know a little of
their own targets. Rows are therefore cut in two halves: weights of one half are judged on the left-out scores of the
other. How much better they are there, as a share of the loss, is what they are worth; the weights that are kept come
from all rows.
"""

__all__ = ["Weighing", "column_weights", "weigh"]

from dataclasses import dataclass, replace

import numpy as np

from mercer._base.threads import single_threaded
from mercer.kernels import RBF
from mercer.learners.auto.candidates import Candidate
from mercer.learners.auto.ridge.closed import FullRidge

SLOPE_WIDTH = 0.7  # gamma times the mean distance, of the Gaussian machine whose slopes are taken
LEAST_GAIN = 0.005  # share of the loss that weights, and each further round of them, must bring
MOST_ROUNDS = 4
SLOPE_ROWS = 1000  # at which slopes are taken
POWER = 0.25
LEAST_WEIGHT = 1e-3  # of a column that does not matter, relative to the largest


@dataclass(frozen=True)
class Weighing:
    """What weights of the columns are worth.

    Parameters
    ----------
    weights : of all rows, float64 (d,)
    halves : (rows, weights of the other half) for both halves: left-out scores of these rows are honest
    share : loss with weights over the loss without, on rows that had no part in them; below 1
    """

    weights: np.ndarray
    halves: tuple[tuple[slice, np.ndarray], ...]
    share: float


def weigh(family, width, penalty, X, sample, judge, dtype=np.float64):
    """The :class:`Weighing` of a family at a width, or None where weights do not pay.

    Parameters
    ----------
    family : Family whose columns have no weights yet
    width, penalty : the best ones without weights
    X : raw rows that the judge knows
    sample : raw rows of which distances are taken
    dtype : in which scaled rows are compared
    """
    halves = [_Half(family, X[rows], sample, judge.take(rows), dtype) for rows in _halves(X.shape[0], judge.groups)]
    first = best = _crossed(halves, width, penalty)
    rounds = 0
    while rounds < MOST_ROUNDS:
        before = [half.weights for half in halves]
        for half in halves:
            half.learn(penalty)
        loss = _crossed(halves, width, penalty)
        if not loss < (1 - LEAST_GAIN) * best:
            for half, weights in zip(halves, before, strict=True):
                half.weights = weights
            break
        best, rounds = loss, rounds + 1
    if rounds == 0:
        return None
    whole = _Half(family, X, sample, judge, dtype)
    for _ in range(rounds):
        whole.learn(penalty)
    own = [half.weights for half in halves]
    slices = _halves(X.shape[0], judge.groups)
    return Weighing(whole.weights, tuple(zip(slices, own[::-1], strict=True)), best / first)


class _Half:
    """Some of the rows with the weights that their targets give the columns."""

    def __init__(self, family, X, sample, judge, dtype):
        self.family, self.X, self.sample, self.judge, self.dtype = family, X, sample, judge, dtype
        self.weights = None

    def learn(self, penalty):
        """One round: the slopes of a Gaussian machine on columns as they are weighed so far."""
        kernel, X = self._scaled(replace(self.family, kernel=RBF()), self.weights, SLOPE_WIDTH)
        fit = self._fit(kernel, X, penalty)
        own = column_weights(kernel, X, X, fit.coefficients)
        self.weights = own if self.weights is None else own * np.sqrt(self.weights)

    def loss(self, weights, width, penalty):
        """Of left-out scores with these weights."""
        kernel, X = self._scaled(self.family, weights, width)
        return self.judge.verdict(self._fit(kernel, X, penalty).left_out)[0]

    def _fit(self, kernel, X, penalty):
        # fewer rows than those that the penalty was found on want a larger one
        return self.judge.best_fit(FullRidge(kernel, X, self.judge.weights, self.judge.groups), (penalty, 10 * penalty))

    def _scaled(self, family, weights, width):
        weighed = family if weights is None else family.weighed(weights, self.sample)
        kernel = Candidate(weighed, width).kernel
        return kernel, weighed.scaling.of_validated(self.X).astype(self.dtype)


def _crossed(halves, width, penalty):
    one, other = halves
    return one.loss(other.weights, width, penalty) + other.loss(one.weights, width, penalty)


def _halves(n, groups):
    """Two slices of about as many rows, which cut no group."""
    middle = n // 2
    if groups is not None:
        ends = np.append(np.flatnonzero(np.diff(groups)) + 1, n)
        middle = int(ends[np.argmin(np.abs(ends[:-1] - middle))]) if len(ends) > 1 else middle
    return slice(0, middle), slice(middle, n)


def column_weights(kernel, X, landmarks, coefficients):
    """Weights in (0, 1], float64 (d,), by the slopes of a function of dense rows.

    Parameters
    ----------
    kernel : RBF
    X : rows at which slopes are taken, as many as SLOPE_ROWS of them
    landmarks, coefficients : of the function, (M, d) and (M, P)
    """
    X = X[:SLOPE_ROWS]
    total = np.zeros(X.shape[1])
    with single_threaded():
        gram = kernel.gram_block(X, landmarks, None)
        for column in coefficients.T.astype(gram.dtype):
            shares = gram * column
            slopes = shares.sum(axis=1, keepdims=True) * X - shares @ landmarks
            total += np.square(slopes, dtype=np.float64).sum(axis=0)
    largest = total.max()
    return np.maximum((total / largest) ** POWER, LEAST_WEIGHT) if largest > 0 else np.ones(X.shape[1])
