"""Maps: speed against scikit-learn, a million rows through kernel PCA, and landmarks by randomly pivoted Cholesky."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SKLEARN, MERCER, UNIFORM = "scikit-learn, AdditiveChi2Sampler", "mercer", "mercer, uniform window"
TRANSFORM = "HomogeneousMap, chi2 order 1, against AdditiveChi2Sampler at the same output size"
ERROR = "HomogeneousMap with the uniform window: relative error / AdditiveChi2Sampler's"
DIAGONAL = "HomogeneousMap, chi2 order 1: largest relative error of K(x, x)"
KPCA = "KernelPCA, transform of 1,000,000 x 128, chi2, 1,024 landmarks, 64 components"
LANDMARKS = "Randomly pivoted Cholesky, {}: error / that of uniform landmarks, M = 1,024"
FIT = "Randomly pivoted Cholesky, {}: fit on 100,000 rows, M = 1,024"
SETS = ("SIFT", "spectra")

LANDMARK_SEEDS = 5
BARS = [
    Bar(TRANSFORM, ">= 4", "x"),
    Bar(ERROR, "<= 1.00001"),  # the same formula; the last digits are the order of operations
    Bar(DIAGONAL, "<= 0.02"),
    Bar(KPCA, "<= 30", "s"),
    *(Bar(LANDMARKS.format(name), "< 1") for name in SETS),
    *(Bar(FIT.format(name), "<= 20", "s") for name in SETS),
]


@benchmark(
    "maps-speed",
    "feature maps against scikit-learn, kernel PCA of a million rows, landmarks of 100,000 rows",
    bars=BARS,
    needs=["sift", "massbank"],
)
def maps_speed(record):
    _homogeneous(record)
    _kernel_pca(record)
    for name in SETS:
        _landmarks(record, name)
    _hashes(record)


def _homogeneous(record):
    """Both sides in float32 and float64, dense; the smaller of the two ratios counts."""
    import numpy as np
    from sklearn.kernel_approximation import AdditiveChi2Sampler

    from benchmarks.maps._sets import all_sift, unit_rows
    from benchmarks.runner import compare
    from mercer import Chi2, HomogeneousMap
    from mercer.datasets import load_sift

    rows = all_sift()[: 500 if record.quick else 45_000]
    ratios = {}
    for dtype in (np.float32, np.float64):
        X = rows.astype(dtype)
        sides = {
            MERCER: HomogeneousMap("chi2", 1).fit(X),
            UNIFORM: HomogeneousMap("chi2", 1, "uniform").fit(X),
            SKLEARN: AdditiveChi2Sampler(sample_steps=2).fit(X),
        }
        jobs = {name: (lambda side=side: side.transform(X)) for name, side in sides.items()}
        found = compare(jobs, repeats=2 if record.quick else 7, threads=record.threads)
        name = np.dtype(dtype).name
        record.comparison(f"chi2 features, {X.shape[0]} x 128 to 384, {name}", found, MERCER)
        ratios[name] = found.ratio(SKLEARN, MERCER)
    record.measured(TRANSFORM, min(ratios.values()), ", ".join(f"{name} {r:.3g}x" for name, r in ratios.items()))

    sample = unit_rows(load_sift("base")[: 200 if record.quick else 2000]).astype(np.float64)
    K = Chi2()(sample)
    grams = {name: side.transform(sample) @ side.transform(sample).T for name, side in sides.items()}
    errors = {name: float(np.linalg.norm(A - K) / np.linalg.norm(K)) for name, A in grams.items()}
    record.measured(ERROR, errors[UNIFORM] / errors[SKLEARN], f"{errors[UNIFORM]:.5g} / {errors[SKLEARN]:.5g}")
    off = {name: float(np.abs(np.diag(A) / np.diag(K) - 1).max()) for name, A in grams.items()}
    record.measured(DIAGONAL, off[MERCER], "default window")
    lines = [[name, errors[name], off[name]] for name in sides]
    record.table(f"chi2 on {len(sample)} SIFT rows", ["map", "relative error", "largest error of K(x, x)"], lines)


def _kernel_pca(record):
    import time

    import numpy as np

    from benchmarks.maps._sets import all_sift
    from mercer import KernelPCA, thread_limit

    n_rows, n_landmarks, n_components = (2000, 64, 16) if record.quick else (1_000_000, 1024, 64)
    rows = all_sift()
    X = rows[np.random.default_rng(0).integers(0, len(rows), n_rows)]
    with thread_limit(record.threads):
        kpca = KernelPCA("chi2", n_components, n_landmarks=n_landmarks, random_state=0).fit(rows[:20_000])
        kpca.transform(X[:1000])
        start = time.perf_counter()
        features = kpca.transform(X)
        seconds = time.perf_counter() - start
    record.measured(KPCA, seconds, f"{features.shape[0]} rows to {features.shape[1]}, one run")
    record.note(f"The rows of the kernel PCA are drawn with replacement from {len(rows)} SIFT descriptors.")


def _landmarks(record, name):
    import time

    from benchmarks.maps._sets import all_sift, all_spectra, unit_rows, with_mixtures
    from mercer import NystroemMap, approximation_report, thread_limit
    from mercer.datasets import load_sift

    n_rows, n_landmarks, n_test = (2000, 64, 200) if record.quick else (100_000, 1024, 2000)
    if name == "SIFT":
        kernel, real, test = "chi2", all_sift(), unit_rows(load_sift("base"))[:n_test]
    else:
        spectra = all_spectra()
        kernel, real, test = "jensen-shannon", spectra[n_test:], spectra[:n_test]
    X = with_mixtures(real, n_rows)
    rules = ("uniform", "rpcholesky")
    errors, seconds = ({rule: [] for rule in rules} for _ in range(2))
    with thread_limit(record.threads):
        for rule in rules:
            NystroemMap(kernel, n_landmarks=8, landmarks=rule, random_state=0).fit(X[:100])  # compiles
        for seed in range(LANDMARK_SEEDS):  # one draw may favour either rule
            maps = {}
            for rule in rules:
                start = time.perf_counter()
                maps[rule] = NystroemMap(kernel, n_landmarks=n_landmarks, landmarks=rule, random_state=seed).fit(X)
                seconds[rule].append(time.perf_counter() - start)
            found = approximation_report(maps, test, n_rows=n_test).maps
            for rule in rules:
                errors[rule].append(found[rule].relative_error)
    mean = {rule: sum(values) / len(values) for rule, values in errors.items()}
    wins = sum(new < old for new, old in zip(errors["rpcholesky"], errors["uniform"], strict=True))
    detail = (
        f"means of {LANDMARK_SEEDS} seeds, {mean['rpcholesky']:.4g} / {mean['uniform']:.4g}; lower on {wins} of them"
    )
    record.measured(LANDMARKS.format(name), mean["rpcholesky"] / mean["uniform"], detail)
    slowest = max(seconds["rpcholesky"])
    record.measured(
        FIT.format(name), slowest, f"{X.shape[0]} rows, slowest seed; uniform {max(seconds['uniform']):.3g} s"
    )
    lines = [[rule, mean[rule], min(errors[rule]), max(errors[rule]), max(seconds[rule])] for rule in rules]
    columns = ["landmarks", "mean relative error", "lowest", "highest", "slowest fit, s"]
    record.table(f"{name}, {kernel}, {X.shape[0]} rows, {n_landmarks} landmarks", columns, lines)
    record.note(
        f"{min(real.shape[0], n_rows)} of the {X.shape[0]} rows of {name} are real, the others means of two of them."
    )


def _hashes(record):
    """For information: count fingerprints, 41,127 rows as in a screen of molecules."""
    import numpy as np
    from scipy import sparse

    from benchmarks.runner import compare
    from mercer import WeightedMinHash

    n_rows, n_columns, per_row = (500, 512, 20) if record.quick else (41_127, 2048, 80)
    rng = np.random.default_rng(0)
    columns = np.sort(np.argsort(rng.random((n_rows, n_columns)), axis=1)[:, :per_row], axis=1)
    counts = rng.geometric(0.5, size=columns.shape).astype(np.float32)
    pointers = np.arange(n_rows + 1) * per_row
    X = sparse.csr_array((counts.ravel(), columns.ravel(), pointers), shape=(n_rows, n_columns))
    sides = {f"{n} hashes": WeightedMinHash(n, random_state=0).fit(X) for n in (64, 256, 1024)}
    jobs = {name: (lambda side=side: side.codes(X)) for name, side in sides.items()}
    found = compare(jobs, repeats=2 if record.quick else 3, threads=record.threads)
    record.comparison(f"WeightedMinHash, {n_rows} x {n_columns} counts, {per_row} per row", found, "256 hashes")
