"""The graph of nearest neighbors of many rows: time, recall and memory, and pynndescent on rows that both can take."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

K, ROWS, QUICK_ROWS = 15, 1_000_000, 4000
BESIDE, QUICK_BESIDE = 100_000, 2000  # rows of the comparison
JUDGED = 1000  # rows whose true neighbors are found by brute force
RECALL = "1,000,000 rows x 128, chi2, 15 neighbors, 2 threads: recall"
MINUTES = "the same: time"
LINEAR = "the same: bytes per row at the peak, of all rows over those of a quarter"
RIVAL = "100,000 rows: time over that of pynndescent with its own chi2"
LOST = "the same: recall of pynndescent less ours"
OURS, THEIRS = "KernelNeighbors", "pynndescent, own chi2"


@benchmark(
    "neighbors-graph",
    "KernelNeighbors on a million SIFT descriptors under chi2, and pynndescent on a tenth of them",
    bars=[
        Bar(RECALL, ">= 0.98"),
        Bar(MINUTES, "<= 15", "min"),
        Bar(LINEAR, "<= 1.2", "x"),
        Bar(RIVAL, "<= 1", "x"),
        Bar(LOST, "<= 0"),
    ],
    needs=["scenes15", "sift"],
    threads=2,
)
def neighbors_graph(record):
    from benchmarks.compare._peers import version_of

    n = QUICK_ROWS if record.quick else ROWS
    part, whole = (_measured(record, OURS, size) for size in (n // 4, n))
    record.measured(RECALL, whole["recall"], f"{n:,} rows, recall_15@15 of {whole['judged']:,} of them")
    record.measured(MINUTES, whole["seconds"] / 60, f"fit and graph, {whole['seconds']:.0f} s, by {whole['store']}")
    per_row = [each["megabytes"] * 1e6 / each["rows"] for each in (part, whole)]
    record.measured(LINEAR, per_row[1] / per_row[0], f"{per_row[1]:.0f} / {per_row[0]:.0f}")
    size = QUICK_BESIDE if record.quick else BESIDE
    ours, theirs = (_measured(record, side, size) for side in (OURS, THEIRS))
    if "seconds" in theirs:
        record.measured(
            RIVAL, ours["seconds"] / theirs["seconds"], f"{ours['seconds']:.1f} / {theirs['seconds']:.1f} s"
        )
        record.measured(LOST, theirs["recall"] - ours["recall"], f"{theirs['recall']:.4f} - {ours['recall']:.4f}")
    facts = ("side", "rows", "store", "recall", "seconds", "megabytes", "problem")
    lines = [[each.get(fact) for fact in facts] for each in (part, whole, ours, theirs)]
    columns = ["side", "rows", "found by", "recall_15@15", "time, s", "peak memory, MB", "problem"]
    record.table("graphs", columns, lines)
    record.note(
        "SIFT descriptors that sum to 1. Every side runs in a process of its own, on the same number of threads; a "
        "first graph of 300 rows compiles and is not counted. The row itself is no neighbor. True neighbors are found "
        "by exact_knn; a row as near as the 15th counts as one of them. Peak memory is that of fit and graph over what "
        f"was there before, the rows being there. pynndescent {version_of('pynndescent') or 'not installed'}."
    )


def _measured(record, side, n_rows):
    """What a graph came to that was made in a process of its own."""
    from benchmarks.compare._peers import measure

    package = {OURS: "mercer", THEIRS: "pynndescent"}[side]
    found = measure(job, package, side, n_rows, record.quick, threads=record.threads, timeout=7200)
    head = {"side": side, "rows": n_rows}
    return head | ({"problem": found.problem} if found.problem else found.answers | {"megabytes": found.megabytes})


def job(parts, side, n_rows, quick):
    """The graph of the first rows: its time by the clock, since threads are to count, and its recall."""
    import time

    from benchmarks.search._scenes import rows

    base = rows(quick)[0][:n_rows].copy()
    make = {OURS: _ours, THEIRS: _theirs}[side]
    make(base[:300])
    with parts.part("graph"):
        started = time.perf_counter()
        neighbors, store = make(base)
        seconds = time.perf_counter() - started
    recall, judged = _recall(base, neighbors, quick)
    return {"seconds": seconds, "store": store, "recall": recall, "judged": judged}


def _ours(base):
    import numpy as np

    from mercer import KernelNeighbors

    found = KernelNeighbors("chi2", n_neighbors=K, random_state=0, verbose=1).fit(base)
    _, neighbors = found.kneighbors()
    return neighbors.astype(np.int32), found.index_.stats()["store"]


def _theirs(base):
    from pynndescent import NNDescent

    from benchmarks.compare._searchers import numba_chi2

    # its lists begin with the row itself
    return NNDescent(base, metric=numba_chi2(), n_neighbors=K + 1, random_state=0).neighbor_graph[0], "NN-descent"


def _recall(base, neighbors, quick):
    """(recall_15@15, rows that were judged): neighbors as near as the 15th true one."""
    import numpy as np

    from mercer import exact_knn

    asked = np.random.default_rng(0).choice(len(base), 100 if quick else JUDGED, replace=False)
    ids, _ = exact_knn("chi2", base, base[asked], K + 1)
    true, found = _others(ids, asked), _others(neighbors[asked], asked)
    least = _similarities(base, asked, true).min(axis=1, keepdims=True)
    return float(np.mean(_similarities(base, asked, found) >= least - 1e-12)), len(asked)


def _others(ids, own):
    """The first neighbors that are not the row itself."""
    return [[i for i in line if i != j][:K] for line, j in zip(ids.tolist(), own.tolist(), strict=True)]


def _similarities(base, asked, ids):
    """sum of 2 x y / (x + y), row by row, in float64."""
    import numpy as np

    X, Y = base[asked].astype(np.float64)[:, None, :], base[np.asarray(ids)].astype(np.float64)
    total = X + Y
    return (2 * X * Y / np.where(total > 0, total, 1)).sum(axis=2)
