"""Rows seen through their inner product: the two products that learning is made of.

    scores(u)      = Phi F' u      u (r,) or (r, P) -> (n,) or (n, P)
    accumulate(s)  = F Phi' s      s (n,) or (n, P) -> (r,) or (r, P)

Weights stay in the factor space, where the regularizer is the plain norm. In general these are a lift and the products
of the rows. For codes whose inner product has a factor per block ([vedaldi12sparse] Sec. 3, "delayed expansion") both
run block by block and the table of all words, which is words / block size times as large as u, is never formed.
Rows side by side whose inner product is block diagonal are several designs, whose scores add up.
"""

__all__ = ["Design"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer._native.lanes import LANES
from mercer._native.spaces.factor_products import accumulate_coded, score_coded
from mercer.spaces.blocks import even_slices, width_of
from mercer.spaces.inner import BlockDiagonal
from mercer.spaces.rows import StackedRows, as_rows

CHUNK_ROWS = 8192  # rows whose eight scores fit the second-level cache
TASKS = 16  # parts of the work: chunks of rows times strips of blocks; partial scores are kept for every strip
STRIP_BLOCKS, MOST_BLOCKS = 8, 1024  # blocks worth a task of their own, and added up in the type of the factors
PARTIAL_BYTES = 2**27  # memory that partial scores may take together


class Design:
    """n rows in the factor space of their inner product.

    Parameters
    ----------
    rows : rows, array or sparse matrix
    inner : inner product on their features
    n_jobs : threads, None for as many as are allowed

    Attributes
    ----------
    shape : (n, r), rows and factors
    dtype : type in which scores are computed

    Examples
    --------
    Rows on a grid with points 1 and 3: H = min(z_i, z_k), and rows e_1 and e_2 have the Gram matrix H itself.

    >>> import numpy as np
    >>> from mercer import CumulativeSum
    >>> design = Design(np.eye(2), CumulativeSum([[1.0, 2.0]]))
    >>> design.shape
    (2, 2)
    >>> factors = np.array([design.scores(column) for column in np.eye(2)]).T
    >>> (factors @ factors.T).round(6).tolist()
    [[1.0, 1.0], [1.0, 3.0]]
    """

    def __init__(self, rows, inner, n_jobs=None):
        self.rows, self.inner, self.n_jobs = as_rows(rows), inner, n_jobs
        if self.rows.shape[1] != inner.n_features:
            raise InputError(
                "Design needs rows and an inner product with the same number of features; got rows of shape "
                f"{self.rows.shape} and {inner!r}."
            )
        self.shape = (len(self.rows), inner.n_factors)
        self._products = _CodedProducts.of(self.rows, inner, n_jobs) or _StackedProducts.of(self.rows, inner, n_jobs)
        self._made = {}
        kind = self.rows.dtype if self._products is None else self._products.dtype
        self.dtype = np.dtype(np.float32 if kind == np.float32 else np.float64)

    def __len__(self):
        return self.shape[0]

    is_spread = False  # whether the rows lie with the workers of a cluster

    @property
    def has_table(self):
        """Whether scores go through weights on features, as many numbers as there are features."""
        return self._products is None and not self.inner.is_identity

    def once(self, make):
        """make(design), kept: for what follows from the rows alone and takes long."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]

    def __repr__(self):
        return f"Design({self.rows!r}, {self.inner!r})"

    def scores(self, u):
        """Phi F' u, shape (n,) or (n, P), in the type of the design."""
        u = self._operand(u, self.shape[1], "scores")
        if self._products is not None:
            return self._products.scores(u)
        return self.rows.scores(self.inner.lift(u), self.n_jobs)

    def accumulate(self, slopes):
        """F Phi' slopes, shape (r,) or (r, P), in the type of the design."""
        slopes = self._operand(slopes, self.shape[0], "accumulate")
        if self._products is not None:
            return self._products.accumulate(slopes)
        return self.inner.project(self.rows.accumulate(slopes, self.n_jobs))

    def through(self, u, constants, weights):
        """(scores, F Phi' (weights * scores)) with scores = Phi F' u + constants, in one pass where rows can do that.

        Parameters
        ----------
        u : array of shape (r, P)
        constants : array of shape (P,)
        weights : array of shape (n, P)
        """
        if self._products is not None:
            scores = self.scores(u) + constants.astype(self.dtype)
            return scores, self.accumulate(weights * scores)
        scores, sums = self.rows.through(self.inner.lift(u), constants, weights, self.n_jobs)
        return scores, self.inner.project(sums)

    def take(self, which):
        """The design of some of the rows."""
        return Design(self.rows.take(which), self.inner, self.n_jobs)

    def _operand(self, a, length, method):
        a = np.asarray(a)
        if a.ndim not in (1, 2) or a.shape[0] != length:
            raise InputError(f"Design.{method} needs shape ({length},) or ({length}, columns), got {a.shape}.")
        return np.ascontiguousarray(a, dtype=self.dtype)


class _CodedProducts:
    """Both products for codes with one factor per block."""

    @classmethod
    def of(cls, rows, inner, n_jobs):
        """None unless the blocks of the codes are the blocks of the inner product."""
        return cls(rows, inner, n_jobs) if inner.decodes(rows) and len(rows.n_words) else None

    def __init__(self, rows, inner, n_jobs):
        self.n_jobs, self.dtype = n_jobs, inner.layout.flat.dtype
        self.n, self.M = rows.codes.shape
        self.words = inner.layout.widths
        flat, ranks, offsets, _, rank_starts = inner.layout
        self.factors = (flat, ranks, offsets, rank_starts)
        self.r = inner.n_factors
        self.chunks = [slice(at, min(at + CHUNK_ROWS, self.n)) for at in range(0, self.n, CHUNK_ROWS)]
        n_strips = min(-(-TASKS // max(1, len(self.chunks))), self.M // STRIP_BLOCKS)
        self.strips = even_slices(self.M, max(1, -(-self.M // MOST_BLOCKS), n_strips))
        self.codes = rows.codes
        # codes on disk are transposed in every pass: a kept copy would bring them into memory
        self.transposed = None if _is_mapped(rows.codes) else [self._transpose(chunk) for chunk in self.chunks]

    def _transpose(self, chunk):
        return np.ascontiguousarray(self.codes[chunk].T)

    def _chunk(self, c):
        return self._transpose(self.chunks[c]) if self.transposed is None else self.transposed[c]

    def _work(self, count):
        most = int(self.words.max())
        return np.empty((count, most, LANES), dtype=self.dtype)

    def scores(self, u):
        grouped = _to_lanes(u)
        out = np.empty((self.n, width_of(u)), dtype=self.dtype)

        def score(codes, _, strip):
            part = np.zeros((grouped.shape[0], codes.shape[1], LANES), dtype=self.dtype)
            score_coded(codes, self.words, *self.factors, grouped, strip.start, strip.stop, self._work(4), part)
            return part

        n_lanes = grouped.shape[0] * CHUNK_ROWS * len(self.strips)
        for c, parts in self._chunk_parts(score, lambda c: None, n_lanes):
            out[self.chunks[c]] = _from_lanes(_ordered_sum(parts), out.shape[1])
        return out[:, 0] if u.ndim == 1 else out

    def accumulate(self, slopes):
        rank_starts = self.factors[-1]
        total = np.zeros((self.r, width_of(slopes)))

        def accumulate(codes, grouped, strip):
            part = np.zeros((len(grouped), rank_starts[strip.stop] - rank_starts[strip.start], LANES), self.dtype)
            accumulate_coded(codes, self.words, *self.factors, grouped, strip.start, strip.stop, self._work(2), part)
            return part

        n_lanes = self.r * -(-total.shape[1] // LANES)
        for _, parts in self._chunk_parts(accumulate, lambda c: _to_lanes(slopes[self.chunks[c]]), n_lanes):
            for strip, part in zip(self.strips, parts, strict=True):
                total[rank_starts[strip.start] : rank_starts[strip.stop]] += _from_lanes(part, total.shape[1])
        total = total.astype(self.dtype, copy=False)
        return total[:, 0] if slopes.ndim == 1 else total

    def _chunk_parts(self, function, operand, n_lanes):
        """(c, results of the strips) for each chunk of rows in order, several chunks at a time while memory allows.

        A result is function(codes of the chunk, operand(c), strip).
        """
        together = max(1, PARTIAL_BYTES // (n_lanes * LANES * self.dtype.itemsize))
        for start in range(0, len(self.chunks), together):
            chosen = range(start, min(start + together, len(self.chunks)))
            operands = [(self._chunk(c), operand(c)) for c in chosen]
            tasks = [(*pair, strip) for pair in operands for strip in self.strips]
            parts = run_blocks(lambda task: function(*task), tasks, self.n_jobs)
            for k, c in enumerate(chosen):
                yield c, parts[k * len(self.strips) : (k + 1) * len(self.strips)]


class _StackedProducts:
    """Both products of rows side by side, each part with a design of its own."""

    @classmethod
    def of(cls, rows, inner, n_jobs):
        """None unless the parts of the rows are the parts of the inner product."""
        fits = isinstance(rows, StackedRows) and isinstance(inner, BlockDiagonal) and rows.slices == inner.slices
        return cls(rows, inner, n_jobs) if fits else None

    def __init__(self, rows, inner, n_jobs):
        pairs = zip(rows.parts, inner.parts, strict=True)
        self.designs = [Design(part, own, n_jobs) for part, own in pairs]
        self.dtype = np.result_type(*(design.dtype for design in self.designs))
        self.factors = inner.factor_slices

    def scores(self, u):
        total = 0.0
        for design, own in zip(self.designs, self.factors, strict=True):
            total = total + design.scores(u[own]).astype(np.float64, copy=False)
        return total.astype(self.dtype, copy=False)

    def accumulate(self, slopes):
        parts = [design.accumulate(slopes) for design in self.designs]
        return np.concatenate([part.astype(self.dtype, copy=False) for part in parts])


def _to_lanes(a):
    """(k, P) as (groups of eight columns, k, 8), padded with zeros."""
    k, P = len(a), width_of(a)
    groups = -(-P // LANES)
    padded = np.zeros((k, groups * LANES), dtype=a.dtype)
    padded[:, :P] = a.reshape(k, P)
    return np.ascontiguousarray(padded.reshape(k, groups, LANES).transpose(1, 0, 2))


def _from_lanes(a, P):
    """(groups, k, 8) as (k, P)."""
    groups, k, _ = a.shape
    return a.transpose(1, 0, 2).reshape(k, groups * LANES)[:, :P]


def _ordered_sum(parts):
    total = parts[0].astype(np.float64)
    for part in parts[1:]:
        total += part
    return total


def _is_mapped(a):
    """Whether the array lies in a memory-mapped file."""
    while a is not None:
        if isinstance(a, np.memmap):
            return True
        a = getattr(a, "base", None)
    return False
