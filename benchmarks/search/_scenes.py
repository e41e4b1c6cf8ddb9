"""A million SIFT descriptors and 10,000 queries, rows that sum to 1, and their exact neighbours under chi2."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

KERNEL = "chi2"
NEIGHBOURS = 10


def rows(quick, n_queries=10_000):
    """(base, queries), float32; made by the recipe in a folder for temporary files if MERCER_DATA has none."""
    from mercer.datasets import load_scenes_sift, load_sift, make_scenes_sift
    from mercer.datasets.files import is_there

    if quick:
        return _normalised(load_sift("base")), _normalised(load_sift("query"))
    root = None
    if not is_there("scenes-sift", "base.npy"):
        root = Path(tempfile.gettempdir()) / "mercer-scenes-sift"
        if not (root / "query.npy").exists():
            make_scenes_sift(root)
    base, queries = (load_scenes_sift(part, root=root) for part in ("base", "query"))
    return _normalised(base), _normalised(queries[:n_queries])


def _normalised(X):
    X = X.astype(np.float32)
    X /= X.sum(axis=1, keepdims=True)
    return X


def neighbours(base, queries):
    """Row numbers of the exact neighbours, by the certified search; a part of them is compared with brute force."""
    from mercer import KernelIndex, exact_knn

    index = KernelIndex(KERNEL, effort="low", embedding="kpca", bytes_per_item=8, vectors="float32", random_state=0)
    index.fit(base[:50_000]).add(base)
    k = min(NEIGHBOURS, len(base))
    found, _ = index.search(queries, k, exact=True)
    some = queries[:: max(1, len(queries) // 100)][:100]
    expected, _ = exact_knn(KERNEL, base, some, k)
    if not np.array_equal(found[:: max(1, len(queries) // 100)][:100], expected):
        raise AssertionError("The certified search and brute force disagree.")
    return found


def mean_and_spread(values):
    """'0.612 +- 0.004' of values over seeds."""
    return f"{np.mean(values):.3f} +- {np.std(values, ddof=1) if len(values) > 1 else 0:.3f}"
