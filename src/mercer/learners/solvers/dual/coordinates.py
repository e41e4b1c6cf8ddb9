"""Rows that can be visited one at a time: how dual coordinate descent keeps the weights of each kind.

    Plain     dense or CSR rows with the usual inner product; the state is w
    Bits      packed bits, the same
    Words     words with the numbers that each stands for; the state is w on these numbers
    Levels    words of columns, and an inner product inside columns; the state is Wu's table [wu10fast]. One word per
              column as LevelQuantizer gives, or the two grid points around a value as SparseAdditiveMap does

A state is what the loops change row by row. Scores are read from it; weights are made anew from the dual variables b,
because tables in float32 drift and b is exact. Each kind has a loop for one column of scores and one for all classes at
once.
"""

__all__ = ["coordinates_of"]

import numpy as np

from mercer._base.threads import run_blocks
from mercer._native.lanes import LANES
from mercer._native.learners.descent import coded as coded_descent
from mercer._native.learners.descent import dual as dual_descent
from mercer._native.learners.descent import joint as joint_descent
from mercer._native.learners.descent import level as level_descent
from mercer._native.spaces.code_products import score_codes_vector
from mercer.spaces.blocks import row_tasks
from mercer.spaces.coded_rows import BYTE_SIGNS
from mercer.spaces.rows import DenseRows

MOST_GRAM = 2**28  # numbers in the kernel matrices of all columns
TALL = 100  # mean level from which blocks of levels pay


def coordinates_of(design, dtype=np.float64, is_joint=False):
    """The rows of a design as coordinates, with tables of this type; None if they are of another kind."""
    rows, inner = design.rows, design.inner
    is_sparse = rows.kind == "csr"
    if inner.is_identity and (is_sparse or rows.kind == "dense"):
        return Plain(design, dtype)
    if inner.is_identity and rows.kind == "bits" and not is_joint:
        return Bits(design)
    if inner.decodes(rows) and not is_joint:
        return Words(design)
    if inner.is_cumulative and is_sparse:
        return SparseIntersection(design, dtype)
    if inner.is_cumulative and inner.is_of_words(rows) and inner.has_all_levels:
        is_tall = rows.codes.mean(dtype=np.float64) > TALL and not is_joint
        return (TallIntersection if is_tall else DenseIntersection)(design, dtype)
    n_products = inner.n_block_products
    if n_products is not None and n_products <= MOST_GRAM and (is_sparse or inner.is_of_words(rows)):
        return GramLevels(design, dtype)
    return None


class Factors:
    """Rows whose weights w are one number for each factor of the design; their arrays are given to a loop.

    The state is (array, sums) of zero weights at first, see `mercer._native.learners.descent.sweep`.
    """

    dtype = np.dtype(np.float64)

    def new_state(self):
        """The state of zero weights."""
        return np.zeros(self.rows.shape[1], dtype=self.dtype), np.zeros(1)

    def fresh(self, b, n_jobs):
        """(u, v): weights of factors and of features, from dual variables b of shape (n,) or (n, K)."""
        w = self.rows.accumulate(b.astype(self.dtype, copy=False), n_jobs).astype(np.float64, copy=False)
        return w, w

    def write(self, state, v):
        """Make the state that of weights v, but for the constant feature."""
        state[0][: len(v)] = v

    def scores(self, state, n_jobs):
        """Scores of all rows, without the constant feature, as the state has them: float64 (n,)."""
        return self.scores_of(state[0][: self.rows.shape[1]], n_jobs)

    def scores_of(self, v, n_jobs):
        """Scores of all rows for weights v."""
        return self.rows.scores(v.astype(self.dtype, copy=False), n_jobs).astype(np.float64, copy=False)


class Plain(Factors):
    """The usual inner product: w = sum_i b_i x_i.

    Dense rows and their weights are of one type, which is float32 if the rows are and the weights may be.
    """

    def __init__(self, design, dtype):
        rows, is_sparse = design.rows, design.rows.kind == "csr"
        if not is_sparse and rows.dtype == np.float32 and np.dtype(dtype) == np.float64:
            rows = DenseRows(rows.X.astype(np.float64))
        self.rows, X = rows, rows.X
        self.dtype = np.dtype(np.float64) if is_sparse else X.dtype
        self.arrays = (X.indptr, X.indices, X.data) if is_sparse else (X,)
        self.loop = dual_descent.descend_csr if is_sparse else dual_descent.descend_dense
        self.joint_loop = joint_descent.descend_joint_csr if is_sparse else joint_descent.descend_joint_dense


class Bits(Factors):
    """Packed bits: w = value sum_i b_i s_i with signs s_i, kept with room for whole bytes."""

    loop = staticmethod(coded_descent.descend_bits)

    def __init__(self, design):
        self.rows = design.rows
        self.arrays = self.rows.packed, BYTE_SIGNS.ravel(), self.rows.value, self.rows.n_bits

    def new_state(self):
        return np.zeros(8 * self.rows.packed.shape[1]), np.zeros(1)


class Words(Factors):
    """Words that stand for numbers, by one factor for each block: w on the numbers, never on words."""

    loop = staticmethod(coded_descent.descend_words)

    def __init__(self, design):
        self.design = design
        rows, inner = design.rows, design.inner
        sizes = np.array([len(factor) for factor in inner.factors])
        counts = sizes * rows.n_words
        words = np.concatenate([np.asarray(factor).T.ravel() for factor in inner.factors])
        self.arrays = rows.codes, words, np.cumsum(counts) - counts, sizes, np.cumsum(sizes) - sizes

    def new_state(self):
        return np.zeros(self.design.shape[1]), np.zeros(1)

    def fresh(self, b, n_jobs):
        w = self.design.accumulate(b).astype(np.float64, copy=False)
        return w, w

    def scores(self, state, n_jobs):
        return self.scores_of(state[0], n_jobs)

    def scores_of(self, v, n_jobs):
        return self.design.scores(v).astype(np.float64, copy=False)


class Levels:
    """Words of columns under H: what the rows see is v = H Phi'b, Wu's table T."""

    def __init__(self, design, dtype):
        self.rows, self.inner, self.dtype = design.rows, design.inner, np.dtype(dtype)

    def fresh(self, b, n_jobs):
        u = self.inner.project(self.rows.accumulate(b, n_jobs).astype(np.float64, copy=False))
        return u, self.inner.lift(u)

    def scores(self, state, n_jobs):
        return self.rows.scores(state[0].astype(np.float64), n_jobs)

    def scores_of(self, v, n_jobs):
        return self.rows.scores(v, n_jobs).astype(np.float64, copy=False)


class DenseIntersection(Levels):
    """Every level of a column from 0 to its highest, in tables that begin at multiples of eight."""

    loop = staticmethod(level_descent.descend_intersection_dense)
    joint_loop = staticmethod(joint_descent.descend_joint_intersection_dense)
    room = LANES

    def __init__(self, design, dtype):
        super().__init__(design, dtype)
        heights, starts = self.rows.n_words, self.rows.starts
        rooms = -(-heights // self.room) * self.room
        own = np.cumsum(rooms) - rooms
        self.arrays = self.rows.codes, own
        self._size = int(rooms.sum())
        self._ends = starts + heights - 1
        self._places = np.arange(self.rows.shape[1]) + np.repeat(own - starts, heights)
        self._heights = heights

    def new_state(self):
        return np.zeros(self._size, dtype=self.dtype), np.zeros(2)

    def write(self, state, v):
        table, sums = state
        ends = v[self._ends]
        sums[1] = ends.sum()
        table[self._places] = v - np.repeat(ends, self._heights)

    def scores(self, state, n_jobs):
        (codes, starts), (table, sums) = self.arrays, state
        out = np.empty(len(codes))

        def fill(part):
            score_codes_vector(codes, starts, table, part.start, part.stop, out)

        run_blocks(fill, row_tasks(len(codes)), n_jobs)
        out += sums[1]
        return out


class TallIntersection(DenseIntersection):
    """Tables of hundreds of levels or more, in blocks: a step changes two numbers for each block below its level."""

    loop = staticmethod(level_descent.descend_intersection_tall)
    room = 2**level_descent.BLOCK_BITS

    def new_state(self):
        n_blocks = self._size // self.room
        return *super().new_state(), np.zeros(n_blocks), np.zeros(n_blocks)

    def write(self, state, v):
        table, sums, offsets, slopes = state
        offsets[:], slopes[:] = 0.0, 0.0
        super().write((table, sums), v)

    def scores(self, state, n_jobs):
        table, sums, offsets, slopes = state
        levels = np.arange(self._size) - np.repeat(self.arrays[1], np.diff(self.arrays[1], append=self._size))
        full = table + np.repeat(slopes, self.room) * levels - np.repeat(offsets, self.room)
        return super().scores((full, sums), n_jobs)


class SparseIntersection(Levels):
    """The levels or grid points of a column, in ascending order; zero has no word."""

    loop = staticmethod(level_descent.descend_intersection_csr)
    joint_loop = staticmethod(joint_descent.descend_joint_intersection_csr)

    def __init__(self, design, dtype):
        super().__init__(design, dtype)
        X, starts = self.rows.X, self.inner.starts
        self._counts = np.diff(starts)
        owners = np.repeat(np.arange(len(self._counts), dtype=np.int32), self._counts)
        self.arrays = X.indptr, X.indices, X.data, self.inner.points.astype(dtype), owners, starts

    def new_state(self):
        return np.zeros(self.rows.shape[1], dtype=self.dtype), np.zeros(1 + len(self._counts))

    def write(self, state, v):
        table, sums = state
        used = self._counts > 0
        sums[1:][used] = v[self.inner.starts[1:][used] - 1]
        table[:] = v - np.repeat(sums[1:], self._counts)

    def scores(self, state, n_jobs):
        table, sums = state
        return self.rows.scores(table + np.repeat(sums[1:], self._counts), n_jobs)


class GramLevels(Levels):
    """Any inner product inside columns, as the kernel matrix of their words."""

    def __init__(self, design, dtype):
        super().__init__(design, dtype)
        inner, is_sparse = self.inner, self.rows.kind == "csr"
        sizes = inner.layout.widths
        grams = [(F.T.astype(np.float64) @ F).astype(dtype).ravel() for F in inner.factors]
        gram_starts = np.tile(np.cumsum(sizes**2) - sizes**2, inner.repeat)
        starts = np.concatenate([[0], np.cumsum(inner.block_widths)])
        flat = np.concatenate([np.zeros(0, dtype=dtype), *grams])
        if is_sparse:
            owners = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
            X = self.rows.X
            self.arrays = X.indptr, X.indices, X.data, owners, starts, flat, gram_starts
            self.loop, self.joint_loop = level_descent.descend_gram_csr, joint_descent.descend_joint_gram_csr
        else:
            self.arrays = self.rows.codes, starts, flat, gram_starts
            self.loop, self.joint_loop = level_descent.descend_gram_dense, joint_descent.descend_joint_gram_dense

    def new_state(self):
        return np.zeros(self.rows.shape[1], dtype=self.dtype), np.zeros(1)

    def write(self, state, v):
        state[0][:] = v
