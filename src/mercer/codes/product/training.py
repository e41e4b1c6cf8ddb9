"""The words of a block: k-means by faiss, one block per task.

One block is small work for several threads (5,000 rows of 8 numbers), a quantizer has many blocks, and k-means on one
thread has one answer: so faiss runs on the thread that calls it, and blocks run side by side.
"""

__all__ = [
    "calling_thread_only",
    "first_occurrences",
    "means_of_words",
    "nearest",
    "products_everywhere",
    "size_exponent",
    "train_words",
]

import threading
from contextlib import contextmanager

import numpy as np

from mercer._base.faiss_library import load_faiss
from mercer._base.threads import run_blocks
from mercer._native.spaces.words import nearest_words

# Numbers per call (rows x columns) from which faiss compares rows and words by products of matrices. Its default,
# 128,000 in faiss 1.15, sends blocks of a few thousand rows down a path that takes many times as long.
PRODUCTS_FROM = 20
PROBED = 4  # rows per word that are looked at first for enough different ones
TASK_ROWS, TASK_BLOCKS = 256, 64  # encoded per task

_lock = threading.Lock()
_users = 0
_before = 0


def train_words(points, n_words, seed, n_iter):
    """k-means: ``n_words`` words for the rows of ``points``, float32 (words, size).

    Parameters
    ----------
    points : float32 (n, size), with more than ``n_words`` different rows
    seed : of the rows that k-means starts from
    n_iter : passes
    """
    faiss = load_faiss()

    size = points.shape[1]
    exponent = size_exponent(points)
    settings = faiss.ClusteringParameters()
    settings.niter, settings.seed = int(n_iter), int(seed)
    settings.min_points_per_centroid = 1  # below 39, its default, faiss warns on stderr
    settings.max_points_per_centroid = len(points)  # the caller has sampled
    clustering = faiss.Clustering(size, n_words, settings)
    with calling_thread_only():
        clustering.train(np.ldexp(points, -exponent), faiss.IndexFlatL2(size))
    words = faiss.vector_to_array(clustering.centroids).reshape(n_words, size)
    return np.ldexp(words, exponent)


def size_exponent(points):
    """The power of two by which to divide, so that no square is too large or too small for float32."""
    return int(np.clip(np.frexp(np.abs(points).max())[1], -126, 126))


def first_occurrences(points, most):
    """Where each different row stands first, rows in ascending order; None if there are more than ``most`` of them."""
    for rows in (points[: PROBED * most], points):
        if any(len(np.unique(column)) > most for column in rows.T):
            return None
    _, first = np.unique(points + np.float32(0), axis=0, return_index=True)  # + 0: there are two zeros
    return first if len(first) <= most else None


def nearest(rows, inner, n_jobs=None):
    """The nearest word of each block of float32 rows, (n, M); of equally near words the first.

    Parameters
    ----------
    rows : float32 (n, width), C-contiguous
    inner : BlockFactor with the words of each block as columns
    """
    n_words = inner.layout.widths
    n, M = len(rows), len(n_words)
    codes = np.empty((n, M), dtype=np.uint8 if n_words.max() <= 256 else np.uint16)
    flat, ranks, offsets, _, rank_starts = inner.layout
    layout = (flat, ranks, n_words, offsets, rank_starts[:-1])

    def encode(task):
        first_row, first = task
        part = slice(first_row, first_row + TASK_ROWS)
        table = np.empty((ranks.max(), n_words.max()), dtype=np.float32)
        distances = np.empty(n_words.max(), dtype=np.float32)
        last = min(first + TASK_BLOCKS, M)
        nearest_words(rows[part], *layout, first, last, table, distances, distances.view(np.int32), codes[part])

    tasks = [(row, block) for row in range(0, n, TASK_ROWS) for block in range(0, M, TASK_BLOCKS)]
    run_blocks(encode, tasks, n_jobs)
    return codes


def means_of_words(codes, points, n_words, substitutes):
    """Mean of the points of each word, float32; a word without points has the row of ``substitutes(word)``."""
    counts = np.bincount(codes, minlength=n_words)
    sums = np.stack([np.bincount(codes, column, minlength=n_words) for column in points.T.astype(np.float64)], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    for word in np.flatnonzero(counts == 0):
        means[word] = points[substitutes(word)]
    return means.astype(np.float32)


@contextmanager
def products_everywhere():
    """faiss compares by products of matrices. The setting is the process's: the first user sets it, the last resets."""
    faiss = load_faiss()

    global _users, _before
    with _lock:
        if _users == 0:
            _before = faiss.cvar.distance_compute_blas_threshold
            faiss.cvar.distance_compute_blas_threshold = PRODUCTS_FROM
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                faiss.cvar.distance_compute_blas_threshold = _before


@contextmanager
def calling_thread_only():
    """faiss and its BLAS on the calling thread. OpenMP keeps the number per calling thread: no other one is limited."""
    faiss = load_faiss()

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
