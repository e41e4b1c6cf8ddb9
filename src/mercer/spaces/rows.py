"""Rows: how encoded data is stored, and the two products that everything else is made of.

    scores(v)      = Phi v       v (D,) -> (n,)     or (D, C) -> (n, C), classes last
    accumulate(r)  = Phi' r      r (n,) -> (D,)     or (n, C) -> (D, C)

Both return the common type of rows and argument: float32 if both are float32 (codes and bits take the type of the
argument), else float64. Sums run in float64; of dense rows those inside a block run in BLAS, in the type of the result,
and so do those of bits with several classes.
Rows are cut at boundaries that follow from the shapes alone and partial sums are added in their order, so results have
the same bits on any number of threads.
"""

__all__ = ["CSRRows", "DenseRows", "RowShape", "Rows", "StackedRows", "as_rows", "hstack"]

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, single_threaded
from mercer._native.spaces import rows as csr_loops
from mercer.spaces.blocks import ordered_total, row_tasks

BLOCK_ROWS = 8192  # rows of a block, when the caller does not say


@dataclass(frozen=True)
class RowShape:
    """What can be said of rows before there are any.

    Parameters
    ----------
    shape : (n, D)
    kind, n_words, dtype : as of the rows
    nbytes : memory they are expected to take
    title : name of their class
    """

    shape: tuple[int, int]
    kind: str
    n_words: np.ndarray | None
    dtype: np.dtype
    nbytes: int
    title: str


class Rows:
    """n encoded rows of D features. Subclasses say how they are stored.

    Attributes
    ----------
    kind : how, in a word: "dense", "csr", "codes", "bits", "decoded", "landmarks" or "stacked", in memory or
        on disk
    n_words : of codes, the number of words of each block, else None
    shape : (n, D)
    dtype : type of the stored numbers
    nbytes : memory they take
    """

    kind: ClassVar[str]
    n_words = None
    shape: tuple[int, int]
    dtype: np.dtype
    nbytes: int

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]}, {self.nbytes} bytes)"

    def scores(self, v, n_jobs=None):
        """Phi v, shape (n,) or (n, C).

        Parameters
        ----------
        v : array of shape (D,) or (D, C), weights with the classes last
        n_jobs : threads, None for as many as are allowed
        """
        v = self._operand(v, self.shape[1], "scores", "v")
        if v.shape[1:] == (1,):
            return self.scores(v[:, 0], n_jobs)[:, None]  # the loops for one class are faster
        out = np.empty((len(self), *v.shape[1:]), dtype=np.result_type(self.dtype, v.dtype))
        self._score(v, out, n_jobs)
        return out

    def accumulate(self, r, n_jobs=None):
        """Phi' r, shape (D,) or (D, C).

        Parameters
        ----------
        r : array of shape (n,) or (n, C), a number per row with the classes last
        n_jobs : threads, None for as many as are allowed
        """
        r = self._operand(r, len(self), "accumulate", "r")
        if r.shape[1:] == (1,):
            return self.accumulate(r[:, 0], n_jobs)[:, None]
        return self.add_up(r, n_jobs).astype(np.result_type(self.dtype, r.dtype), copy=False)

    def through(self, v, constants, weights, n_jobs=None):
        """(scores, Phi' (weights * scores)) with scores = Phi v + constants, shapes (n, C) and (D, C).

        Parameters
        ----------
        v : array of shape (D, C)
        constants : array of shape (C,)
        weights : array of shape (n, C)
        n_jobs : threads, None for as many as are allowed
        """
        scores = self.scores(v, n_jobs)
        scores += constants.astype(scores.dtype)
        return scores, self.accumulate(weights * scores, n_jobs)

    def blocks(self, size=None):
        """Consecutive blocks as pairs (rows, slice), with boundaries at the multiples of ``size``."""
        step = BLOCK_ROWS if size is None else size
        if step < 1:
            raise InputError(f"{type(self).__name__}.blocks needs size >= 1, got {size}.")
        for start in range(0, len(self), step):
            part = slice(start, min(start + step, len(self)))
            yield self.take(part), part

    def shape_of(self, n_rows):
        """The :class:`RowShape` of that many rows like these."""
        constant = self.take(slice(0)).nbytes  # such as codebooks; the rest is what each row adds
        nbytes = int(constant + (self.nbytes - constant) * n_rows / max(1, len(self)))
        return RowShape((n_rows, self.shape[1]), self.kind, self.n_words, self.dtype, nbytes, type(self).__name__)

    def followed_by(self, others):
        """These rows and others of their kind, one after the other, in memory."""
        return DenseRows(np.concatenate([part.toarray() for part in (self, *others)]))

    def take(self, which):
        """The rows of a slice, of an array of row numbers or of a boolean mask, stored in the same way."""
        raise NotImplementedError

    def entries(self, i):
        """(columns, values) of row i without its zeros, columns ascending."""
        raise NotImplementedError

    def toarray(self):
        """Phi as a dense array: for small data and tests."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------- what a storage defines

    def _score(self, v, out, n_jobs):
        """Write Phi v into ``out``."""
        raise NotImplementedError

    def add_up(self, r, n_jobs):
        """Phi' r in float64."""
        raise NotImplementedError

    def squared_norms(self, n_jobs):
        """phi' phi of each row, float64."""
        raise NotImplementedError

    def to_csr(self):
        """The rows as a canonical CSR matrix where that is a small thing to make, else None."""
        return None

    def _operand(self, a, length, method, name):
        """The argument as a C-contiguous float array of the right length."""
        a = np.asarray(a)
        if a.ndim not in (1, 2) or a.shape[0] != length:
            raise InputError(
                f"{type(self).__name__}.{method} needs {name} of shape ({length},) or ({length}, classes) for rows of "
                f"shape {self.shape}, got {a.shape}."
            )
        return np.ascontiguousarray(a, dtype=np.float32 if a.dtype == np.float32 else np.float64)


class DenseRows(Rows):
    """Rows stored in full.

    Parameters
    ----------
    X : array of shape (n, D), float32 or float64 (other numbers become float64)

    Examples
    --------
    >>> rows = DenseRows([[1.0, 2.0], [3.0, 4.0]])
    >>> rows.scores([1.0, 10.0]).tolist(), rows.accumulate([1.0, 1.0]).tolist()
    ([21.0, 43.0], [4.0, 6.0])
    """

    kind = "dense"

    def __init__(self, X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise InputError(f"DenseRows needs an array of shape (rows, features), got {X.shape}.")
        self.X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
        self.shape, self.dtype, self.nbytes = self.X.shape, self.X.dtype, self.X.nbytes

    def take(self, which):
        return DenseRows(self.X[which])

    def entries(self, i):
        columns = np.flatnonzero(self.X[i])
        return columns, self.X[i, columns]

    def toarray(self):
        return self.X

    def _score(self, v, out, n_jobs):
        def score(part):
            with np.errstate(over="ignore", invalid="ignore"):  # a solver refuses a step whose scores overflow
                np.matmul(self.X[part], v, out=out[part])

        with single_threaded():  # BLAS gives other bits on other numbers of threads
            run_blocks(score, row_tasks(len(self)), n_jobs)

    def add_up(self, r, n_jobs):
        def add(strip, r, total):
            for part in row_tasks(strip.stop, strip.start):
                total += self.X[part].T @ r[part]

        with single_threaded():
            return ordered_total(add, self.shape, self.X.size, r, n_jobs)

    def squared_norms(self, n_jobs):
        out = np.empty(len(self))

        def fill(part):
            block = self.X[part].astype(np.float64, copy=False)
            np.einsum("nd,nd->n", block, block, out=out[part])

        run_blocks(fill, row_tasks(len(self)), n_jobs)
        return out


class CSRRows(Rows):
    """Rows stored as their non-zeros.

    Parameters
    ----------
    X : sparse matrix of shape (n, D), float32 or float64 (other numbers become float64)

    Examples
    --------
    >>> from scipy import sparse
    >>> rows = CSRRows(sparse.csr_array([[1.0, 0.0], [0.0, 4.0]]))
    >>> rows.scores([1.0, 10.0]).tolist(), rows.accumulate([1.0, 1.0]).tolist()
    ([1.0, 40.0], [1.0, 4.0])
    """

    kind = "csr"

    def __init__(self, X):
        X = sparse.csr_array(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        try:
            X.check_format(full_check=True)  # the compiled loops follow the indices without looking
        except ValueError as error:
            raise InputError(f"CSRRows needs a valid CSR matrix: {error}.") from error
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self._set(X)

    def _set(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self.nbytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes

    def followed_by(self, others):
        return CSRRows(sparse.vstack([part.X for part in (self, *others)], format="csr"))

    def take(self, which):
        taken = self.X[which]
        taken.has_canonical_format = True  # rows are taken whole
        rows = object.__new__(CSRRows)
        rows._set(taken)
        return rows

    def entries(self, i):
        i = range(len(self))[i]  # -1 is the last row, and what does not exist raises
        start, stop = self.X.indptr[i], self.X.indptr[i + 1]
        return self.X.indices[start:stop], self.X.data[start:stop]

    def toarray(self):
        return self.X.toarray()

    def _score(self, v, out, n_jobs):
        X, loop = self.X, csr_loops.score_csr_vector if v.ndim == 1 else csr_loops.score_csr_matrix

        def fill(part):
            loop(X.indptr, X.indices, X.data, v, part.start, part.stop, out)

        run_blocks(fill, row_tasks(len(self)), n_jobs)

    def add_up(self, r, n_jobs):
        X, loop = self.X, csr_loops.accumulate_csr_vector if r.ndim == 1 else csr_loops.accumulate_csr_matrix

        def add(strip, r, total):
            loop(X.indptr, X.indices, X.data, r, strip.start, strip.stop, total)

        return ordered_total(add, self.shape, X.nnz, r, n_jobs, lanes=4)

    def squared_norms(self, n_jobs):
        X, out = self.X, np.empty(len(self))

        def fill(part):
            csr_loops.sum_csr_squares(X.indptr, X.data, part.start, part.stop, out)

        run_blocks(fill, row_tasks(len(self)), n_jobs)
        return out

    def to_csr(self):
        return self.X


class StackedRows(Rows):
    """Rows side by side: phi = (phi_1, phi_2, ...). Made by :func:`hstack`.

    Parameters
    ----------
    parts : sequence of Rows with equally many rows

    Attributes
    ----------
    slices : the features of each part
    """

    kind = "stacked"

    def __init__(self, parts):
        self.parts = tuple(as_rows(part) for part in parts)
        if not self.parts or len({len(part) for part in self.parts}) > 1:
            raise InputError(
                "hstack needs one or more parts with the same number of rows; got "
                f"{', '.join(map(repr, self.parts)) or 'nothing'}."
            )
        ends = np.cumsum([part.shape[1] for part in self.parts]).tolist()
        self.slices = tuple(slice(end - part.shape[1], end) for part, end in zip(self.parts, ends, strict=True))
        self.shape = (len(self.parts[0]), ends[-1])
        self.dtype = np.result_type(*(part.dtype for part in self.parts))
        self.nbytes = sum(part.nbytes for part in self.parts)

    def take(self, which):
        return StackedRows([part.take(which) for part in self.parts])

    def entries(self, i):
        found = [part.entries(i) for part in self.parts]
        columns = [columns + features.start for (columns, _), features in zip(found, self.slices, strict=True)]
        return np.concatenate(columns), np.concatenate([values for _, values in found])

    def toarray(self):
        return np.hstack([part.toarray() for part in self.parts])

    def _score(self, v, out, n_jobs):
        total = np.zeros(out.shape)
        for part, features in zip(self.parts, self.slices, strict=True):
            total += part.scores(v[features], n_jobs)
        out[...] = total

    def add_up(self, r, n_jobs):
        return np.concatenate([part.add_up(r, n_jobs) for part in self.parts])

    def squared_norms(self, n_jobs):
        return np.sum([part.squared_norms(n_jobs) for part in self.parts], axis=0)


def as_rows(X):
    """Convert an array to DenseRows and a sparse matrix to CSRRows; return rows unchanged.

    >>> as_rows([[1.0, 0.0], [0.0, 2.0]])
    DenseRows(2 x 2, 32 bytes)
    """
    if isinstance(X, Rows):
        return X
    return CSRRows(X) if sparse.issparse(X) else DenseRows(X)


def hstack(*parts):
    """Concatenate rows side by side. Parts are rows, arrays or sparse matrices; nested stacks are flattened.

    >>> hstack([[1.0, 2.0]], [[3.0]]).scores([1.0, 1.0, 1.0]).tolist()
    [6.0]
    """
    flat = []
    for part in map(as_rows, parts):
        flat += part.parts if isinstance(part, StackedRows) else (part,)
    return flat[0] if len(flat) == 1 else StackedRows(flat)
