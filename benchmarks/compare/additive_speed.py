"""Additive kernels by one fit with defaults, against scikit-learn's sampler and linear machine: time and accuracy."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SETS = ("pendigits", "covtype", "digits", "Fashion-MNIST")
TIME = "{}: fit of KernelClassifier('chi2') / that of AdditiveChi2Sampler + LinearSVC"
LOST = "{}: accuracy of AdditiveChi2Sampler + LinearSVC - that of KernelClassifier('chi2')"
OURS, RIVAL = "mercer, KernelClassifier('chi2')", "scikit-learn, AdditiveChi2Sampler + LinearSVC"
COVTYPE_ROWS = 50_000
LARGE = 20_000  # rows from which a side takes seconds to minutes, and is timed less often


@benchmark(
    "additive-speed",
    "one fit of KernelClassifier('chi2') against AdditiveChi2Sampler + LinearSVC, both with their defaults",
    bars=[
        *(Bar(TIME.format(name), "<= 1", "x") for name in SETS),
        *(Bar(LOST.format(name), "<= 0", "points") for name in SETS),
    ],
    needs=["pendigits", "covtype", "fashion_mnist"],
    threads=1,
)
def additive_speed(record):
    from mercer import InputError

    lines, missing = [], []
    for name in SETS:
        try:
            parts = _splits(name, record.quick)
        except InputError:
            missing.append(name)
        else:
            lines += _race(record, name, parts)
    columns = ["set", "rows", "columns", "side", "accuracy %", "fit, s", "what was done"]
    record.table("accuracy and time", columns, lines)
    record.note(
        "Defaults on both sides, seeds aside: C = 1, no parameter chosen by trials. Columns are scaled to [0, 1] over "
        "the training rows, which both sides get in float64. The first split of a set is timed, sides alternating; a "
        "fit that compiles is not timed. Accuracy is the mean over the splits: five for digits, 1,000 rows each."
    )
    if missing:
        record.note(f"Not at hand, and left out: {', '.join(missing)}.")


def _race(record, name, parts):
    """Time both sides on the first split and judge them on all; lines of the table."""
    from benchmarks.runner import compare, limited_threads

    first, judged = parts[0], {}
    made = {OURS: _mercer, RIVAL: _scikit_learn}
    sides = {side: _fit(make, first) for side, make in made.items()}
    is_large = len(first.y) >= LARGE
    repeats = 1 if record.quick else 2 if is_large else 7
    checks = {side: _keeper(judged, side, first) for side in sides}
    if is_large:  # what is compiled is compiled on some of the rows
        with limited_threads(record.threads):
            _mercer().fit(first.X[:2000], first.y[:2000])
    found = compare(sides, repeats, 0 if is_large else 1, checks=checks, threads=record.threads)
    title = f"{name}, {first.X.shape[0]} x {first.X.shape[1]}"
    record.comparison(title, found, RIVAL)
    with limited_threads(record.threads):
        accuracies = {side: _mean_accuracy(make, parts[1:], judged[side][0]) for side, make in made.items()}
    best = {side: found.best(side) for side in sides}
    record.measured(TIME.format(name), found.ratio(OURS, RIVAL), f"{best[OURS]:.3g} s / {best[RIVAL]:.3g} s")
    detail = f"{accuracies[RIVAL]:.4g} % - {accuracies[OURS]:.4g} %"
    record.measured(LOST.format(name), accuracies[RIVAL] - accuracies[OURS], detail)
    return [[name, *first.X.shape, side, accuracies[side], best[side], judged[side][1]] for side in sides]


def _splits(name, quick):
    """Splits in float64; of covtype, more rows than other benchmarks take."""
    from dataclasses import replace

    import numpy as np

    from benchmarks.compare._sets import covtype, splits

    found = [covtype(COVTYPE_ROWS)] if name == "covtype" and not quick else splits(name, quick)
    return [replace(one, X=one.X.astype(np.float64), X_test=one.X_test.astype(np.float64)) for one in found]


def _mercer():
    from mercer import KernelClassifier

    return KernelClassifier("chi2", random_state=0)


def _scikit_learn():
    from sklearn.kernel_approximation import AdditiveChi2Sampler
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(AdditiveChi2Sampler(), LinearSVC(random_state=0))


def _fit(make, split):
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC may end at its most iterations
            return make().fit(split.X, split.y)

    return fit


def _keeper(judged, side, split):
    """A check that keeps the accuracy of a side, in percent, and what it did; it has no error."""

    def keep(model):
        plan = getattr(model, "plan_", None)
        judged[side] = _accuracy(model, split), f"{plan.problems}, {plan.solver}" if plan else "one-vs-rest"
        return 0.0

    return keep


def _mean_accuracy(make, others, first):
    found = [first, *(_accuracy(_fit(make, split)(), split) for split in others)]
    return sum(found) / len(found)


def _accuracy(model, split):
    return 100 * float((model.predict(split.X_test) == split.y_test).mean())
