"""Values of an additive kernel on the points of a grid: which points, with which coefficients. [vedaldi12sparse] (5)"""

__all__ = ["MOST_NEIGHBORS", "Placement", "intersection_exponent", "nonzeros"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import single_threaded
from mercer._native.spaces import grid as loops
from mercer.kernels import Chi2, GeneralizedIntersection, Intersection, PowerMean

MOST_NEIGHBORS = 64  # points of a window
MOST_ENTRIES = 2**20  # of the matrices of all windows together: 8 MiB
WINDOW_RANK = 1e-12  # eigenvalues of a window's Gram matrix (unit diagonal) below this share of the largest are zero


class Placement:
    """How values are written on a grid: the coefficients (5) of each value on its window, the points next to it.

    Parameters
    ----------
    kernel : additive kernel
    grid : ascending points > 0
    n_neighbors : points per value, even
    """

    def __init__(self, kernel, grid, n_neighbors=2):
        self.kernel, self.grid = kernel, grid
        self.odd = _is_odd(kernel)
        self._exponent = intersection_exponent(kernel)
        self._chi2 = _is_chi2(kernel) and n_neighbors == 2
        # two neighbors are all that the intersection needs: the others would have the coefficient zero
        self.half = 1 if self._exponent else n_neighbors // 2
        if not (self._exponent or self._chi2):
            self._inverses = self._window_inverses()

    def coefficients(self, values):
        """(intervals, coefficients, number of values above the grid), for a flat array of values, signs left aside."""
        intervals = np.empty(len(values), dtype=np.int32)
        n_above = loops.find_intervals(values, self.grid, intervals)
        coefficients = np.empty((len(values), 2 * self.half))
        if self._exponent:
            warped = values if self._exponent == 1 else np.abs(values, dtype=np.float64) ** self._exponent
            loops.intersection_coefficients(warped, intervals, self.grid**self._exponent, coefficients)
        elif self._chi2:
            loops.chi2_coefficients(values, intervals, self.grid, coefficients)
        else:
            points = self.grid[self._window(intervals)]
            kernel_values = self.kernel.scalar(points, np.abs(values, dtype=np.float64)[:, None])
            loops.solve_windows(np.ascontiguousarray(kernel_values), intervals, self._inverses, coefficients)
        return intervals, coefficients, n_above

    def _window(self, intervals):
        """Positions of the window of each interval in the grid; what lies beyond the end repeats the last point."""
        first = np.maximum(intervals - self.half, 0)
        return np.minimum(first[:, None] + np.arange(2 * self.half), len(self.grid) - 1)

    def _window_inverses(self):
        """Pseudo-inverse of the Gram matrix of the window of each interval, shape (points + 1, P, P)."""
        m, P = len(self.grid), 2 * self.half
        if (m + 1) * P**2 > MOST_ENTRIES:
            raise InputError(
                f"A grid of {m} points with n_neighbors={P} needs {m + 1} matrices of {P} x {P} numbers, more than "
                f"{MOST_ENTRIES} in all. Use fewer neighbors or points."
            )
        intervals = np.arange(m + 1)
        points = self.grid[self._window(intervals)]
        first, last = np.maximum(intervals - self.half, 0), np.minimum(intervals + self.half, m)
        inside = first[:, None] + np.arange(P) < last[:, None]
        gram = self.kernel.scalar(points[:, :, None], points[:, None, :]) * (inside[:, :, None] & inside[:, None, :])
        root = np.sqrt(self.kernel.scalar(points, points))
        scale = root[:, :, None] * root[:, None, :]
        with single_threaded():
            return np.ascontiguousarray(np.linalg.pinv(gram / scale, rcond=WINDOW_RANK, hermitian=True) / scale)


def nonzeros(X, rows):
    """(starts, columns, values) of the non-zeros of a block of rows, dense or CSR."""
    if sparse.issparse(X):
        starts = X.indptr[rows.start : rows.stop + 1]
        return starts, X.indices[starts[0] : starts[-1]], X.data[starts[0] : starts[-1]]
    block = X[rows]
    starts = np.empty(len(block) + 1, dtype=np.int64)
    columns, values = np.empty(block.size, dtype=np.int32), np.empty(block.size, dtype=X.dtype)
    loops.compress_rows(block, starts, columns, values)
    return starts, columns[: starts[-1]], values[: starts[-1]]


def intersection_exponent(kernel):
    """The beta for which k(x, y) = min(x, y)^beta, or None."""
    if isinstance(kernel, GeneralizedIntersection):
        return float(kernel.beta)
    is_minimum = isinstance(kernel, Intersection) or (isinstance(kernel, PowerMean) and kernel.p == -np.inf)
    return 1.0 if is_minimum else None


def _is_chi2(kernel):
    return isinstance(kernel, Chi2) or (isinstance(kernel, PowerMean) and kernel.p == -1)


def _is_odd(kernel):
    """Whether k(-x, y) = -k(x, y), as opposed to k(x, y) or a function of non-negative values only."""
    return kernel.positive_definite_on == "real" and bool(kernel.scalar(-1.0, 2.0) < 0)
