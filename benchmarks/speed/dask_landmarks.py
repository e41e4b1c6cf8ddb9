"""Thousands of landmarks on a Dask cluster: one process, one worker, two workers, and the same bits from each."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SPEEDUP = "landmarks: fit on two workers of one thread against one worker"
DIFFERENCE = "landmarks: largest difference of scores, two workers against one process"
ROWS, CHUNK, LANDMARKS, STEPS = 5_000_000, 250_000, 2_560, 3
QUICK_ROWS, QUICK_LANDMARKS = 60_000, 2_100
ASKED = 1000  # rows whose scores are compared


@benchmark(
    "dask-landmarks",
    "2,560 landmarks on 5,000,000 rows of covtype, kernel values computed in every pass, on one and two Dask workers",
    bars=[Bar(SPEEDUP, ">= 1.6", "x"), Bar(DIFFERENCE, "<= 0", "")],
    needs=["covtype"],
    threads=1,
)
def dask_landmarks(record):
    import tempfile
    from pathlib import Path

    import numpy as np

    from benchmarks.speed.dask_fit import written

    rows = QUICK_ROWS if record.quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        X, y = written(Path(folder), rows)
        labels = np.load(y) == 2
        asked = np.load(X, mmap_mode="r")[:ASKED].copy()
        found = {n_workers: _fitted(record, X, labels, asked, n_workers) for n_workers in (1, 2, 0)}
    one, two = found[1][0], found[2][0]
    record.measured(SPEEDUP, one / two, f"{one:.3g} s against {two:.3g} s")
    record.measured(DIFFERENCE, float(np.abs(found[2][1] - found[0][1]).max()), f"{ASKED:,} rows")
    names = {1: "one worker", 2: "two workers", 0: "one process, the same chunks"}
    record.table("fit", ["side", "s"], [[names[n_workers], seconds] for n_workers, (seconds, _) in found.items()])
    record.note(
        "Covtype scaled to [0, 1] and repeated, the second class against the others, RBF kernel; the landmarks are "
        f"chosen and factored in every fit. {STEPS} steps of preconditioned conjugate gradients, chunks of {CHUNK:,} "
        "rows, clusters of this machine, one fit each."
    )


def _learner(quick):
    from mercer import RBF, KernelClassifier, NystroemMap

    landmarks = NystroemMap(RBF(4.0), n_landmarks=QUICK_LANDMARKS if quick else LANDMARKS, random_state=0)
    return KernelClassifier(
        map=landmarks, solver="falkon", loss="squared_hinge", max_iter=STEPS, storage="memory", random_state=0, n_jobs=1
    )


def _fitted(record, X, labels, asked, n_workers):
    """(seconds, scores) of a fit on so many workers; 0: in this process, on threads of Dask."""
    import warnings
    from contextlib import ExitStack
    from time import perf_counter

    from distributed import Client, LocalCluster

    from benchmarks.runner import limited_threads
    from benchmarks.speed.dask_fit import chunks

    options = {"n_workers": max(n_workers, 1), "threads_per_worker": 1, "memory_limit": 0, "processes": n_workers > 0}
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")  # a few steps are not enough
        stack.enter_context(limited_threads(1))
        cluster = stack.enter_context(LocalCluster(dashboard_address=None, **options))
        stack.enter_context(Client(cluster))
        few = 2 * QUICK_LANDMARKS
        _learner(True).fit(chunks(X, few)[: 2 * few], labels[: 2 * few])  # compiled code is loaded
        began = perf_counter()
        fitted = _learner(record.quick).fit(chunks(X), labels)
        return perf_counter() - began, fitted.decision_function(asked)
