"""The nearest binary codes: Hamming distances by faiss, in an order that is settled.

faiss finds k codes of smallest distance. Of the codes at the largest of these distances it may return any, and short
codes have many of them; here the smallest row numbers win. A search for k + 1 shows for which queries that matters, and
a range search up to the k-th distance then brings all candidates.
"""

__all__ = ["hamming_top_k"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.faiss_library import load_faiss
from mercer._base.parameters.codes import K
from mercer._base.threads import run_blocks
from mercer.codes.product.training import calling_thread_only

QUERIES_PER_TASK = 32  # as many as faiss compares with a block of codes at once
RANGE_RESULTS = 2**22  # codes that a range search may return, if it has more than one query


def hamming_top_k(codes, queries, k=10, n_jobs=None):
    """Find the k nearest codes of each query in Hamming distance; ties are ordered by row number.

    Parameters
    ----------
    codes : ndarray of shape (n, n_bytes), uint8
        Packed bits, as the binary codes of Mercer return them.
    queries : ndarray of shape (m, n_bytes), uint8
    k : int
        Number of codes per query; all of them if there are fewer.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    distances : ndarray of shape (m, min(k, n)), int32
        Numbers of bits that differ, smallest first.
    indices : ndarray of shape (m, min(k, n)), int64
        Rows of ``codes``.

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b1011], [0b0001], [0b1000]], dtype=np.uint8)
    >>> hamming_top_k(codes, np.array([[0b1001]], dtype=np.uint8), k=3)
    (array([[1, 1, 1]], dtype=int32), array([[1, 2, 3]]))
    """
    codes, queries = _as_codes(codes, "codes"), _as_codes(queries, "queries")
    if codes.shape[1] != queries.shape[1]:
        raise InputError(
            f"hamming_top_k compares codes of equal length, but codes have {codes.shape[1]} bytes and queries "
            f"{queries.shape[1]}. Encode both with the same fitted hash."
        )
    K.check(k, "hamming_top_k")
    k = min(int(k), len(codes))
    distances, indices = np.empty((len(queries), k), dtype=np.int32), np.empty((len(queries), k), dtype=np.int64)
    if not distances.size:
        return distances, indices
    faiss = load_faiss()

    index = faiss.IndexBinaryFlat(8 * codes.shape[1])
    index.add(codes)

    def search(first):
        part = slice(first, first + QUERIES_PER_TASK)
        with calling_thread_only():
            distances[part], indices[part] = _search(index, queries[part], k)

    run_blocks(search, range(0, len(queries), QUERIES_PER_TASK), n_jobs)
    return distances, indices


def _search(index, queries, k):
    """(distances, indices) of a few queries."""
    found, rows = index.search(queries, min(k + 1, index.ntotal))
    distances, indices = _first_by_row(found[:, :k], rows[:, :k])
    if k == index.ntotal:
        return distances, indices
    for radius in np.unique(found[found[:, k] == found[:, k - 1], k - 1]):
        (tied,) = np.nonzero((found[:, k] == radius) & (found[:, k - 1] == radius))
        at_once = max(1, RANGE_RESULTS // index.ntotal)
        for start in range(0, len(tied), at_once):
            some = tied[start : start + at_once]
            limits, within, which = index.range_search(queries[some], int(radius) + 1)  # distances < radius + 1
            for i, first, last in zip(some, limits, limits[1:], strict=False):
                nearest = _first_by_row(within[None, first:last], which[None, first:last])
                distances[i], indices[i] = nearest[0][0, :k], nearest[1][0, :k]
    return distances, indices


def _first_by_row(distances, rows):
    """Both sorted by distance, and equal distances by row."""
    order = np.lexsort((rows, distances), axis=1)
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _as_codes(codes, name):
    codes = np.asarray(codes)
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] < 1:
        raise InputError(
            f"hamming_top_k needs {name} as bytes of packed bits, a uint8 array of shape (rows, bytes >= 1); got "
            f"shape {codes.shape} and type {codes.dtype}. Pack booleans with numpy.packbits(bits, axis=1, "
            "bitorder='little')."
        )
    return np.ascontiguousarray(codes)
