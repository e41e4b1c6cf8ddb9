"""Rows of a Gram matrix in float32, computed when they are first asked for; and a whole Gram matrix."""

__all__ = ["GramRows", "full_gram"]

import numpy as np

from mercer._base.threads import run_row_blocks

FILL_ROWS = 512  # of a whole matrix that one task computes
BLOCK_VALUES = 2**19  # of single rows: what stays in the cache


class GramRows:
    """A Gram matrix (n, n) that knows which of its rows are computed.

    The room of all rows is asked for at once; the system gives it page by page as rows are written.

    Parameters
    ----------
    kernel : Kernel
    X : validated rows, dense or CSR
    n_jobs : threads

    Attributes
    ----------
    values : float32 (n, n), in the order in which rows are computed
    places : int64 (n,), where each row is in ``values``, -1 if it is not computed
    diagonal : float64 (n,)
    """

    def __init__(self, kernel, X, n_jobs=None):
        self.X, self.n_jobs, n = X, n_jobs, X.shape[0]
        self._against, self._block_rows = kernel.against(X), max(kernel.block_rows, BLOCK_VALUES // n)
        self.values, self.places = np.empty((n, n), dtype=np.float32), np.full(n, -1, dtype=np.int64)
        self.diagonal = kernel.diagonal(X).astype(np.float64)
        self._n_known = 0

    def compute(self, rows):
        """Compute those of the rows, int64 in any order, that are missing."""
        missing = np.unique(rows[self.places[rows] < 0])
        if not len(missing):
            return
        self.places[missing] = np.arange(self._n_known, self._n_known + len(missing))
        room = self.values[self._n_known : self._n_known + len(missing)]
        self._n_known += len(missing)

        def fill(part):
            self._against(self.X[missing[part]], room[part])

        run_row_blocks(fill, len(missing), self._block_rows, self.n_jobs)


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
