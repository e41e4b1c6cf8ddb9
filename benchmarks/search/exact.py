"""Exact search with bounds against brute force. [bourrier15explicit] App. A"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.registry import Bar, benchmark

FASTER = "exact search against blocked brute force, batches of 100"
SAME = "queries with identical ids, order and scores, of 1,000"
SINGLE = "one query at a time, one thread: median"
BATCH_TIME, BATCH_TWO = "batches of 100, per query, one thread", "batches of 100, per query, two threads"
BYTES = "bounds, bytes a row"
OPENED = "first exact search after opening, as a share of the one that makes the bounds"
BATCH, CHECKED, ALONE = 100, 1000, 60
CONFIDENCES = (0.999, 0.99, 0.95, 0.9)


@benchmark(
    "search-exact",
    "exact nearest neighbors of a million SIFT descriptors: bounds against brute force, identical answers",
    bars=[
        Bar(FASTER, ">= 6", "x"),
        Bar(SAME, ">= 1000"),
        Bar(SINGLE, "<= 5", "ms"),
        Bar(BATCH_TIME, "<= 2", "ms"),
        Bar(BATCH_TWO, "<= 1.2", "ms"),
        Bar(BYTES, "<= 140"),
        Bar(OPENED, "<= 0.1"),
    ],
    paper="bourrier15explicit",
    needs=["scenes15", "sift"],
)
def search_exact(record):
    import numpy as np

    from benchmarks.runner import compare, limited_threads
    from benchmarks.search._scenes import rows
    from mercer import KernelIndex, exact_knn

    with limited_threads(record.threads), tempfile.TemporaryDirectory() as folder:
        base, queries = rows(record.quick, CHECKED)
        with limited_threads(2):  # what "auto" takes for so many dense rows, and builds once
            index = KernelIndex("chi2", store="graph", random_state=0).fit(base[:131_072]).add(base)
            index.persist(Path(folder) / "index")
        batch = queries[:BATCH]
        if record.quick:
            _bounds_for_few_rows()
        made = _seconds(partial(index.search, batch[:1], 1, exact=True))
        index.close()
        index = KernelIndex.open(Path(folder) / "index", verify=False)
        opened = _seconds(partial(index.search, batch[:1], 1, exact=True))
        record.measured(OPENED, opened / made, f"{made:.1f} s to make them, {opened:.2f} s to open them")
        record.measured(
            BYTES, index.stats()["bounds_bytes"] / len(base), f"{index.certificate_.n_components} components"
        )
        lines, times = [], {}
        for k in (1, 10):
            sides = {
                "bounds": partial(index.search, batch, k, exact=True),
                "brute force": partial(exact_knn, "chi2", base, batch, k),
            }
            found = compare(sides, 2 if record.quick else 5, threads=record.threads, checks=None)
            times[k] = found
            counts = index.certificate_.kernel_evaluations
            lines.append([k, np.median(counts), np.quantile(counts, 0.9), found.ratio("brute force", "bounds")])
            record.comparison(f"k = {k}, {len(batch)} queries", found, "brute force")
        record.measured(FASTER, times[10].ratio("brute force", "bounds"), "k = 10; k = 1 in the table")
        for claim, n_threads in ((BATCH_TIME, 1), (BATCH_TWO, 2)):
            with limited_threads(n_threads):
                each = [_seconds(partial(index.search, batch, 10, exact=True)) for _ in range(5)]
            record.measured(claim, min(each) / len(batch) * 1e3, "k = 10, best of 5")
        with limited_threads(1):
            each = [_seconds(partial(index.search, queries[i : i + 1], 10, exact=True)) for i in range(ALONE)]
        record.measured(SINGLE, float(np.median(each[2:])) * 1e3, f"k = 10, {ALONE - 2} queries")
        ids, scores = index.search(queries, 10, exact=True)
        true, true_scores = exact_knn("chi2", base, queries, 10)
        same = (ids == true).all(axis=1) & (scores == true_scores).all(axis=1)
        record.measured(SAME, float(same.sum()), f"k = 10, {len(queries)} queries")
        relaxed = [_relaxed(index, queries, true, confidence) for confidence in CONFIDENCES]
    made_of = f"bounds of {index.certificate_.n_components} components, 1,024 landmarks"
    record.table(made_of, ["k", "kernel evaluations per query, median", "90th percentile", "times faster"], lines)
    record.table(
        "relaxed bounds, (28)",
        ["confidence asked for", "measured on stored rows", "neighbors found", "kernel evaluations, median"],
        relaxed,
    )
    record.note(
        f"{len(base):,} rows in float32, in a directory, with a graph, whose candidates give the first "
        "threshold. The bounds are made once, at the first exact search, and "
        "opened by later processes. Brute force is Mercer's own, by blocks of the chi2 kernel in float32, with final "
        "scores in float64 for rows near the k-th."
    )


def _relaxed(index, queries, true, confidence):
    import numpy as np

    found, _ = index.search(queries, true.shape[1], exact="probable", confidence=confidence)
    covered = np.mean([len(np.intersect1d(*pair)) / true.shape[1] for pair in zip(found, true, strict=True)])
    certificate = index.certificate_
    return [confidence, certificate.confidence, float(covered), float(np.median(certificate.kernel_evaluations))]


def _seconds(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _bounds_for_few_rows():
    """With --quick there are fewer rows than an exact search makes bounds for."""
    from mercer.search.exact import searcher

    searcher.BRUTE_FORCE_ROWS = 0
