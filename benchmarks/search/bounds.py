"""Exact search by one bound, as it is written in the paper. [bourrier15explicit] App. A, Fig. 6"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

LANDMARKS, COMPONENTS, QUERIES = 2048, 128, 200
ROWS = 100_000
SHARE = "share of the rows whose kernel value is computed, 90th percentile over queries"
FOUND = "queries whose nearest row is found, of all"
KEPT = "bags of words: share of neighbors found less the confidence asked for, smallest"
FEWER = "bags of words: rows evaluated at confidence 0.9, against whole bounds"
CONFIDENCES, WORD_QUERIES, NEIGHBORS = (0.999, 0.99, 0.95, 0.9, 0.8), 500, 10


@benchmark(
    "search-bounds",
    "exact search by one bound of 128 components: how many rows are left, on SIFT descriptors under chi2",
    bars=[
        Bar(SHARE, "<= 0.015", published="0.015 (15,000 of 10^6)"),
        Bar(FOUND, ">= 1"),
        Bar(KEPT, ">= 0"),
        Bar(FEWER, "<= 0.5", "x"),
    ],
    paper="bourrier15explicit",
    needs=["scenes15", "sift", "20newsgroups"],
    threads=1,
)
def search_bounds(record):
    import numpy as np

    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import rows
    from mercer import exact_knn

    with limited_threads(record.threads):
        base, queries = rows(record.quick, QUERIES)
        base, queries = (base[:3000], queries[:20]) if record.quick else (base[:ROWS], queries)
        bounds = _Bounds(base, queries)
        true, _ = exact_knn("chi2", base, queries, 1)
        counts, hits = [], 0
        for i in range(len(queries)):
            left = bounds.left(i)
            counts.append(len(left))
            hits += int(true[i, 0] in left)
    shares = np.array(counts) / len(base)
    record.measured(SHARE, float(np.quantile(shares, 0.9)), f"{np.quantile(counts, 0.9):,.0f} of {len(base):,} rows")
    record.measured(FOUND, hits / len(queries), f"{len(queries)} queries")
    quantiles = (0.1, 0.5, 0.9)
    record.table("rows whose kernel value is computed", ["quantile of the queries", "rows", "share"],
                 [[q, float(np.quantile(counts, q)), float(np.quantile(shares, q))] for q in quantiles])  # fmt: skip
    with limited_threads(record.threads):
        lines = _bags_of_words(record.quick)
    record.measured(KEPT, min(line[2] - line[0] for line in lines[1:]), f"{len(lines) - 1} confidences")
    shares_of = {line[0]: line[3] for line in lines}
    record.measured(FEWER, shares_of[0.9] / shares_of[1.0], f"{shares_of[0.9]:.1%} of the rows, {shares_of[1.0]:.1%}")
    record.table(
        "bags of words (20newsgroups), where bounds exclude little: App. A.3",
        ["confidence asked for", "share of the tails that counts", "neighbors found", "share of the rows evaluated"],
        lines,
    )
    middle = int(np.argsort(counts)[len(counts) // 2])
    record.figure(
        "query",
        _figure(bounds, middle),
        "One query: approximate and true kernel values of its nearest rows, and the bounds",
    )
    record.note(
        f"{len(base):,} rows, {len(queries)} queries from other images, {min(LANDMARKS, len(base)):,} landmarks, "
        f"{COMPONENTS} components. A row is left where its upper bound (25) reaches the lower bound (24) of the "
        "approximate nearest row. The figure is of the query with the median number of rows. Bags of words: shares of "
        f"words under chi2, {WORD_QUERIES} rows as queries that are not in the index, {NEIGHBORS} neighbors; "
        "confidence 1 is certainty. App. A.3 reports 30 % of the rows on such data."
    )


def _bags_of_words(quick):
    """Of each confidence: (it, share of the tails, share of the neighbors found, share of the rows evaluated)."""
    import numpy as np
    from scipy import sparse

    from mercer import KernelIndex
    from mercer.datasets import load_20newsgroups
    from mercer.search.exact import searcher

    parts = [load_20newsgroups(part)[0] for part in ("train", "test")]
    counts = sparse.csr_array(sparse.vstack(parts), dtype=np.float64)
    counts = counts[np.diff(counts.indptr) > 0]
    order = np.random.default_rng(0).permutation(counts.shape[0])
    X = sparse.csr_array(counts.multiply(1 / counts.sum(axis=1)[:, None]), dtype=np.float32)[order]
    asked, base = X[:WORD_QUERIES], X[WORD_QUERIES:]
    if quick:
        asked, base = asked[:100], base[:2000]
        searcher.BRUTE_FORCE_ROWS = 0
    index = KernelIndex("chi2", store="codes", effort="low", embedding="kpca", bytes_per_item=8, random_state=0)
    index.fit(base).add(base)
    lines, true = [], None
    for confidence in (1.0, *CONFIDENCES):
        how = {"exact": True} if confidence == 1 else {"exact": "probable", "confidence": confidence}
        found, _ = index.search(asked, NEIGHBORS, **how)
        true = found if true is None else true
        covered = np.mean([len(np.intersect1d(*pair)) / NEIGHBORS for pair in zip(found, true, strict=True)])
        evaluated = index.certificate_.kernel_evaluations.mean() / base.shape[0]
        lines.append([confidence, index.certificate_.share_of_tails, float(covered), float(evaluated)])
    return lines


class _Bounds:
    """Approximate values K~ and tails R of (21), of all rows and queries."""

    def __init__(self, base, queries):
        import numpy as np

        from mercer import KernelPCA

        chosen = np.random.default_rng(0).choice(len(base), min(LANDMARKS, len(base)), replace=False)
        embedding = KernelPCA("chi2", COMPONENTS, LANDMARKS, landmarks="uniform", center=False, random_state=0).fit(
            base[chosen]
        )
        self.base, self.queries = base, queries
        self.Z, self.asked = (embedding.transform(part).astype(np.float64) for part in (base, queries))
        self.tails, self.asked_tails = (
            np.sqrt(np.maximum(embedding.kernel_.diag(part).astype(np.float64) - (Z**2).sum(axis=1), 0) + 1e-9)
            for part, Z in ((base, self.Z), (queries, self.asked))
        )  # 1e-9: values in float32 may not make a bound too small

    def values(self, i):
        """K~ of a query and all rows, and the half-widths R(q) R(x)."""
        return self.Z @ self.asked[i], self.asked_tails[i] * self.tails

    def left(self, i):
        """Rows that (26) does not rule out."""
        import numpy as np

        scores, widths = self.values(i)
        nearest = scores.argmax()
        return np.flatnonzero(scores + widths >= scores[nearest] - widths[nearest])


def _figure(bounds, i, shown=4000):
    import numpy as np

    from benchmarks.plotting import new_figure
    from mercer import Chi2

    scores, widths = bounds.values(i)
    order = np.argsort(-scores)[:shown]
    places = np.arange(1, len(order) + 1)
    exact = Chi2()(bounds.queries[i : i + 1], bounds.base[order])[0]
    lowest = scores[order[0]] - widths[order[0]]
    figure, axes = new_figure(6.4, 3.6)
    axes.fill_between(
        places,
        (scores - widths)[order],
        (scores + widths)[order],
        color="#56B4E9",
        alpha=0.35,
        linewidth=0,
        label="bounds",
    )
    axes.plot(places, exact, ".", markersize=2, color="#D55E00", label="kernel value")
    axes.plot(places, scores[order], color="#0072B2", label="approximate value")
    axes.axhline(lowest, color="black", linewidth=0.8, label="lower bound of the approximate nearest row")
    left = len(bounds.left(i))
    axes.axvline(left, color="#777777", linestyle=":", label=f"{left:,} rows are left")
    axes.set(xscale="log", xlabel="rows, by approximate value", ylabel="chi2 kernel")
    axes.legend(frameon=False, fontsize=7)
    return figure
