"""What bits of a picture could be spent on: universal bits, compact codes, words of a product quantiser, raw pixels."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

IMAGES = "Fashion-MNIST"
JUDGED = 1024
ABOVE_RAW = f"{IMAGES}, compact codes of {JUDGED:,} bits: points of accuracy above raw pixels in no more bits"
RATES = (128, 256, 512, JUDGED, 2048, 4096)
IMAGE_ROWS, IMAGE_TRIALS = 10_000, 3_000  # to learn from; of these, to choose the exact machine on
IMAGE_CS = (1.0, 10.0)  # with rows scaled to a mean square length of 1
IMAGE_CODES = {
    "universal": "universal bits",
    "compact": "compact codes",
    "pq": "product quantisation",
    "raw": "raw pixels of b bits",
}


@benchmark(
    "wire-pictures",
    "pictures of clothes at many rates: universal bits, compact codes, product quantisation, raw pixels",
    bars=[Bar(ABOVE_RAW, ">= 0", "points")],
    paper="boufounos15universal",
    needs=["dataset-fashion-mnist"],
)
def wire_pictures(record):
    from benchmarks.runner import limited_threads

    with limited_threads(record.threads):
        _pictures_at_rates(record)


def _pictures_at_rates(record):
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.serving.accuracy import FOLDS, exact_accuracy
    from mercer.serving import rate_accuracy

    X, y, X_test, y_test = _pictures(record.quick)
    exact = exact_accuracy(X, y, X_test, y_test, trials=IMAGE_TRIALS)
    rates, Cs = (RATES[:2], IMAGE_CS[1:]) if record.quick else (RATES, IMAGE_CS)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for side, (rows, test_rows, codes) in _sides(X, X_test).items():
            found[side] = rate_accuracy(
                rows, y, rates, codes=codes, test=(test_rows, y_test), Cs=list(Cs), cv=FOLDS, random_state=0
            ).points
    points = [(side, point) for side, some in found.items() for point in some]
    judged = min(JUDGED, rates[-1])
    ours = max(100 * point.accuracy for _, point in points if point.code == "compact" and point.bits == judged)
    raw = max(100 * point.accuracy for _, point in points if point.code == "raw" and point.bits <= judged)
    record.measured(ABOVE_RAW, ours - raw, f"{ours:.2f} against {raw:.2f} %")
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
