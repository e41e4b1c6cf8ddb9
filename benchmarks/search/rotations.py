"""Balancing the energy of components before product quantisation. [bourrier15explicit] Table 2"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ROTATIONS = {
    None: "none",
    "random": "random rotation",
    "permutation": "random permutation",
    "allocation": "balanced allocation",
    "opq": "OPQ from the allocation",
}
COMPONENTS, BYTES, RANKS, SEEDS = (40, 64), 8, (1, 10, 100), 5
ROWS, QUERIES = 250_000, 1000
GAIN = "64 components: recall_1@10 after {} less after {}"
ORDER = (
    ("random permutation", "none"),  # the paper's choice
    ("balanced allocation", "random permutation"),
    ("OPQ from the allocation", "balanced allocation"),
)


@benchmark(
    "search-rotations",
    "what is done to components before product quantisation, 64 bits: recall on SIFT descriptors under chi2",
    bars=[Bar(GAIN.format(better, worse), "> 0") for better, worse in ORDER],
    paper="bourrier15explicit",
    needs=["scenes15", "sift"],
)
def search_rotations(record):
    import numpy as np

    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import mean_and_spread, rows
    from mercer import KernelPCA, exact_knn

    found = {}
    with limited_threads(record.threads):
        base, queries = rows(record.quick, QUERIES)
        base = base[:ROWS]
        true, _ = exact_knn("chi2", base, queries, 1)
        for seed in range(1 if record.quick else SEEDS):
            embedding = KernelPCA("chi2", max(COMPONENTS), 1024, random_state=seed).fit(base[:50_000])
            Z, asked = embedding.transform(base), embedding.transform(queries)
            for width in COMPONENTS:
                for rotation in ROTATIONS:
                    recalls = _recalls(Z[:, :width], asked[:, :width], true, rotation, seed)
                    found.setdefault((width, rotation), []).append(recalls)
    lines = [
        [width, ROTATIONS[rotation], *(mean_and_spread(column) for column in np.array(runs).T)]
        for (width, rotation), runs in found.items()
    ]
    means = {ROTATIONS[name]: float(np.mean(runs, axis=0)[1]) for (width, name), runs in found.items() if width == 64}
    for better, worse in ORDER:
        detail = f"{means[better]:.3f} - {means[worse]:.3f}"
        record.measured(GAIN.format(better, worse), means[better] - means[worse], detail)
    record.table("recall by codes alone", ["components", "before", *(f"recall_1@{rank}" for rank in RANKS)], lines)
    record.note(
        f"{len(base):,} rows, {len(queries):,} queries from other images, mean and spread over "
        f"{1 if record.quick else SEEDS} seeds, Euclidean distances to the codes."
    )


def _recalls(Z, queries, true, rotation, seed):
    import numpy as np

    from benchmarks.search.recall import _recalls
    from mercer import ProductQuantizer
    from mercer.search.model.coders import WordCoder

    Z = np.ascontiguousarray(Z)
    quantizer = ProductQuantizer(n_blocks=BYTES, rotation=rotation, random_state=seed).fit(Z)
    return _recalls(WordCoder(quantizer), Z, np.ascontiguousarray(queries), true)
