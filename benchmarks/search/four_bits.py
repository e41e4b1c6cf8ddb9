"""Words of four bits, two to a byte, against words of eight: recall and time of as many bytes."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

BYTES, K, SINGLES = (8, 16), 10, 200
SINGLE = "{} bytes: time of one query, 4 bits against 8"
BATCH = "{} bytes: time of a query in a batch, 4 bits against 8"
RECALL = "{} bytes: recall_10@10, re-ranked, of 4 bits less that of 8"


@benchmark(
    "search-four-bits",
    "KernelIndex with words of 4 and of 8 bits on a million SIFT descriptors under chi2",
    bars=[
        *(Bar(SINGLE.format(n), "<= 0.5", "x") for n in BYTES),
        *(Bar(BATCH.format(n), "<= 0.8", "x") for n in BYTES),
        *(Bar(RECALL.format(n), f">= {least}") for n, least in zip(BYTES, (-0.1, -0.03), strict=True)),
    ],
    needs=["scenes15", "sift"],
)
def search_four_bits(record):
    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import neighbours, rows

    lines = []
    with limited_threads(1):
        base, queries = rows(record.quick, 1000)
        true = neighbours(base, queries)
        for n_bytes in BYTES:
            found = _measured(base, queries, true, n_bytes)
            words, packed = found[8], found[4]
            for claim, place in ((SINGLE, 3), (BATCH, 2)):
                detail = f"{packed[place]:.2f} / {words[place]:.2f} ms"
                record.measured(claim.format(n_bytes), packed[place] / words[place], detail)
            record.measured(RECALL.format(n_bytes), packed[0] - words[0], f"{packed[0]:.3f} - {words[0]:.3f}")
            lines += [[n_bytes, bits, *row] for bits, row in found.items()]
    record.table(
        "recall and milliseconds",
        ["bytes", "bits", "recall_10@10", "the same by codes alone", "ms per query of a batch", "ms of one query"],
        lines,
    )
    record.note(
        f"{len(base):,} rows, {len(queries):,} queries, k = {K}, one thread; the batch is the best of five in turn, "
        f"one query the median of {SINGLES}. Re-ranked by the exact kernel, 10 candidates per row wanted."
    )


def _measured(base, queries, true, n_bytes):
    """{bits: (recall, recall by codes alone, ms per query of a batch, ms of one query)}."""
    from benchmarks.runner import compare
    from benchmarks.search._sparse import one_by_one
    from mercer import KernelIndex
    from mercer.search import recall_k_at

    made = {
        bits: KernelIndex("chi2", bytes_per_item=n_bytes, bits=bits, random_state=0).fit(base[:100_000]).add(base)
        for bits in (8, 4)
    }
    batches = compare({str(bits): lambda i=index: i.search(queries, K) for bits, index in made.items()}, threads=1)
    found = {}
    for bits, index in made.items():
        by_codes, _ = index.search(queries, K, rerank=False)
        recalls = [recall_k_at(each, true, K, K) for each in (index.search(queries, K)[0], by_codes)]
        single = one_by_one(lambda row, i=index: i.search(row, K), queries[:SINGLES])
        found[bits] = (*recalls, 1000 * batches.best(str(bits)) / len(queries), single)
    return found
