"""Accuracy against bits: which code, at which rate, costs how much accuracy on given data."""

__all__ = ["RateAccuracy", "RatePoint", "rate_accuracy"]

from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state, check_X_y

from mercer._base.errors import InputError
from mercer._base.evaluation.intervals import wilson_interval
from mercer._base.progress import track
from mercer.learners import KernelClassifierCV
from mercer.serving.wire.ladder import STEPS, trial_rows, trial_values
from mercer.serving.wire.rate_codes import (
    CODES,
    DETERMINISTIC,
    check_bits,
    check_block_size,
    check_codes,
    code_at,
    dense_features,
    rates_of,
)

DEFAULT_BITS = (32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class RatePoint:
    """The accuracy of a code at a rate.

    Attributes
    ----------
    code : str
    bits : int or None, of a block; None for numbers as they are
    accuracy : float, the mean
    low, high : float, ends of its 95 % interval
    scores : float64 array, the accuracy on each split, the mean over draws of the projections
    """

    code: str
    bits: int | None
    accuracy: float
    low: float
    high: float
    scores: np.ndarray


@dataclass(frozen=True)
class RateAccuracy:
    """Result of `rate_accuracy`.

    Attributes
    ----------
    points : list of RatePoint
    blocks : int, of a row: a row takes ``blocks * bits`` bits
    n_test : int, rows of a test part
    """

    points: list
    blocks: int
    n_test: int

    def at(self, code, bits=None):
        """The point of a code at a rate; by default, that of its longest code."""
        found = [point for point in self.points if point.code == code and bits in (None, point.bits)]
        if not found:
            there = ", ".join(f"{point.code} {point.bits or ''}".strip() for point in self.points)
            raise InputError(f"RateAccuracy has no point for {code!r} with bits={bits!r}. It has: {there}.")
        return found[-1]

    def difference(self, point, reference):
        """(mean, low, high) of the accuracy of one point less that of another, paired by split, 95 % interval.

        Parameters
        ----------
        point, reference : RatePoint
        """
        return _mean_interval(point.scores - reference.scores, point.accuracy - reference.accuracy)

    def table(self):
        """(names of columns, rows): code, bits of a block, bytes of a row, accuracy and its interval."""
        columns = ["code", "bits", "bytes of a row", "accuracy", "low", "high"]
        rows = []
        for point in self.points:
            size = None if point.bits is None else -(-self.blocks * point.bits // 8)
            rows.append([point.code, point.bits, size, point.accuracy, point.low, point.high])
        return columns, rows

    def __str__(self):
        columns, rows = self.table()
        lines = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell or "") for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
        shown = []
        for first, *rest in (columns, *lines):
            numbers = (text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))
            shown.append("  ".join([first.ljust(widths[0]), *numbers]).rstrip())
        return "\n".join(shown)

    def plot(self):
        """Plot accuracy against bits, with one line and interval per code."""
        from mercer.serving.wire.rate_plot import draw_rates

        return draw_rates(self)


def rate_accuracy(
    X, y, bits=DEFAULT_BITS, *, codes=CODES, block_size=None, test=None, n_splits=5, train_size=0.7, test_size=None,
    n_draws=1, classifier=None, Cs=10, cv=5, random_state=None, n_jobs=None,
):  # fmt: skip
    """Measure the accuracy of linear classifiers on several codes, at several rates.

    Codes learn everything (thresholds, projections, words, the delta of universal bits, C) from the
    training part of a split. Numbers quantized one by one, and unquantized ones, serve as comparison.

    Parameters
    ----------
    X : array of shape (n, columns)
    y : array of shape (n,), classes
    bits : sequence of int
        Rates, in bits of a block.
    codes : sequence of str, or dict
        ``"unquantised"``; ``"raw"``, each number in 1, 2, ... bits, with thresholds at quantiles of training numbers;
        ``"raw-mean"``, in 1 bit with the threshold at the mean; ``"qjl-1"`` to ``"qjl-4"``, QuantizedJL with so many
        bits per projection; ``"universal"``, with a delta chosen by cross-validation; ``"universal-0.5"``, with
        this factor of the default delta; ``"compact"``; ``"pq"``, product quantization. Or a dict of names
        and functions that make an estimator, a map of Mercer or a scikit-learn transformer, of a number of bits, or
        None.
    block_size : int or None
        Columns of the local descriptors that a row is made of, which are coded one by one. None: rows are coded whole.
    test : (X, y) or None
        A separate test set, instead of splits.
    n_splits, train_size, test_size : as in scikit-learn's StratifiedShuffleSplit, without ``test``
    n_draws : int
        Number of random draws of each code per split.
    classifier : scikit-learn classifier or None
        Works on the dense features of codes. None: KernelClassifierCV, on packed codes.
    Cs, cv : as in KernelClassifierCV, without ``classifier``; ``cv`` also for delta
    random_state, n_jobs

    Returns
    -------
    RateAccuracy

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> found = rate_accuracy(X[:500], y[:500], [32], codes=["unquantised", "qjl-1", "compact"], n_splits=2, Cs=[1.0],
    ...                       random_state=0)
    >>> [(point.code, point.bits) for point in found.points]
    [('unquantised', None), ('qjl-1', 32), ('compact', 32)]
    """
    X, y = check_X_y(X, y, dtype=[np.float64, np.float32])
    rates = check_bits(bits)
    codes = check_codes(codes)
    check_block_size(block_size, X.shape[1])
    n_columns = X.shape[1] if block_size is None else int(block_size)
    trial = _Trial(block_size, n_columns, classifier, Cs, cv, n_jobs)
    seeds = check_random_state(random_state)
    parts = _splits(X, y, test, n_splits, train_size, test_size, seeds)
    wanted = [(name, rate) for name, code in codes.items() for rate in rates_of(code, rates, n_columns)]
    if not wanted:
        raise InputError(
            f"rate_accuracy has none of the codes {', '.join(codes)} in {', '.join(map(str, rates))} bits. qjl-B has "
            "multiples of B bits; give other bits, or other codes."
        )
    scores = {each: np.zeros((len(parts), n_draws)) for each in wanted}
    draws = [(s, draw, int(seeds.randint(2**31))) for s in range(len(parts)) for draw in range(n_draws)]
    trials = [(*drawn, *each) for drawn in draws for each in wanted]
    for s, draw, seed, name, rate in track(trials, "codes"):
        drawn = draw == 0 or name not in DETERMINISTIC
        scores[name, rate][s, draw] = (
            trial.score(codes[name], rate, *parts[s], seed) if drawn else scores[name, rate][s, 0]
        )
    n_test = len(parts[0][1][1])
    return RateAccuracy([_point(*each, scores[each], n_test) for each in wanted], X.shape[1] // n_columns, n_test)


@dataclass(frozen=True)
class _Trial:
    """How a code is judged."""

    block_size: int | None
    n_columns: int
    classifier: object
    Cs: object
    cv: object
    n_jobs: int | None

    def score(self, code, bits, train, held, seed):
        made = code_at(code, bits, self.block_size, self.n_columns, seed, self.n_jobs)
        if isinstance(code, str) and code.startswith("universal"):
            made = self._with_delta(made, code, *train, seed)
        return self._fitted(made, *train)(*held)

    def _with_delta(self, made, code, X, y, seed):
        rule = clone(made).fit(X).delta_
        if code != "universal":
            return made.set_params(delta=float(code.removeprefix("universal-")) * rule)
        best = max(STEPS, key=lambda factor: self._estimate(clone(made).set_params(delta=factor * rule), X, y, seed))
        return made.set_params(delta=best * rule)

    def _estimate(self, made, X, y, seed):
        """Accuracy by cross-validation on training rows."""
        X, y = trial_rows(X, y)
        if self.classifier is None:
            found = KernelClassifierCV(map=made, Cs=trial_values(self.Cs), cv=self.cv, n_jobs=self.n_jobs).fit(X, y)
            return found.scores_.mean(axis=0).max()
        folds = StratifiedKFold(self.cv, shuffle=True, random_state=seed) if isinstance(self.cv, int) else self.cv
        return cross_val_score(clone(self.classifier), dense_features(made.fit(X), X), y, cv=folds).mean()

    def _fitted(self, made, X, y):
        """The score of a classifier on the code, as a function of test rows."""
        if self.classifier is not None:
            code = None if made is None else made.fit(X)
            model = clone(self.classifier).fit(dense_features(code, X), y)
            return lambda X, y: model.score(dense_features(code, X), y)
        rest = {"Cs": self.Cs, "cv": self.cv, "n_jobs": self.n_jobs}
        if hasattr(made, "rows"):
            return KernelClassifierCV(map=made, **rest).fit(X, y).score
        linear = KernelClassifierCV("linear", **rest)
        return (linear if made is None else make_pipeline(made, linear)).fit(X, y).score


def _splits(X, y, test, n_splits, train_size, test_size, seeds):
    """[((X, y) for training, (X, y) for testing)]"""
    if test is not None:
        held = check_X_y(*test, dtype=[np.float64, np.float32])
        if held[0].shape[1] != X.shape[1]:
            raise InputError(f"rate_accuracy needs test rows of {X.shape[1]} columns, got {held[0].shape[1]}.")
        return [((X, y), held)]
    splitter = StratifiedShuffleSplit(n_splits, train_size=train_size, test_size=test_size, random_state=seeds)
    return [((X[train], y[train]), (X[held], y[held])) for train, held in splitter.split(X, y)]


def _point(code, bits, scores, n_test):
    scores = scores.mean(axis=1)
    mean = float(scores.mean())
    low, high = wilson_interval(mean, n_test) if len(scores) == 1 else _within(*_mean_interval(scores, mean)[1:])
    return RatePoint(code, bits, mean, low, high, scores)


def _mean_interval(values, mean):
    """(mean, low, high) of independent values by Student's t; no interval for a single one."""
    if len(values) < 2:
        return float(mean), -np.inf, np.inf
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(mean), float(mean - half), float(mean + half)


def _within(low, high):
    """The part of an interval that accuracies can have."""
    return max(low, 0.0), min(high, 1.0)
