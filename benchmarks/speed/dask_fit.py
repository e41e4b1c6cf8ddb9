"""Learning on a Dask cluster: one worker, two workers, one process; and rows that no worker could hold."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SPEEDUP = "fit on two workers of one thread against one worker"
OVERHEAD = "time of a fit on one worker above that of one process with one thread"
FITTED = "rows fitted over the memory that all workers may take together"
ONE_PROCESS, ONE_WORKER, TWO_WORKERS = "one process", "one worker", "two workers"
ROWS, CHUNK = 5_000_000, 250_000
PASSES = 10  # of the bundle solver, the same for every side
REPEATS = 3
WORKER_BYTES, TIMES, WIDE_CHUNK = 800_000_000, 4, 10_000
QUICK_ROWS = 400_000


@benchmark(
    "dask-fit",
    "the bundle solver on 5,000,000 rows of covtype: one process, a Dask cluster of one and of two workers",
    bars=[Bar(SPEEDUP, ">= 1.6", "x"), Bar(OVERHEAD, "<= 25", "%"), Bar(FITTED, ">= 4", "x")],
    needs=["covtype"],
    threads=1,
)
def dask_fit(record):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        rows = QUICK_ROWS if record.quick else ROWS
        X, y = written(Path(folder), rows)
        times, objectives = _times(record, X, y)
        _larger_than_memory(record, X, y)
    one, two, alone = times[ONE_WORKER], times[TWO_WORKERS], times[ONE_PROCESS]
    record.measured(SPEEDUP, min(one) / min(two), f"{min(one):.3g} s against {min(two):.3g} s")
    record.measured(OVERHEAD, 100 * (min(one) / min(alone) - 1), f"{min(one):.3g} s against {min(alone):.3g} s")
    record.table(
        f"{rows:,} rows, 54 columns, intersection kernel, 7 classes, {PASSES} passes",
        ["side", "best, s", "all, s", "objective", "microseconds per row and pass"],
        [[name, min(some), ", ".join(f"{x:.3g}" for x in some), objectives[name], 1e6 * min(some) / rows / PASSES]
         for name, some in times.items()],
    )  # fmt: skip
    record.note(
        "Covtype scaled to [0, 1] and repeated; fitting the map to a sample and encoding the rows are in the time. One "
        f"process reads the same file in blocks, with one thread. Chunks of {CHUNK:,} rows, clusters of this machine, "
        "sides in turn. The objectives are those after as many passes. Larger than memory: rows that the workers make "
        "from covtype, 1,026 numbers each, coded by one byte for nine."
    )


def written(folder, rows):
    """Paths of rows and classes as npy files."""
    import numpy as np

    from mercer.datasets import load_covtype

    X, y = load_covtype("train")
    X = X - X.min(axis=0)
    X = (X / np.maximum(X.max(axis=0), 1)).astype(np.float32)
    which = np.arange(rows) % len(X)
    paths = folder / "X.npy", folder / "y.npy"
    out = np.lib.format.open_memmap(paths[0], "w+", np.float32, (rows, X.shape[1]))
    for start in range(0, rows, CHUNK):
        out[start : start + CHUNK] = X[which[start : start + CHUNK]]
    out.flush()
    np.save(paths[1], y[which])
    return paths


def _learner():
    from mercer import KernelClassifier, SparseAdditiveMap

    return KernelClassifier(
        map=SparseAdditiveMap("intersection", n_points=8), solver="bundle", multi_class="ovr", max_iter=PASSES, C=1e-3,
        storage="memory", random_state=0, n_jobs=1,
    )  # fmt: skip


def _times(record, X, y):
    """({side: seconds of each fit}, {side: objective})"""
    import warnings
    from time import perf_counter

    import numpy as np
    from distributed import Client, LocalCluster

    from benchmarks.runner import limited_threads
    from mercer import open_rows

    labels, times, objectives = np.load(y), {}, {}
    for _ in range(1 if record.quick else REPEATS):
        for name, n_workers in ((ONE_PROCESS, 0), (ONE_WORKER, 1), (TWO_WORKERS, 2)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # ten passes are not enough
                if not n_workers:
                    with limited_threads(1):
                        began = perf_counter()
                        fitted = _learner().fit(open_rows(X), labels)
                        seconds = perf_counter() - began
                else:
                    options = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": 0}
                    with LocalCluster(dashboard_address=None, **options) as cluster, Client(cluster):
                        _learner().fit(chunks(X)[: 2 * CHUNK], labels[: 2 * CHUNK])  # compiled code is loaded
                        began = perf_counter()
                        fitted = _learner().fit(chunks(X), labels)
                        seconds = perf_counter() - began
            times.setdefault(name, []).append(seconds)
            objectives[name] = float(fitted.objective_.sum())
    return times, objectives


def chunks(path, size=CHUNK):
    """The rows of a file as a Dask array whose chunks of so many rows the workers read."""
    import dask.array as da
    import numpy as np

    shape = np.load(path, mmap_mode="r").shape
    parts = [slice(start, min(start + size, shape[0])) for start in range(0, shape[0], size)]
    return _delayed(lambda part: np.load(path, mmap_mode="r")[part].copy(), parts, shape[1], da)


def _delayed(read, parts, width, da):
    import dask
    import numpy as np

    return da.concatenate(
        [da.from_delayed(dask.delayed(read)(part), (part.stop - part.start, width), dtype=np.float32) for part in parts]
    )


def _larger_than_memory(record, path, labels):
    """Fit rows four times as large as the memory of the workers, on codes of one byte per nine columns."""
    import warnings
    from time import perf_counter

    import dask.array as da
    import numpy as np
    from distributed import Client, LocalCluster

    from mercer import HomogeneousMap, KernelClassifier, ProductQuantizer

    wide = HomogeneousMap("chi2", order=9).fit(np.ones((1, 54), dtype=np.float32))
    width, n_workers, y = wide.transform(np.ones((1, 54), dtype=np.float32)).shape[1], 2, np.load(labels) == 2
    rows = 20_000 if record.quick else TIMES * n_workers * WORKER_BYTES // (4 * width) + 1

    def read(part):
        return wide.transform(np.load(path, mmap_mode="r")[part])

    parts = [slice(start, min(start + WIDE_CHUNK, rows)) for start in range(0, rows, WIDE_CHUNK)]
    learner = KernelClassifier(
        map=ProductQuantizer(block_size=9, random_state=0), max_iter=PASSES, C=1e-4, random_state=0
    )
    options = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": WORKER_BYTES}
    with LocalCluster(dashboard_address=None, **options) as cluster, Client(cluster), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = perf_counter()
        learner.fit(_delayed(read, parts, width, da), y[:rows])
        seconds = perf_counter() - began
    data, memory = 4 * width * rows, n_workers * WORKER_BYTES
    detail = f"{data / 1e9:.2g} GB on {n_workers} workers of {WORKER_BYTES / 1e6:.0f} MB, {seconds:.0f} s"
    record.measured(FITTED, data / memory, detail)
