"""Graphs of other packages under chi2: (a search for ten rows at an effort, efforts to be tried)."""

from __future__ import annotations

import numpy as np

K = 10


def usearch(base):
    """HNSW with the chi2 distance as a compiled metric of the user's own."""
    from numba import carray, cfunc, types
    from usearch.index import CompiledMetric, Index, MetricKind, MetricSignature

    columns = base.shape[1]

    @cfunc(types.float32(types.CPointer(types.float32), types.CPointer(types.float32)), fastmath=True)
    def chi2(a, b):
        x, y = carray(a, columns), carray(b, columns)
        total = types.float32(0)
        for j in range(columns):
            d = x[j] - y[j]
            total += d * d / max(x[j] + y[j], types.float32(1e-30))
        return total

    metric = CompiledMetric(pointer=chi2.address, kind=MetricKind.Unknown, signature=MetricSignature.ArrayArray)
    index = Index(ndim=columns, metric=metric, dtype="f32")
    index.add(np.arange(len(base)), base, threads=2)

    def search(queries, effort, keep=chi2):  # the compiled function lives as long as the search
        index.expansion_search = effort
        return np.atleast_2d(np.asarray(index.search(queries, K, threads=1).keys)).astype(np.int64)

    return search, (32, 64, 96, 128, 192, 256, 512, 1024)


def pynndescent(base):
    """NN-descent with the chi2 distance as a metric of the user's own."""
    from numba import njit
    from pynndescent import NNDescent

    @njit(fastmath=True)
    def chi2(x, y):
        total = np.float32(0)
        for j in range(x.shape[0]):
            d = x[j] - y[j]
            total += d * d / max(x[j] + y[j], np.float32(1e-30))
        return total

    index = NNDescent(base, metric=chi2, n_neighbors=30, random_state=0, n_jobs=2)
    index.prepare()
    return lambda queries, effort: index.query(queries, k=K, epsilon=effort)[0], (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)


def hnswlib(base):
    """HNSW of square roots, whose Euclidean distance is Hellinger's."""
    import hnswlib as library

    index = library.Index(space="l2", dim=base.shape[1])
    index.init_index(max_elements=len(base), M=32, ef_construction=100, random_seed=0)
    index.add_items(np.sqrt(base), np.arange(len(base)), num_threads=2)

    def search(queries, effort):
        index.set_ef(effort)
        return index.knn_query(np.sqrt(queries), k=K, num_threads=1)[0].astype(np.int64)

    return search, (32, 64, 128, 256, 512)
