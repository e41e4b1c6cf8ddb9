"""Scanning codes against faiss, and building an index of a million rows."""

from __future__ import annotations

from functools import partial

from benchmarks.registry import Bar, benchmark

SLOWER = "coded search, {} bytes: time, embedding of the queries included, over faiss's IndexPQ on embedded queries"
BUILD = "fit and add a million rows, default effort"
MEMORY = "peak memory of fit and add above codes and kept rows"
BATCH, K = 100, 100


@benchmark(
    "search-speed",
    "coded search against faiss's IndexPQ on the same codes; time and memory of building an index",
    bars=[
        *(Bar(SLOWER.format(size), "<= 1.15", "x") for size in (8, 16)),
        Bar(BUILD, "<= 60", "s"),
        Bar(MEMORY, "<= 400", "MB"),
    ],
    needs=["scenes15", "sift"],
)
def search_speed(record):
    from benchmarks.memory import peak_memory
    from benchmarks.search._scenes import rows

    base, queries = rows(record.quick, BATCH)
    for size in (8, 16):
        _race(record, base, queries, size)
    extra = peak_memory(_built, partial(_base_only, record.quick), warmup=0)
    kept = base.nbytes + 8 * len(base)
    record.measured(MEMORY, (extra - kept) / 1e6, f"{extra / 1e6:,.0f} MB - {kept / 1e6:,.0f} MB of codes and rows")
    record.note(
        "faiss is given the same words and codes and the queries already embedded. Its answers are compared with "
        "Mercer's scan. Memory is that of a process of its own, above what it had when the rows were loaded."
    )


def _base_only(quick):
    from benchmarks.search._scenes import rows

    return (rows(quick, BATCH)[0],)


def _built(base):
    from benchmarks.runner import limited_threads
    from mercer import KernelIndex

    with limited_threads(2):
        return KernelIndex("chi2", bytes_per_item=8, vectors="float32", random_state=0).fit(base).add(base)


def _race(record, base, queries, size):
    import time

    import numpy as np

    from benchmarks.runner import compare, limited_threads
    from mercer import KernelIndex

    with limited_threads(record.threads):
        start = time.perf_counter()
        index = KernelIndex("chi2", bytes_per_item=size, vectors="float32", random_state=0).fit(base)
        fitted = time.perf_counter() - start
        index.add(base)
        built = time.perf_counter() - start
        faiss_index, embedded = _faiss(index, queries)
    if size == 8:
        record.measured(BUILD, built, f"fit {fitted:.1f} s, add {built - fitted:.1f} s")
    sides = {
        "Mercer": partial(index.search, queries, K, rerank=False),
        "faiss IndexPQ": partial(faiss_index.search, embedded, K),
        "Mercer, re-ranked": partial(index.search, queries, 10),
    }
    found = compare(sides, 2 if record.quick else 7, threads=record.threads, checks=None)
    ids, _ = sides["Mercer"]()
    _, theirs = sides["faiss IndexPQ"]()
    same = float(np.mean(ids == theirs))
    record.measured(SLOWER.format(size), 1 / found.ratio("faiss IndexPQ", "Mercer"), f"{same:.2%} of the answers equal")
    record.comparison(
        f"{size} bytes, {len(base):,} rows, {len(queries)} queries, k = {K} (re-ranked: 10)", found, "faiss IndexPQ"
    )


def _faiss(index, queries):
    """faiss's index of the same codes, and the queries as it takes them: embedded, rotated, scaled."""
    import faiss
    import numpy as np

    coder = index.model_.coder_
    M, _, width = coder.words.shape
    made = faiss.IndexPQ(M * width, M, 8)
    faiss.copy_array_to_vector(np.ascontiguousarray(coder.words).ravel(), made.pq.centroids)
    made.is_trained = True
    made.add_sa_codes(np.ascontiguousarray(index.rows_.column("codes")))
    embedded = coder.blocks(index.model_.embed_queries(queries)).reshape(len(queries), -1)
    return made, np.ascontiguousarray(embedded * np.float32(coder.scale))
