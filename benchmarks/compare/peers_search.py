"""Nearest rows under the chi2 kernel by the tools that a user may take instead: what is found, time and peak memory."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ROWS, QUERIES = 50_000, 500
PACKAGES = {"Mercer": "mercer", "faiss": "faiss-cpu", "pynndescent": "pynndescent", "usearch": "usearch"}
EXACT = "answers of KernelIndex, exact, that are the ten nearest rows"
LOST = "recall of the best peer that is no brute force - that of KernelIndex, 16 bytes, re-ranked"


@benchmark(
    "peers-search",
    "ten nearest rows under chi2 by Mercer, faiss, pynndescent and usearch: what is found, time, peak memory",
    bars=[Bar(EXACT, ">= 1"), Bar(LOST, "<= 0.02")],
    needs=["scenes15", "sift"],
    threads=1,
)
def peers_search(record):
    from benchmarks.compare._peers import measure, version_of
    from benchmarks.compare._searchers import MAKERS, judge

    found = {
        name: measure(judge, PACKAGES[name.split(",")[0]], name, record.quick, threads=record.threads)
        for name in MAKERS
    }
    base, queries = rows(record.quick)
    oracle = _Oracle(base, queries)
    lines, recalls = [], {}
    for name, one in found.items():
        if one.problem is not None:
            lines.append([name, None, None, None, None, None, one.problem])
            continue
        recalls[name], shortfall = oracle.judged(one.answers)
        build, search = one.seconds["build"], 1e6 * one.seconds["search"] / len(queries)
        lines.append([name, recalls[name], shortfall, build, search, one.megabytes, None])
    record.measured(EXACT, recalls["Mercer, KernelIndex, 16 bytes, exact"])
    graphs = {name: value for name, value in recalls.items() if not name.startswith("Mercer") and "Flat" not in name}
    if graphs:
        best = max(graphs, key=graphs.get)
        ours = recalls["Mercer, KernelIndex, 16 bytes, re-ranked"]
        record.measured(LOST, graphs[best] - ours, f"{graphs[best]:.4f} ({best}) - {ours:.4f}")
    columns = [
        "side",
        "recall_10@10",
        "kernel value lost",
        "build, s",
        "search, microseconds per query",
        "peak memory, MB",
        "problem",
    ]
    record.table("search", columns, lines)
    versions = ", ".join(f"{package} {version_of(package) or 'not installed'}" for package in PACKAGES.values())
    record.note(
        f"{len(base):,} SIFT descriptors that sum to 1, {len(queries)} queries from other images, in one batch. "
        "Every side runs in a process of its own, on one thread, and its times are processor times; a first build "
        "of 300 rows compiles and is not counted. The ten nearest rows are found again here, in float64, and the "
        "answers of every side are judged by them: recall_10@10, and how far the mean kernel value of its ten rows "
        "is below that of the true ones. Euclidean and Jensen-Shannon are faiss's own metrics, and find the "
        "neighbours of another distance. Peak memory is that of build and search over what was there before, the "
        f"rows being there. {versions}."
    )


def rows(quick):
    from benchmarks.search._scenes import rows

    base, queries = rows(quick, QUERIES)
    return (base[:3000], queries[:30]) if quick else (base[:ROWS], queries)


class _Oracle:
    """The true neighbours, by kernel values in float64."""

    def __init__(self, base, queries):
        import numpy as np

        from mercer import exact_knn

        self.base, self.queries = base.astype(np.float64), queries.astype(np.float64)
        self.true, _ = exact_knn("chi2", self.base, self.queries, 10)

    def judged(self, ids):
        """(recall_10@10, mean kernel value lost)"""
        import numpy as np

        ids = np.asarray(ids)
        hits = [len(set(found) & set(true)) for found, true in zip(ids.tolist(), self.true.tolist(), strict=True)]
        lost = self._values(self.true).mean() - self._values(ids).mean()
        return float(np.mean(hits)) / self.true.shape[1], float(lost)

    def _values(self, ids):
        """sum of 2 x y / (x + y), row by row."""
        import numpy as np

        X, Y = self.queries[:, None, :], self.base[ids]
        total = X + Y
        return (2 * X * Y / np.where(total > 0, total, 1)).sum(axis=2)
