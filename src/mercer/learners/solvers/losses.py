"""Losses: what wrong scores cost. Convex, never negative, summed over the rows with their weights.

    margin, on m = y s with y = -1 or +1 (0: the row is not part of the column's problem)
        hinge                  max(0, 1 - m)
        squared_hinge          max(0, 1 - m)^2
        logistic               log(1 + exp(-m))
        huber_hinge            0 for m >= 1 + h, (1 + h - m)^2 / (4 h) for |1 - m| < h, 1 - m below; h = 1/2
    joint, on all scores s of a row and its class y
        crammer_singer         max over c of (c != y) + s_c - s_y
        multinomial            log(sum over c of exp(s_c)) - s_y
    regression, on a score s and its target y
        squared                (s - y)^2 / 2
        absolute               |s - y|
        epsilon_insensitive    max(0, |s - y| - epsilon)

Notation
    n, P     rows, columns of scores
    Q        problems: P, or 1 when the loss is joint
    L'_ip    derivative of the loss L_i of row i by its score s_ip, or a subgradient where there is a kink
"""

__all__ = [
    "CLASSIFICATION_LOSSES",
    "LOSSES_WITH_BOX",
    "LOSSES_WITH_FORM",
    "REGRESSION_LOSSES",
    "Loss",
    "get_loss",
]

import inspect
import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from mercer._base.errors import InputError, did_you_mean
from mercer._base.threads import run_blocks
from mercer._native.learners.descent.sweep import Form
from mercer._native.learners.losses import COLUMN_LOOPS, HUBER_WIDTH, ROW_LOOPS

BLOCK_NUMBERS = 2**18  # scores that a thread takes at a time: a fraction of a millisecond


class Loss(ABC):
    """A convex loss of scores, never negative.

    Attributes
    ----------
    name : its name
    task : ``"classification"`` or ``"regression"``
    joint : whether the loss of a row depends on all its scores together; its P columns then form one problem
    is_smooth : whether it has a derivative everywhere
    is_quadratic : whether its second derivative is 1 everywhere
    form : the loss as coordinate descent and the rounding of Newton's method see it, None if they have no form of it
    has_box : whether its conjugate is a parabola or a line on an interval, so that the dual is one in a box
    """

    name: ClassVar[str]
    task: ClassVar[str]
    joint: ClassVar[bool] = False
    is_smooth: ClassVar[bool]
    is_quadratic: ClassVar[bool] = False
    form: Form | None = None
    has_box: ClassVar[bool] = False

    @abstractmethod
    def evaluate(self, scores, targets, weights, n_jobs=None):
        """Sums of the loss, and the line that touches it: sum_i w_i L_i >= offset + sum_i slope_i s_i for all scores.

        Parameters
        ----------
        scores : float32 or float64 of shape (n, P)
        targets : int8 (n, P) of -1, 0, +1 for margin losses, float64 (n, P) for regression, int64 (n,) for joint losses
        weights : float64 (n,), not negative
        n_jobs : threads, None for as many as are allowed

        Returns
        -------
        values : float64 (Q,), sum_i w_i L_i
        offsets : float64 (Q,), sum_i w_i (L_i - sum_p s_ip L'_ip), with the slopes as they are returned
        slopes : (n, P) of the type of the scores, w_i L'_ip
        """

    @abstractmethod
    def along(self, start, step, k, targets, weights, n_jobs=None):
        """Sums of the loss at start + k * step and their derivatives by k, without an array of that size.

        Parameters
        ----------
        start, step : float32 or float64 of shape (n, P)
        k : (Q,), or one number for all problems; (K, Q) for K points, which then share one pass over the arrays
        targets, weights, n_jobs : as for :meth:`evaluate`

        Returns
        -------
        values : float64 (Q,), or (K, Q)
        derivatives : as values, ascending in k; at a kink, a number between the derivatives of its two sides
        """

    def curvature(self, scores, targets, weights, n_jobs=None):
        """w_i L''_ip of shape (n, P), in the type of the scores; one of the two sides where L' has a kink."""
        raise InputError(
            f"The loss {self.name!r} has no second derivative per score; only smooth losses that are not joint have "
            "one."
        )

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{key}={value}' for key, value in vars(self).items())})"


class ColumnLoss(Loss):
    """A loss that looks at each score by itself; ``_parameter`` is handed to its formula."""

    _parameter: float = 0.0

    @property
    def _loops(self):
        return COLUMN_LOOPS[self.name]

    def evaluate(self, scores, targets, weights, n_jobs=None):
        scores, targets = _contiguous(scores, targets)
        slopes, loop, parameter = np.empty_like(scores), self._loops.evaluate(), float(self._parameter)
        s, t, g = scores.reshape(-1), targets.reshape(-1), slopes.reshape(-1)

        def add(first, last, values, offsets):
            loop(s, t, parameter, weights, first, last, g, values, offsets)

        return *_ordered_sums(add, scores.shape, scores.shape[1:], n_jobs), slopes

    def along(self, start, step, k, targets, weights, n_jobs=None):
        (start, targets), step = _contiguous(start, targets), np.ascontiguousarray(step)
        loop, parameter, ks = self._loops.along(), float(self._parameter), _distances(k, start.shape[1])
        s, d, t = start.reshape(-1), step.reshape(-1), targets.reshape(-1)

        def add(first, last, values, derivatives):
            loop(s, d, ks, t, parameter, weights, first, last, values, derivatives)

        return _per_point(_ordered_sums(add, start.shape, ks.shape, n_jobs), k)


class SmoothColumnLoss(ColumnLoss):
    """A loss that looks at each score by itself and has a derivative everywhere."""

    is_smooth = True

    def curvature(self, scores, targets, weights, n_jobs=None):
        scores, targets = _contiguous(scores, targets)
        out, loop, parameter, width = (
            np.empty_like(scores),
            self._loops.curvature(),
            float(self._parameter),
            scores.shape[1],
        )
        s, t, o = scores.reshape(-1), targets.reshape(-1), out.reshape(-1)
        blocks = _row_blocks(scores.shape)
        run_blocks(lambda part: loop(s, t, parameter, weights, width, *part, o), blocks, n_jobs)
        return out


class JointLoss(Loss):
    """A loss that looks at all scores of a row together."""

    task = "classification"
    joint = True

    @property
    def _loops(self):
        return ROW_LOOPS[self.name]

    def evaluate(self, scores, targets, weights, n_jobs=None):
        scores, targets = _contiguous(scores, targets)
        slopes, loop = np.empty_like(scores), self._loops.evaluate()

        def add(first, last, values, offsets):
            loop(scores, targets, weights, first, last, slopes, values, offsets)

        return *_ordered_sums(add, scores.shape, (1,), n_jobs), slopes

    def along(self, start, step, k, targets, weights, n_jobs=None):
        (start, targets), step = _contiguous(start, targets), np.ascontiguousarray(step)
        loop, ks = self._loops.along(), _distances(k, 1)

        def add(first, last, values, derivatives):
            loop(start, step, ks, targets, weights, first, last, values, derivatives)

        return _per_point(_ordered_sums(add, start.shape, ks.shape, n_jobs), k)


class Hinge(ColumnLoss):
    """max(0, 1 - m), the loss of support vector machines."""

    name, task, is_smooth = "hinge", "classification", False
    form, has_box = Form(1.0, 0.0, 1.0, 0.0, False), True


class SquaredHinge(SmoothColumnLoss):
    """max(0, 1 - m)^2."""

    name, task = "squared_hinge", "classification"
    form, has_box = Form(1.0, 0.5, math.inf, 0.0, False), True


class Logistic(SmoothColumnLoss):
    """log(1 + exp(-m)), whose scores are log odds."""

    name, task = "logistic", "classification"


class HuberHinge(SmoothColumnLoss):
    """The hinge with its corner rounded between m = 1/2 and m = 3/2."""

    name, task = "huber_hinge", "classification"
    form, has_box = Form(1.0 + HUBER_WIDTH, 2.0 * HUBER_WIDTH, 1.0, 0.0, False), True


class CrammerSinger(JointLoss):
    """max over c of (c != y) + s_c - s_y: the hinge of the best wrong class against the right one."""

    name, is_smooth = "crammer_singer", False


class Multinomial(JointLoss):
    """log(sum over c of exp(s_c)) - s_y: the logistic loss of several classes."""

    name, is_smooth = "multinomial", True


class Squared(SmoothColumnLoss):
    """(s - y)^2 / 2, the loss of ridge regression."""

    name, task, is_quadratic = "squared", "regression", True
    form, has_box = Form(1.0, 1.0, math.inf, 0.0, True), True


class EpsilonInsensitive(ColumnLoss):
    """max(0, |s - y| - epsilon), the loss of support vector regression.

    Parameters
    ----------
    epsilon : error that costs nothing
    """

    name, task, is_smooth = "epsilon_insensitive", "regression", False

    def __init__(self, epsilon=0.1):
        if not np.isfinite(epsilon) or epsilon < 0:
            raise InputError(f"The loss {self.name!r} needs a finite epsilon >= 0, got {epsilon!r}.")
        self.epsilon = float(epsilon)

    @property
    def _parameter(self):
        return self.epsilon

    @property
    def form(self):
        """The form of `mercer._native.learners.descent.sweep`."""
        return Form(1.0, 0.0, 1.0, self.epsilon, True)


class Absolute(ColumnLoss):
    """|s - y|, whose minimum is a median."""

    name, task, is_smooth = "absolute", "regression", False
    form, has_box = Form(1.0, 0.0, 1.0, 0.0, True), True

    @property
    def _loops(self):
        return COLUMN_LOOPS["epsilon_insensitive"]  # with epsilon = 0


CLASSIFICATION_LOSSES = {
    loss.name: loss for loss in (Hinge, SquaredHinge, Logistic, HuberHinge, CrammerSinger, Multinomial)
}
REGRESSION_LOSSES = {loss.name: loss for loss in (Squared, Absolute, EpsilonInsensitive)}
# what coordinate descent has a form of, and the box of projected gradients
LOSSES_WITH_FORM, LOSSES_WITH_BOX = (
    [name for name, loss in (CLASSIFICATION_LOSSES | REGRESSION_LOSSES).items() if getattr(loss, attribute)]
    for attribute in ("form", "has_box")
)
_LOSSES = {
    None: CLASSIFICATION_LOSSES | REGRESSION_LOSSES,
    "classification": CLASSIFICATION_LOSSES,
    "regression": REGRESSION_LOSSES,
}


def get_loss(name, *, task=None, **parameters):
    """The loss of that name.

    Parameters
    ----------
    name : a key of CLASSIFICATION_LOSSES or REGRESSION_LOSSES
    task : ``"classification"`` or ``"regression"`` to look among its losses only
    **parameters : of the loss, for example ``get_loss("epsilon_insensitive", epsilon=0.5)``

    >>> get_loss("epsilon_insensitive", epsilon=0.5)
    EpsilonInsensitive(epsilon=0.5)
    """
    known = _LOSSES[task]
    if name not in known:
        hint = did_you_mean(name, known)
        raise InputError(f"There is no {task + ' ' if task else ''}loss {name!r}. {hint}Losses: {', '.join(known)}.")
    accepted = set(inspect.signature(known[name]).parameters)
    if not parameters.keys() <= accepted:
        raise InputError(
            f"The loss {name!r} got {', '.join(sorted(parameters))}; it takes "
            f"{', '.join(sorted(accepted)) or 'no parameters'}."
        )
    return known[name](**parameters)


# ---------------------------------------------------------------------------------------------------------- helpers


def _contiguous(scores, targets):
    return np.ascontiguousarray(scores), np.ascontiguousarray(targets)


def _distances(k, n_problems):
    """k as an array of (points, problems)."""
    k = np.atleast_2d(np.asarray(k, dtype=np.float64))
    return np.array(np.broadcast_to(k, (len(k), n_problems)))


def _per_point(sums, k):
    """Sums of (points, problems), or of the problems if k is no list of points."""
    return sums if np.ndim(k) == 2 else sums[:, 0]


def _row_blocks(shape):
    size = max(1, BLOCK_NUMBERS // max(1, shape[1]))
    return [(first, min(first + size, shape[0])) for first in range(0, shape[0], size)]


def _ordered_sums(add, shape, sums_shape, n_jobs):
    """Two arrays of sums over the rows, to which ``add(first, last, *sums)`` adds those of some rows."""

    def sums_of(part):
        sums = np.zeros((2, *sums_shape))
        if sums.size:
            add(*part, *sums)
        return sums

    return sum(run_blocks(sums_of, _row_blocks(shape), n_jobs), start=np.zeros((2, *sums_shape)))
