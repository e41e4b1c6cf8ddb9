"""The kernel of universal bits. [boufounos15universal] Sec. III-B

g(d) is the expected share of bits that differ at the distance d; the kernel is 1/2 - g(d). Deviation from the paper:
(9) has sqrt(2 Delta) where sqrt(2) Delta is meant, as a simulation shows, and (12) a square root too many.
"""

__all__ = ["UniversalRBF", "share_of_bits", "slope_of_share"]

from dataclasses import replace

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer.kernels.base import Kernel, kernel_class
from mercer.kernels.near import difference_sums, gaussian_exponents

# Below this share of delta, (9) needs ever more terms, and the line of (12) has no error that float64 could hold;
# above it, 16 terms are enough.
NEAR, TERMS = 0.1, 16
ODD = 2 * np.arange(TERMS) + 1
ROWS = 64  # rows per task of the series


def share_of_bits(ratio):
    """g(d) of the ratio d / delta: the mean of the triangle wave of period 2 and height 1 at ratio times a normal.

        g(d) = 1/2 - sum_i exp(-(pi (2i + 1) d / (sqrt(2) delta))^2) / (pi (i + 1/2))^2,   i = 0, 1, ...

    >>> share_of_bits(np.array([0.0, 0.05, 0.5, 5.0])).round(6)
    array([0.      , 0.039894, 0.381975, 0.5     ])
    """
    ratio = np.asarray(ratio, dtype=np.float64)
    at = np.maximum(ratio, NEAR)
    total = np.zeros_like(at)
    for odd in ODD:  # one term at a time: a matrix of distances has no room for sixteen of them
        total += np.exp(-((np.pi * odd * at) ** 2) / 2) / (np.pi * odd / 2) ** 2
    return np.where(ratio < NEAR, np.sqrt(2 / np.pi) * ratio, 0.5 - total)


def slope_of_share(ratio):
    """dg / d(d / delta), the derivative of `share_of_bits`

    >>> slope_of_share(np.array([0.0, 0.5])).round(6)
    array([0.797885, 0.582456])
    """
    ratio = np.asarray(ratio, dtype=np.float64)
    at = np.maximum(ratio, NEAR)[..., None]
    terms = 4 * at * np.exp(-((np.pi * ODD * at) ** 2) / 2)
    return np.where(ratio < NEAR, np.sqrt(2 / np.pi), terms.sum(axis=-1))


@kernel_class
class UniversalRBF(Kernel):
    """K(x, y) = 1/2 - g(|x - y|), the kernel that universal bits approximate; the mean over blocks, if any. (18)

    Close to exp(-|x - y|^2 pi^2 / (2 delta^2)) / 2, a Gaussian of width delta / pi, but steep at the origin, where g is
    linear: between 4 / pi^2 and 1/2 times the Gaussian. (22)

    Parameters
    ----------
    delta : float or None
        Step of the quantizer. None: ``fit`` of an estimator takes pi times the root of half the mean |x - y|^2 between
        its rows (or their blocks), at which the Gaussian falls to 1 / e; called directly, the kernel has delta = 1.
    block_size : int or None
        Columns of the blocks that are embedded on their own; None: the whole row is one.

    Examples
    --------
    >>> UniversalRBF(delta=1.0)([[0.0]], [[0.0], [0.2], [2.0]]).round(3).tolist()
    [[0.5, 0.34, 0.0]]
    """

    delta: float | None = None
    block_size: int | None = None
    name = "universal-rbf"

    def __post_init__(self):
        if self.delta is not None and not np.finfo(np.float64).tiny <= self.delta < np.inf:
            raise InputError(f"UniversalRBF needs a finite delta > 0 or None, got delta={self.delta!r}.")
        if self.block_size is not None and (not isinstance(self.block_size, (int, np.integer)) or self.block_size < 1):
            raise InputError(f"UniversalRBF needs block_size to be an integer >= 1 or None; got {self.block_size!r}.")

    @property
    def step(self):
        """delta, or 1 if it is None."""
        return 1.0 if self.delta is None else self.delta

    def with_widths(self, width_of):
        return self if self.delta is not None else replace(self, delta=width_of(self))

    def natural_width(self, X, n_jobs=None):
        """The delta of rows, for which pi^2 |x - y|^2 / (2 delta^2) is 1 on the average over different ones."""
        parts = [_columns(X, block) for block in self._blocks(X.shape[1])]
        total = sum(gaussian_exponents(part, part, 1.0, n_jobs).sum(dtype=np.float64) for part in parts)
        mean = total / max(1, len(parts) * X.shape[0] * (X.shape[0] - 1))
        return float(np.pi * np.sqrt(mean / 2)) if np.finfo(np.float64).tiny < mean < np.inf else 1.0

    def check_values(self, X, name):
        if self.block_size is not None and X.shape[1] % self.block_size:
            raise InputError(
                f"UniversalRBF has blocks of {self.block_size} columns; {name} has {X.shape[1]} columns, which is not "
                "a multiple of the block size."
            )

    def _blocks(self, d):
        size = self.block_size or d
        return [slice(start, start + size) for start in range(0, d, size)]

    def gram_block(self, X, Y, n_jobs):
        blocks = self._blocks(X.shape[1])
        out = np.zeros((X.shape[0], Y.shape[0]), dtype=np.result_type(X.dtype, Y.dtype))
        for block in blocks:
            left = _columns(X, block).astype(np.float64)
            right = left if X is Y else _columns(Y, block).astype(np.float64)
            # all digits of small distances too, where the kernel is steep
            squares = gaussian_exponents(left, right, 1 / self.step, n_jobs, relative=True)

            def add(rows, squares=squares):
                out[rows] += (0.5 - share_of_bits(np.sqrt(squares[rows]))) / len(blocks)

            run_blocks(add, [slice(i, i + ROWS) for i in range(0, len(out), ROWS)], n_jobs)
        return out

    def pair_values(self, X, Y):
        blocks = self._blocks(X.shape[1])
        rows = np.arange(X.shape[0])
        sides = ((_columns(X, block), _columns(Y, block)) for block in blocks)
        squares = (difference_sums("squared", *side, rows, rows, param=1 / self.step) for side in sides)
        return sum(0.5 - share_of_bits(np.sqrt(square)) for square in squares) / len(blocks)

    def diagonal(self, X):
        return np.full(X.shape[0], 0.5, dtype=X.dtype)


def _columns(X, block):
    part = X[:, block]
    return sparse.csr_array(part) if sparse.issparse(part) else np.ascontiguousarray(part)
