"""The nearest words of descriptors, exactly or through an index that looks at some of the words only.

    exact   products of matrices with all words
    hnsw    a graph of neighboring words is walked, by faiss
    ivf     words lie in about sqrt(words) lists, and those of the nearest lists are compared, by faiss

An index follows from the words alone: it is built again when a model is loaded, with the same bits.
"""

__all__ = ["build_index", "nearest_through"]

import numpy as np

from mercer._base.faiss_library import load_faiss
from mercer._base.threads import run_blocks
from mercer.codes.product.training import calling_thread_only
from mercer.vision.words.kmeans import nearest_words

NEIGHBOURS = 32  # of a word in the graph
EFFORT_BUILDING, EFFORT = 100, 16  # words that are kept in view while the graph is built and walked
LISTS_PROBED = 8
BLOCK_ROWS = 4096


def build_index(words, assignment):
    """A faiss index of float32 words, None for ``"exact"``."""
    faiss = load_faiss()

    if assignment == "exact":
        return None
    d = words.shape[1]
    with calling_thread_only():  # a graph that several threads build is another one each time
        if assignment == "hnsw":
            index = faiss.IndexHNSWFlat(d, NEIGHBOURS)
            index.hnsw.efConstruction = EFFORT_BUILDING
            index.hnsw.efSearch = EFFORT
        else:
            index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, max(1, int(len(words) ** 0.5)))
            index.cp.min_points_per_centroid = 1  # below 39, its default, faiss warns on stderr
            index.nprobe = LISTS_PROBED
            index.train(words)
        index.add(words)
    return index


def nearest_through(index, points, words, k=1, n_jobs=None):
    """(words, squared distances) of the k nearest words that the index finds; without an index, of the nearest."""
    if index is None:
        return nearest_words(points, words, k, n_jobs)
    labels = np.empty((len(points), k), dtype=np.int64)
    distances = np.empty((len(points), k), dtype=np.float32)

    def search(block):
        with calling_thread_only():
            distances[block], labels[block] = index.search(points[block], k)

    run_blocks(search, [slice(i, i + BLOCK_ROWS) for i in range(0, len(points), BLOCK_ROWS)], n_jobs)
    short = np.flatnonzero((labels < 0).any(axis=1))  # the lists that were looked at hold fewer than k words
    if len(short):
        labels[short], distances[short] = nearest_words(points[short], words, k, n_jobs)
    return labels, distances
