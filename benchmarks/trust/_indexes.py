"""Small indexes that are interrupted, damaged and killed, and what they must hold."""

import warnings

import numpy as np
from scipy import sparse

from mercer import KernelIndex, exact_knn
from mercer._base.errors import ApproximationWarning

WIDTH = 8
PARAMETERS = {
    "bytes_per_item": 2, "embedding": "kpca", "effort": "low", "n_components": 4, "n_landmarks": 16, "random_state": 0
}  # fmt: skip


def rows(rng, n):
    """Histograms with empty bins, float32."""
    X = rng.gamma(0.6, 1.0, (n, WIDTH)) * (rng.random((n, WIDTH)) < 0.8)
    X[:, 0] += 1e-3
    return (X / X.sum(axis=1, keepdims=True)).astype(np.float32)


def fitted(X, n_jobs=1, **parameters):
    """An index without rows, quick to fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        return KernelIndex("chi2", **{**PARAMETERS, "n_jobs": n_jobs, **parameters}).fit(X)


LIST_ROWS = 16  # of a block of lists: so few that full blocks, which have files, come and go all the time
TAIL_ROWS = 8  # behind a graph: so few that there is one, and its file is written all the time


def small_parts():
    """Small blocks of lists, graphs of few rows, and no brute force instead of either, in this process."""
    from mercer.search.graph import rows
    from mercer.search.lists import block, files, store
    from mercer.search.rows import derived

    for module in (block, files, store, derived):
        module.BLOCK_ROWS = LIST_ROWS
    rows.TAIL_ROWS, derived.FEW_VALUES = TAIL_ROWS, 0


def held(index):
    """The rows of an index by id, after a look at whether ids, positions, codes and answers belong together."""
    kept = index.rows_
    alive = np.flatnonzero(~kept.snapshot.removed)
    if not len(alive):
        return {}
    ids, X = kept.ids.at(alive), kept.take(alive)
    found = kept.ids.positions(ids if ids.dtype != object else ids.tolist())
    if not np.array_equal(found, alive):
        raise AssertionError("ids and positions do not belong together")
    if kept.model.keeps_codes and not np.array_equal(
        kept.column("codes")[alive], kept.model.coder_.encode(kept.model.embed(X)[0])
    ):
        raise AssertionError("rows and codes do not belong together")
    k = min(5, len(alive))
    answers, (places, values) = index.search(X[:3], k, exact="stored"), exact_knn("chi2", X, X[:3], k)
    if not np.array_equal(answers[0], ids[places]) or not np.array_equal(answers[1], values):
        raise AssertionError("an answer is not that of brute force")
    if kept.by_graph and set(index.search(X[:1], len(alive))[0][0].tolist()) != set(ids.tolist()):
        raise AssertionError("the graph and the rows behind it are not the rows of the index")
    dense = X.toarray() if sparse.issparse(X) else X
    return dict(zip(ids.tolist(), map(tuple, dense.tolist()), strict=True))
