"""Inner products given by factors: the intersection kernel on grids, factors of blocks, a factor of K_ZZ."""

__all__ = ["BlockFactor", "CumulativeSum", "Factor"]

from itertools import groupby
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._base.errors import InputError
from mercer._base.linalg import rank_revealing_factor
from mercer._base.memory import row_chunks
from mercer._base.threads import run_blocks, single_threaded
from mercer._native.spaces import factors as factor_loops
from mercer._native.spaces import segments as segment_loops
from mercer.spaces.blocks import row_tasks
from mercer.spaces.inner import InnerProduct, inner_class

MOST_EMPTY = 1024  # blocks without a number, which take time and no memory
BLOCKS_AT_ONCE = 256  # factors converted to float64 at a time


@inner_class
class CumulativeSum(InnerProduct):
    """H = min(z_i, z_k) inside each dimension: the intersection kernel on the points z of a grid per dimension.

    (F a)_i = sqrt(z_i - z_{i-1}) * (sum of a_k over k >= i in the same dimension), with z_0 = 0. Cost O(D) per class.

    Parameters
    ----------
    gaps : array, the z_i - z_{i-1} >= 0, of shape (dimensions, points), or of shape (D,) with ``starts``
    starts : None, or the first position of each dimension in ``gaps``, followed by D: grids of different lengths

    Examples
    --------
    The intersection kernel of the points 1, 3 and 4:

    >>> import numpy as np
    >>> F = CumulativeSum([[1.0, 2.0, 1.0]]).project(np.eye(3))
    >>> (F.T @ F).round(6).tolist()
    [[1.0, 1.0, 1.0], [1.0, 3.0, 3.0], [1.0, 3.0, 4.0]]
    """

    gaps: Any
    starts: Any = None
    is_cumulative: ClassVar[bool] = True

    def __post_init__(self):
        gaps = np.asarray(self.gaps, dtype=np.float64)
        if self.starts is None and gaps.ndim == 2:
            starts = np.arange(gaps.shape[0] + 1) * gaps.shape[1]
        else:
            starts = np.asarray([] if self.starts is None else self.starts)
        gaps = np.ascontiguousarray(gaps.reshape(-1))
        _check_starts(starts, len(gaps))
        if not np.isfinite(gaps).all() or (gaps < 0).any():
            raise InputError("CumulativeSum needs finite gaps >= 0: a grid ascends and starts at 0 or above.")
        self.gaps, self.starts = gaps, starts.astype(np.int64)
        self._roots = np.sqrt(gaps)
        self._owner = np.repeat(np.arange(len(starts) - 1), np.diff(self.starts))
        points = np.empty((len(gaps), 1))
        segment_loops.prefix_sums(gaps[:, None], self.starts, np.ones(len(gaps)), points)
        self._points = points[:, 0]

    @property
    def block_widths(self):
        """Points of each dimension."""
        return np.diff(self.starts)

    @property
    def has_all_levels(self):
        """Whether the points of every dimension are the levels 0, 1, 2, ..."""
        levels = np.ones(len(self.gaps))
        levels[self.starts[:-1][self.block_widths > 0]] = 0.0
        return np.array_equal(levels, self.gaps)

    @property
    def points(self):
        """The points of all grids, one after the other."""
        return self._points

    @classmethod
    def of_grids(cls, grids, repeat=1):
        """From the points of the grids: one ascending sequence per dimension, all of them ``repeat`` times."""
        grids = [np.asarray(grid, dtype=np.float64) for grid in grids] * repeat
        gaps = [np.diff(grid, prepend=0.0) for grid in grids]
        return cls(np.concatenate([np.zeros(0), *gaps]), np.cumsum([0, *map(len, grids)]))

    @property
    def n_features(self):
        return len(self.gaps)

    def project_checked(self, a):
        out = np.empty(a.shape)
        segment_loops.suffix_sums(a, self.starts, self._roots, out)
        return out

    def lift_checked(self, u):
        out = np.empty(u.shape)
        segment_loops.prefix_sums(u, self.starts, self._roots, out)
        return out

    def add_entries(self, v, columns, values, delta):
        segment_loops.add_cumulative_row(columns, values, self._owner, self.starts, self._points, delta, v)

    def row_norms(self, rows, n_jobs=None):
        """phi' H phi of each row, float64."""
        rows = self._checked_rows(rows)
        if self.is_of_words(rows):
            return rows.scores(self._points, n_jobs)  # one word per dimension: min(z, z) = z, and dimensions add up
        return super().row_norms(rows, n_jobs)

    def _sparse_norms(self, X, out, n_jobs):
        def fill(part):
            segment_loops.square_cumulative_rows(
                X.indptr, X.indices, X.data, self._owner, self._points, part.start, part.stop, out
            )

        run_blocks(fill, row_tasks(X.shape[0]), n_jobs)


class FactorLayout(NamedTuple):
    """The factors F_b of diagonal blocks as one flat array.

    flat : columns of all factors, one after the other
    ranks : rows of each factor
    offsets : where each factor begins in ``flat``
    starts : first feature (word) of each factor, and the number of all
    rank_starts : first row of each factor among all factors, and the number of all
    """

    flat: np.ndarray
    ranks: np.ndarray
    offsets: np.ndarray
    starts: np.ndarray
    rank_starts: np.ndarray

    @property
    def widths(self):
        """Columns (words) of each factor."""
        return np.diff(self.starts)


class _Factored(InnerProduct):
    """Shared by the inner products that are given by the factors of diagonal blocks, repeated or not.

    The factors are kept with their columns contiguous, one after the other: see mercer._native.spaces.factors.
    """

    _repeat = 1

    def _keep(self, factors):
        """The factors as views on one flat array."""
        shapes = np.array([factor.shape for factor in factors], dtype=np.int64).reshape(-1, 2)
        self._ranks, widths = shapes.T.copy()
        sizes = self._ranks * widths
        self._starts, self._rank_starts = (np.concatenate([[0], np.cumsum(part)]) for part in (widths, self._ranks))
        self._offsets = np.cumsum(sizes) - sizes
        columns = [factor.T.reshape(-1) for factor in factors]
        self._flat = columns[0] if len(columns) == 1 else np.concatenate(columns)
        self._runs = [
            (self._stack(first, last), slice(*self._rank_starts[[first, last]]), slice(*self._starts[[first, last]]))
            for first, last in _runs(shapes.tolist())
        ]

    def _stack(self, first, last):
        """The factors of equal shape number first to last - 1, shape (blocks, r, P): a view."""
        rank, width = self._ranks[first], self._starts[first + 1] - self._starts[first]
        columns = self._flat[self._offsets[first] :][: (last - first) * rank * width]
        return columns.reshape(last - first, width, rank).transpose(0, 2, 1)

    @property
    def layout(self):
        """Where the columns of each factor stand; see :mod:`mercer._native.spaces.factors`."""
        return FactorLayout(self._flat, self._ranks, self._offsets, self._starts, self._rank_starts)

    @property
    def block_widths(self):
        """Columns of each factor, over all repetitions."""
        return np.tile(np.diff(self._starts), self._repeat)

    @property
    def n_features(self):
        return self._repeat * int(self._starts[-1])

    @property
    def n_factors(self):
        return self._repeat * int(self._rank_starts[-1])

    def project_checked(self, a):
        out = np.empty((self.n_factors, a.shape[1]))
        self._multiply([(stack, down, up) for stack, up, down in self._runs], a, out)
        return out

    def lift_checked(self, u):
        out = np.empty((self.n_features, u.shape[1]))
        self._multiply([(stack.transpose(0, 2, 1), up, down) for stack, up, down in self._runs], u, out)
        return out

    def _multiply(self, runs, source, target):
        """Each run of equal blocks by one batched product, over all repetitions at once."""
        C = source.shape[1]
        source, target = (a.reshape(self._repeat, len(a) // self._repeat, C) for a in (source, target))
        with single_threaded():
            for stack, taken, given in runs:
                blocks, n_out, n_in = stack.shape
                operand = source[:, taken].reshape(self._repeat, blocks, n_in, C)
                product = target[:, given].reshape(self._repeat, blocks, n_out, C)  # a view: whole blocks of rows
                for part in row_chunks(blocks, 8 * n_in * n_out, most=BLOCKS_AT_ONCE):
                    # float32 factors become float64 a few blocks at a time
                    np.matmul(stack[part].astype(np.float64, copy=False), operand[:, part], out=product[:, part])

    def add_entries(self, v, columns, values, delta):
        factor_loops.add_factor_row(columns, values, self._flat, self._starts, self._ranks, self._offsets, delta, v)

    def row_norms(self, rows, n_jobs=None):
        """phi' H phi of each row, float64."""
        rows = self._checked_rows(rows)
        if self.is_of_words(rows):
            # one word per block: words of one row never meet inside a block, and their norms add up
            return rows.scores(np.tile(self._word_norms(), self._repeat), n_jobs)
        return super().row_norms(rows, n_jobs)

    def _word_norms(self):
        """The diagonal of H, of one repetition."""
        columns = (np.einsum("brp,brp->bp", stack, stack, dtype=np.float64).reshape(-1) for stack, _, _ in self._runs)
        return np.concatenate(list(columns))

    def _sparse_norms(self, X, out, n_jobs):
        tables = (self._flat, self._starts, self._ranks, self._offsets)

        def fill(part):
            factor_loops.square_factor_rows(X.indptr, X.indices, X.data, *tables, part.start, part.stop, out)

        run_blocks(fill, row_tasks(X.shape[0]), n_jobs)


@inner_class
class BlockFactor(_Factored):
    """H block diagonal with blocks F_b' F_b: K_ZZ of each dimension of an additive map, or the words of each PQ block.

    Parameters
    ----------
    factors : array of shape (blocks, r, P), or a sequence of arrays (r_b, P_b) of any sizes; kept in float32 if all of
        them are float32, as the codebooks of a quantizer, else in float64
    repeat : how often they follow each other; one factor that d dimensions share is kept once, with repeat=d

    Examples
    --------
    One factor for two blocks:

    >>> import numpy as np
    >>> F = BlockFactor([[[1.0, 1.0]]], repeat=2).project(np.eye(4))
    >>> (F.T @ F).tolist()
    [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """

    factors: Any
    repeat: int = 1

    def __post_init__(self):
        _refuse_many_empty(self.factors)
        factors = [np.asarray(factor) for factor in self.factors]
        is_single = all(factor.dtype == np.float32 for factor in factors)
        factors = [factor.astype(np.float32 if is_single else np.float64, copy=False) for factor in factors]
        if not factors or any(factor.ndim != 2 for factor in factors):
            raise InputError(
                "BlockFactor needs factors of shape (blocks, r, P) or a sequence of arrays (r, P), got "
                f"{[factor.shape for factor in factors]}."
            )
        if not isinstance(self.repeat, (int, np.integer)) or self.repeat < 1:
            raise InputError(f"BlockFactor needs an integer repeat >= 1; got {self.repeat!r}.")
        self.repeat = self._repeat = int(self.repeat)
        self._keep(factors)
        stacks = [stack for stack, _, _ in self._runs]
        self.factors = stacks[0] if len(stacks) == 1 else [factor for stack in stacks for factor in stack]

    @property
    def n_block_products(self):
        """Entries of the blocks F_b' F_b, without repetitions."""
        return int((self.layout.widths**2).sum())

    def decodes(self, rows):
        return self.repeat == 1 and self.is_of_words(rows)


@inner_class
class Factor(_Factored):
    """H = F'F, given by F: K_ZZ of landmarks through a rank-revealing factor.

    Parameters
    ----------
    F : array of shape (r, D)

    Examples
    --------
    >>> inner = Factor([[1.0, 2.0], [0.0, 1.0]])
    >>> inner.project([1.0, 1.0]).tolist(), inner.lift([1.0, 1.0]).tolist()  # F a and F' u
    ([3.0, 1.0], [1.0, 3.0])
    """

    F: Any

    def __post_init__(self):
        F = np.asarray(self.F, dtype=np.float64)
        if F.ndim != 2:
            raise InputError(f"Factor needs F of shape (factors, features), got {F.shape}.")
        self._keep([F])
        self.F = self._stack(0, 1)[0]

    @classmethod
    def of_gram(cls, K, rtol=None):
        """The factor of a positive semi-definite matrix, without the directions that are zero up to rounding.

        Parameters
        ----------
        K : array of shape (D, D), symmetric
        rtol : directions with at most ``rtol`` times the largest eigenvalue are left out; None means rounding error

        Examples
        --------
        >>> Factor.of_gram([[2.0, 2.0], [2.0, 2.0]])
        Factor(2 features, 1 factors)
        """
        return cls(rank_revealing_factor(K, rtol))


def _refuse_many_empty(factors):
    """Blocks without a number take no bytes of a file: a million of them must not become a million views."""
    if len(factors) > MOST_EMPTY and not sum(np.size(factor) for factor in factors[:MOST_EMPTY]):
        raise InputError(f"BlockFactor needs factors that are not empty; the first {MOST_EMPTY} are empty.")


def _check_starts(starts, length):
    valid = starts.ndim == 1 and len(starts) > 0 and starts.dtype.kind in "iu"
    if not valid or starts[0] != 0 or starts[-1] != length or (np.diff(starts) < 0).any():
        raise InputError(
            f"CumulativeSum needs gaps of shape (dimensions, points), or starts that ascend from 0 to the number of "
            f"gaps, {length}; got starts {starts}."
        )


def _runs(shapes):
    """Ranges (first, last) of consecutive equal shapes."""
    first = 0
    for _, run in groupby(shapes):
        last = first + len(list(run))
        yield first, last
        first = last
