"""A graph of a million dense rows: single queries, batches, filters, beside other graphs."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SINGLE = "1,000,000 rows of 128, chi2: single query, median"
RECALL = "the same, recall_10@10"
BATCH, BATCH_2 = "the same, batches of 100, per query", "the same, batches of 100 on two threads, per query"
BUILD, OPEN = "the same, fit and add on two threads", "the same, time to open, one query included"
BYTES = "the same, graph and its vectors, per row"
FILTERED = "lowest recall_10@10 under filters that keep 1 %, 10 % and 50 %"
SLOWER = "the slowest of them, single query over the unfiltered one"
USEARCH, PYNNDESCENT = (f"single query over that of {name}, at no lower recall" for name in ("usearch", "pynndescent"))
K, QUERIES, WANTED = 10, 1000, 0.99
SHARES = (0.01, 0.1, 0.5)


@benchmark(
    "search-graph",
    "a graph of a million SIFT descriptors under chi2: time, recall, filters, memory, beside usearch and pynndescent",
    bars=[
        Bar(SINGLE, "<= 1", "ms"),
        Bar(RECALL, ">= 0.99"),
        Bar(BATCH, "<= 0.8", "ms"),
        Bar(BATCH_2, "<= 0.5", "ms"),
        Bar(BUILD, "<= 180", "s"),
        Bar(OPEN, "<= 1", "s"),
        Bar(BYTES, "<= 420", "bytes"),
        Bar(FILTERED, ">= 0.99"),
        Bar(SLOWER, "<= 3", "x"),
        Bar(USEARCH, "<= 0.5", "x"),
        Bar(PYNNDESCENT, "<= 1", "x"),
    ],
    needs=["scenes15", "sift"],
)
def search_graph(record):
    import tempfile

    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import rows
    from mercer import KernelIndex, exact_knn

    base, queries = rows(record.quick, 100 if record.quick else QUERIES)
    with limited_threads(2):
        true, _ = exact_knn("chi2", base, queries, K)
        with tempfile.TemporaryDirectory() as folder:
            built = _seconds(lambda: _build(base, f"{folder}/index"))
            opened = _seconds(lambda: KernelIndex.open(f"{folder}/index", verify=False).search(queries[:1], K))
            index = KernelIndex.open(f"{folder}/index", verify=False)
            index.search(queries, K)
            record.measured(BATCH_2, _per_query(index, queries))
            with limited_threads(1):
                _measure(record, index, queries, true)
                _filtered(record, base, index, queries)
    record.measured(BUILD, built, f"{len(base):,} rows")
    record.measured(OPEN, opened, "verify=False")
    with limited_threads(1):
        _rivals(record, base, queries, true, index)
    index.close()
    record.note(
        f"{len(base):,} SIFT descriptors that sum to 1, {len(queries)} queries from other images, k = {K}, one thread "
        "unless said. The rivals' effort is the least of their ladder that reaches the recall of KernelIndex; "
        "hnswlib has no chi2 and compares square roots, with no final scores."
    )


def _build(base, path):
    from mercer import KernelIndex

    index = KernelIndex("chi2", store="graph", random_state=0).fit(base[:131_072])
    with index.persist(path):
        index.add(base, data={"draw": _draws(base)})


def _draws(base):
    """A column for filters."""
    import numpy as np

    return np.random.default_rng(0).random(len(base))


def _per_query(index, queries, **how):
    """Median milliseconds per query in batches of 100."""
    import numpy as np

    batches = [queries[i : i + 100] for i in range(0, len(queries), 100)]
    return 10 * float(np.median([_seconds(lambda b=b: index.search(b, K, **how)) for b in batches]))


def _measure(record, index, queries, true):
    """The curve of time and recall; what is asked for nothing is the default."""
    from benchmarks.search._sparse import one_by_one

    lines = []
    for wanted in (None, 0.9, 0.95, 0.99, 0.999):
        ids, _ = index.search(queries, K, recall=wanted)
        alone = one_by_one(lambda row, wanted=wanted: index.search(row, K, recall=wanted), queries)
        lines.append([wanted or "default", _recall(ids, true), alone, _per_query(index, queries, recall=wanted)])
    _, recall, alone, batch = lines[0]
    record.measured(SINGLE, alone, f"at recall_10@10 {recall:.4f}")
    record.measured(RECALL, recall, "default")
    record.measured(BATCH, batch)
    found = index.stats()
    per_row = found["graph_bytes"] / max(1, found["graph_rows"])
    record.measured(BYTES, per_row, f"{found['graph_bytes'] / 1e6:,.0f} MB")
    columns = ["recall asked for", "recall_10@10", "single, ms", "batches of 100, ms per query"]
    record.table("recall asked for, found, and its time", columns, lines)


def _filtered(record, base, index, queries):
    """Filters on a column, against the exact answer among the rows that they keep."""
    import numpy as np

    from benchmarks.search._sparse import one_by_one
    from mercer import exact_knn

    some = queries[:100]
    unfiltered = one_by_one(lambda row: index.search(row, K), some)
    lines = []
    for share in SHARES:
        where, kept = f"draw < {share}", np.flatnonzero(_draws(base) < share)
        true, _ = exact_knn("chi2", base[kept], some, K)
        recall = _recall(index.search(some, K, where=where)[0], kept[true])
        alone = one_by_one(lambda row, where=where: index.search(row, K, where=where), some)
        lines.append([f"{share:.0%}", recall, alone, alone / unfiltered])
    record.measured(FILTERED, min(line[1] for line in lines))
    record.measured(SLOWER, max(line[3] for line in lines), f"{unfiltered:.3g} ms without a filter")
    record.table("filters", ["rows kept", "recall_10@10", "single, ms", "over unfiltered"], lines)


def _rivals(record, base, queries, true, index):
    from benchmarks.compare._peers import version_of
    from benchmarks.search import _graphs
    from benchmarks.search._sparse import one_by_one

    ids, _ = index.search(queries, K)
    goal, ours = _recall(ids, true), one_by_one(lambda row: index.search(row, K), queries)
    lines = []
    for name, (make, claim) in {
        "usearch": (_graphs.usearch, USEARCH),
        "pynndescent": (_graphs.pynndescent, PYNNDESCENT),
        "hnswlib": (_graphs.hnswlib, None),
    }.items():
        if version_of(name) is None or (record.quick and name == "pynndescent"):  # it compiles for minutes
            continue
        begun = _seconds(lambda make=make: lines.append(make(base)))
        search, efforts = lines.pop()
        for effort in efforts:
            recall = _recall(search(queries, effort), true)
            if recall >= goal:
                break
        alone = one_by_one(lambda row, search=search, effort=effort: search(row, effort), queries)
        lines.append([f"{name} {version_of(name)}", effort, recall, alone, begun])
        if claim is not None and recall >= goal:
            record.measured(claim, ours / alone, f"{ours:.3g} ms / {alone:.3g} ms, recall {goal:.4f} and {recall:.4f}")
    record.table("other graphs", ["package", "effort", "recall_10@10", "single, ms", "build, s"], lines)


def _recall(found, true):
    import numpy as np

    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), true.tolist(), strict=True)]))


def _seconds(function):
    import time

    start = time.perf_counter()
    function()
    return time.perf_counter() - start
