"""Cholesky factors of large matrices: in place, on several threads, with the same bits on any number of them.

LAPACK's own threads give other last bits for other numbers of them. Here the matrix is cut into tiles of fixed size and
every product of tiles is one call on one thread, so that only the order in which tiles are made depends on threads.
"""

__all__ = [
    "cholesky_in_place",
    "factor_gram",
    "multiply_lower_transposed",
    "solve_lower",
    "solve_lower_transposed",
    "stable_cholesky",
    "transposed_square",
]

from itertools import pairwise

import numpy as np
from scipy import linalg

from mercer._base.threads import run_blocks, single_threaded

TILE = 512
# What is added to the diagonal at first, as a share of the trace: above the rounding of a factorization in float32.
JITTER = 1e-8
GROWTH, MOST_SHARE = 10.0, 1.0  # of the share, when that was not enough
LEAST_MENDED = 1e-14  # of the mean of the diagonal, where only roundings have to be mended


def factor_gram(make, n_jobs=None):
    """(L, jitter) with L L' = K + jitter I for a Gram matrix K = make(), which may be singular.

    ``make`` is called again when more has to be added: a failed factorization leaves nothing of its matrix. L is that
    matrix, with a lower triangle that counts; what stands above the tiles of the diagonal does not.
    """
    share = JITTER
    while True:
        K = make()
        diagonal = K.reshape(-1)[:: len(K) + 1]
        jitter = share * max(float(diagonal.sum(dtype=np.float64)), np.finfo(K.dtype).tiny / JITTER)
        diagonal += K.dtype.type(jitter)
        try:
            return cholesky_in_place(K, n_jobs), jitter
        except linalg.LinAlgError:
            if share > MOST_SHARE:  # no Gram matrix: it holds what is no number
                raise
            share *= GROWTH


def cholesky_in_place(A, n_jobs=None):
    """A as L with A = L L', of a positive definite matrix whose lower triangle is read; LinAlgError if it is not.

    Column of tiles k: L_kk L_kk' = A_kk, then L_ik = A_ik L_kk'^-1, then A_ij -= L_ik L_jk' for all i >= j > k.
    """
    tiles = _tiles(len(A))
    with single_threaded():
        for k, own in enumerate(tiles):
            corner = A[own, own] = linalg.cholesky(A[own, own], lower=True, check_finite=False)
            if not np.isfinite(np.diagonal(corner)).all():
                raise linalg.LinAlgError("The matrix contains infinite numbers or NaN.")
            below = tiles[k + 1 :]

            def solve(rows):
                A[rows, own] = linalg.solve_triangular(corner, A[rows, own].T, lower=True, check_finite=False).T

            def update(rows):
                others = slice(own.stop, rows.stop)
                A[rows, others] -= A[rows, own] @ A[others, own].T

            run_blocks(solve, below, n_jobs)
            run_blocks(update, below[::-1], n_jobs)  # the longest first
    return A


def transposed_square(L, n_jobs=None):
    """L'L of a factor of :func:`cholesky_in_place`, of which only the lower triangle of tiles is written."""
    tiles, out = _tiles(len(L)), np.empty_like(L)

    def fill(rows):
        np.matmul(L[rows.start :, rows].T, L[rows.start :, : rows.stop], out=out[rows, : rows.stop])

    with single_threaded():
        run_blocks(fill, tiles, n_jobs)
    return out


def multiply_lower_transposed(L, b):
    """L' b for b of shape (n, P), in the type of b."""
    out = np.zeros_like(b)
    with single_threaded():
        for own in _tiles(len(L)):
            out[: own.stop] += L[own, : own.stop].T @ b[own]
    return out


def solve_lower(L, b):
    """L^-1 b for b of shape (n, P), in the type of L."""
    x = np.array(b, dtype=L.dtype)
    with single_threaded():
        for own in _tiles(len(L)):
            x[own] -= L[own, : own.start] @ x[: own.start]
            x[own] = linalg.solve_triangular(L[own, own], x[own], lower=True, check_finite=False)
    return x


def solve_lower_transposed(L, b):
    """L'^-1 b for b of shape (n, P), in the type of L."""
    x = np.array(b, dtype=L.dtype)
    with single_threaded():
        for own in _tiles(len(L))[::-1]:
            x[own] -= L[own.stop :, own].T @ x[own.stop :]
            x[own] = linalg.solve_triangular(L[own, own], x[own], lower=True, trans=1, check_finite=False)
    return x


def stable_cholesky(A):
    """L with A = L L', lower, of a symmetric matrix that is positive definite up to rounding; which no rounding breaks.

    Where the factorization fails, the smallest share of the mean of the diagonal that mends it, up to all of the trace,
    is added to it. LinAlgError if A is not even nearly positive definite, or not finite.
    """
    share, size = 0.0, float(np.trace(A)) / len(A) or 1.0
    while share <= len(A) and np.isfinite(size):
        try:
            shifted = A if share == 0 else A + share * size * np.eye(len(A))
            L = linalg.cholesky(shifted, lower=True, check_finite=False)
            if np.isfinite(L[-1, -1]):  # which all others have a part in
                return L
            break
        except linalg.LinAlgError:
            share = max(GROWTH * share, LEAST_MENDED)
    raise linalg.LinAlgError("The matrix is not positive semidefinite, or contains infinite numbers or NaN.")


def _tiles(n):
    return [slice(*ends) for ends in pairwise([*range(0, n, TILE), n])]
