"""From trials to a machine: what was chosen learns from all rows, with as many landmarks as pay.

Landmarks are doubled as long as left-out rows gain by it and the budget lasts: a step costs four times the one before,
so all of them together cost a third more than the last. Where the rows are few enough, the last step takes all of them.
"""

__all__ = ["Machine", "learn"]

import time
from dataclasses import dataclass, replace

import numpy as np

from mercer._base.memory import available_memory
from mercer._base.progress import track
from mercer.learners.auto.full_ridge import ridge_on
from mercer.learners.auto.predictor import ScaledPredictor
from mercer.learners.auto.trials import PENALTY_STEP, Judge, Trial, Trials
from mercer.learners.fitting.softmax import SoftmaxLink
from mercer.learners.fitting.targets import center_and_spread
from mercer.spaces import LandmarkPredictor

DOUBLE_ROWS = 2000  # up to which everything is computed in float64
EXACT_ROWS = 5000  # up to which every row is a landmark at once
MOST_ROWS = 15_000  # up to which every row may be a landmark in the end: half a minute of one core
FIRST_LANDMARKS, LAST_LANDMARKS = 1000, 2000  # before all rows are taken
# The budget of trials and landmarks when none is given, in operations of one core: it must not depend on a clock, or
# one seed would not give one model. A second of a budget counts as 4e10 of them, which is an assumption.
OPERATIONS, OPERATIONS_PER_ROW = 4e10, 7e7
PER_SECOND = 4e10
# What twice as many landmarks must bring to be doubled again: a share of the loss, and a tenth of a point; they bring
# a fifth of the loss at most.
LEAST_SHARE, LEAST_GAIN, MOST_SHARE = 0.01, 0.001, 0.2
MEMORY_SHARE = 0.25  # of the available memory that features may take
FRESH = 2  # rows per row that had a part in weights, above which the latter do not change the score much
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
    dtype = np.float64 if X.shape[0] <= DOUBLE_ROWS else np.float32
    judge = Judge(targets, codes, weights, groups).take(order)
    X = X[order]

    def is_over(share=TRIAL_SHARE):
        return budget is not None and time.perf_counter() - begun > share * budget

    trials = Trials(X, judge, kernels, scalings, dtype, C)
    best = trials.run(is_over)
    scaled = best.candidate.family.scaling.of_validated(X).astype(dtype)
    sizes = landmark_counts(X.shape[0], targets.shape[1], budget)
    steps, kept = [], None
    for M in track(sizes, "Landmarks"):
        started = time.perf_counter()
        which = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:M])
        ridge = ridge_on(best.candidate.kernel, scaled, which, judge)
        around = _penalties(ridge, best, kept) if C is None else (ridge.penalty_of(C),)
        fit = judge.best_fit(ridge, around)
        loss, score = judge.verdict(fit.left_out)
        steps.append((int(M), fit.penalty, loss, score, time.perf_counter() - started))
        gain = np.inf if kept is None else kept[0] - loss
        if gain > 0:
            kept = loss, fit, which, len(steps) - 1
        if gain < max(LEAST_GAIN, LEAST_SHARE * loss) or MOST_SHARE * loss < LEAST_GAIN or is_over(0.5):
            break
    _, fit, which, chosen = kept
    own_C = 1 / (fit.penalty * ridge.total * ridge.size)
    del ridge
    honest = _honest(fit, which, best, trials, X, judge)
    steps[chosen] = (*steps[chosen][:2], *judge.verdict(honest), steps[chosen][-1])
    left_out = np.empty_like(honest)
    left_out[order] = honest * spread
    landmarks = LandmarkPredictor(best.candidate.kernel, scaled[which], (fit.coefficients * spread).astype(dtype))
    predictor = ScaledPredictor(best.candidate.family.scaling, landmarks, np.dtype(dtype).name)
    return Machine(
        predictor, own_C, fit.intercept * spread, judge.link(honest), left_out, best, steps, chosen, trials.done
    )


def _honest(fit, which, best, trials, X, judge):
    """Left-out scores of the fit; of rows that had a part in weights of columns, scores with weights of other rows.

    Where most rows had no part in the weights, the others do not change the score, and are left as they are.
    """
    weighing = trials.weighing_of(best)
    if weighing is None or X.shape[0] > FRESH * weighing.halves[-1][0].stop:
        return fit.left_out
    left_out = fit.left_out.copy()
    for rows, weights in weighing.halves:
        candidate = replace(best.candidate, family=best.candidate.family.weighed(weights, trials.sample))
        scaled = candidate.family.scaling.of_validated(X).astype(trials.dtype)
        ridge = ridge_on(candidate.kernel, scaled, which, judge)
        left_out[rows] = ridge.fit(judge.targets, fit.penalty).left_out[rows]
    return left_out


def _penalties(ridge, best, kept):
    """Those around the one of the trials; for all rows after landmarks, where each is dear, the best of these."""
    if kept is not None and ridge.n == ridge.M:
        return (kept[1].penalty,)
    return best.penalty / PENALTY_STEP, best.penalty


def landmark_counts(n, n_columns, budget=None):
    """How many landmarks are tried one after the other for n rows.

    M landmarks take about 4 n M^2 operations, all rows n^3.

    >>> landmark_counts(1500, 3), landmark_counts(10_000, 3), landmark_counts(50_000, 3)
    ([1500], [1000, 2000, 10000], [1000, 2000, 4000])
    """
    if n <= EXACT_ROWS:
        return [n]
    operations = OPERATIONS + n * OPERATIONS_PER_ROW if budget is None else budget * PER_SECOND
    room = MEMORY_SHARE * available_memory() / 4  # in values
    takes_all = n <= (MOST_ROWS if budget is None else (operations / 2) ** (1 / 3)) and 2 * n**2 <= room
    most = LAST_LANDMARKS if takes_all else min(n, np.sqrt(operations / (4 * n)), room / n)
    sizes = [FIRST_LANDMARKS]
    while 2 * sizes[-1] <= most and 2 * sizes[-1] < n:
        sizes.append(2 * sizes[-1])
    return [*sizes, n] if takes_all else sizes


def _order(n, groups, seed):
    """The rows shuffled, those of a group together."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return rng.permutation(n)
    _, numbers = np.unique(groups, return_inverse=True)
    places = rng.permutation(numbers.max() + 1)
    return np.argsort(places[numbers], kind="stable")
