"""One row at a time, as a service or a loop asks for it: what a prediction costs beside its arithmetic."""

from __future__ import annotations

import time

from benchmarks.registry import Bar, benchmark

BARS = [Bar("one row: KernelClassifier('chi2').predict, times LinearSVC.predict", "<= 2", "x")]


@benchmark("one-row", "predict of a single row of digits, against scikit-learn's linear classifier", bars=BARS)
def one_row(record):
    from sklearn.datasets import load_digits
    from sklearn.svm import LinearSVC

    from mercer import IntersectionSVC, KernelClassifier

    X, y = load_digits(return_X_y=True)
    n = 300 if record.quick else 1000
    rivals = {
        "LinearSVC": LinearSVC(max_iter=100),
        "KernelClassifier('chi2')": KernelClassifier("chi2"),
        "KernelClassifier('rbf')": KernelClassifier("rbf", random_state=0),
        "IntersectionSVC()": IntersectionSVC(),
    }
    calls = {name: _call(model.fit(X[:n], y[:n]), X[-1:]) for name, model in rivals.items()}
    seconds = {name: float("inf") for name in calls}
    for _ in range(5 if record.quick else 20):  # in turn, so that a busy moment meets all of them
        for name, call in calls.items():
            seconds[name] = min(seconds[name], _median(call))
    ratios = {name: taken / seconds["LinearSVC"] for name, taken in seconds.items()}
    record.measured(BARS[0].claim, ratios["KernelClassifier('chi2')"], "best of the medians of 100 calls")
    rows = [[name, 1e6 * taken, ratios[name]] for name, taken in seconds.items()]
    record.table("predict of one row", ["classifier", "microseconds", "times LinearSVC"], rows)


def _call(model, row):
    return lambda: model.predict(row)


def _median(call, repeats=100):
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[repeats // 2]
