"""Squared distances where the textbook difference K(x, x) + K(y, y) - 2 K(x, y) would lose its digits.

That difference is fast, by BLAS or the loops over blocks, and errs by a few roundings of K(x, x) + K(y, y). Blocks are
computed by it, then the pairs for which that error counts are computed again, from the differences of their
values (`mercer._native.kernels.differences`). Which pairs these are follows from the rows alone.
"""

__all__ = ["accuracy_of", "difference_sums", "gaussian_exponents", "lost_digits", "refine"]

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from mercer._base.threads import run_row_blocks
from mercer._native.kernels.differences import dense_differences, sparse_differences
from mercer.kernels.engine import mirror, shrinking, weigh

ROUNDING = np.finfo(np.float64).eps / 2
# What may be lost of an exponent, over sqrt(columns) in float64: half of what docs/kernels.md promises of a value.
ACCURACY = {"d": 5e-13, "f": 2e-5}
NEGLIGIBLE = 60.0  # exponents above it need no digits: exp(-60) is below the last place of the values that are promised
PRODUCT_ROWS = 512  # rows per matrix product
PAIRS = 2**18  # computed again at once
CENTRE_ROWS = 101  # whose median is subtracted where norms are too large


def accuracy_of(dtype, d):
    """How far an exponent of rows with d columns may be off."""
    return ACCURACY[np.dtype(dtype).char] * (np.sqrt(d) if np.dtype(dtype) == np.float64 else 1.0)


def difference_sums(name, X, Y, left, right, *, param=0.0, signed=False, weight=1.0):
    """weight * sum_k D(X[left[i], k], Y[right[i], k]) of float64 rows, without overflow on the way.

    For formulas of homogeneity 1, and for "squared", whose weight is the square of ``param``.
    """
    left, right = (np.asarray(rows, dtype=np.int64) for rows in (left, right))
    out = np.empty(len(left))
    if sparse.issparse(X) != sparse.issparse(Y):
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    factor = shrinking(X, Y) if weight < 1 and name not in ("squared", "power") else 1.0
    sides = [X, Y] if factor == 1.0 else [X * factor, Y * factor]
    if sparse.issparse(X):
        parts = [part for side in sides for part in (side.indptr, side.indices, side.data)]
        sparse_differences(name, signed)(*parts, left, right, float(param), out)
    else:
        dense_differences(name, signed)(*sides, left, right, float(param), out)
    return weigh(out, weight, factor)


def refine(squared, left, right, again, *, terms, accuracy, relative):
    """Compute those entries of a block again that K(x, x) + K(y, y) - 2 K(x, y) may have got wrong; in place.

    squared      (n, m) float64    weight * D
    left, right  (n,), (m,)        weight * K(x, x) and weight * K(y, y)
    again        again(i, j): weight * D of pairs of rows
    terms        roundings, as a multiple of the last place of K(x, x) + K(y, y)
    accuracy     what an entry may be off by; times the entry where it is ``relative``
    """
    largest = np.max(left, initial=0.0) + np.max(right, initial=0.0)
    if not relative and terms * ROUNDING * largest <= accuracy:
        return squared
    energies = left[:, None] + right
    if relative:
        wrong = ~(terms * ROUNDING * energies <= accuracy * squared)
    else:
        wrong = lost_digits(squared, energies, terms, accuracy)
    rows, columns = np.nonzero(wrong)
    for start in range(0, len(rows), PAIRS):
        i, j = rows[start : start + PAIRS], columns[start : start + PAIRS]
        squared[i, j] = again(i, j)
    return squared


def lost_digits(exponents, energies, terms, accuracy):
    """Which exponents, as differences of energies, may be off by more than the accuracy; large ones may be."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = terms * ROUNDING * energies
        return ~(error <= accuracy) & ~(exponents - error > NEGLIGIBLE)


def gaussian_exponents(X, Y, root, n_jobs=None, relative=False):
    """(root |x - y|)^2 for all pairs of rows, float32 if both sides are, else float64.

    By BLAS, as |x|^2 + |y|^2 - 2 x'y of rows that are multiplied by root and, where their norms are large, moved
    to their middle; pairs that this does not give to the promised accuracy are computed from their differences.
    ``relative``: all digits also of distances that are small.
    """
    out = np.empty((X.shape[0], Y.shape[0]), dtype=np.result_type(X.dtype, Y.dtype))
    terms = X.shape[1] + 8
    accuracy = accuracy_of(out.dtype, X.shape[1])
    is_dense = not (sparse.issparse(X) or sparse.issparse(Y))
    centre, right, norms = _moved(Y, root, accuracy / (terms * ROUNDING) if is_dense else np.inf)
    transposed = right.T

    def fill(rows):
        def again(i, j):
            return difference_sums("squared", _double(X[rows]), _double(Y), i, j, param=root)

        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is computed again
            left = _scaled(X[rows], centre, root)
            left_norms = row_norms(left, squared=True)
            if is_dense and out.dtype == np.float64:
                block = np.matmul(left * -2.0, transposed, out=out[rows])
            else:
                block = (left * -2.0) @ transposed
                block = block.toarray() if sparse.issparse(block) else block
            block += left_norms[:, None]
            block += norms
            np.maximum(block, 0, out=block)
            refine(block, left_norms, norms, again, terms=terms, accuracy=accuracy, relative=relative)
            if block.base is not out:
                out[rows] = block

    run_row_blocks(fill, X.shape[0], PRODUCT_ROWS, n_jobs)
    if X is Y:
        mirror(out)
    return out


def _moved(Y, root, limit):
    """(what is subtracted from rows, the scaled rows of Y, their squared norms).

    That is nothing, or the middle where norms exceed the limit.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        plain = _scaled(Y, None, root)
        norms = row_norms(plain, squared=True)
        if limit < np.inf and not 2 * norms.max(initial=0.0) <= limit:
            centre = np.median(Y[:: max(1, len(Y) // CENTRE_ROWS)].astype(np.float64), axis=0)
            if np.isfinite(centre).all():
                moved = _scaled(Y, centre, root)
                return centre, moved, row_norms(moved, squared=True)
        return None, plain, norms


def _scaled(X, centre, root):
    X = _double(X)
    return X * root if centre is None else (X - centre) * root


def _double(X):
    return X.astype(np.float64, copy=False)
