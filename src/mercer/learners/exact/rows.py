"""Rows of a Gram matrix in float32, computed when they are first asked for, or all of them beforehand."""

__all__ = ["GramRows", "full_gram"]

import numpy as np

from mercer._base.threads import run_blocks, run_row_blocks
from mercer._native.learners.descent.gram import add_rows, gather

FILL_ROWS = 512  # of the matrix that one task computes
ADD_COLUMNS = 2**14  # of a sum of rows that one task computes


class GramRows:
    """A Gram matrix (n, n) that knows which of its rows are computed.

    The room of all rows is asked for at once; the system gives it page by page as rows are written.

    Parameters
    ----------
    matrix : float32 (n, n) with room for every row, in the order in which they are computed
    diagonal : float64 (n,)
    compute : ``compute(rows)`` gives those rows, float32 (q, n); None if all are there
    n_jobs : threads
    """

    def __init__(self, matrix, diagonal, compute=None, n_jobs=None):
        self.matrix, self.diagonal, self.n_jobs, self._compute = matrix, diagonal, n_jobs, compute
        n = len(matrix)
        self._places = np.full(n, -1, dtype=np.int64) if compute else np.arange(n)
        self._n_known = 0

    @classmethod
    def of_kernel(cls, kernel, X, n_jobs):
        """The rows of a kernel on X, none of them computed yet."""
        n = X.shape[0]
        diagonal = kernel.diagonal(X).astype(np.float64)
        return cls(
            np.empty((n, n), dtype=np.float32), diagonal, lambda rows: kernel.gram_block(X[rows], X, n_jobs), n_jobs
        )

    @classmethod
    def of_matrix(cls, matrix, n_jobs=None):
        """All rows, which are there."""
        return cls(matrix, matrix.diagonal().astype(np.float64), None, n_jobs)

    def __len__(self):
        return len(self.matrix)

    def places(self, rows):
        """Where these rows are in the matrix, int64 (q,); those that are missing are computed."""
        missing = rows[self._places[rows] < 0]
        if len(missing):
            first = self._n_known
            self.matrix[first : first + len(missing)] = self._compute(missing)
            self._places[missing] = np.arange(first, first + len(missing))
            self._n_known += len(missing)
        return self._places[rows]

    def between(self, rows):
        """The products of these rows with each other, (q, q)."""
        if self._compute is None and len(rows) == len(self):
            return self.matrix
        out = np.empty((len(rows), len(rows)), dtype=np.float32)
        gather(self.matrix, self.places(rows), rows, out)
        return out

    def add(self, rows, steps, out):
        """out += steps @ K[rows], float64 (n,)."""
        places, n = self.places(rows), len(self)

        def fill(start):
            add_rows(self.matrix, places, steps, start, min(start + ADD_COLUMNS, n), out)

        run_blocks(fill, range(0, n, ADD_COLUMNS), self.n_jobs)


def full_gram(kernel, X, n_jobs):
    """K(x, y) of all rows in their type, every pair computed once, in blocks that follow from the number of rows."""
    n = X.shape[0]
    out = np.empty((n, n), dtype=X.dtype)

    def fill(rows):
        behind = slice(rows.stop, n)
        block = X[rows]
        out[rows, rows] = kernel.gram_block(block, block, 1)
        if rows.stop < n:
            out[rows, behind] = kernel.gram_block(block, X[behind], 1)
            out[behind, rows] = out[rows, behind].T

    run_row_blocks(fill, n, FILL_ROWS, n_jobs)
    return out
