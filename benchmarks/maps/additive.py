"""Sparse maps of additive kernels: error by the number of points. [vedaldi12sparse] Sec. 2.1, (8) and (9)"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

KERNELS = ("intersection", "chi2", "jensen-shannon")
POINTS = (4, 8, 16, 32, 64)
FALLS = "{}, SIFT: relative error of 16 points / of 32 points"
PRINTED = "chi2, one column: largest error of (9) as printed, 16 points"
RIGHT = "chi2, one column: largest error of (9) with x - i, 16 points"


@benchmark(
    "additive-maps",
    "sparse maps of additive kernels: error of the kernel by the number of points, and of (9) as it is printed",
    bars=[*(Bar(FALLS.format(kernel), ">= 2") for kernel in KERNELS), Bar(RIGHT, "<= 0.01"), Bar(PRINTED, "> 0.01")],
    paper="vedaldi12sparse",
    needs=["sift"],
    threads=1,
)
def additive_maps(record):
    from benchmarks.maps._sets import split
    from benchmarks.runner import limited_threads

    points = POINTS[:4] if record.quick else POINTS
    with limited_threads(record.threads):
        found = _one_column(points)
        data = split("sift", *((500, 100) if record.quick else (20_000, 1000)))
        real = {(kernel, n): _on_rows(kernel, n, data) for kernel in KERNELS for n in points}
    for kernel in KERNELS:
        coarse, fine = real[kernel, 16][0], real[kernel, 32][0]
        record.measured(FALLS.format(kernel), coarse / fine, f"{coarse:.3g} / {fine:.3g}")
    record.measured(RIGHT, found["chi2, (9) with x - i", 16])
    record.measured(PRINTED, found["chi2, (9) as printed", 16])
    names = list(dict.fromkeys(name for name, _ in found))
    record.table(
        "one column, values from 0 to 1, points 1/n, 2/n, ..., 1: largest error of the kernel",
        ["kernel", *(f"{n} points" for n in points)],
        [[name, *(found[name, n] for n in points)] for name in names],
    )
    record.table(
        "SIFT descriptors: relative error of the kernel",
        ["kernel", *(f"{n} points" for n in points)],
        [[kernel, *(real[kernel, n][0] for n in points)] for kernel in KERNELS],
    )
    record.table(
        "SIFT descriptors: numbers of a row that are not zero",
        ["kernel", *(f"{n} points" for n in points)],
        [[kernel, *(real[kernel, n][1] for n in points)] for kernel in KERNELS],
    )
    record.figure(
        "error",
        _figure(points, found, real),
        "Error of the kernel by the number of points: one column, and SIFT descriptors",
    )
    record.note(
        "One column: K^(x, y) = phi(x)' K_ZZ phi(y) of values on a fine grid between the first point and the last. "
        "SIFT: rows that sum to 1, other rows than those the points were placed by, norm(K^ - K) / norm(K) in the "
        "Frobenius norm; points as grid='auto' places them. A value has two numbers, one below the first point, "
        "however many points there are."
    )


def _one_column(points):
    """(kernel and form, points) -> largest error; the closed forms, and the library where there is none."""
    import numpy as np

    from mercer import get_kernel

    forms = {
        "intersection, (8)": ("intersection", lambda i, x: (i + 1 - x, x - i)),
        "chi2, (9) with x - i": ("chi2", lambda i, x: _factor(i, x) * np.array((i + 1 - x, x - i))),
        "chi2, (9) as printed": ("chi2", lambda i, x: _factor(i, x) * np.array((i + 1 - x, x - 1))),
    }
    found = {}
    for n in points:
        grid = np.arange(1, n + 1, dtype=float)
        values = np.linspace(1, n, 40 * n + 1)[:-1]
        below = np.floor(values)
        for name, (kernel, coefficients) in forms.items():
            k = get_kernel(kernel)
            phi = np.zeros((len(values), n))
            left, right = coefficients(below, values)
            place = below.astype(int) - 1
            phi[np.arange(len(values)), place] = left
            phi[np.arange(len(values)), place + 1] += right
            approximate = phi @ k(grid[:, None]) @ phi.T
            # of values up to 1: the kernels are homogeneous, so the error scales with the grid
            found[name, n] = float(np.abs(approximate - k(values[:, None])).max() / n)
    return found


def _factor(i, x):
    return 2 * (1 + 2 * i) * x / ((i + x) * (1 + i + x))


def _on_rows(kernel, n_points, data):
    """(relative error, non-zero numbers of a row)"""
    import numpy as np

    from mercer import SparseAdditiveMap

    found = SparseAdditiveMap(kernel, n_points=n_points, random_state=0).fit(data.X_fit)
    exact = found.kernel_(data.X_test)
    error = np.linalg.norm(found.approximate_kernel(data.X_test) - exact) / np.linalg.norm(exact)
    return float(error), found.transform(data.X_test).nnz / len(data.X_test)


def _figure(points, found, real):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure(8, 3.4)
    figure.delaxes(axes)
    left, right = figure.subplots(1, 2)
    for name in dict.fromkeys(name for name, _ in found):
        left.plot(
            points, [found[name, n] for n in points], "s--" if "printed" in name else "o-", markersize=4, label=name
        )
    for kernel in KERNELS:
        right.plot(points, [real[kernel, n][0] for n in points], "o-", markersize=4, label=kernel)
    for axes, title, label in ((left, "one column", "largest error"), (right, "SIFT descriptors", "relative error")):
        axes.set(xscale="log", yscale="log", xlabel="points", ylabel=label, title=title)
        axes.set_xticks(points, [str(n) for n in points])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    return figure
