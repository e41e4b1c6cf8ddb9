"""What a single query costs beside its arithmetic: an index of 1,000 rows."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

LISTS = "one query, 1,000 sparse rows, lists"
CODES = "one query, 1,000 dense rows, codes"


@benchmark(
    "search-one",
    "one row asked of an index of 1,000 rows: microseconds with lists and with codes",
    bars=[Bar(LISTS, "<= 80", "us"), Bar(CODES, "<= 150", "us")],
)
def search_one(record):
    import numpy as np
    from scipy import sparse

    from benchmarks.runner import limited_threads
    from benchmarks.search._sparse import one_by_one
    from mercer import KernelIndex

    rng = np.random.default_rng(0)
    rows = sparse.csr_array(sparse.random_array((1000, 5000), density=0.006, rng=rng, dtype=np.float32))
    dense = rng.dirichlet(np.ones(64), size=1000).astype(np.float32)
    n = 50 if record.quick else 500
    with limited_threads(1):
        lists = KernelIndex("jensen-shannon").fit(rows).add(rows)
        codes = KernelIndex("chi2", effort="low", random_state=0).fit(dense).add(dense)
        record.measured(LISTS, 1000 * one_by_one(lambda row: lists.search(row, 10), rows[:n]), f"median of {n}")
        record.measured(CODES, 1000 * one_by_one(lambda row: codes.search(row, 10), dense[:n]), f"median of {n}")
    record.note("The median of queries that are asked one after the other, on one thread, k = 10.")
