"""A linear machine on universal bits against the exact RBF machine; and what else the same bits could be spent on."""

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

IMAGES = "Fashion-MNIST"
RATES = (128, 256, 512, 1024, 2048, 4096)
IMAGE_ROWS, IMAGE_TRIALS = 10_000, 3_000  # to learn from; of these, to choose the exact machine on
IMAGE_CS = (1.0, 10.0)  # with rows scaled to a mean square length of 1
IMAGE_CODES = {
    "universal": "universal bits",
    "compact": "compact codes",
    "pq": "product quantisation",
    "raw": "raw pixels of b bits",
}


@benchmark(
    "wire-accuracy",
    "linear machines on universal codes against exact RBF machines, and beside raw pixels and product quantisation",
    bars=[
        Bar(GAP.format(name, bits), f"<= {points:g}", "points")
        for name, rates in SETS.items()
        for bits, points in rates.items()
    ],
    paper="boufounos15universal",
    needs=["pendigits", "dataset-fashion-mnist"],
)
def wire_accuracy(record):
    from benchmarks.runner import limited_threads

    with limited_threads(1):  # thousands of fits so small that starting threads takes longer
        for name in SETS:
            _against_exact(record, name)
    with limited_threads(record.threads):
        _images(record)
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


def _against_exact(record, name):
    import numpy as np

    rates, Cs = [BEYOND, *sorted(SETS[name])], CS[2:3] if record.quick else CS
    gaps, exact, coded = {bits: [] for bits in rates}, [], {bits: [] for bits in rates}
    known = {}  # a set with one split has one exact machine
    for draw, (key, split) in enumerate(_splits(name, record.quick)):
        if key not in known:
            known[key] = _exact(*split)
        exact.append(known[key])
        for bits in rates:
            coded[bits].append(_on_bits(bits, Cs, draw, *split))
            gaps[bits].append(exact[-1] - coded[bits][-1])
    lines = []
    for bits in rates:
        mean, half = _interval(gaps[bits])
        lines.append([bits, float(np.mean(coded[bits])), float(np.mean(exact)), mean, half])
        if bits in SETS[name]:
            detail = f"{np.mean(exact):.2f} - {np.mean(coded[bits]):.2f} %, +- {half:.2f}, {len(exact)} fits"
            record.measured(GAP.format(name, bits), mean, detail)
    record.table(f"{name}: accuracy", ["bits", "on bits %", "exact RBF %", "gap", "95 %, +-"], lines)


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


def _exact(X, y, X_test, y_test, trials=None):
    """Accuracy of an RBF machine in percent; C and gamma are chosen on the first rows."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    grid = {"C": EXACT_CS, "gamma": [factor / (X.shape[1] * X.var()) for factor in EXACT_FACTORS]}
    search = GridSearchCV(SVC(cache_size=1000), grid, cv=FOLDS).fit(X[:trials], y[:trials])
    best = search.best_estimator_ if trials is None else SVC(cache_size=1000, **search.best_params_).fit(X, y)
    return 100 * best.score(X_test, y_test)


def _on_bits(bits, Cs, seed, X, y, X_test, y_test):
    """Accuracy of a linear machine on universal bits in percent."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from mercer import UniversalEmbedding, WireClassifier

    model = WireClassifier(UniversalEmbedding(bits, random_state=seed), rates=[bits], Cs=list(Cs), cv=FOLDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of folds with a C that is too large, which is not chosen
        model.fit(X, y)
    return 100 * model.score(X_test, y_test)


def _interval(values):
    """Mean, and half of its 95 % interval by Student's t."""
    import numpy as np
    from scipy import stats

    values = np.asarray(values)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(half)


# -------------------------------------------------------------------------------------------------------------- images


def _images(record):
    """Pictures at many rates: universal bits, raw pixels, product quantisation."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from mercer.serving import rate_accuracy

    X, y, X_test, y_test = _pictures(record.quick)
    exact = _exact(X, y, X_test, y_test, trials=IMAGE_TRIALS)
    rates, Cs = (RATES[:2], IMAGE_CS[1:]) if record.quick else (RATES, IMAGE_CS)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for side, (rows, test_rows, codes) in _sides(X, X_test).items():
            found[side] = rate_accuracy(
                rows, y, rates, codes=codes, test=(test_rows, y_test), Cs=list(Cs), cv=FOLDS, random_state=0
            ).points
    points = [(side, point) for side, some in found.items() for point in some]
    record.table(
        f"{IMAGES}: accuracy at a rate",
        ["code", "bits of a picture", "accuracy %", "95 %, from", "to"],
        [
            [
                _label(side, point),
                point.bits if point.bits is not None else 32 * X.shape[1],
                *(100 * number for number in (point.accuracy, point.low, point.high)),
            ]
            for side, point in points
        ],
    )
    record.figure("rates", _figure(points, exact), f"{IMAGES}: accuracy against the bits of a picture")
    record.note(
        f"{IMAGES}: {len(X):,} training and {len(X_test):,} test pictures, pixels as they are, rows scaled alike to a "
        f"mean square length of 1. Linear machines on everything but the exact RBF machine ({exact:.2f} %), whose "
        f"parameters are chosen on {min(len(X), IMAGE_TRIALS):,} rows. Raw pixels: b bits with thresholds at training "
        "quantiles, of the picture and of its means over 2 x 2 and 4 x 4 pixels, which is how a picture is sent in "
        "fewer bits than it has pixels."
    )


def _pictures(quick):
    import numpy as np

    from mercer.datasets import load_fashion_mnist

    X, y = load_fashion_mnist()
    chosen = np.random.default_rng(0).permutation(len(X))[: 400 if quick else IMAGE_ROWS]
    X_test, y_test = load_fashion_mnist("test")
    if quick:
        X_test, y_test = X_test[:400], y_test[:400]
    length = np.sqrt((X[chosen].astype(np.float64) ** 2).sum(axis=1).mean())
    return (X[chosen] / length).astype(np.float32), y[chosen], (X_test / length).astype(np.float32), y_test


def _sides(X, X_test):
    """side -> (rows, test rows, codes of `mercer.rate_accuracy`)"""
    sides = {"": (X, X_test, ["unquantised", "universal", "compact", "pq", "raw"])}
    for size in (2, 4):
        sides[f"{28 // size} x {28 // size}"] = (_means(X, size), _means(X_test, size), ["raw"])
    return sides


def _means(X, size):
    """Pictures of which each pixel is the mean of some; their lengths stay about what they were."""
    small = X.reshape(len(X), 28 // size, size, 28 // size, size).mean(axis=(2, 4))
    return size * small.reshape(len(X), -1)


def _label(side, point):
    name = {"unquantised": "float32 pixels, linear", **IMAGE_CODES}[point.code]
    return f"{name}, {side}" if side else name


def _figure(points, exact):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure()
    lines = {}
    for side, point in points:
        if point.bits is not None:
            lines.setdefault(_label(side, point), []).append((point.bits, 100 * point.accuracy))
    for label, line in lines.items():
        axes.plot(*zip(*sorted(line), strict=True), marker="o", markersize=4, label=label)
    plain = next(point for _, point in points if point.code == "unquantised")
    axes.axhline(exact, color="black", linewidth=1, linestyle="--", label="exact RBF machine")
    axes.axhline(100 * plain.accuracy, color="black", linewidth=1, linestyle=":", label="linear, float32 pixels")
    axes.set_xscale("log", base=2)
    axes.set_xticks(RATES, [str(bits) for bits in RATES])
    axes.set_xlabel("bits of a picture")
    axes.set_ylabel("accuracy, %")
    axes.legend(frameon=False, fontsize=7)
    return figure
