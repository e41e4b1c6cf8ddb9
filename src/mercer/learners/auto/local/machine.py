"""Local machines: one ridge regression per cell, with all of its rows as landmarks.

Kernel, width and penalty of rows that stand close together are others than those of a sample of all rows, so the best
of the trials are tried again in a few cells of the final size. A cell learns from its own rows and their neighbors
(`mercer.learners.auto.local.cells`); a row is judged in its own cell, by the score that it gets from all other members
in closed form (`mercer.learners.auto.ridge.closed`). Cells as in [thomann17spatial], with their own widths and
penalties there; here all of them have the same kernel.
"""

__all__ = ["LocalFit", "LocalTrials"]

import time
from dataclasses import dataclass

import numpy as np

from mercer._base.memory import available_memory
from mercer._base.progress import track
from mercer._base.threads import effective_threads, run_blocks
from mercer.learners.auto.local.cells import grow_cells
from mercer.learners.auto.ridge.closed import FullRidge
from mercer.learners.auto.trials import PENALTY_STEP, Trial
from mercer.spaces import CellPredictor

OVERLAP = 0.5  # neighbors per row of a cell
LEAST_CELLS, MOST_CELLS, SHARE = 2, 4, 8  # that are tried: one in SHARE
MOST_STEPS = 3  # of widths
LEAST_GAIN = 0.005  # share of the loss by which a further width must be better
MEMORY_SHARE = 0.5  # of the available memory that matrices of cells may take
MATRICES = 4  # of the size of a cell's kernel values, at a time


@dataclass(frozen=True)
class LocalFit:
    """The machines of all cells.

    Parameters
    ----------
    predictor : CellPredictor of scaled rows
    left_out : scores of the rows by the others of their cells, float64 (n, P)
    members : mean number of rows that a cell learns from
    C : weight of the losses in a cell of that size
    """

    predictor: CellPredictor
    left_out: np.ndarray
    members: int
    C: float


class LocalTrials:
    """Trials in some of the cells, and the machines of all of them.

    Parameters
    ----------
    X : validated raw rows in random order, dense; with groups, groups are together
    judge : Judge of these rows
    leader : the best Trial on a sample of the rows, whose scaling says what is near
    most : rows of a cell
    dtype : in which scaled rows are compared
    seed : of the cells that are tried
    C : what the caller has fixed, else None
    """

    def __init__(self, X, judge, leader, most, dtype, seed, C=None):
        self.X, self.judge, self.leader, self.dtype, self.C = X, judge, leader, dtype, C
        self.done = list[Trial]()
        self._costs = list[float]()  # seconds per member of a cell
        self._cut(leader.candidate, most)
        n_tried = min(max(LEAST_CELLS, min(MOST_CELLS, len(self.cells) // SHARE)), len(self.cells))
        which = np.random.default_rng(seed).permutation(len(self.cells))[:n_tried]
        self.tried = [self.cells[one] for one in np.sort(which)]
        self.rows = np.concatenate([cell.own for cell in self.tried])

    @property
    def best(self):
        """The Trial of smallest loss."""
        return min(self.done, key=lambda one: one.loss)

    @property
    def predicted_seconds(self):
        """What the machines of all cells will take."""
        members = sum(len(cell.members) for cell in self.cells)
        return float(np.mean(self._costs)) * members / min(len(self.cells), self._threads())

    def run(self, others, is_over):
        """Try the leader and others, then widths beside the best one as long as they are better."""
        for trial in track([self.leader, *others], f"Trials in {len(self.tried)} cells"):
            self._attempt(trial.candidate, (trial.penalty / 10, trial.penalty))
            if is_over():
                return
        known = {_key(one.candidate) for one in self.done}
        for _ in range(MOST_STEPS):
            best = self.best
            for candidate in best.candidate.neighbors():
                if is_over():
                    return
                if _key(candidate) not in known:
                    known.add(_key(candidate))
                    self._attempt(candidate, (best.penalty / PENALTY_STEP, best.penalty))
            if not self.best.loss < (1 - LEAST_GAIN) * best.loss:
                return

    def learn(self, most, spread):
        """The :class:`LocalFit` of the best trial.

        Parameters
        ----------
        most : rows of a cell if they are to be others than those of the trials, else None
        spread : unit of the targets (P,), by which predictions are multiplied
        """
        best, targets = self.best, self.judge.targets
        if most is not None or best.candidate.family is not self._family:
            self._cut(best.candidate, most or self.most)
        scaled, starts = self._scaled, np.cumsum([0, *(len(cell.members) for cell in self.cells)])
        left_out = np.empty(targets.shape)
        coefficients = np.empty((starts[-1], targets.shape[1]), dtype=self.dtype)
        offsets, weights = np.empty((len(self.cells), targets.shape[1])), np.empty(len(self.cells))

        def fill(number):
            cell = self.cells[number]
            ridge, fits = self._fits(cell, best.candidate, scaled[cell.members], (best.penalty,))
            coefficients[starts[number] : starts[number + 1]] = fits[0].coefficients * spread
            offsets[number], weights[number] = fits[0].intercept * spread, ridge.total * ridge.size
            left_out[cell.own] = fits[0].left_out[np.searchsorted(cell.members, cell.own)]

        run_blocks(fill, range(len(self.cells)), self._threads(), title="Local machines")
        members = np.concatenate([cell.members for cell in self.cells]).astype(np.int32)
        predictor = CellPredictor(best.candidate.kernel, self.tree, scaled, members, starts, coefficients, offsets)
        own_C = 1 / (best.penalty * float(weights.mean())) if self.C is None else self.C
        return LocalFit(predictor, left_out, round(starts[-1] / len(self.cells)), own_C)

    def _cut(self, candidate, most):
        """Scale all rows as a candidate does, and cut them into cells."""
        self.most, self._family = most, candidate.family
        self._scaled = np.ascontiguousarray(candidate.family.scaling.of_validated(self.X), dtype=self.dtype)
        self.tree, self.cells = grow_cells(self._scaled, most, OVERLAP)

    def _attempt(self, candidate, penalties):
        begun = time.perf_counter()
        scaling = candidate.family.scaling

        def left_out(cell):
            rows = scaling.of_validated(self.X[cell.members]).astype(self.dtype)
            own = np.searchsorted(cell.members, cell.own)
            return [(fit.penalty, fit.left_out[own]) for fit in self._fits(cell, candidate, rows, penalties)[1]]

        judge = self.judge.take(self.rows)
        by_penalty = zip(
            *run_blocks(left_out, self.tried, self._threads(), title="Training local machines"), strict=True
        )
        found = [(parts[0][0], np.concatenate([scores for _, scores in parts])) for parts in by_penalty]
        penalty, scores = min(found, key=lambda one: judge.squared(one[1]))
        loss, score = judge.verdict(scores)
        self.done.append(Trial(candidate, penalty, loss, score, len(self.rows), time.perf_counter() - begun))

    def _fits(self, cell, candidate, rows, penalties):
        """(the ridge regression of a cell, its fit for each penalty, or for the C of the caller)."""
        groups = None if self.judge.groups is None else self.judge.groups[cell.members]
        begun = time.perf_counter()
        ridge = FullRidge(candidate.kernel, rows, self.judge.weights[cell.members], groups)
        if self.C is not None:
            penalties = (ridge.penalty_of(self.C),)
        compared = time.perf_counter()
        fits = [ridge.fit(self.judge.targets[cell.members], one) for one in penalties]
        taken = compared - begun + (time.perf_counter() - compared) / len(fits)
        self._costs.append(taken / len(cell.members))
        return ridge, fits

    def _threads(self):
        """As many as there is memory for."""
        largest = max(len(cell.members) for cell in self.cells)
        room = MEMORY_SHARE * available_memory() / (MATRICES * np.dtype(self.dtype).itemsize * largest**2)
        return max(1, min(effective_threads(), int(room)))


def _key(candidate):
    return id(candidate.family), None if candidate.width is None else round(np.log2(candidate.width), 3)
