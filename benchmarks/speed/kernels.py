"""Exact kernels: Gram blocks against the usual alternatives, CSR against dense, and both against the machine."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SKLEARN, SCIPY, NUMPY = "scikit-learn", "scipy", "numpy row loop"
MERCER, SYMMETRIC, DOUBLE = "mercer", "mercer, K(X)", "mercer, float64"
CSR, MIXED, DENSIFIED = "mercer, CSR", "mercer, CSR x dense", "mercer, toarray() and dense"
DENSE = "mercer, dense rows without zeros"
DENSITY = 0.05
SINGLE_TOLERANCE = 2e-6  # absolute, on kernel values up to 1; the bar for Jensen-Shannon, and ample for the others

BARS = [
    Bar("chi2 against scikit-learn's additive_chi2_kernel", ">= 15", "x"),
    Bar("Jensen-Shannon against scipy's cdist", ">= 50", "x"),
    Bar("Jensen-Shannon, largest absolute error on rows that sum to 1", "<= 2e-6"),
    Bar("intersection against the row loop np.minimum(x, Y).sum(1)", ">= 20", "x"),
    Bar("chi2 at 5 % density, CSR time / (density x dense time)", "<= 3", "x"),
    Bar("chi2 at 5 % density, CSR against densifying", "> 1", "x"),
    Bar("intersection at 5 % density, CSR time / (density x dense time)", "<= 3", "x"),
    Bar("intersection at 5 % density, CSR against densifying", "> 1", "x"),
]


@benchmark("kernels-speed", "exact kernels against scikit-learn, scipy, numpy and the machine's limits", bars=BARS)
def kernels_speed(record):
    from benchmarks.limits import machine_limits

    bench = _Bench(record)
    before = machine_limits(record.threads)
    best = {"chi2": bench.chi2(), "intersection": bench.intersection(), "jensen-shannon": bench.jensen_shannon()}
    bench.other_kernels()
    for name in ("chi2", "intersection"):
        bench.csr(name)
    bench.memory()
    # at both ends, so that a disturbed minute does not lower the limit that everything is held against
    after = machine_limits(record.threads)
    limits = {step: max(before[step], after[step]) for step in before}
    _limits_table(record, limits)
    _fractions_table(record, limits, best, bench.n_rows, bench.n_bins)
    bench.draw()


class _Bench:
    """The data of the dense comparisons, and one method per comparison."""

    def __init__(self, record):
        import numpy as np

        from benchmarks.speed._histograms import histograms, sample_rows

        self.record = record
        self.repeats = 2 if record.quick else 5
        self.n_rows, self.n_bins = (300, 64) if record.quick else (3000, 256)
        self.size = f"{self.n_rows} x {self.n_rows} x {self.n_bins}"
        self.X, self.Y = (histograms(self.n_rows, self.n_bins, seed) for seed in (0, 1))
        self.X64, self.Y64 = self.X.astype(np.float64), self.Y.astype(np.float64)
        self.rows = sample_rows(self.n_rows)
        self.speedups = {}

    def compare(self, title, sides, baseline, **options):
        from benchmarks.runner import compare

        comparison = compare(sides, repeats=self.repeats, threads=self.record.threads, **options)
        self.record.comparison(title, comparison, baseline)
        return comparison

    def mercer_sides(self, kernel, pair, tolerance=SINGLE_TOLERANCE):
        """K(X, Y), K(X) and K(X, Y) in float64, with their checks."""
        from benchmarks.checks import Matches
        from benchmarks.speed._histograms import oracle

        X, Y, rows = self.X, self.Y, self.rows
        expected, symmetric = oracle(pair, X[rows], Y), oracle(pair, X[rows], X)
        sides = {
            MERCER: lambda: kernel(X, Y),
            SYMMETRIC: lambda: kernel(X),
            DOUBLE: lambda: kernel(self.X64, self.Y64),
        }
        checks = {
            MERCER: Matches(expected, rows, tolerance),
            SYMMETRIC: Matches(symmetric, rows, tolerance),
            DOUBLE: Matches(expected, rows, 1e-12),
        }
        return sides, checks, expected

    def chi2(self):
        """scikit-learn returns -sum (x - y)^2 / (x + y), which is 2 sum 2xy / (x + y) - sum x - sum y."""
        from sklearn.metrics.pairwise import additive_chi2_kernel, pairwise_kernels

        from benchmarks.checks import Matches
        from benchmarks.speed import _histograms
        from mercer import Chi2

        X, Y = self.X, self.Y
        sides, checks, expected = self.mercer_sides(Chi2(), _histograms.chi2)
        sums = self.X64[self.rows].sum(axis=1)[:, None] + self.Y64.sum(axis=1)
        threaded = f"{SKLEARN}, pairwise_kernels(n_jobs={self.record.threads})"
        sides[SKLEARN] = lambda: additive_chi2_kernel(X, Y)
        sides[threaded] = lambda: pairwise_kernels(X, Y, metric="additive_chi2", n_jobs=self.record.threads)
        for side in (SKLEARN, threaded):  # sums 256 terms in single precision, one after the other
            checks[side] = Matches(expected, self.rows, 2e-5, read=lambda negated: (sums + negated) / 2)
        found = self.compare(f"chi2, {self.size}, float32", sides, MERCER, checks=checks)
        self.keep("chi2 against scikit-learn's additive_chi2_kernel", "chi2", found, SKLEARN)
        return found.best(MERCER)

    def intersection(self):
        import numpy as np

        from benchmarks.checks import Matches
        from benchmarks.speed import _histograms
        from mercer import Intersection

        X, Y = self.X, self.Y
        sides, checks, expected = self.mercer_sides(Intersection(), _histograms.intersection)
        sides[NUMPY] = lambda: np.stack([np.minimum(x, Y).sum(1) for x in X])
        checks[NUMPY] = Matches(expected, self.rows, SINGLE_TOLERANCE)
        found = self.compare(f"intersection, {self.size}, float32", sides, MERCER, checks=checks)
        self.keep("intersection against the row loop np.minimum(x, Y).sum(1)", "intersection", found, NUMPY)
        return found.best(MERCER)

    def jensen_shannon(self):
        """scipy returns the root of the divergence in nats, sqrt((1 - K) ln 2) on rows that sum to 1."""
        import numpy as np
        from scipy.spatial.distance import cdist

        from benchmarks.checks import Matches
        from benchmarks.speed import _histograms
        from mercer import JensenShannon

        X, Y = self.X, self.Y
        kernel = JensenShannon()
        sides, checks, expected = self.mercer_sides(kernel, _histograms.jensen_shannon)
        sides[SCIPY] = lambda: cdist(X, Y, "jensenshannon")
        checks[SCIPY] = Matches(expected, self.rows, 1e-6, read=lambda distance: 1 - distance**2 / np.log(2))
        slow = {SCIPY: min(2, self.repeats)}
        found = self.compare(f"Jensen-Shannon, {self.size}, float32", sides, MERCER, checks=checks, slow=slow)
        self.keep("Jensen-Shannon against scipy's cdist", "Jensen-Shannon", found, SCIPY)

        A, B = (_histograms.spiky_histograms(200, self.n_bins, seed) for seed in (2, 3))
        on_spiky = np.abs(kernel(A, B) - _histograms.oracle(_histograms.jensen_shannon, A, B)).max()
        self.record.measured(
            "Jensen-Shannon, largest absolute error on rows that sum to 1",
            max(found.errors[MERCER], found.errors[SYMMETRIC], on_spiky),
            f"{found.errors[MERCER]:.1e} without zeros, {on_spiky:.1e} on spiky rows with zeros; against float64",
        )
        return found.best(MERCER)

    def keep(self, claim, kernel, found, rival):
        ratio = found.ratio(rival, MERCER)
        self.speedups[f"{kernel} / {rival}"] = ratio
        repeats = len(found.timings[rival].times)
        detail = f"{found.best(rival):.3g} s / {found.best(MERCER):.3g} s"
        self.record.measured(claim, ratio, detail + (f", {rival} best of {repeats}" if repeats < self.repeats else ""))

    def other_kernels(self):
        """For information: the other kernels, with a rival where there is a usual one."""
        for title, kernel, rival_name, rival in _other_kernels(self.X, self.Y):
            sides = {MERCER: lambda kernel=kernel: kernel(self.X, self.Y)}
            sides[DOUBLE] = lambda kernel=kernel: kernel(self.X64, self.Y64)
            if rival is not None:
                sides[rival_name] = rival
            found = self.compare(f"{title}, {self.size}, float32", sides, MERCER, checks=self.agreeing(sides))
            if rival is not None:
                self.speedups[f"{title} / {rival_name}"] = found.ratio(rival_name, MERCER)

    def agreeing(self, sides):
        """No oracle: every side against Mercer in float64, whose values the test suite checks."""
        from benchmarks.checks import Matches

        expected = sides[DOUBLE]()[self.rows]
        return {side: Matches(expected, self.rows, 1e-5) for side in sides}

    def csr(self, name):
        """Dense time is that of rows without zeros: dense loops may skip zeros too, as the densified side shows."""
        from benchmarks.checks import Matches
        from benchmarks.speed import _histograms
        from mercer import get_kernel

        kernel = get_kernel(name)
        n_rows, n_bins = (300, 1000) if self.record.quick else (3000, 2000)
        X, Y = (_histograms.sparse_histograms(n_rows, n_bins, DENSITY, seed) for seed in (4, 5))
        dense_Y = Y.toarray()
        full_X, full_Y = (_histograms.histograms(n_rows, n_bins, seed) for seed in (6, 7))
        rows = _histograms.sample_rows(n_rows)
        expected = _histograms.oracle(getattr(_histograms, name), X[rows].toarray(), dense_Y)
        sides = {
            CSR: lambda: kernel(X, Y),
            MIXED: lambda: kernel(X, dense_Y),
            DENSE: lambda: kernel(full_X, full_Y),
            DENSIFIED: lambda: kernel(X.toarray(), Y.toarray()),
        }
        checks = {side: Matches(expected, rows, SINGLE_TOLERANCE) for side in (CSR, MIXED, DENSIFIED)}
        title = f"{name} at 5 % density, {n_rows} x {n_rows} x {n_bins}, float32"
        found = self.compare(title, sides, CSR, checks=checks)
        detail = (
            f"CSR {found.best(CSR):.3g} s, dense {found.best(DENSE):.3g} s, densifying {found.best(DENSIFIED):.3g} s"
        )
        share = found.ratio(CSR, DENSE) / DENSITY
        self.record.measured(f"{name} at 5 % density, CSR time / (density x dense time)", share, detail)
        self.record.measured(f"{name} at 5 % density, CSR against densifying", found.ratio(DENSIFIED, CSR), detail)

    def memory(self):
        from benchmarks.memory import peak_memory

        setup = _quick_rows if self.record.quick else _full_rows
        rows = []
        for title, function in (("K(X, Y)", _full_gram), ("top_k(X, Y, k=10)", _ten_best)):
            rows.append([title, peak_memory(function, setup) / 2**20])
        rows.append(["the Gram matrix itself", 4 * self.n_rows**2 / 2**20])
        self.record.table(f"chi2, {self.size}, float32: peak memory beyond the input", ["job", "MiB"], rows)

    def draw(self):
        from benchmarks.plotting import COLOURS, new_figure

        figure, axes = new_figure(height=1 + 0.3 * len(self.speedups))
        labels, values = zip(*reversed(self.speedups.items()), strict=True)
        axes.hlines(labels, 1, values, color=COLOURS[0])
        axes.plot(values, labels, "o", color=COLOURS[0])
        for label, value in zip(labels, values, strict=True):
            axes.annotate(f"{value:.3g}x", (value, label), (0, 5), textcoords="offset points", ha="center")
        axes.axvline(1, color=COLOURS[-1], linewidth=0.8)
        axes.set_xscale("log")
        axes.margins(x=0.1, y=0.1)
        axes.set_xlabel(f"times faster (float32, {self.size}, {self.record.threads} threads)")
        self.record.figure("speedup", figure, "How many times faster Mercer computes a Gram block than its rivals")


def _other_kernels(X, Y):
    """(title, kernel, name of the rival, rival) for the kernels without a bar."""
    import numpy as np
    from scipy.spatial.distance import cdist
    from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, rbf_kernel

    import mercer

    gamma = 2.0

    def min_max():
        return np.stack([np.minimum(x, Y).sum(1) / np.maximum(x, Y).sum(1) for x in X])

    return [
        ("Linear", mercer.Linear(), "numpy", lambda: X @ Y.T),
        ("Hellinger", mercer.Hellinger(), "numpy", lambda: np.sqrt(X) @ np.sqrt(Y).T),
        ("RBF", mercer.RBF(gamma=gamma), SKLEARN, lambda: rbf_kernel(X, Y, gamma=gamma)),
        ("Laplacian", mercer.Laplacian(gamma=gamma), SKLEARN, lambda: laplacian_kernel(X, Y, gamma=gamma)),
        ("ExpChi2", mercer.ExpChi2(gamma=gamma), SKLEARN, lambda: chi2_kernel(X, Y, gamma=gamma)),
        ("BrayCurtis", mercer.BrayCurtis(), SCIPY, lambda: 1 - cdist(X, Y, "braycurtis")),
        ("MinMax", mercer.MinMax(), NUMPY, min_max),
        ("PowerMean(-2)", mercer.PowerMean(-2), None, None),
        ("PowerMean(-1.5)", mercer.PowerMean(-1.5), None, None),
    ]


# Work of the memory measurement: at the top of the module, because the child process imports it.


def _full_rows():
    from benchmarks.speed._histograms import histograms

    return histograms(3000, 256, 0), histograms(3000, 256, 1)


def _quick_rows():
    from benchmarks.speed._histograms import histograms

    return histograms(300, 64, 0), histograms(300, 64, 1)


def _full_gram(X, Y):
    from mercer import Chi2

    return Chi2()(X, Y)


def _ten_best(X, Y):
    from mercer import Chi2

    return Chi2().top_k(X, Y, k=10)


def _limits_table(record, limits):
    rows = [[step, rate / 1e9, "G steps/s"] for step, rate in limits.items() if step != "memory"]
    rows.append(["memory, a = b + s c", limits["memory"] / 1e9, "GB/s"])
    title = f"Limits of this machine, single precision, {record.threads} threads"
    record.table(title, ["step", "attainable", "unit"], rows)


# Vector instructions per pair of bins, as in mercer._native.kernels.pairs, by the unit that executes them (minimum,
# maximum and subtraction beside addition). chi2 puts two pairs over one denominator, which halves the divisions.
# Intersection is held against the faster of two ways to add up minima: where minimum and addition share a unit,
# multiplying by 1 and adding does not.
WORK = {
    "chi2": {"divide": 0.5, "fused multiply-add": 2.5, "add": 1.5},
    "intersection": {"minimum and fused multiply-add": 1},
    "jensen-shannon": {"divide": 1, "fused multiply-add": 8, "add": 6},
}


def _fractions_table(record, limits, best, n_rows, n_bins):
    """The time the busiest unit of the processor needs for the work alone, over the time taken."""
    rows = []
    for kernel, work in WORK.items():
        floors = {step: count * n_rows**2 * n_bins / limits[step] for step, count in work.items()}
        floors["memory"] = 4 * (n_rows**2 + 2 * n_rows * n_bins) / limits["memory"]
        unit = max(floors, key=floors.get)
        per_pair = ", ".join(f"{count:g} {step}" for step, count in work.items())
        share = f"{100 * floors[unit] / best[kernel]:.0f}%"
        rows.append([kernel, per_pair, unit, floors[unit], best[kernel], share])
    columns = ["kernel", "work per pair of bins", "binding limit", "s at the limit", "s taken", "fraction reached"]
    record.table("Fraction of the machine's limit", columns, rows)
