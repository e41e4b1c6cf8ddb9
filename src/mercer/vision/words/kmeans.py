"""k-means of one large set of descriptors: Lloyd's passes, the nearest word of a block of rows found by faiss.

:mod:`mercer.codes.product.training` has many small problems, which run side by side with one thread each. Here is one
large problem. faiss's own loop gives other bits on other numbers of threads; so rows are cut into fixed blocks, each
block is assigned by faiss on the thread that runs it, and means are taken in the order of the rows.
"""

__all__ = ["kmeans", "nearest_words", "sums_of_words"]

import numpy as np
from scipy import sparse

from mercer._base.faiss_library import load_faiss
from mercer._base.progress import track
from mercer._base.threads import run_blocks
from mercer.codes.product.training import calling_thread_only, products_everywhere, size_exponent

BLOCK_ROWS = 8192


def kmeans(points, n_words, random_state, n_iter=20, n_jobs=None):
    """Words that minimize sum_i |x_i - nearest word|^2 (a local minimum), float32 (n_words, d).

    Starts from different rows drawn at random. A word without rows takes the place of the row that is farthest from its
    own word. Ends early when no row changes its word.

    Parameters
    ----------
    points : float32 (n, d), n >= n_words
    random_state : numpy.random.RandomState
    """
    exponent = size_exponent(points)
    points = np.ldexp(points, -exponent)
    words = points[np.sort(random_state.permutation(len(points))[:n_words])]
    before = None
    for _ in track(range(n_iter), "k-means"):
        labels, distances = nearest_words(points, words, n_jobs=n_jobs)
        labels, distances = labels[:, 0], distances[:, 0]
        if before is not None and np.array_equal(labels, before):
            break
        words = _means(points, labels, distances, n_words)
        before = labels
    return np.ldexp(words, exponent)


def nearest_words(points, words, k=1, n_jobs=None):
    """(words, squared distances) of the k nearest words of each row, nearest first: int64 and float32 (n, k)."""
    faiss = load_faiss()

    labels = np.empty((len(points), k), dtype=np.int64)
    distances = np.empty((len(points), k), dtype=np.float32)

    def search(block):
        with calling_thread_only():
            distances[block], labels[block] = faiss.knn(points[block], words, k)

    with products_everywhere():
        run_blocks(search, _blocks(len(points)), n_jobs)
    return labels, np.maximum(distances, 0, out=distances)  # |x|^2 - 2 x'w + |w|^2 may round below zero


def sums_of_words(labels, points, n_words):
    """(rows of each word, their sum): int64 (n_words,) and the type of the points (n_words, d)."""
    counts = np.bincount(labels, minlength=n_words)
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)])
    members = sparse.csr_array((np.ones(len(labels), dtype=points.dtype), order, starts), shape=(n_words, len(labels)))
    return counts, members @ points


def _means(points, labels, distances, n_words):
    counts, sums = sums_of_words(labels, points, n_words)
    words = sums / np.maximum(counts, 1)[:, None].astype(np.float32)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        words[empty] = points[np.argsort(-distances, kind="stable")[: len(empty)]]
    return words


def _blocks(n_rows):
    return [slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS)]
