"""Rows of placements as the solver sees them: scores of weights, and sums of rows, for one problem at a time.

The designs of `mercer.spaces` take many classes side by side, and a codebook for each block. A detector has one class,
and one codebook for all its cells.
"""

__all__ = ["FullDesign", "RowsAndExtras", "WordDesign"]

import numpy as np

from mercer._base.threads import run_blocks, single_threaded
from mercer._native.detection.word_rows import count_words, score_words
from mercer.spaces import DenseRows

TASK_ROWS, TASK_BLOCKS = 4096, 64  # of the products with words
GATHERED = 256  # rows in full that are added up at a time


class RowsAndExtras:
    """Rows of cells side by side with a few more columns, as the solver sees them: cells | columns.

    Parameters
    ----------
    cells : WordDesign or FullDesign
    extra : float32 (n, k)
    n_jobs : threads
    """

    dtype = np.dtype(np.float32)

    def __init__(self, cells, extra, n_jobs=None):
        self.cells, self.extra, self.n_jobs = cells, extra, n_jobs
        self.shape = (len(extra), cells.shape[1] + extra.shape[1])

    def __len__(self):
        return len(self.extra)

    def scores(self, u):
        """Scores (n, 1) of weights (r, 1)."""
        u, r = np.asarray(u)[:, 0], self.cells.shape[1]
        found = self.cells.scores(np.ascontiguousarray(u[:r], dtype=np.float32)) + self.extra @ u[r:]
        return found.astype(np.float32)[:, None]

    def accumulate(self, slopes):
        """Sums (r, 1) of the rows times slopes (n, 1)."""
        slopes = np.ascontiguousarray(slopes[:, 0], dtype=np.float32)
        return np.concatenate([self.cells.accumulate(slopes), slopes @ self.extra])[:, None]


class WordDesign:
    """Rows of words, all blocks of which have the same codebook: products without a table per class or block.

    Scores are sums of the entries of U W, with the weights U (M, r) cell by cell and the features W (r, D) of the
    words; a sum of rows is a histogram (M, D) times W'. Both products are small, and only rows with a loss are counted.

    Parameters
    ----------
    codes : uint8 or uint16 (n, M)
    words : float32 (D, r), features of the words
    n_jobs : threads
    """

    def __init__(self, codes, words, n_jobs=None):
        self.codes, self.words, self.n_jobs = np.ascontiguousarray(codes.T), words, n_jobs
        self.shape = (len(codes), codes.shape[1] * words.shape[1])

    def scores(self, u):
        """float64 (n,) of weights (r,)."""
        tables = np.ascontiguousarray(u.reshape(-1, self.words.shape[1]) @ self.words.T, dtype=np.float32)
        out = np.empty(self.shape[0])
        starts = range(0, len(out), TASK_ROWS)
        run_blocks(
            lambda at: score_words(self.codes, tables, at, min(at + TASK_ROWS, len(out)), out), starts, self.n_jobs
        )
        return out

    def accumulate(self, slopes):
        """float32 (r,) of slopes (n,)."""
        which = np.flatnonzero(slopes)
        counts = np.zeros((len(self.codes), len(self.words)), dtype=np.float32)
        facts = self.codes, which, slopes[which]
        starts = range(0, len(counts), TASK_BLOCKS)
        run_blocks(lambda at: count_words(*facts, at, min(at + TASK_BLOCKS, len(counts)), counts), starts, self.n_jobs)
        return (counts @ self.words).reshape(-1)


class FullDesign:
    """Rows of cells in full, with the same two products.

    Parameters
    ----------
    X : float32 (n, r)
    n_jobs : threads
    """

    def __init__(self, X, n_jobs=None):
        self.X, self.n_jobs, self.shape = X, n_jobs, X.shape

    def scores(self, u):
        """float32 (n,) of weights (r,)."""
        return DenseRows(self.X).scores(u, self.n_jobs)

    def accumulate(self, slopes):
        """float32 (r,) of slopes (n,)."""
        which = np.flatnonzero(slopes)
        chosen = slopes[which]
        parts = [slice(at, at + GATHERED) for at in range(0, len(which), GATHERED)]
        with single_threaded():  # BLAS gives other bits on other numbers of threads
            sums = run_blocks(lambda part: chosen[part] @ self.X[which[part]], parts, self.n_jobs)
        return (
            np.sum(sums, axis=0, dtype=np.float64).astype(np.float32) if sums else np.zeros(self.shape[1], np.float32)
        )
