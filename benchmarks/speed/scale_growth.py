"""How the time of learning grows with rows, columns, classes and landmarks, one of them at a time."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

BASE = {"rows": 50_000, "columns": 32, "classes": 8}
GROWN = {"rows": (25_000, 50_000, 100_000, 200_000), "columns": (16, 32, 64, 128), "classes": (4, 8, 16, 32)}
LANDMARKS, MAPPED = (256, 512, 1024, 2048), 20_000
PASSES, REPEATS = (3, 9), 3  # what a pass costs is the difference of two fits
EXPONENT = "{}: exponent of the time"


@benchmark(
    "scale-growth",
    "the time of a pass of the bundle solver by rows, columns and classes, and of a Nystroem map by landmarks",
    bars=[*(Bar(EXPONENT.format(what), "<= 1.1") for what in GROWN), Bar(EXPONENT.format("landmarks"), "<= 2")],
    threads=1,
)
def scale_growth(record):
    import numpy as np

    from benchmarks.runner import limited_threads

    small = 20 if record.quick else 1
    with limited_threads(record.threads):
        found = {what: _grown(what, sizes, small) for what, sizes in GROWN.items()}
        found["landmarks"] = _landmarks([size // (8 if record.quick else 1) for size in LANDMARKS], MAPPED // small)
    lines = []
    for what, pairs in found.items():
        sizes, seconds = np.array(pairs).T
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        record.measured(EXPONENT.format(what), exponent, f"{seconds[0]:.3g} s to {seconds[-1]:.3g} s")
        lines.append([what, *(int(size) for size in sizes[[0, -1]]), *map(float, seconds[[0, -1]]), exponent])
    record.table("growth", ["of", "from", "to", "seconds, from", "seconds, to", "exponent"], lines)
    record.note(
        f"{BASE['rows'] // small:,} random rows, {BASE['columns']} columns, {BASE['classes']} classes where these do "
        f"not grow; a map of the intersection kernel of 8 points. A pass is the difference of fits of {PASSES[0]} and "
        f"{PASSES[1]} passes, divided by the difference, the best of {REPEATS}. Landmarks: fit of a Nystroem map of an "
        f"RBF kernel to {MAPPED // small:,} rows of 32 columns, and their mapping; the best of {REPEATS}."
    )


def _grown(what, sizes, small):
    """[(size, seconds of a pass)]"""
    from mercer import KernelClassifier, SparseAdditiveMap

    def fit(X, y, passes):
        return KernelClassifier(
            map=SparseAdditiveMap("intersection", n_points=8), solver="bundle", multi_class="ovr", max_iter=passes,
            C=1e-3, tol=1e-12, storage="memory", random_state=0, n_jobs=1,
        ).fit(X, y)  # fmt: skip

    found = []
    for size in sizes:
        shape = BASE | {what: size}
        X, y = _drawn(shape["rows"] // small, shape["columns"], shape["classes"])
        few, many = (_best(lambda n=n, X=X, y=y: fit(X, y, n)) for n in PASSES)
        found.append((size, max(many - few, 1e-6) / (PASSES[1] - PASSES[0])))
    return found


def _landmarks(sizes, rows):
    from mercer import RBF, NystroemMap

    X, _ = _drawn(rows, BASE["columns"], 2)
    return [
        (size, _best(lambda size=size: NystroemMap(RBF(1.0), n_landmarks=size, random_state=0).fit_transform(X)))
        for size in sizes
    ]


def _drawn(rows, columns, classes):
    """Rows and classes, each class as frequent."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.random((rows, columns), dtype=np.float32)
    return X, (X @ rng.random((columns, classes)).astype(np.float32) - 0.5 * X.sum(axis=1)[:, None]).argmax(axis=1)


def _best(job):
    """Seconds, the best of a few; a first call is not counted."""
    import warnings
    from time import perf_counter

    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few passes are not enough
        for _ in range(1 + REPEATS):
            began = perf_counter()
            job()
            times.append(perf_counter() - began)
    return min(times[1:])
