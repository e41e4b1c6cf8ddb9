"""Factorizations with one answer: float64, on one thread, signs fixed, rank decided by a stated tolerance.

LAPACK leaves the sign of an eigenvector free and does not give the same bits on different numbers of threads. Every
eigen-decomposition of the library goes through this file, so that one seed means one model.
"""

__all__ = ["eigh_descending", "fix_signs", "positive_eigenpairs", "rank_revealing_factor"]

import numpy as np
from scipy import linalg

from mercer._base.threads import single_threaded


def eigh_descending(A):
    """(values, vectors) of a symmetric matrix, largest eigenvalue first: A = vectors @ diag(values) @ vectors.T

    Both are float64 whatever the type of A. Column i of ``vectors`` belongs to ``values[i]``, with its sign fixed by
    :func:`fix_signs`. Only the lower triangle of A is read.
    """
    with single_threaded():
        A = np.asarray(A, dtype=np.float64)
        try:
            values, vectors = linalg.eigh(A, driver="evd")
        except linalg.LinAlgError:  # the fast driver gives up on some finite matrices; the plain one does not
            values, vectors = linalg.eigh(A, driver="ev")
    return values[::-1].copy(), fix_signs(np.ascontiguousarray(vectors[:, ::-1]))


def fix_signs(vectors):
    """The columns with the sign that makes their largest entry positive; of equal magnitudes the first one decides.

    >>> fix_signs(np.array([[0.6, 0.8], [-0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    if vectors.size == 0:
        return vectors
    largest = np.abs(vectors).argmax(axis=0)
    negative = vectors[largest, np.arange(vectors.shape[1])] < 0
    return np.where(negative, -vectors, vectors)


def positive_eigenpairs(K, rtol=None):
    """(values, vectors) of a Gram matrix K with the eigenvalues above ``rtol`` times the largest, descending.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, positive semi-definite up to rounding.
    rtol : float or None
        What counts as zero, relative to the largest eigenvalue. None means n times the spacing of K's type, the usual
        rule for the rank of a matrix.
    """
    K = np.asarray(K)
    if rtol is None:
        rtol = len(K) * np.finfo(K.dtype if K.dtype.kind == "f" else np.float64).eps
    values, vectors = eigh_descending(K)
    rank = np.count_nonzero(values > rtol * values.max(initial=0.0))
    return values[:rank], vectors[:, :rank]


def rank_revealing_factor(K, rtol=None):
    """F of shape (rank, n) with F.T @ F = K up to ``rtol`` times the largest eigenvalue, for a Gram matrix K.

    The rows of F are orthogonal to each other, the longest first: F = diag(sqrt(values)) @ vectors.T. Eigenvalues at
    or below the tolerance, negative ones among them, are dropped (see :func:`positive_eigenpairs`).
    """
    values, vectors = positive_eigenpairs(K, rtol)
    return np.sqrt(values)[:, None] * vectors.T
