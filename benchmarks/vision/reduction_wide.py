"""Fisher vectors of 20,480 columns reduced to fewer: time, memory, and what it costs. [gavves12convex] Sec. 4.5"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

MINUTES = "convex selection of 2,048 of the 20,480 columns: minutes"
MEMORY = "convex selection of 2,048 of the 20,480 columns: GiB at most, rows included"
SIZES, JUDGED = (512, 2048), 2048
METHODS = ("convex", "merge", "energy", "random")


@benchmark(
    "reduction-wide",
    "Fisher vectors of Scenes-15 of 20,480 columns: selected, merged, of largest energy and at random",
    bars=[Bar(MINUTES, "<= 10", "min"), Bar(MEMORY, "<= 4", "GiB")],
    paper="gavves12convex",
    needs=["scenes15"],
)
def reduction_wide(record):
    import tempfile
    from functools import partial
    from pathlib import Path

    import numpy as np

    from benchmarks.memory import peak_memory
    from benchmarks.runner import limited_threads
    from benchmarks.vision._scenes15 import judged_rows, split
    from benchmarks.vision.scenes_fisher import fisher_rows

    train, y, test, y_test = split(record.quick)
    sizes = [size // (8 if record.quick else 1) for size in SIZES]
    with limited_threads(record.threads):
        X, X_test = fisher_rows(train, test, record.quick)
        width = X.shape[1] // 8  # the first of eight cells is the whole image
        X, X_test = (part[:, :width] * 8**0.5 for part in (X, X_test))
        full = judged_rows(X, y, X_test, y_test)
        lines = [["all columns", width, None, None, full["mAP"], full["accuracy"]]]
        for size in sizes:
            for method in METHODS:
                found = reduced(X, size, method)
                one = judged_rows(found.transform(X), y, found.transform(X_test), y_test)
                lines.append([method, found.n_dims_, found.error_, found.seconds_, one["mAP"], one["accuracy"]])
                if (method, size) == ("convex", sizes[-1]):
                    detail = f"{len(found.path_['alpha'])} penalties, {len(X):,} rows"
                    record.measured(MINUTES, found.seconds_ / 60, detail)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "rows.npy"
        np.save(kept, X)
        needed = peak_memory(reduced, partial(_rows_of, kept, sizes[-1]), warmup=0, timeout=3600)
    record.measured(MEMORY, (needed + X.nbytes) / 2**30, f"rows {X.nbytes / 2**20:.0f} MiB")
    record.table(
        "Fisher vectors of the whole image by the way their columns are reduced",
        ["columns", "left", "error (7)", "s", "mAP", "accuracy"], lines,
    )  # fmt: skip
    record.note(
        f"{len(train):,} training and {len(test):,} test images, the Fisher vectors of `scenes-fisher` without its "
        "smaller cells; the linear kernel, machines on Gram matrices, C chosen on 30 training images per class."
    )


def reduced(X, n_dims, method="convex"):
    """The fitted reduction."""
    from mercer import ConvexReduction

    return ConvexReduction(n_dims=n_dims, method=method, random_state=0).fit(X)


def _rows_of(path, n_dims):
    import numpy as np

    return np.load(path), n_dims
