"""All maps on three real data sets: dimensions, error, ranking, time and memory; the square root is the baseline."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SQUARE_ROOT = "square root"
ONE = "HomogeneousMap, order 1"
PER_DIMENSION = "NystroemMap, per dimension"
PROJECTED = "ProjectedMap(HomogeneousMap, order 2), {size} components"
BARS = [
    Bar("SIFT, chi2: error of HomogeneousMap (order 1) / error of the square root", "< 1"),
    Bar("spectra, Jensen-Shannon: error of HomogeneousMap (order 1) / error of the square root", "< 1"),
    Bar("pendigits, intersection: error of HomogeneousMap (order 1) / error of the square root", "< 1"),
]
COLUMNS = ["map", "dimensions", "relative error", "diagonal bias", "recall@10", "ms / 1,000 rows", "bytes / row"]


@benchmark(
    "maps-table",
    "all maps on SIFT, spectra and pendigits: dimensions, error, ranking recall, time and memory",
    bars=BARS,
    needs=["sift", "massbank", "pendigits"],
)
def maps_table(record):
    from benchmarks.maps._sets import split
    from mercer import thread_limit

    n_fit, n_test = (1000, 200) if record.quick else (20_000, 2000)
    for bar, (name, cases) in zip(BARS, _cases(_Sizes(record.quick)).items(), strict=True):
        data = split(name, n_fit, n_test)
        for kernel, maps in cases.items():
            with thread_limit(record.threads):
                found = _report(data, maps)
            rows = [_line(title, quality) for title, quality in found.maps.items()]
            record.table(f"{data.title}: {kernel}, {found.n_rows} rows", COLUMNS, rows)
            if ONE in found.maps:
                errors = [found.maps[title].relative_error for title in (ONE, SQUARE_ROOT)]
                record.measured(bar.claim, errors[0] / errors[1], f"{errors[0]:.3g} / {errors[1]:.3g}")
    record.note(
        "Maps are fitted on rows other than those they are judged by. The relative error is norm(K^ - K) / norm(K) in "
        "the Frobenius norm over all pairs; recall@10 is the share of the ten most similar other rows that K^ finds "
        "too; time is that of encoding, best of three, compilation not included."
    )
    record.note(
        "The square root is the map of the Hellinger kernel, which costs nothing to speak of; here it is judged by the "
        "kernel of the table. For the min-max kernel its rows are divided by their norm."
    )


def _cases(size):
    """data set -> kernel -> title -> map"""
    return {
        "sift": {"chi2": _histogram_maps("chi2", size), "exp-chi2": _exponential_maps("exp-chi2", 1.0, size)},
        "massbank": {"jensen-shannon": _spectra_maps("js", size), "min-max": _counting_maps(size)},
        "pendigits": {
            "intersection": _histogram_maps("intersection", size),
            "rbf": _exponential_maps("rbf", 1e-4, size),
        },
    }


class _Sizes:
    """Sizes of the maps, small for a quick run."""

    def __init__(self, quick):
        self.quick = quick
        self.landmarks = (32, 64) if quick else (256, 1024)
        self.components = 16 if quick else 64
        self.projected = (32, 64) if quick else (256, 1024)
        self.frequencies = (64, 128) if quick else (1024, 4096)
        self.hashes = (32, 64) if quick else (256, 1024)
        self.points = (8, 16) if quick else (16, 32)


def _histogram_maps(kernel, size):
    """The maps of additive kernels, and the general ones."""
    from mercer import HomogeneousMap, KernelPCA, NystroemMap, ProjectedMap, SparseAdditiveMap, SparseMap

    few, many = size.landmarks
    maps = {SQUARE_ROOT: square_root(kernel)}
    maps |= {f"HomogeneousMap, order {order}": HomogeneousMap(kernel, order) for order in (1, 2, 3)}
    maps["HomogeneousMap, order 1, uniform window"] = HomogeneousMap(kernel, 1, "uniform")
    maps[PER_DIMENSION] = NystroemMap(kernel, per_dimension=True, random_state=0)
    for points in size.points:
        maps[f"SparseAdditiveMap, {points} points"] = SparseAdditiveMap(kernel, points, random_state=0)
    for landmarks in size.landmarks:
        maps[f"NystroemMap, {landmarks} landmarks"] = NystroemMap(kernel, n_landmarks=landmarks, random_state=0)
    kpca = KernelPCA(kernel, size.components, n_landmarks=many, random_state=0)
    maps[f"KernelPCA, {size.components} of {many} landmarks"] = kpca
    maps[f"SparseMap, 8 of {few} landmarks"] = SparseMap(kernel, few, 8, random_state=0)
    for n in size.projected[:1]:
        maps[PROJECTED.format(size=n)] = ProjectedMap(HomogeneousMap(kernel, 2), n, random_state=0)
    return maps


def _spectra_maps(kernel, size):
    """As above, with the dense rows of two sizes that wide sparse rows are brought to."""
    from mercer import HomogeneousMap, KernelPCA, ProjectedMap

    maps = _histogram_maps(kernel, size)
    if size.quick:  # a table for each of 20,000 columns takes half a minute
        del maps[PER_DIMENSION]
    landmarks = size.landmarks[1]
    for n in size.projected:
        maps[PROJECTED.format(size=n)] = ProjectedMap(HomogeneousMap(kernel, 2), n, random_state=0)
    n = size.projected[0]
    kpca = KernelPCA(kernel, n, n_landmarks=landmarks, random_state=0)
    maps[f"KernelPCA, {n} of {landmarks} landmarks"] = kpca
    return maps


def _counting_maps(size):
    from mercer import NystroemMap, ProjectedMap, WeightedMinHash

    maps = {SQUARE_ROOT: square_root("min-max", normalised=True)}
    maps |= {f"WeightedMinHash, {n} hashes": WeightedMinHash(n, random_state=0) for n in size.hashes}
    hashes, n = size.hashes[1], size.projected[0]
    projected = ProjectedMap(WeightedMinHash(hashes, random_state=0), n, random_state=0)
    maps[f"ProjectedMap(WeightedMinHash, {hashes} hashes), {n} components"] = projected
    landmarks = size.landmarks[1]
    maps[f"NystroemMap, {landmarks} landmarks"] = NystroemMap("min-max", n_landmarks=landmarks, random_state=0)
    return maps


def _exponential_maps(kernel, gamma, size):
    from mercer import FourierMap, NystroemMap, get_kernel

    chosen = get_kernel(kernel, gamma=gamma)
    maps = {f"FourierMap, {n} components": FourierMap(chosen, n, random_state=0) for n in size.frequencies}
    landmarks = size.landmarks[1]
    maps[f"NystroemMap, {landmarks} landmarks"] = NystroemMap(chosen, n_landmarks=landmarks, random_state=0)
    return maps


def square_root(kernel, normalised=False):
    """The features sqrt(x), to be judged by another kernel."""
    import numpy as np

    from mercer import HomogeneousMap, get_kernel
    from mercer.maps.base import FeatureMap
    from mercer.spaces import Identity

    class SquareRoot(FeatureMap):
        def __init__(self, kernel):
            self.kernel = kernel

        def fit(self, X, y=None):
            X = self._checked(X, reset=True)
            self.root_ = HomogeneousMap("hellinger").fit(X)
            self.kernel_ = self.resolved_kernel()
            self.inner_ = Identity(X.shape[1])
            return self

        def encode_rows(self, X):
            roots = self.root_.transform(X)
            if not normalised:
                return roots
            norms = np.sqrt(np.asarray(X.sum(axis=1))).reshape(-1, 1)
            return (roots / np.where(norms > 0, norms, 1)).tocsr()

    return SquareRoot(get_kernel(kernel))


def _report(data, maps):
    from mercer import approximation_report

    fitted = {title: one.fit(data.X_fit) for title, one in maps.items()}
    return approximation_report(fitted, data.X_test, n_rows=data.X_test.shape[0])


def _line(title, quality):
    return [
        title,
        quality.dimensions,
        quality.relative_error,
        quality.diagonal_bias,
        quality.recall,
        quality.ms_per_1000_rows,
        round(quality.bytes_per_row),
    ]
