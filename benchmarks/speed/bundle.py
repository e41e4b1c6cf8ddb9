"""How the cost of the bundle solver grows: with the rows, and with the features of structured inner products."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ROWS = "Time of a pass against rows, {}: exponent from 10,000 to 500,000 rows"
FEATURES = "Time of project and lift against features D, {}: exponent"
ENCODINGS = ("sparse features, intersection", "sparse features, chi2", "codes, blocks of 8")
INNERS = ("CumulativeSum", "BlockFactor", "BlockFactor, one factor repeated")
N_PASSES = 8
N_CLASSES = 10  # columns of project and lift
POINTS = 32  # features per dimension


@benchmark(
    "bundle-scaling",
    "the bundle solver: time of a pass against rows, time of the inner product against features",
    bars=[
        *(Bar(ROWS.format(name), "<= 1.1") for name in ENCODINGS),
        *(Bar(FEATURES.format(name), "<= 1.2") for name in INNERS),
    ],
    needs=["covtype"],
)
def bundle_scaling(record):
    _against_rows(record)
    _against_features(record)


def _against_rows(record):
    """Seven classes of covtype in the same passes."""
    import numpy as np

    from mercer.datasets import load_covtype

    numbers = (500, 1000, 2000) if record.quick else (10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
    X, y = load_covtype()
    X -= X.min(axis=0)
    X /= np.maximum(X.max(axis=0), 1)
    X, y = X[: numbers[-1]], y[: numbers[-1]]
    seconds = {name: _pass_seconds(record, rows, inner, y, numbers) for name, (rows, inner) in _encoded(X).items()}
    for name, times in seconds.items():
        detail = f"{1e3 * times[0]:.3g} ms to {1e3 * times[-1]:.4g} ms"
        record.measured(ROWS.format(name), _exponent(numbers, times), detail)
    lines = [[n, *(1e3 * times[k] for times in seconds.values())] for k, n in enumerate(numbers)]
    record.table("milliseconds of a pass, covtype, 7 classes", ["rows", *seconds], lines)
    record.figure("rows", _figure(numbers, seconds), "Seconds of a pass against rows; the thin line is proportional.")
    record.note(
        f"A pass is one iteration of the solver: scores, line search, a plane and the small problems. Its time is the "
        f"mean over {N_PASSES} iterations, the best of several runs; all classes share the passes. Exponents are "
        "slopes of straight lines fitted to the logarithms."
    )


def _encoded(X):
    """name -> (rows, inner product), fitted on the first rows."""
    from mercer import ProductQuantizer, SparseAdditiveMap

    few = X[:20_000]
    maps = (
        SparseAdditiveMap("intersection", random_state=0),
        SparseAdditiveMap("chi2", random_state=0),
        ProductQuantizer(8, random_state=0),
    )
    fitted = [one.fit(few) for one in maps]
    return {name: (one.rows(X), one.inner_) for name, one in zip(ENCODINGS, fitted, strict=True)}


def _pass_seconds(record, rows, inner, y, numbers):
    """Seconds of a pass over the first n rows, for each n; the sizes take turns."""
    from benchmarks.paper._learning import one_vs_rest
    from mercer import thread_limit
    from mercer.learners.solvers.bundle.solver import solve_bundle
    from mercer.spaces import Design

    best = [float("inf")] * len(numbers)
    with thread_limit(record.threads):
        problems = [one_vs_rest(Design(rows.take(slice(0, n)), inner), y[:n], 1.0) for n in numbers]
        solve_bundle(problems[0], max_iter=2)  # compiles
        for _ in range(1 if record.quick else 3):
            for k, problem in enumerate(problems):
                history = solve_bundle(problem, tol=0.0, max_iter=N_PASSES + 1).history["seconds"]
                best[k] = min(best[k], (history[-1] - history[0]) / (len(history) - 1))
    return best


def _against_features(record):
    import numpy as np

    from benchmarks.runner import compare

    dimensions = (8, 16, 32) if record.quick else (256, 1024, 4096, 16_384)
    numbers = [POINTS * d for d in dimensions]
    rng = np.random.default_rng(0)
    seconds = {name: [] for name in INNERS}
    for d in dimensions:
        inners = _inners(d, rng)
        a = rng.standard_normal((POINTS * d, N_CLASSES))

        jobs = {name: (lambda inner=inner: inner.lift(inner.project(a))) for name, inner in inners.items()}
        found = compare(jobs, repeats=2 if record.quick else 5, threads=record.threads)
        for name in INNERS:
            seconds[name].append(found.best(name))
    for name, times in seconds.items():
        detail = f"{1e3 * times[0]:.3g} ms to {1e3 * times[-1]:.4g} ms for D from {numbers[0]:,} to {numbers[-1]:,}"
        record.measured(FEATURES.format(name), _exponent(numbers, times), detail)
    lines = [[D, *(1e3 * times[k] for times in seconds.values())] for k, D in enumerate(numbers)]
    record.table(f"milliseconds of project and lift, {N_CLASSES} classes", ["D", *seconds], lines)


def _inners(d, rng):
    """The inner products of sparse additive maps on d dimensions with POINTS grid points each."""
    from mercer.spaces import BlockFactor, CumulativeSum

    factors = rng.standard_normal((d, POINTS, POINTS))
    made = (CumulativeSum(rng.random((d, POINTS))), BlockFactor(factors), BlockFactor(factors[:1], repeat=d))
    return dict(zip(INNERS, made, strict=True))


def _exponent(sizes, seconds):
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _figure(numbers, seconds):
    import numpy as np

    from benchmarks.plotting import new_figure

    figure, axes = new_figure()
    for name, times in seconds.items():
        axes.plot(numbers, times, "o-", label=name)
    last = max(times[-1] for times in seconds.values())
    axes.plot(numbers, 1.5 * last * np.array(numbers) / numbers[-1], color="black", linewidth=0.6)
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of a pass")
    axes.legend(frameon=False, fontsize="small")
    return figure
