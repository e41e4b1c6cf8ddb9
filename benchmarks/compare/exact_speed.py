"""The exact machine of a named kernel against SVC, with the same kernel, width and C: time and accuracy of one fit."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

MANY, FEW = ("adult", "covtype", "Fashion-MNIST", "ijcnn1", "26 made-up classes", "pendigits"), ("shuttle",)
SETS = (*MANY, *FEW)
TIME = "{}: fit of KernelClassifier(RBF(gamma)) / that of SVC"
LOST = "{}: accuracy of SVC - that of KernelClassifier(RBF(gamma))"
OURS, RIVAL = "mercer, KernelClassifier(RBF(gamma))", "scikit-learn, SVC"
ROWS = {"Fashion-MNIST": 10_000, "covtype": 10_000}
MOST_ROWS, TEST_ROWS = 12_000, 10_000
SLOW = 3.0  # seconds of a fit, from which it is timed less often


@benchmark(
    "exact-speed",
    "one fit on exact kernel values against SVC with the same gamma and C = 1",
    bars=[
        *(Bar(TIME.format(name), "<= 1", "x") for name in MANY),  # more than 10 % of the rows are support vectors
        *(Bar(TIME.format(name), "<= 1.5", "x") for name in FEW),
        *(Bar(LOST.format(name), "<= 0.2", "points") for name in SETS),
    ],
    needs=["adult", "covtype", "fashion_mnist", "ijcnn1", "pendigits", "shuttle"],
    threads=1,
)
def exact_speed(record):
    lines = []
    for name in SETS:
        lines += _race(record, name)
    columns = ["set", "rows", "columns", "side", "accuracy %", "fit, s", "support vectors, % of the rows"]
    record.table("accuracy and time", columns, lines)
    record.note(
        "Columns are scaled to [0, 1] over the training rows, in float64. gamma is 1 over the number of columns times "
        "the variance of all values, C = 1, and both sides have their defaults otherwise (SVC a cache of 200 MB). "
        "Sides alternate; a fit that compiles is not timed."
    )


def _race(record, name):
    """Time both sides and judge them; lines of the table."""
    import time

    from benchmarks.runner import compare, limited_threads

    split = _split(name, record.quick)
    gamma = 1 / (split.X.shape[1] * float(split.X.var()))
    judged: dict[str, tuple[float, float]] = {}
    sides = {OURS: lambda: _mercer(gamma).fit(split.X, split.y), RIVAL: lambda: _svc(gamma).fit(split.X, split.y)}
    with limited_threads(record.threads):
        _mercer(gamma).fit(split.X[:500], split.y[:500])  # compiles
        began = time.perf_counter()
        sides[RIVAL]()
        is_slow = time.perf_counter() - began > SLOW
    checks = {side: _keeper(judged, side, split) for side in sides}
    found = compare(sides, 1 if record.quick else 2 if is_slow else 7, 0, checks=checks, threads=record.threads)
    record.comparison(f"{name}, {split.X.shape[0]} x {split.X.shape[1]}", found, RIVAL)
    best = {side: found.best(side) for side in sides}
    record.measured(TIME.format(name), found.ratio(OURS, RIVAL), f"{best[OURS]:.3g} s / {best[RIVAL]:.3g} s")
    accuracies = {side: judged[side][0] for side in sides}
    detail = f"{accuracies[RIVAL]:.4g} % - {accuracies[OURS]:.4g} %"
    record.measured(LOST.format(name), accuracies[RIVAL] - accuracies[OURS], detail)
    return [[name, *split.X.shape, side, accuracies[side], best[side], judged[side][1]] for side in sides]


def _split(name, quick):
    """Rows to learn from and to judge by, scaled, drawn with a fixed seed."""
    from mercer import datasets

    load = {
        "adult": datasets.load_adult, "covtype": datasets.load_covtype, "Fashion-MNIST": datasets.load_fashion_mnist,
        "ijcnn1": datasets.load_ijcnn1, "pendigits": datasets.load_pendigits, "shuttle": datasets.load_shuttle,
    }.get(name)  # fmt: skip
    n = 300 if quick else ROWS.get(name, MOST_ROWS)
    parts = (*_made_up(n), *_made_up(TEST_ROWS, seed=1)) if load is None else (*load(), *load("test"))
    return _scaled(*_some(*parts[:2], n), *_some(*parts[2:], 300 if quick else TEST_ROWS))


def _made_up(n, seed=0, n_classes=26, n_columns=16):
    """Classes of three round clouds each, as of letters."""
    import numpy as np

    centers = np.random.default_rng(7).standard_normal((3 * n_classes, n_columns))
    rng = np.random.default_rng(seed)
    cloud = rng.integers(len(centers), size=n)
    return centers[cloud] + 0.6 * rng.standard_normal((n, n_columns)), cloud % n_classes


def _some(X, y, n):
    import numpy as np
    from scipy import sparse

    which = np.random.default_rng(0).permutation(len(y))[:n]
    return X[which].toarray() if sparse.issparse(X) else np.asarray(X[which], dtype=np.float64), np.asarray(y)[which]


def _scaled(X, y, X_test, y_test):
    import numpy as np

    from benchmarks.compare._sets import Split

    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1)
    return Split((X - low) / width, y, (X_test - low) / width, y_test)


def _mercer(gamma):
    from mercer import RBF, KernelClassifier

    return KernelClassifier(RBF(gamma))


def _svc(gamma):
    from sklearn.svm import SVC

    return SVC(gamma=gamma)


def _keeper(judged, side, split):
    """A check that keeps accuracy and share of support vectors of a side, in percent; it has no error."""

    def keep(model):
        support = model.machine_.landmarks.shape[0] if side == OURS else len(model.support_)
        accuracy = float((model.predict(split.X_test) == split.y_test).mean())
        judged[side] = 100 * accuracy, 100 * support / len(split.y)
        return 0.0

    return keep
