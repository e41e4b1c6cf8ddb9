"""What was tried and chosen, in words: the ``plan_`` of an automatic fit."""

__all__ = ["TrialPlan", "describe"]

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mercer._base.html.pieces import bars, facts
from mercer.kernels import KERNELS, in_words

SCALINGS = {
    "none": "columns unscaled",
    "unit": "columns scaled to [0, 1]",
    "standard": "standardized columns",
    "ranks": "columns as ranks",
    "rows": "rows divided by their sums",
}
NO_BETTER = "no better than always naming the largest class, which is right for {:.4f} of the rows"
LINES = 6  # combinations that the text lists
COLUMNS = ("columns", "kernel", "width", "rows", "landmarks", "penalty", "score", "seconds")
RIVAL_COLUMNS = ("what", "landmarks", "score", "seconds")


@dataclass
class TrialPlan:
    """Description of an automatic fit: what was tried and chosen. ``str(plan)`` is a small table.

    Parameters
    ----------
    estimator : its name
    n_rows, n_inputs, n_columns : rows, raw columns, columns of scores
    columns : how columns are scaled
    kernel : what rows are compared by
    landmarks : rows that every row is compared with; in a local machine, on average
    cells : number of local machines, or 0
    penalty : weight of |u|^2 per row, in units of the mean of K(x, x)
    score : accuracy or R^2 of the machine on held-out rows
    score_name : ``"accuracy"`` or ``"R2"``
    judged_by : how rows were left out
    seconds : that all trials took
    trials : a list per trial: scaling of columns, kernel, width or -1, rows, landmarks, penalty, score, seconds
    others : descriptions of further kernels whose machines are averaged with the chosen one
    largest_class : share of the rows, by weight, that the largest class has; 0 without classes
    rivals : a list for each competitor on the same held-out rows: description, landmarks, score, seconds
    """

    estimator: str
    n_rows: int
    n_inputs: int
    n_columns: int
    columns: str = ""
    kernel: str = ""
    landmarks: int = 0
    penalty: float = 0.0
    score: float = 0.0
    score_name: str = "accuracy"
    judged_by: str = "closed-form leave-one-out"
    seconds: float = 0.0
    trials: list[list[Any]] = field(default_factory=list)
    cells: int = 0
    rivals: list[list[Any]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    largest_class: float = 0.0

    def get_params(self, deep=True):
        """Fields by name, which is what a model file keeps."""
        return asdict(self)

    def _check_loaded(self):
        kinds = {name: type(value) for name, value in TrialPlan("", 0, 0, 0).get_params().items()}
        wrong = [name for name, value in self.get_params().items() if type(value) is not kinds[name]]
        if wrong:
            raise ValueError(f"{wrong[0]} must be an instance of {kinds[wrong[0]].__name__}.")
        for name, width in (("trials", len(COLUMNS)), ("rivals", len(RIVAL_COLUMNS))):
            if any(type(row) is not list or len(row) != width for row in getattr(self, name)):
                raise ValueError(f"{name} must be lists of {width}.")
        if any(type(one) is not str for one in self.others):
            raise ValueError("others must be strings.")

    @property
    def total_bytes(self):
        """Memory that the features of all rows and the matrices of the landmarks take."""
        if self.cells:
            return 4 * self.n_rows * self.n_inputs + 16 * self.landmarks**2
        return 4 * self.n_rows * self.landmarks + 24 * self.landmarks**2

    @property
    def summary(self):
        """The model in one sentence."""
        if not self.trials:
            return f"{self.kernel}; {self.n_rows:,} rows of {self.n_inputs:,} columns"
        more = f", averaged with {len(self.others)} more" if self.others else ""
        return (
            f"{in_words(self.kernel)} on {self.columns}{more}; {self._machine()}; {self.score_name} {self.score:.4f} "
            f"on left-out rows{', no better than the largest class alone' * self._is_idle}"
        )

    @property
    def _is_idle(self):
        """Whether the machine is right no more often than who always names the largest class."""
        return self.score <= self.largest_class * (1 + 1e-9) > 0

    def _best_of_their_kind(self):
        """A trial for each kernel and scaling, the best one first, that of the chosen ones among equals."""
        names = {kind.__name__: name for name, kind in KERNELS.items()}
        chosen = self.columns, names.get(self.kernel.partition("(")[0])
        best: dict[tuple[str, str], list[Any]] = {}
        for row in self.trials:
            name = row[0], row[1]
            if name not in best or (row[3], row[6]) > (best[name][3], best[name][6]):
                best[name] = row
        ranked = sorted(best.values(), key=lambda row: (-row[3], -row[6], (row[0], row[1]) != chosen))
        places = [i for i, row in enumerate(ranked) if (row[0], row[1]) == chosen]
        if places and places[0] >= LINES:
            ranked.insert(LINES - 1, ranked.pop(places[0]))
        return ranked[:LINES]

    def _repr_html_(self):
        pairs = {
            "model": self.summary,
            "rows": f"{self.n_rows:,} of {self.n_inputs:,} columns",
            **({"judged by": self.judged_by, "trials": f"{len(self.trials)} in {self.seconds:.1f} s"}
               if self.trials else {}),
        }  # fmt: skip
        scores = [(f"{row[1]}, {row[0]}", max(row[6], 0.0), f"{row[6]:.4f}") for row in self._best_of_their_kind()]
        return facts(self.estimator, pairs) + (bars(f"{self.score_name} of the best trials", scores) if scores else "")

    def __str__(self):
        if not self.trials:
            return (
                f"{self.estimator}\n  rows     {self.n_rows:,} of {self.n_inputs:,} columns\n  kernel   {self.kernel}"
            )
        scores = f"{self.n_columns:,} column{'s' * (self.n_columns != 1)}"
        ranked = self._best_of_their_kind()
        lines = [
            ("rows", f"{self.n_rows:,} of {self.n_inputs:,} columns"),
            ("chosen", f"{self.kernel}, {self.columns}"),
            *(("together with", one) for one in self.others),
            ("machine", f"{self._machine()}, {scores} of scores"),
            (self.score_name, f"{self.score:.4f} on left-out rows ({self.judged_by})"),
            *([("note", NO_BETTER.format(self.largest_class))] if self._is_idle else []),
            *(("compared", f"{row[2]:.4f}  {row[0]} ({row[1]:,} landmarks), on the same rows") for row in self.rivals),
            ("tried", f"{len(self.trials)} candidates in {self.seconds:.1f} s; the best of each kind:"),
            *(("", f"{row[6]:.4f}  {row[1]}, {row[0]} ({row[3]:,} rows, {row[4]:,} landmarks)") for row in ranked),
        ]
        width = max(len(name) for name, _ in lines)
        return "\n".join([self.estimator, *(f"  {name:<{width}}  {line}" for name, line in lines)])

    def _machine(self):
        if not self.cells:
            return f"squared loss on {self.landmarks:,} landmarks"
        return f"local machines: {self.cells:,} cells of about {self.landmarks:,} rows each, squared loss"


def describe(who, X, machine, codes, weights, has_groups):
    """The TrialPlan of a Machine; ``codes`` are those of classes, else None."""
    candidate, trials = machine.best.candidate, machine.trials
    landmarks, penalty, _, score, _ = machine.steps[machine.chosen]
    return TrialPlan(
        estimator=who,
        n_rows=int(X.shape[0]),
        n_inputs=int(X.shape[1]),
        n_columns=len(machine.intercept),
        columns=_columns(candidate.family.scaling),
        kernel=_kernel(candidate),
        landmarks=int(landmarks),
        penalty=float(penalty),
        score=float(score),
        score_name="R2" if codes is None else "accuracy",
        judged_by=_judged_by(machine.folds, has_groups),
        seconds=float(sum(one.seconds for one in (*trials, *machine.cell_trials))),
        trials=[_row(one, one.rows) for one in trials]
        + [_row(one, machine.rivals[0][1]) for one in machine.cell_trials],
        cells=machine.cells,
        rivals=[list(one) for one in machine.rivals],
        others=[f"{_kernel(one.candidate)}, {_columns(one.candidate.family.scaling)}" for one in machine.others],
        largest_class=0.0 if codes is None else float(np.bincount(codes, weights).max() / weights.sum()),
    )


def _judged_by(folds, has_groups):
    if folds:
        return f"{folds} folds of {'whole groups' if has_groups else 'the rows'}"
    return "closed-form leave-one-group-out" if has_groups else "closed-form leave-one-out"


def _row(trial, landmarks):
    width = -1.0 if trial.candidate.width is None else float(trial.candidate.width)
    family = trial.candidate.family
    figures = [int(trial.rows), int(landmarks), float(trial.penalty), float(trial.score), float(trial.seconds)]
    return [_columns(family.scaling), family.kernel.name, width, *figures]


def _kernel(candidate):
    """The kernel with a width of a few digits, as people read it; ``kernel_`` has all of them."""
    kernel = candidate.kernel
    return repr(kernel if candidate.width is None else replace(kernel, gamma=float(f"{kernel.gamma:.4g}")))


def _columns(scaling):
    return SCALINGS[scaling.kind] + (", weighted by relevance" if scaling.weights_ is not None else "")
