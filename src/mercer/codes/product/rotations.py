"""How columns are dealt out to blocks: permutations and rotations, which leave the linear kernel as it is.

A rotation is None; integers (d,), the column that stands at each place; or float32 (coordinates, d) with orthonormal
columns, so that R x . R y = x . y.
"""

__all__ = ["ROTATIONS", "block_sizes", "check_width", "covariance", "find_rotation"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.faiss_library import load_faiss
from mercer._base.linalg import eigh_descending
from mercer._base.threads import run_blocks, single_threaded
from mercer.codes.product.training import calling_thread_only, products_everywhere, size_exponent
from mercer.spaces.blocks import even_slices

ROTATIONS = (None, "permutation", "random", "opq", "allocation")
WIDEST = 4096  # columns of a full rotation: its matrix has as many rows, 64 MiB in float32
LEARNT_ROWS = 2**14  # rows from which directions are learned: a few per direction at the widest
OPQ_ROWS = 2**15  # rows from which words and rotation are learned together
MOST_OPQ_BITS = 8  # of the words found with the rotation: more would be as many as there are rows to find them from
OPQ_ITERATIONS = 15  # fewer than faiss's 50, which begins with a random rotation
SUM_ROWS, SUM_STRIPS = 1024, 16  # the covariance is a sum over blocks of rows, in strips of columns


def block_sizes(d, block_size, n_blocks):
    """Columns of each block: ``block_size``, fewer in the last one; or ``n_blocks`` blocks of nearly equal size.

    >>> block_sizes(10, 4, None).tolist(), block_sizes(10, 4, n_blocks=4).tolist()
    ([4, 4, 2], [3, 3, 2, 2])
    """
    if n_blocks is None:
        starts = np.arange(0, d, block_size)
        return np.minimum(block_size, d - starts)
    return d // n_blocks + (np.arange(n_blocks) < d % n_blocks)


def check_width(rotation, d):
    """Raise for a full rotation of too many columns."""
    if rotation in ("random", "opq", "allocation") and d > WIDEST:
        raise InputError(
            f"ProductQuantizer(rotation={rotation!r}) keeps a matrix of {d} x {d} numbers and multiplies every row by "
            f"it, which is limited to {WIDEST} columns. Use rotation='permutation' or None."
        )


def find_rotation(name, sample, sizes, bits, random_state, n_jobs=None):
    """(rotation, sizes of the blocks of its coordinates).

    Parameters
    ----------
    name : one of ROTATIONS
    sample : Sample, training rows
    sizes : of the blocks
    bits : of a word
    """
    d = sample.shape[1]
    if name is None:
        return None, sizes
    if name == "permutation":
        return random_state.permutation(d), sizes
    if name == "random":
        return _random(d, random_state), sizes
    rows = sample.some_rows(LEARNT_ROWS, random_state)
    if name == "allocation":
        return _allocation(rows, sizes, n_jobs), sizes
    return _opq(sample.some_rows(OPQ_ROWS, random_state), _allocation(rows, sizes, n_jobs), sizes, bits)


def _random(d, random_state):
    """A rotation, drawn evenly from all."""
    with single_threaded():
        Q, R = np.linalg.qr(random_state.standard_normal((d, d)))
    return (Q * np.where(np.diag(R) < 0, -1.0, 1.0)).astype(np.float32)


def _allocation(rows, sizes, n_jobs):
    """Principal directions dealt out so that the products of their variances are balanced. [ge13optimized]

    The largest variance left goes to the block with the smallest product so far among those that have room.
    """
    values, vectors = eigh_descending(covariance(rows, n_jobs))
    floor = values[0] * 1e-12 if values[0] > 0 else 1.0
    # in units of the smallest, so that every factor is >= 1 and a product grows with each of them
    logs = np.log(np.maximum(values, floor))
    logs -= logs[-1]
    products, room = np.zeros(len(sizes)), sizes.copy()
    block_of = np.empty(len(values), dtype=np.int64)
    for place, variance in enumerate(logs):
        block = int(np.argmin(np.where(room > 0, products, np.inf)))
        block_of[place] = block
        products[block] += variance
        room[block] -= 1
    return np.ascontiguousarray(vectors.T[np.argsort(block_of, kind="stable")], dtype=np.float32)


def covariance(rows, n_jobs):
    """The covariance of the columns, float64, the same bits on any number of threads."""
    mean = rows.mean(axis=0, dtype=np.float64)
    total = np.zeros((rows.shape[1], rows.shape[1]))
    strips = even_slices(rows.shape[1], min(SUM_STRIPS, rows.shape[1]))
    with single_threaded():
        for start in range(0, len(rows), SUM_ROWS):
            centred = rows[start : start + SUM_ROWS] - mean

            def add(strip, centred=centred):
                total[strip] += centred[:, strip].T @ centred

            run_blocks(add, strips, n_jobs)
    return total / len(rows)


def _opq(rows, start, sizes, bits):
    """The rotation with the smallest error of the codes, found together with them. [ge13optimized]

    It begins with the directions dealt out (``start``), not with faiss's random rotation, from which it ends in codes
    that find fewer neighbors (measured: `python -m benchmarks search-rotations`). faiss needs blocks of one size:
    where the last would be smaller, the coordinates are more than the columns, and its own rotation has to do.
    """
    faiss = load_faiss()

    n, d = rows.shape
    M, size = len(sizes), int(sizes.max())
    bits = min(int(bits), MOST_OPQ_BITS, int(np.log2(n)))
    if bits == 0:  # a single row
        return np.eye(M * size, d, dtype=np.float32), np.full(M, size)
    # with fewer rows than coordinates faiss 1.15 writes beyond its buffers; rows that repeat change no mean
    rows = np.tile(rows, (-(-M * size // n), 1))
    search = faiss.OPQMatrix(d, M, M * size)
    search.max_train_points = len(rows)
    search.niter = OPQ_ITERATIONS
    quantizer = faiss.ProductQuantizer(M * size, M, bits)
    quantizer.cp.min_points_per_centroid = 1  # below 39, its default, faiss warns on stderr
    quantizer.cp.max_points_per_centroid = len(rows)
    search.pq = quantizer
    if M * size == d:
        faiss.copy_array_to_vector(np.ascontiguousarray(start, dtype=np.float32).ravel(), search.A)
    with products_everywhere(), calling_thread_only(), single_threaded():
        search.train(np.ldexp(rows, -size_exponent(rows)))
    return faiss.vector_to_array(search.A).reshape(M * size, d), np.full(M, size)
