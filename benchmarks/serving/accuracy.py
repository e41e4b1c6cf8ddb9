"""A linear machine on universal bits against the exact RBF machine."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

GAP = "{}, {} bits: accuracy of the exact RBF SVM - accuracy on bits"
# set -> {bits: points that may be lost}
SETS = {"digits": {1024: 1.0, 512: 2.0, 256: 3.5}, "pendigits": {512: 1.0, 256: 1.5}}
REPEATS = {"digits": 10, "pendigits": 5}  # splits; draws of the projections
BEYOND = 128  # also shown
CS = (1.0, 3.0, 10.0, 30.0, 100.0)  # of machines on bits, where K(x, x) = 1/2
FOLDS = 3
EXACT_CS, EXACT_FACTORS = (1.0, 10.0, 100.0), (0.5, 1.0, 2.0, 4.0, 8.0)  # gamma, over 1 / (columns x variance)


@benchmark(
    "wire-accuracy",
    "linear machines on universal codes against exact RBF machines",
    bars=[
        Bar(GAP.format(name, bits), f"<= {points:g}", "points")
        for name, rates in SETS.items()
        for bits, points in rates.items()
    ],
    paper="boufounos15universal",
    needs=["pendigits"],
)
def wire_accuracy(record):
    from benchmarks.runner import limited_threads

    with limited_threads(1):  # thousands of fits so small that starting threads takes longer
        for name in SETS:
            _againstexact_accuracy(record, name)
    record.note(
        f"The exact machine is scikit-learn's SVC; C and gamma are chosen on the training rows by {FOLDS}-fold "
        f"cross-validation ({len(EXACT_CS)} x {len(EXACT_FACTORS)} values). The machine on bits is a WireClassifier of "
        f"one rate, which chooses delta (six values) and C ({len(CS)}) in the same way."
    )
    record.note(
        f"Digits: {REPEATS['digits']} splits, 70 % to learn from, other projections for each. Pendigits: its published "
        f"split, {REPEATS['pendigits']} draws of the projections. Intervals are of the mean difference, 95 %."
        + (" This quick run has two of each, with 200 rows and one C." if record.quick else "")
    )


# ---------------------------------------------------------------------------------------------- against exact machines


def _againstexact_accuracy(record, name):
    import numpy as np

    rates, Cs = [BEYOND, *sorted(SETS[name])], CS[2:3] if record.quick else CS
    made = _splits(name, record.quick)
    known = dict(made)  # a set with one split has one exact machine
    known = dict(zip(known, _side_by_side(exact_accuracy, known.values(), record.threads), strict=True))
    exact = [known[key] for key, _ in made]
    jobs = [(bits, Cs, draw, *split) for bits in rates for draw, (_, split) in enumerate(made)]
    coded = dict(zip(rates, np.reshape(_side_by_side(_on_bits, jobs, record.threads), (len(rates), -1)), strict=True))
    lines = []
    for bits in rates:
        mean, half = _interval(np.subtract(exact, coded[bits]))
        lines.append([bits, float(np.mean(coded[bits])), float(np.mean(exact)), mean, half])
        if bits in SETS[name]:
            detail = f"{np.mean(exact):.2f} - {np.mean(coded[bits]):.2f} %, +- {half:.2f}, {len(exact)} fits"
            record.measured(GAP.format(name, bits), mean, detail)
    record.table(f"{name}: accuracy", ["bits", "on bits %", "exact RBF %", "gap", "95 %, +-"], lines)


def _side_by_side(function, jobs, threads):
    """Results of function(*job), several at a time: each has its seed, and nobody times them."""
    import warnings
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore", ConvergenceWarning)  # of folds with a C that is too large, which is not chosen
        # the limit of threads for each of them is in the context
        return [one.result() for one in [pool.submit(copy_context().run, function, *job) for job in jobs]]


def _splits(name, quick):
    """(name of the split, (X, y, X_test, y_test)) for each repeat; a quick run has two of few rows."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedShuffleSplit

    from mercer import datasets

    n = 2 if quick else REPEATS[name]
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        chosen = StratifiedShuffleSplit(n, test_size=0.3, random_state=0).split(X, y)
        made = [(i, (X[train], y[train], X[test], y[test])) for i, (train, test) in enumerate(chosen)]
    else:
        made = [(0, (*datasets.load_pendigits(), *datasets.load_pendigits("test")))] * n
    if not quick:
        return made
    few = np.random.default_rng(0).permutation(200)  # both sets have more rows than that in either part
    return [(key, (X[few], y[few], X_test[few], y_test[few])) for key, (X, y, X_test, y_test) in made]


def exact_accuracy(X, y, X_test, y_test, trials=None):
    """Accuracy of an RBF machine in percent; C and gamma are chosen on the first rows."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    grid = {"C": EXACT_CS, "gamma": [factor / (X.shape[1] * X.var()) for factor in EXACT_FACTORS]}
    search = GridSearchCV(SVC(cache_size=1000), grid, cv=FOLDS).fit(X[:trials], y[:trials])
    best = search.best_estimator_ if trials is None else SVC(cache_size=1000, **search.best_params_).fit(X, y)
    return 100 * best.score(X_test, y_test)


def _on_bits(bits, Cs, seed, X, y, X_test, y_test):
    """Accuracy of a linear machine on universal bits in percent."""
    from mercer import UniversalEmbedding, WireClassifier

    model = WireClassifier(UniversalEmbedding(bits, random_state=seed), rates=[bits], Cs=list(Cs), cv=FOLDS).fit(X, y)
    return 100 * model.score(X_test, y_test)


def _interval(values):
    """Mean, and half of its 95 % interval by Student's t."""
    import numpy as np
    from scipy import stats

    values = np.asarray(values)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(half)
