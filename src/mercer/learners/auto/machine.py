"""From trials to a machine: what was chosen learns from all rows, with as many landmarks as pay.

Landmarks are doubled as long as left-out rows gain by it and the budget lasts: a step costs four times the one before,
so all of them together cost a third more than the last.
"""

__all__ = ["Machine", "learn"]

import time
from dataclasses import dataclass

import numpy as np

from mercer._base.memory import available_memory
from mercer._base.progress import track
from mercer.learners.auto.predictor import ScaledPredictor
from mercer.learners.auto.ridge import LandmarkRidge
from mercer.learners.auto.trials import PENALTY_STEP, Judge, Trial, Trials
from mercer.learners.fitting.softmax import SoftmaxLink
from mercer.learners.fitting.targets import center_and_spread
from mercer.spaces import LandmarkPredictor

EXACT_ROWS = 2000  # up to which every row is a landmark, in float64
FIRST_LANDMARKS = 1000
# The budget of trials and landmarks when none is given, in operations of one core: it must not depend on a clock, or
# one seed would not give one model. A second of a budget counts as 4e10 of them, which is an assumption.
OPERATIONS, OPERATIONS_PER_ROW = 4e10, 3e7
PER_SECOND = 4e10
LEAST_GAIN = 0.01  # share of the loss that twice as many landmarks must bring
NEGLIGIBLE = 0.0025  # loss at which further landmarks cannot bring half a point in a thousand
MEMORY_SHARE = 0.25  # of the available memory that features may take
TRIAL_SHARE = 0.4  # of a budget in seconds that trials may take


@dataclass(frozen=True)
class Machine:
    """What was chosen and learned.

    Parameters
    ----------
    predictor : ScaledPredictor, without the intercept
    C : weight of the losses, C / 2 sum w |y - f|^2 + |u|^2 / 2
    intercept : float64 (P,)
    link : SoftmaxLink, or None unless there are classes
    left_out : scores of the rows by all the others, float64 (n, P), in the order of the rows
    best : the Trial that was chosen
    steps : (landmarks, penalty, loss, score, seconds) of each size
    chosen : number of the step that was kept
    trials : all of them
    """

    predictor: ScaledPredictor
    C: float
    intercept: np.ndarray
    link: SoftmaxLink | None
    left_out: np.ndarray
    best: Trial
    steps: list[tuple[int, float, float, float, float]]
    chosen: int
    trials: list[Trial]


def learn(X, targets, codes, weights, *, groups=None, seed=0, budget=None, kernels=None, scalings=None, C=None):
    """The Machine for rows and their targets.

    Parameters
    ----------
    X : validated rows
    targets : float64 (n, P)
    codes : class numbers (n,), or None
    weights : float64 (n,)
    groups : None, or numbers of groups (n,), whose rows are left out together
    seed : of the order in which rows are taken
    budget : seconds that may pass, or None
    kernels, scalings, C : what the caller has fixed, else None
    """
    begun = time.perf_counter()
    spread = center_and_spread(targets, weights, True)[1] if codes is None else np.ones(targets.shape[1])
    targets = targets / spread
    order = _order(X.shape[0], groups, seed)
    dtype = np.float64 if X.shape[0] <= EXACT_ROWS else np.float32
    judge = Judge(targets, codes, weights, groups).take(order)
    X = X[order]

    def is_over(share=TRIAL_SHARE):
        return budget is not None and time.perf_counter() - begun > share * budget

    trials = Trials(X, judge, seed, kernels, scalings, dtype, C)
    best = trials.run(is_over)
    scaled = best.candidate.family.scaling.of_validated(X).astype(dtype)
    sizes = landmark_counts(X.shape[0], targets.shape[1], budget)
    steps, kept = [], None
    for M in track(sizes, "Landmarks"):
        started = time.perf_counter()
        which = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:M])
        ridge = LandmarkRidge(best.candidate.kernel, scaled, scaled[which], judge.weights, judge.groups)
        around = (best.penalty / PENALTY_STEP, best.penalty) if C is None else (ridge.penalty_of(C),)
        fit = judge.best_fit(ridge, around)
        loss, score = judge.verdict(fit.left_out)
        steps.append((int(M), fit.penalty, loss, score, time.perf_counter() - started))
        gain = 1.0 if kept is None else 1 - loss / kept[0] if kept[0] > 0 else 0.0
        if gain > 0:
            kept = loss, fit, which, len(steps) - 1
        if gain < LEAST_GAIN or loss < NEGLIGIBLE or is_over(0.5):
            break
    _, fit, which, chosen = kept
    own_C = 1 / (fit.penalty * ridge.total * ridge.size)
    del ridge
    left_out = np.empty_like(fit.left_out)
    left_out[order] = fit.left_out * spread
    landmarks = LandmarkPredictor(best.candidate.kernel, scaled[which], (fit.coefficients * spread).astype(dtype))
    predictor = ScaledPredictor(best.candidate.family.scaling, landmarks, np.dtype(dtype).name)
    return Machine(
        predictor, own_C, fit.intercept * spread, judge.link(fit.left_out), left_out, best, steps, chosen, trials.done
    )


def landmark_counts(n, n_columns, budget=None):
    """How many landmarks are tried one after the other for n rows.

    >>> landmark_counts(1500, 3), landmark_counts(20_000, 3)
    ([1500], [1000, 2000])
    """
    if n <= EXACT_ROWS:
        return [n]
    operations = OPERATIONS + n * OPERATIONS_PER_ROW if budget is None else budget * PER_SECOND
    most = min(n, int(np.sqrt(operations / (4 * n))), int(MEMORY_SHARE * available_memory() / (4 * n)))
    sizes = [FIRST_LANDMARKS]
    while 2 * sizes[-1] <= most:
        sizes.append(2 * sizes[-1])
    return sizes


def _order(n, groups, seed):
    """The rows shuffled, those of a group together."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return rng.permutation(n)
    _, numbers = np.unique(groups, return_inverse=True)
    places = rng.permutation(numbers.max() + 1)
    return np.argsort(places[numbers], kind="stable")
