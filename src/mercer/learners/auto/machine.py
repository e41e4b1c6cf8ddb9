"""From trials to a machine: what was chosen learns from all rows, with as many landmarks as pay.

Up to some tens of thousands of rows, each is compared with every other: few of them in closed form, more of them by
conjugate gradients (`mercer.learners.auto.ridge`), where a quarter of the rows at a time is held out. Of yet more rows
some are landmarks. These are doubled as long as left-out rows gain by it and the budget lasts: a step costs four times
the one before, so all of them together cost a third more than the last. Local machines (`mercer.learners.auto.local`)
are tried in a few cells then, and compete with landmarks for the left-out rows of these cells. What wins there learns
from all rows.
"""

__all__ = ["Machine", "learn"]

import time
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from mercer._base.progress import track
from mercer._base.threads import single_threaded
from mercer.learners.auto.local.machine import LocalTrials
from mercer.learners.auto.panel import Member, factors, judged_alike, rivals
from mercer.learners.auto.predictor import PanelPredictor, ScaledPredictor
from mercer.learners.auto.ridge.closed import ridge_on
from mercer.learners.auto.ridge.iterated import IteratedRidge
from mercer.learners.auto.ridge.landmarks import RidgeFit
from mercer.learners.auto.sizes import LEAST_CELL_ROWS, cell_rows, landmark_counts, takes_all
from mercer.learners.auto.trials import FAR, PENALTY_STEP, Judge, Trial, Trials
from mercer.learners.fitting.softmax import SoftmaxLink
from mercer.learners.fitting.targets import center_and_spread
from mercer.spaces import LandmarkPredictor

DOUBLE_ROWS = 2000  # up to which everything is computed in float64
PANEL_ROWS = 2500  # up to which several machines may answer together: the last trials saw all of these
FOLDS = 4  # of rows that are all compared, each of which is held out once
COARSE, FINE = 0.03, 0.005  # residuals over targets, while rows are held out and in the end
PENALTIES = 3  # that are tried there at most
# What twice as many landmarks must bring to be doubled again: a share of the loss, and a tenth of a point; they bring
# a fifth of the loss at most.
LEAST_SHARE, LEAST_GAIN, MOST_SHARE = 0.01, 0.001, 0.2
FRESH = 2  # rows per row that had a part in weights, above which the latter do not change the score much
TRIAL_SHARE = 0.4  # of a budget in seconds that trials may take
OTHER_KERNELS = 2  # beside the best one that are tried in cells
DUEL_ROWS = 50_000  # rows on which landmarks compete with local machines
DUEL_SHARE, LOCAL_SHARE = 0.55, 0.65  # of a budget, by which trials in cells and the competition have ended


@dataclass(frozen=True)
class Machine:
    """What was chosen and learned.

    Parameters
    ----------
    predictor : ScaledPredictor or PanelPredictor, without the intercept
    C : weight of the losses, C / 2 sum w |y - f|^2 + |u|^2 / 2
    intercept : float64 (P,)
    link : SoftmaxLink, or None unless there are classes
    left_out : scores of the rows by all the others, or those of other folds, float64 (n, P), in the order of the rows
    best : the Trial that was chosen
    steps : (landmarks, penalty, loss, score, seconds) of each size
    chosen : number of the step that was kept
    trials : all of them
    cells : number of local machines, or 0; landmarks are then those of one of them
    rivals : (what, landmarks, score, seconds) of those that competed for the same left-out rows
    cell_trials : trials of local machines in some of the cells
    others : trials of further machines that answer together with the best
    folds : in which rows were held out, or 0 where each was left out alone
    """

    predictor: ScaledPredictor | PanelPredictor
    C: float
    intercept: np.ndarray
    link: SoftmaxLink | None
    left_out: np.ndarray
    best: Trial
    steps: list[tuple[int, float, float, float, float]]
    chosen: int
    trials: list[Trial]
    cells: int = 0
    rivals: tuple[tuple[str, int, float, float], ...] = ()
    cell_trials: tuple[Trial, ...] = ()
    others: tuple[Trial, ...] = ()
    folds: int = 0


@dataclass(frozen=True)
class Grown:
    """A machine on landmarks.

    Parameters
    ----------
    fit : RidgeFit
    which : numbers of the landmarks, ascending
    C : weight of the losses
    steps, chosen : as of a Machine
    """

    fit: RidgeFit
    which: np.ndarray
    C: float
    steps: list[tuple[int, float, float, float, float]]
    chosen: int


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
    order = _order(X.shape[0], groups, seed)
    with single_threaded():  # sums of BLAS have other bits on other numbers of threads
        if codes is None:
            center, spread = center_and_spread(targets, weights, True)
        else:
            center, spread = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
        judge = Judge((targets - center) / spread, codes, weights, groups).take(order)
        work = _Work(X[order], judge, seed, budget, C)
        work.try_kernels(kernels, scalings)
        if work.is_whole():
            found = work.whole_machine(spread)
        else:
            found = work.local_machine(spread) if work.is_local() else work.landmark_machine(spread)
    left_out = np.empty_like(found.left_out)
    left_out[order] = found.left_out
    return replace(found, left_out=left_out + center, intercept=found.intercept + center)


class _Work:
    """An automatic fit: the rows in random order, the clock, and what is known so far.

    Parameters
    ----------
    X : validated rows, in the order in which trials take them
    judge : Judge of these rows
    seed, budget, C : as of ``learn``
    """

    def __init__(self, X, judge, seed, budget, C):
        self.begun = time.perf_counter()
        self.X, self.judge, self.seed, self.budget, self.C = X, judge, seed, budget, C
        self.n = X.shape[0]
        self.dtype = np.float64 if self.n <= DOUBLE_ROWS else np.float32
        self.rivals = list[tuple[str, int, float, float]]()
        self.local: LocalTrials | None = None
        self.grown: Grown | None = None

    def is_over(self, share=TRIAL_SHARE):
        """Whether more than a share of the budget is gone."""
        return self.budget is not None and self.left(share) < 0

    def left(self, share=1.0):
        """Seconds until a share of the budget is gone."""
        return share * self.budget - (time.perf_counter() - self.begun)

    def try_kernels(self, kernels, scalings):
        """Set ``best``, the winner of the trials on some of the rows."""
        self.is_open = kernels is None
        self.trials = Trials(self.X, self.judge, kernels, scalings, self.dtype, self.C)
        self.best = self.trials.run(self.is_over)

    # ------------------------------------------------------------------------------------------------------- all rows

    def is_whole(self):
        """Whether each row is to be compared with every other, by steps."""
        left = None if self.budget is None else self.left()
        return not self.is_good() and takes_all(self.X, self.judge.targets.shape[1], left)

    def is_good(self):
        """Whether trials left so little to be gained that some landmarks are enough."""
        return MOST_SHARE * self.best.loss < LEAST_GAIN

    def whole_machine(self, spread):
        """The Machine of the best trial with all rows as landmarks, its penalty chosen by rows that are held out."""
        begun, judge, candidate = time.perf_counter(), self.judge, self.best.candidate
        scaled = candidate.family.scaling.of_validated(self.X).astype(np.float32)
        ridge = IteratedRidge(candidate.kernel, scaled, judge.weights, _folds(self.n, judge.groups))
        left_out, solved = self._held_out(ridge)
        coefficients, intercept = ridge.fit(judge.targets, solved.penalty, FINE, solved)
        predictor = ScaledPredictor(
            candidate.family.scaling,
            LandmarkPredictor(candidate.kernel, scaled, (coefficients * spread).astype(np.float32)),
            "float32",
        )
        steps = [(self.n, solved.penalty, *judge.verdict(left_out), time.perf_counter() - begun)]
        return Machine(
            predictor, ridge.penalty_of(solved.penalty), intercept * spread, judge.link(left_out),
            left_out * spread, self.best, steps, 0, self.trials.done, folds=FOLDS,
        )  # fmt: skip

    def _held_out(self, ridge):
        """(scores of all rows by those of other folds, Solved) of the best penalty."""
        loss, solved, kept = np.inf, None, None
        for penalty in track(self._falling(ridge), "Trying penalties on all rows"):
            solved, scores = ridge.held_out(self.judge.targets, penalty, COARSE, solved)
            error = self.judge.squared(scores)
            if not error < loss:
                break
            loss, kept = error, (scores, solved)
        return kept

    def _falling(self, ridge):
        """The penalties that are tried one after the other, as long as each is better: more rows want smaller ones."""
        if self.C is not None:
            return [ridge.penalty_of(self.C)]
        found = [self.best.penalty / PENALTY_STEP**k for k in range(PENALTIES)]
        return [one for one in found if one >= ridge.least_penalty] or found[:1]

    # ------------------------------------------------------------------------------------------------------- landmarks

    def landmark_machine(self, spread):
        """The Machine of the best trial on landmarks; of few rows, together with those that are judged alike."""
        grown = self.grown or self.grow(slice(None), self._counts())
        honest = _honest(grown.fit, grown.which, self.best, self.trials, self.X, self.judge)
        members = self._panel(Member(self.best, grown.fit, honest))
        shares = factors(members, self.judge) if len(members) > 1 else np.ones(1)
        parts = [self._part(one, grown.which, share * spread) for one, share in zip(members, shares, strict=True)]
        left_out = sum(share * one.left_out for one, share in zip(members, shares, strict=True))
        intercept = sum(share * one.fit.intercept for one, share in zip(members, shares, strict=True))
        steps = list(grown.steps)
        steps[grown.chosen] = (*steps[grown.chosen][:2], *self.judge.verdict(left_out), steps[grown.chosen][-1])
        return Machine(
            parts[0] if len(parts) == 1 else PanelPredictor(parts), grown.C, intercept * spread,
            self.judge.link(left_out), left_out * spread, self.best, steps, grown.chosen, self.trials.done,
            rivals=tuple(self.rivals), cell_trials=() if self.local is None else tuple(self.local.done),
            others=tuple(one.trial for one in members[1:]),
        )  # fmt: skip

    def _part(self, member, which, factors):
        """The predictor of a machine, its scores times factors of the columns."""
        candidate = member.trial.candidate
        landmarks = LandmarkPredictor(
            candidate.kernel,
            candidate.family.scaling.of_validated(self.X[which]).astype(self.dtype),
            (member.fit.coefficients * factors).astype(self.dtype),
        )
        return ScaledPredictor(candidate.family.scaling, landmarks, np.dtype(self.dtype).name)

    def _panel(self, best):
        """The Members that answer together: the best alone, unless rows are few and its rivals are judged alike."""
        if self.n > PANEL_ROWS or not self.is_open or self.is_over():
            return [best]
        everything, others = np.arange(self.n), []
        for trial in track(rivals(self.trials.done, self.best), "Trying the closest competitors"):
            scaled = trial.candidate.family.scaling.of_validated(self.X).astype(self.dtype)
            ridge = ridge_on(trial.candidate.kernel, scaled, everything, self.judge)
            fit = self.judge.best_fit(ridge, self._penalties(ridge, trial))
            others.append(Member(trial, fit, _honest(fit, everything, trial, self.trials, self.X, self.judge)))
        return judged_alike(best, others, self.judge)

    def _counts(self):
        left = None if self.budget is None else max(0.0, self.left())
        return landmark_counts(self.n, left)

    def _penalties(self, ridge, trial):
        """Those around the one of the trial."""
        if self.C is not None:
            return (ridge.penalty_of(self.C),)
        return trial.penalty / PENALTY_STEP, trial.penalty

    def grow(self, rows, sizes, is_enough=lambda left_out, n_more: False):
        """The Grown of some of the rows; ``is_enough`` of left-out scores and further sizes ends it."""
        judge = self.judge.take(rows)
        scaled = self.best.candidate.family.scaling.of_validated(self.X[rows]).astype(self.dtype)
        steps, kept = list[tuple[int, float, float, float, float]](), None
        for number, M in enumerate(track(sizes, "Landmarks")):
            started = time.perf_counter()
            which = np.sort(np.random.default_rng(self.seed).permutation(scaled.shape[0])[:M])
            ridge = ridge_on(self.best.candidate.kernel, scaled, which, judge)
            fit = judge.best_fit(ridge, self._penalties(ridge, self.best))
            loss, score = judge.verdict(fit.left_out)
            steps.append((int(M), fit.penalty, loss, score, time.perf_counter() - started))
            gain = np.inf if kept is None else kept[0] - loss
            if gain > 0:
                kept = loss, fit, which, 1 / (fit.penalty * ridge.total * ridge.size), number
            ends = gain < max(LEAST_GAIN, LEAST_SHARE * loss) or MOST_SHARE * loss < LEAST_GAIN or self.is_over(0.5)
            if is_enough(fit.left_out, len(sizes) - 1 - number) or ends:
                break
        _, fit, which, own_C, chosen = kept
        return Grown(fit, which, own_C, steps, chosen)

    # ------------------------------------------------------------------------------------------------- local machines

    def is_local(self):
        """Whether local machines are better than landmarks, on left-out rows of a few cells."""
        most = self._cell_rows()
        if most is None:
            return False
        begun = time.perf_counter()
        self.local = LocalTrials(self.X, self.judge, self.best, most, self.dtype, self.seed, self.C)
        self.local.run(self._others(), lambda: self.is_over(DUEL_SHARE))
        local, members = self.local.best, round(np.mean([len(cell.members) for cell in self.local.tried]))
        self.rivals.append(("local machines", members, local.score, time.perf_counter() - begun))
        # the best of several trials looks a little better than it is
        return local.loss < (1 - LEAST_SHARE) * self._loss_of_landmarks(local.loss)

    def _cell_rows(self):
        """How many rows may lie in a cell; None if there are to be no local machines."""
        if self.is_good() or sparse.issparse(self.X) or self.is_over(DUEL_SHARE):
            return None
        return cell_rows(self.n, None if self.budget is None else LOCAL_SHARE * self.left())

    def _others(self):
        """The best trials of other kernels that are not far behind, on as many rows as the best."""
        found: dict[type, Trial] = {type(self.best.candidate.family.kernel): self.best}
        for one in sorted(self.trials.done, key=lambda one: one.loss):
            if one.rows == self.best.rows and one.loss <= FAR * self.best.loss:
                found.setdefault(type(one.candidate.family.kernel), one)
        return list(found.values())[1 : 1 + OTHER_KERNELS]

    def _loss_of_landmarks(self, goal):
        """The loss of landmarks on the rows of the cells, as far as it matters: they may come below the goal."""
        rows, begun = self.local.rows, time.perf_counter()
        duelists = np.arange(self.n)
        if self.n > DUEL_ROWS:
            chance = np.setdiff1d(np.arange(DUEL_ROWS), rows)  # rows are in random order
            duelists = np.union1d(rows, chance[: max(0, DUEL_ROWS - len(rows))])
        judge, own = self.judge.take(rows), np.searchsorted(duelists, rows)
        losses, scores = list[float](), list[float]()

        def is_enough(left_out, n_more):
            loss, score = judge.verdict(left_out[own])
            losses.append(loss)
            scores.append(score)
            return goal < loss * (1 - MOST_SHARE) ** n_more

        left = None if self.budget is None else max(0.0, self.left(LOCAL_SHARE))
        grown = self.grow(duelists, landmark_counts(len(duelists), left), is_enough)
        if len(duelists) == self.n:
            self.grown = grown
        best = int(np.argmin(losses))
        self.rivals.append(("landmarks", grown.steps[best][0], scores[best], time.perf_counter() - begun))
        return losses[best]

    def local_machine(self, spread):
        """The Machine of the best trial in cells."""
        begun, best, most = time.perf_counter(), self.local.best, None
        if self.budget is not None and self.local.predicted_seconds > self.left():
            # smaller cells: what a row takes grows at least as the number of rows that it is compared with
            most = max(1, int(self.local.most * max(0.0, self.left()) / self.local.predicted_seconds))
        fit = self.local.learn(None if most is None else max(LEAST_CELL_ROWS, most), spread)
        loss, score = self.judge.verdict(fit.left_out)
        steps = [(fit.members, best.penalty, loss, score, time.perf_counter() - begun)]
        predictor = ScaledPredictor(best.candidate.family.scaling, fit.predictor, np.dtype(self.dtype).name)
        link, nothing = self.judge.link(fit.left_out), np.zeros(len(spread))
        n_cells, rivals, cell_trials = fit.predictor.tree.n_cells, tuple(self.rivals), tuple(self.local.done)
        return Machine(
            predictor, fit.C, nothing, link, fit.left_out * spread, best, steps, 0, self.trials.done,
            cells=n_cells, rivals=rivals, cell_trials=cell_trials,
        )  # fmt: skip


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


def _folds(n, groups):
    """The rows as slices of about equal length, which cut no group."""
    cuts = np.arange(1, FOLDS) * n // FOLDS
    if groups is not None:
        ends = np.flatnonzero(np.diff(groups)) + 1
        cuts = np.unique(ends[np.abs(ends[:, None] - cuts).argmin(axis=0)])
    return [slice(a, b) for a, b in pairwise([0, *cuts.tolist(), n])]


def _order(n, groups, seed):
    """The rows shuffled, those of a group together."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return rng.permutation(n)
    _, numbers = np.unique(groups, return_inverse=True)
    places = rng.permutation(numbers.max() + 1)
    return np.argsort(places[numbers], kind="stable")
