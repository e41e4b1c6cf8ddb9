"""Histograms of several kinds: codes for a kernel against codes and full rows of metrics that every library has."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SETS = {"siftsmall": "chi2", "uci_bow_kos": "jensen-shannon", "20newsgroups": "jensen-shannon"}
SECOND = "intersection"
BYTES, QUERIES, K = 16, 500, 10
BETTER = "{}, {}: recall_10@10 of 16 bytes, re-ranked, less the best of full rows by other metrics"


@benchmark(
    "search-sets",
    "neighbours under chi2, Jensen-Shannon, intersection: 16 bytes per row against Euclidean, cosine, square roots",
    bars=[Bar(BETTER.format(name, kernel), "> 0") for name, first in SETS.items() for kernel in (first, SECOND)],
    needs=["sift", "uci_bow_kos", "20newsgroups"],
)
def search_sets(record):
    from benchmarks.runner import limited_threads

    lines = []
    with limited_threads(record.threads):
        for name, kernel in SETS.items():
            base, queries = _rows(name, record.quick)
            for chosen in (kernel, SECOND):
                found = _compared(name, chosen, base, queries)
                ours, others = found[1][6], max(line[6] for line in found[2:])
                record.measured(BETTER.format(name, chosen), ours - others, f"{ours:.3f} - {others:.3f}")
                lines += found
    columns = [
        "set",
        "kernel",
        "searched by",
        "bytes per row",
        "recall_1@1",
        "recall_1@10",
        "recall_10@10",
        "recall_10@100",
    ]
    record.table("neighbours under the kernel that are found", columns, lines)
    record.note(
        "Rows sum to 1. Euclidean distance, cosine and square roots (Hellinger, the linear kernel after square roots) "
        "look at full rows in float32, without codes: what a library offers that refuses the kernel. The coded search "
        "uses embedding='auto'; the re-ranked one takes exact values for 10 times as many rows as are asked for."
    )


def _rows(name, quick):
    """(base, queries) that sum to 1"""
    import numpy as np
    from scipy import sparse
    from sklearn.preprocessing import normalize

    from mercer import datasets

    if name == "siftsmall":
        X, Q = (normalize(datasets.load_sift(part), "l1") for part in ("base", "query"))
        return (X[:2000], Q[:20]) if quick else (X, Q)
    X = datasets.load_kos() if name == "uci_bow_kos" else datasets.load_20newsgroups()[0]
    X = sparse.csr_array(normalize(sparse.csr_array(X, dtype=np.float32)[: 1500 if quick else None], "l1"))
    X = X[np.flatnonzero(np.diff(X.indptr))]
    order = np.random.default_rng(0).permutation(X.shape[0])
    n = 50 if quick else QUERIES
    return X[order[n:]], X[order[:n]]


def _compared(name, kernel, base, queries):
    """One line per way of searching."""
    from mercer import KernelIndex, exact_knn

    true, _ = exact_knn(kernel, base, queries, K)
    index = KernelIndex(kernel, bytes_per_item=BYTES, random_state=0).fit(base).add(base)
    plan = f"{index.plan_['embedding']}, {index.plan_['n_components']} components"
    coded, _ = index.search(queries, 100, rerank=False)
    ranked, _ = index.search(queries, K)
    lines = [
        [name, kernel, f"codes ({plan})", BYTES, *_recalls(coded, true)],
        [name, kernel, "codes, re-ranked", BYTES, *_recalls(ranked, true)],
    ]
    full = 4 * base.shape[1] if not hasattr(base, "nnz") else round(8 * base.nnz / base.shape[0])
    others = {
        "Euclidean distance": ("linear", {"normalize": False, "measure": "distance"}),
        "cosine": ("linear", {}),
        "square roots": ("hellinger", {}),
    }
    for label, (other, settings) in others.items():
        found, _ = exact_knn(other, base, queries, 100, **settings)
        lines.append([name, kernel, label, full, *_recalls(found, true)])
    return lines


def _recalls(found, true):
    from mercer.search import recall_1_at, recall_k_at

    ones = [recall_1_at(found, true, rank) for rank in (1, 10)]
    hundred = recall_k_at(found, true, K, 100) if found.shape[1] >= 100 else None
    return [*ones, recall_k_at(found, true, K, K), hundred]
