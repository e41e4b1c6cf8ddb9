"""Ten nearest rows under the chi2 kernel, as users of several packages find them: from the base to a search."""

from __future__ import annotations

K = 10


def judge(parts, name, quick):
    """A job: build an index of the base, search it; the answers are ids (queries, 10)."""
    import numpy as np

    from benchmarks.compare.peers_search import rows

    base, queries = rows(quick)
    make = MAKERS[name]
    make(base[:300])(queries[:3])  # compiles
    with parts.part("build"):
        search = make(base)
    with parts.part("search"):
        ids = search(queries)
    return np.asarray(ids)[:, :K].astype(int).tolist()


# ------------------------------------------------------------------------------------------------------------- Mercer


def mercer_brute(base):
    from mercer import exact_knn

    return lambda queries: exact_knn("chi2", base, queries, K)[0]


def mercer_exact(base):
    index = _index(base)
    index.search(base[:1], 1, exact=True)  # the bounds are part of the index
    return lambda queries: index.search(queries, K, exact=True)[0]


def mercer_coded(base):
    index = _index(base)
    return lambda queries: index.search(queries, K)[0]


def _index(base):
    from mercer import KernelIndex

    return KernelIndex("chi2", bytes_per_item=16, random_state=0).fit(base).add(base)


# -------------------------------------------------------------------------------------------------------------- faiss


def faiss_flat(base):
    return _faiss("Flat", base, base)


def faiss_roots(base):
    import numpy as np

    found = _faiss("Flat", np.sqrt(base), base)
    return lambda queries: found(np.sqrt(queries))


def faiss_pq(base):
    return _faiss("PQ16", base, base)


def faiss_jensen_shannon(base):
    import faiss

    index = faiss.IndexFlat(base.shape[1], faiss.METRIC_JensenShannon)
    index.add(base)
    return lambda queries: index.search(queries, K)[1]


def faiss_hnsw(base):
    import numpy as np

    found = _faiss("HNSW32", np.sqrt(base), base)
    return lambda queries: found(np.sqrt(queries))


def _faiss(description, X, base):
    import faiss

    index = faiss.index_factory(base.shape[1], description)
    if not index.is_trained and len(X) < 1000:  # the call that only compiles
        return lambda queries: [[0] * K] * len(queries)
    index.train(X)
    index.add(X)
    return lambda queries: index.search(queries, K)[1]


# -------------------------------------------------------------------------------------------------------------- graphs


def pynndescent_chi2(base):
    """NN-descent with the chi2 distance as a metric of the user's own."""
    from pynndescent import NNDescent

    index = NNDescent(base, metric=numba_chi2(), n_neighbors=30, random_state=0, n_jobs=1)
    index.prepare()
    return lambda queries: index.query(queries, k=K)[0]


def pynndescent_hellinger(base):
    from pynndescent import NNDescent

    index = NNDescent(base, metric="hellinger", n_neighbors=30, random_state=0, n_jobs=1)
    index.prepare()
    return lambda queries: index.query(queries, k=K)[0]


def usearch_chi2(base):
    """HNSW with the chi2 distance as a compiled metric of the user's own."""
    import numpy as np
    from numba import carray, cfunc, types
    from usearch.index import CompiledMetric, Index, MetricKind, MetricSignature

    columns = base.shape[1]

    @cfunc(types.float32(types.CPointer(types.float32), types.CPointer(types.float32)))
    def chi2(a, b):
        x, y = carray(a, columns), carray(b, columns)
        total = types.float32(0)
        for j in range(columns):
            s = x[j] + y[j]
            if s > 0:
                d = x[j] - y[j]
                total += d * d / s
        return total

    metric = CompiledMetric(pointer=chi2.address, kind=MetricKind.Unknown, signature=MetricSignature.ArrayArray)
    index = Index(ndim=columns, metric=metric, dtype="f32")
    index.add(np.arange(len(base)), base, threads=1)

    def search(queries, keep=chi2):  # the compiled function lives as long as the search
        return index.search(queries, K, threads=1).keys

    return search


def numba_chi2():
    from numba import njit

    @njit(fastmath=True)
    def chi2(x, y):
        total = 0.0
        for j in range(x.shape[0]):
            s = x[j] + y[j]
            if s > 0:
                d = x[j] - y[j]
                total += d * d / s
        return total

    return chi2


MAKERS = {
    "Mercer, exact_knn (brute force)": mercer_brute,
    "Mercer, KernelIndex, 16 bytes, exact": mercer_exact,
    "Mercer, KernelIndex, 16 bytes, re-ranked": mercer_coded,
    "faiss, Flat, Euclidean": faiss_flat,
    "faiss, Flat, Euclidean of square roots": faiss_roots,
    "faiss, Flat, Jensen-Shannon": faiss_jensen_shannon,
    "faiss, HNSW32, Euclidean of square roots": faiss_hnsw,
    "faiss, PQ16, Euclidean": faiss_pq,
    "pynndescent, hellinger": pynndescent_hellinger,
    "pynndescent, own chi2": pynndescent_chi2,
    "usearch, own chi2": usearch_chi2,
}
