"""One row at a time, as a service or a loop asks for it: what a prediction costs beside its arithmetic."""

from __future__ import annotations

import time

from benchmarks.registry import Bar, benchmark

BARS = [
    Bar("one row: KernelClassifier('chi2').predict, times LinearSVC.predict", "<= 2", "x"),
    Bar("one row: IntersectionSVC().predict, times LinearSVC.predict", "<= 3", "x"),
    # beyond reading the rows of the machine, M d numbers at 10 GB/s
    Bar("one row: KernelClassifier('rbf').predict, less the reading of its rows, times LinearSVC.predict", "<= 3", "x"),
    Bar("one row: KernelClassifier().predict, less the reading of its rows, times LinearSVC.predict", "<= 3", "x"),
]
READING = 1e10  # bytes a second


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
        "KernelClassifier()": KernelClassifier(random_state=0),
        "IntersectionSVC()": IntersectionSVC(),
    }
    models = {name: model.fit(X[:n], y[:n]) for name, model in rivals.items()}
    calls = {name: _call(model, X[-1:]) for name, model in models.items()}
    seconds = {name: float("inf") for name in calls}
    for _ in range(5 if record.quick else 20):  # in turn, so that a busy moment meets all of them
        for name, call in calls.items():
            seconds[name] = min(seconds[name], _median(call))
    ratios = {name: taken / seconds["LinearSVC"] for name, taken in seconds.items()}
    for bar, name in zip(BARS, ("KernelClassifier('chi2')", "IntersectionSVC()"), strict=False):
        record.measured(bar.claim, ratios[name], "best of the medians of 100 calls")
    for bar, name in zip(BARS[2:], ("KernelClassifier('rbf')", "KernelClassifier()"), strict=True):
        machine = models[name].machine_
        read = [part.predictor.landmarks for part in getattr(machine, "parts", ())] or [machine.landmarks]
        reading = sum(landmarks.nbytes for landmarks in read) / READING
        rest = (seconds[name] - reading) / seconds["LinearSVC"]
        kind = " + ".join(f"{len(landmarks)} rows" for landmarks in read)
        record.measured(bar.claim, rest, f"{kind}, {1e6 * reading:.3g} microseconds to read")
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
