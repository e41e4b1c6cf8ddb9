"""Trials: candidates learn from some rows, and are judged by the scores that each row gets from all the others.

Successive halving [jamieson16nonstochastic]: every candidate is tried on few rows, the better ones on more, with their
widths refined and their columns weighed on the way. A trial is a ridge regression on the classes with all of its rows
as landmarks, whose left-out scores come in closed form (`mercer.learners.auto.ridge.closed`): fewer landmarks would
favor smooth kernels. The best of each kernel stay in the race, because rough kernels gain more from further rows.
"""

__all__ = ["Judge", "Trial", "Trials"]

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mercer._base.progress import track
from mercer.learners.auto.candidates import Candidate, families
from mercer.learners.auto.ridge.closed import FullRidge
from mercer.learners.auto.weighing import Weighing, weigh
from mercer.learners.fitting.softmax import fit_softmax


@dataclass(frozen=True)
class Rung:
    """How much a trial may take.

    Parameters
    ----------
    rows : at most
    kept : candidates that are tried here, at most
    step : between penalties, which start from the best one of the candidate so far
    errors : standard errors by which the rows tell a candidate from a better one, which ends its race
    """

    rows: int
    kept: int
    step: float
    errors: float


# The last rung takes most of the time, and what is one standard error behind hardly wins there, and then by little.
RUNGS = (Rung(500, 10_000, 100.0, 2.0), Rung(1500, 9, 10.0, 1.0), Rung(2500, 3, 10**0.5, 1.0))
FIRST_PENALTY = 1e-4
LEAST_ROWS = 2000  # of all, from which the last rung pays
SETTLED = 0.02  # loss at which candidates differ too little for a further rung
FAR = 1.3  # times the best loss: kernels beyond are out of the race
PENALTY_STEP = 10**0.5
MOST_PENALTY = 1.0
LEAST_FALL = 1e-5  # share of the squared error that a step must take away; towards no penalty it falls ever less
LOG_LOSS_SHARE = 0.15  # of the log loss beside the error rate: errors alone are too few to tell candidates apart
MOST_COLUMNS = 2000  # that are weighed
LEAST_GAIN = 0.005  # share of the loss by which a further width must be better
MOST_STEPS = 4  # of widths
MOST_WEIGHED = 2  # kernels whose columns are weighed


@dataclass(frozen=True)
class Trial:
    """What one candidate reached.

    Parameters
    ----------
    candidate : Candidate
    penalty : the best one
    loss : what is minimized
    score : accuracy, or R^2, of left-out scores
    rows : of the trial
    seconds : that it took
    """

    candidate: Candidate
    penalty: float
    loss: float
    score: float
    rows: int
    seconds: float


class Judge:
    """What is asked of left-out scores: of classes the error rate and the log loss, of numbers the squared error.

    Parameters
    ----------
    targets : float64 (n, P), what the ridge regression is given
    codes : class numbers (n,), or None for numbers to predict and for labels
    weights : float64 (n,)
    groups : None, or numbers of groups, ascending (n,)
    """

    def __init__(self, targets, codes, weights, groups=None):
        self.targets, self.codes, self.weights, self.groups = targets, codes, weights, groups
        center = weights @ targets / weights.sum()
        self._variance = float(weights @ np.square(targets - center).sum(axis=1)) or 1.0

    def take(self, which):
        """The judge of some of the rows."""
        parts = (self.targets, self.codes, self.weights, self.groups)
        return Judge(*(None if part is None else part[which] for part in parts))

    def squared(self, left_out):
        """Squared error over the variance: quick to compute, for comparing penalties."""
        return float(self.weights @ np.square(left_out - self.targets).sum(axis=1)) / self._variance

    def link(self, left_out):
        """What turns left-out scores into probabilities; None unless there are classes."""
        return None if self.codes is None else fit_softmax(left_out, self.codes, self.weights)

    def verdict(self, left_out):
        """(loss, score)."""
        return self.opinion(left_out)[:2]

    def losses(self, left_out):
        """What every row adds, float64 (n,): of classes its log loss and its error, of numbers its squared error."""
        return self.opinion(left_out)[2]

    def opinion(self, left_out):
        """(loss, score, what every row adds)."""
        link = self.link(left_out)
        if link is None:
            error = self.squared(left_out)
            return error, 1 - error, np.square(left_out - self.targets).sum(axis=1)
        likely = link.probabilities(left_out)
        own = likely[np.arange(len(likely)), self.codes]
        is_wrong = likely.argmax(axis=1) != self.codes
        error = float(np.average(is_wrong, weights=self.weights))
        losses = is_wrong - np.log(np.maximum(own, np.finfo(np.float64).tiny))
        return error + LOG_LOSS_SHARE * link.log_loss, 1 - error, losses

    def descend(self, ridge, penalty, step, ways=(-1, 1), limit=np.inf):
        """The RidgeFit at the end of steps from a penalty to smaller (-1) or larger (1) ones, while the error falls
        by more than rounding and the flat end of its curve would make it.

        No step is taken from an error beyond the limit.
        """
        best = ridge.fit(self.targets, penalty)
        error = self.squared(best.left_out)
        for way in ways if error <= limit else ():
            start = best.penalty
            while ridge.least_penalty <= best.penalty * step**way <= MOST_PENALTY:
                fit = ridge.fit(self.targets, best.penalty * step**way)
                found = self.squared(fit.left_out)
                if not found < (1 - LEAST_FALL) * error:
                    break
                best, error = fit, found
            if best.penalty != start:
                break
        if 1 < error <= limit:  # worse than the mean of the targets, to which the largest penalty is the nearest
            return self.best_fit(ridge, (best.penalty, MOST_PENALTY))
        return best

    def best_fit(self, ridge, penalties):
        """The RidgeFit of smallest squared error among penalties."""
        allowed = sorted({max(one, ridge.least_penalty) for one in penalties})
        return min((ridge.fit(self.targets, one) for one in allowed), key=lambda fit: self.squared(fit.left_out))


class Trials:
    """The trials on given rows, one rung after the other.

    Parameters
    ----------
    X : validated rows, in the order in which trials take them; with groups, groups are together
    judge : Judge of these rows
    kernels, scalings, C : what the caller has fixed, else None
    dtype : in which scaled rows are compared
    """

    def __init__(self, X, judge, kernels=None, scalings=None, dtype=np.float64, C=None):
        self.X, self.judge, self.dtype, self.C = X, judge, dtype, C
        self.sample = X[: RUNGS[0].rows]
        self.done = list[Trial]()
        self.weighings: dict[int, tuple[Weighing, float]] = {}  # by the identity of a weighed family
        self.closed: set[tuple] = set()  # keys of candidates that rows have told from a better one
        self._first = [
            (one, FIRST_PENALTY) for each in families(X, self.sample, kernels, scalings) for one in each.candidates()
        ]

    def run(self, is_over=lambda: False):
        """The best Trial; all are kept in ``done``. ``is_over`` ends the work before the next trial."""
        alive, best = self._first, None
        for rung in RUNGS:
            if rung is RUNGS[-1] and (self.X.shape[0] < LEAST_ROWS or best.loss < SETTLED):
                break
            here = _Round(self, rung)
            for candidate, penalty in track(alive[: rung.kept], f"Trials on {here.n} rows"):
                # more rows want a smaller penalty
                here.attempt(candidate, penalty, rung.step, (-1, 1) if rung is RUNGS[0] else (-1,))
                if is_over():
                    return here.best
            if rung is not RUNGS[0]:
                here.refine(is_over)
                if rung is RUNGS[1]:
                    here.weigh(is_over)
            best = here.best
            alive = here.survivors()
        return best

    def weighing_of(self, trial):
        """The Weighing of a trial's columns, or None if they have no weights."""
        return self.weighings.get(id(trial.candidate.family), (None, 1.0))[0]

    def optimism(self, family, n):
        """By what the loss of n left-out rows is to be multiplied: rows that had a part in weights look too good."""
        factor = self.weighings.get(id(family), (None, 1.0))[1]
        return 1 + (factor - 1) * min(1.0, RUNGS[1].rows / n)


class _Round:
    """The trials of a rung, which see the same rows and penalties."""

    def __init__(self, trials, rung):
        self.trials, self.rung = trials, rung
        self.n = min(rung.rows, trials.X.shape[0])
        self.judge = trials.judge.take(slice(0, self.n))
        self.found: dict[tuple, Trial] = {}
        self._least = np.inf  # squared error
        self._losses: dict[int, np.ndarray] = {}  # of every row, by the identity of a trial
        self._rows: dict = {}

    @property
    def best(self):
        return min(self.found.values(), key=lambda one: one.loss)

    def survivors(self):
        """(candidate, penalty) for the next rung: the best of each kernel that is not far behind, then all others.

        A candidate that the rows tell from the best is out: row by row it loses some standard errors more.
        """
        best = self.best
        self.trials.closed |= {key for key, one in self.found.items() if not self._is_open(one, best)}
        ranked = sorted(
            (one for key, one in self.found.items() if key not in self.trials.closed), key=lambda one: one.loss
        )
        first: dict[type, Trial] = {}
        for one in ranked:
            if one.loss <= FAR * ranked[0].loss:
                first.setdefault(type(one.candidate.family.kernel), one)
        leaders = list(first.values())
        ordered = leaders + [one for one in ranked if one not in leaders]
        return [(one.candidate, one.penalty) for one in ordered]

    def _is_open(self, one, best):
        more = self._losses[id(one.candidate)] - self._losses[id(best.candidate)]
        mean, error = mean_and_error(more, self.judge)
        return mean <= self.rung.errors * error

    def rows(self, family):
        """The scaled rows of the rung."""
        key = id(family.scaling)
        if key not in self._rows:
            scaled = family.scaling.of_validated(self.trials.X[: self.n]).astype(self.trials.dtype)
            self._rows[key] = family.scaling, scaled
        return self._rows[key][1]

    def attempt(self, candidate, penalty, step, ways=(-1, 1)):
        """Try a candidate with penalties from this one on, unless C is given or the candidate was tried."""
        key = _key(candidate)
        if key in self.found:
            return
        begun = time.perf_counter()
        ridge = FullRidge(candidate.kernel, self.rows(candidate.family), self.judge.weights, self.judge.groups)
        if self.trials.C is None:
            limit = np.inf if self.rung is RUNGS[0] else FAR * self._least  # few rows may start from a wrong penalty
            fit = self.judge.descend(ridge, penalty, step, ways, limit)
            self._least = min(self._least, self.judge.squared(fit.left_out))
        else:
            fit = self.judge.best_fit(ridge, (ridge.penalty_of(self.trials.C),))
        loss, score, self._losses[id(candidate)] = self.judge.opinion(fit.left_out)
        loss *= self.trials.optimism(candidate.family, self.n)
        taken = time.perf_counter() - begun
        self.found[key] = Trial(candidate, fit.penalty, loss, score, self.n, taken)
        self.trials.done.append(self.found[key])

    def refine(self, is_over):
        """Try the widths beside the best one, as long as they are better."""
        for _ in range(MOST_STEPS):
            best = self.best
            for candidate in best.candidate.neighbors():
                is_smoother = candidate.width < best.candidate.width  # which wants a smaller penalty
                # more rows want no smoother kernel: what fewer have ruled out stays out
                if not (is_smoother and _key(candidate) in self.trials.closed):
                    self.attempt(candidate, best.penalty, PENALTY_STEP, (-1,) if is_smoother else (1,))
            if is_over() or not self.best.loss < (1 - LEAST_GAIN) * best.loss:
                return

    def weigh(self, is_over):
        """Weigh the columns of the best kernels that have a width."""
        trials = self.trials
        if sparse.issparse(trials.X) or not 2 <= trials.X.shape[1] <= MOST_COLUMNS or self.best.loss < SETTLED:
            return
        for best in self._best_with_a_width()[:MOST_WEIGHED]:
            if is_over():
                return
            candidate = best.candidate
            found = weigh(
                candidate.family, candidate.width, best.penalty, trials.X[: self.n], trials.sample, self.judge,
                trials.dtype,
            )  # fmt: skip
            if found is not None:
                weighed = Candidate(candidate.family.weighed(found.weights, trials.sample), candidate.width)
                self._try_weighed(weighed, best, found)
        self.refine(is_over)

    def _try_weighed(self, candidate, before, weighing):
        """Try a candidate with weights; its loss is that without weights times what the weights are worth."""
        self.attempt(candidate, before.penalty, PENALTY_STEP)
        key, trial = list(self.found.items())[-1]
        honest = weighing.share * before.loss
        self.trials.weighings[id(candidate.family)] = weighing, max(1.0, honest / trial.loss if trial.loss else 1.0)
        trial = replace(trial, loss=max(honest, trial.loss))
        self.found[key] = self.trials.done[-1] = trial

    def _best_with_a_width(self):
        """The best trial of each kernel with a width that is in the race, the better ones first."""
        found, least = dict[type, Trial](), self.best.loss
        for one in sorted(self.found.values(), key=lambda one: one.loss):
            if one.candidate.width is not None and one.loss <= FAR * least:
                found.setdefault(type(one.candidate.family.kernel), one)
        return list(found.values())


def _key(candidate):
    return id(candidate.family), None if candidate.width is None else round(np.log2(candidate.width), 3)


def mean_and_error(losses, judge):
    """The weighted mean of numbers of the rows, and its standard error."""
    total = judge.weights.sum()
    mean = judge.weights @ losses / total
    parts = judge.weights * (losses - mean)
    if judge.groups is not None:  # rows of a group are right or wrong together
        parts = np.bincount(judge.groups, weights=parts)
    return mean, np.sqrt(parts @ parts) / total
