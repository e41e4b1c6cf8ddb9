"""Recall of 16 bytes as the base grows. [bourrier15explicit] Fig. 3"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LANDMARKS, COMPONENTS, BYTES, QUERIES = 1024, 64, 16, 1000
LOST = "recall_1@100 on 100,000 rows less that on a million"


@benchmark(
    "search-growth",
    "recall of 64 components in 16 bytes on ten thousand to a million SIFT descriptors under chi2",
    bars=[Bar(LOST, "<= 0.05", published="no drastic loss from 1M to 200M")],
    paper="bourrier15explicit",
    needs=["scenes15", "sift"],
    threads=1,
)
def search_growth(record):
    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import rows

    with limited_threads(record.threads):
        base, queries = rows(record.quick, QUERIES)
        if record.quick:
            base = base[:4000]
        sizes = [len(base) // 10, len(base)] if record.quick else [size for size in SIZES if size <= len(base)]
        lines = _measured(base, queries, sizes)
    found = {line[0]: line[1 + RANKS.index(100)] for line in lines}
    smaller = sizes[-3] if len(sizes) > 2 else sizes[0]
    record.measured(LOST, found[smaller] - found[sizes[-1]], f"{found[smaller]:.3f} - {found[sizes[-1]]:.3f}")
    record.table("recall by codes alone", ["rows", *(f"recall_1@{rank}" for rank in RANKS)], lines)
    record.figure("recall", _figure(lines), "Recall@R of 16 bytes by the number of rows")
    record.note(
        f"{len(queries):,} queries from other images; {LANDMARKS:,} landmarks drawn uniformly from the first 100,000 "
        f"rows, {COMPONENTS} components, a random permutation, product quantisation in {BYTES} bytes, Euclidean "
        "distances to the codes. One embedding and one quantiser for all sizes; the smaller bases are the first "
        "rows of the larger ones."
    )


def _measured(base, queries, sizes):
    import numpy as np

    from mercer import KernelPCA, ProductQuantizer, exact_knn
    from mercer.search.model.coders import WordCoder

    sample = base[:100_000]
    chosen = np.random.default_rng(0).choice(len(sample), min(LANDMARKS, len(sample)), replace=False)
    embedding = KernelPCA("chi2", COMPONENTS, LANDMARKS, landmarks="uniform", random_state=0).fit(sample[chosen])
    quantizer = ProductQuantizer(n_blocks=BYTES, rotation="permutation", random_state=0).fit(
        embedding.transform(sample)
    )
    coder, asked = WordCoder(quantizer), embedding.transform(queries)
    codes = np.concatenate(
        [coder.encode(embedding.transform(base[i : i + 50_000])) for i in range(0, len(base), 50_000)]
    )
    lines = []
    for size in sizes:
        true, _ = exact_knn("chi2", base[:size], queries, 1)
        lines.append([size, *_recalls(coder, codes[:size], asked, true)])
    return lines


def _recalls(coder, codes, queries, true):
    import numpy as np

    from mercer.search import recall_1_at
    from mercer.search.stores import CodeStore

    store = CodeStore()
    store.create(coder)
    store.upsert(np.arange(len(codes)), codes)
    positions, _ = store.search(queries, min(max(RANKS), len(codes)))
    return [recall_1_at(positions, true, min(rank, positions.shape[1])) for rank in RANKS]


def _figure(lines):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure(5.6, 3.4)
    for size, *recalls in lines:
        axes.plot(RANKS, recalls, "o-", markersize=3, label=f"{size:,} rows")
    axes.set_xscale("log")
    axes.set_xlabel("R")
    axes.set_ylabel("recall@R")
    axes.legend(frameon=False, fontsize=8)
    return figure
