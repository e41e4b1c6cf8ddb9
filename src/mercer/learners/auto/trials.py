"""Trials: candidates learn from some rows, and are judged by the scores that each row gets from all the others.

Successive halving [jamieson16nonstochastic]: every candidate is tried on few rows and landmarks, the better ones on
more, with their widths refined and their columns weighed on the way. A trial is a ridge regression on the classes,
whose left-out scores come in closed form (`mercer.learners.auto.ridge`): it costs one fit, and its penalties share the
features.
"""

__all__ = ["Judge", "Trial", "Trials"]

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mercer._base.progress import track
from mercer.kernels import RBF
from mercer.learners.auto.candidates import Candidate, families
from mercer.learners.auto.relevance import column_weights
from mercer.learners.auto.ridge import LandmarkRidge
from mercer.learners.fitting.softmax import fit_softmax


@dataclass(frozen=True)
class Rung:
    """How much a trial may take.

    Parameters
    ----------
    rows, landmarks : at most
    kept : candidates that are tried here, at most
    penalties : to be tried; None for those around the best so far
    """

    rows: int
    landmarks: int
    kept: int
    penalties: tuple[float, ...] | None = None


RUNGS = (
    Rung(800, 200, 10_000, (1e-6, 1e-4, 1e-2)),
    Rung(2000, 400, 8, (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)),
    Rung(4000, 800, 3),
)
LEAST_ROWS = 2500  # of all, from which the last rung pays
SETTLED = 0.02  # loss at which candidates differ too little for a further rung
PENALTY_STEP = 10**0.5
LOG_LOSS_SHARE = 0.15  # of the log loss beside the error rate: errors alone are too few to tell candidates apart
MOST_COLUMNS = 2000  # that are weighed
LEAST_GAIN = 0.005  # share of the loss by which a further width, or further weights, must be better
MOST_STEPS = 4  # of either


@dataclass(frozen=True)
class Trial:
    """What one candidate reached.

    Parameters
    ----------
    candidate : Candidate
    penalty : the best one
    loss : what is minimized
    score : accuracy, or R^2, of left-out scores
    rows, landmarks : of the trial
    seconds : that it took
    """

    candidate: Candidate
    penalty: float
    loss: float
    score: float
    rows: int
    landmarks: int
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
        link = self.link(left_out)
        if link is None:
            error = self.squared(left_out)
            return error, 1 - error
        decision = link.decision(left_out)
        chosen = (decision > 0).astype(np.int64) if decision.ndim == 1 else decision.argmax(axis=1)
        error = float(np.average(chosen != self.codes, weights=self.weights))
        return error + LOG_LOSS_SHARE * link.log_loss, 1 - error

    def best_fit(self, ridge, penalties):
        """The RidgeFit of smallest squared error among penalties."""
        return min((ridge.fit(self.targets, one) for one in penalties), key=lambda fit: self.squared(fit.left_out))


class Trials:
    """The trials on given rows, one rung after the other.

    Parameters
    ----------
    X : validated rows, in the order in which trials take them; with groups, groups are together
    judge : Judge of these rows
    seed : of what landmarks are drawn
    kernels, scalings, C : what the caller has fixed, else None
    dtype : in which scaled rows are compared
    """

    def __init__(self, X, judge, seed, kernels=None, scalings=None, dtype=np.float64, C=None):
        self.X, self.judge, self.seed, self.dtype, self.C = X, judge, seed, dtype, C
        self.sample = X[: RUNGS[0].rows]
        self.kernels, self.done = kernels, list[Trial]()
        self._first = [one for each in families(X, self.sample, kernels, scalings) for one in each.candidates()]

    def run(self, is_over=lambda: False):
        """The best Trial; all are kept in ``done``. ``is_over`` ends the work before the next trial."""
        alive, best = self._first, None
        for rung in RUNGS:
            if rung is RUNGS[-1] and (self.X.shape[0] < LEAST_ROWS or best.loss < SETTLED):
                break
            here = _Round(self, rung, best)
            for candidate in track(alive[: rung.kept], f"Trials on {here.n} rows"):
                here.attempt(candidate)
                if is_over():
                    return here.best
            if rung is not RUNGS[0]:
                here.refine(is_over)
                if rung is RUNGS[1]:
                    here.weigh(is_over)
            best = here.best
            alive = [one.candidate for one in sorted(here.found.values(), key=lambda one: one.loss)]
        return best


class _Round:
    """The trials of a rung, which see the same rows and penalties."""

    def __init__(self, trials, rung, before):
        self.trials, self.rung, self.before = trials, rung, before
        self.n = min(rung.rows, trials.X.shape[0])
        self.judge = trials.judge.take(slice(0, self.n))
        draw = np.random.default_rng(trials.seed).permutation(self.n)
        self.landmarks = np.sort(draw[: rung.landmarks])
        self.found: dict[tuple, Trial] = {}
        self._rows: dict = {}

    @property
    def best(self):
        return min(self.found.values(), key=lambda one: one.loss)

    def rows(self, family):
        """The scaled rows of the rung."""
        key = id(family.scaling)
        if key not in self._rows:
            self._rows[key] = family.scaling, self._scaled(family.scaling)
        return self._rows[key][1]

    def _scaled(self, scaling):
        return scaling.of_validated(self.trials.X[: self.n]).astype(self.trials.dtype)

    def ridge(self, family, kernel):
        X = self.rows(family)
        return LandmarkRidge(kernel, X, X[self.landmarks], self.judge.weights, self.judge.groups)

    def attempt(self, candidate):
        """Try a candidate, unless it was tried."""
        key = (id(candidate.family), None if candidate.width is None else round(np.log2(candidate.width), 3))
        if key in self.found:
            return
        begun = time.perf_counter()
        ridge = self.ridge(candidate.family, candidate.kernel)
        fit = self.judge.best_fit(ridge, self._penalties(ridge))
        loss, score = self.judge.verdict(fit.left_out)
        taken = time.perf_counter() - begun
        self.found[key] = Trial(candidate, fit.penalty, loss, score, self.n, ridge.M, taken)
        self.trials.done.append(self.found[key])

    def _penalties(self, ridge):
        if self.trials.C is not None:
            return (ridge.penalty_of(self.trials.C),)
        return self.rung.penalties or around(self.before.penalty)

    def refine(self, is_over):
        """Try the widths beside the best one, as long as they are better."""
        for _ in range(MOST_STEPS):
            best = self.best
            for candidate in best.candidate.neighbors():
                self.attempt(candidate)
            if is_over() or not self.best.loss < (1 - LEAST_GAIN) * best.loss:
                return

    def weigh(self, is_over):
        """Weigh columns by the slopes of what was learned, as long as that is better; only of kernels with a width."""
        X = self.trials.X
        if sparse.issparse(X) or not 2 <= X.shape[1] <= MOST_COLUMNS:
            return
        for _ in range(MOST_STEPS):
            best = self._best_with_a_width()
            if best is None or is_over():
                return
            weights = self._weights(best)
            kernels = {type(best.candidate.family.kernel): best.candidate.family.kernel}
            if self.trials.kernels is None:
                kernels[RBF] = RBF()
            for kernel in kernels.values():
                family = replace(best.candidate.family, kernel=kernel).weighed(weights, self.trials.sample)
                self.attempt(Candidate(family, best.candidate.width))
            if not self._best_with_a_width().loss < (1 - LEAST_GAIN) * best.loss:
                return
            self.refine(is_over)

    def _best_with_a_width(self):
        found = [one for one in self.found.values() if one.candidate.width is not None]
        return min(found, key=lambda one: one.loss, default=None)

    def _weights(self, best):
        """By the slopes of a Gaussian machine on the same rows, in the units of the unweighted columns."""
        family = replace(best.candidate.family, kernel=RBF())
        kernel = Candidate(family, 0.7).kernel
        ridge, X = self.ridge(family, kernel), self.rows(family)
        fit = self.judge.best_fit(ridge, around(best.penalty))
        own = column_weights(kernel, X, X[self.landmarks], fit.coefficients)
        before = family.scaling.weights_
        return own if before is None else own * np.sqrt(before)


def around(penalty):
    """Penalties beside the best of fewer rows, more of them below."""
    return penalty / PENALTY_STEP**2, penalty / PENALTY_STEP, penalty, penalty * PENALTY_STEP
