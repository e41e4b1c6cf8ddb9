"""Final scores of a single query in every bit as `Measure.scores` gives them, without making a matrix for it.

What a call costs beside the arithmetic, matrices made, validated and copied, is ten times the arithmetic of a dozen
rows. Sums are those of the same loop, in the same order; K(x, x) is added up as scipy does it.
"""

__all__ = ["PairScorer"]

import numpy as np

from mercer._native.kernels.pair_sums import logarithms, sparse_pair_sums
from mercer.kernels import BrayCurtis, Chi2, Hellinger, Intersection, JensenShannon, Linear, MinMax, NormalizedKernel

SMALLEST = 1e-60  # magnitudes of which no product vanishes
LOOPS = {
    Chi2: "chi2",
    Intersection: "minimum",
    JensenShannon: "jensen-shannon",
    Linear: "product",
    Hellinger: "product",
}


class PairScorer:
    """Objectives of one query and some rows.

    Parameters
    ----------
    measure : Measure
    formula : Formula of it
    """

    def __init__(self, measure, formula):
        self._formula, self._is_distance = formula, measure.is_distance
        kernel = measure.kernel
        self._is_share = isinstance(kernel, (BrayCurtis, MinMax))
        self._is_normalized = isinstance(kernel, NormalizedKernel)
        self._kernel = kernel = kernel.kernel if self._is_normalized else kernel
        loop = "minimum" if self._is_share else LOOPS.get(type(kernel))
        self._signed = bool(getattr(kernel, "signed", False)) and loop != "product"
        self._takes_logs = loop == "jensen-shannon"
        # distances that are not normalised come from differences, by another loop
        self.serves = loop is not None and (self._is_normalized or not measure.is_distance)
        self._loop = sparse_pair_sums(loop, self._signed) if self.serves else None

    def scores(self, columns, values, starts, row_columns, row_values):
        """Float64 objectives; None for magnitudes that need more care.

        Parameters
        ----------
        columns, values : of the query, values that are zero left out
        starts, row_columns, row_values : of the rows, as in a CSR matrix
        """
        x, y = values.astype(np.float64), row_values.astype(np.float64)
        if np.abs(x).min(initial=1.0) < SMALLEST:
            return None
        n, m = len(starts) - 1, len(x)
        totals = self._totals(np.array([0, m]), x), self._totals(starts, y)
        if isinstance(self._kernel, Hellinger):
            x, y = (np.copysign(np.abs(side) ** 0.5, side) for side in (x, y))
        logs = (logarithms(x), logarithms(y)) if self._takes_logs else (x, y)
        query = [np.arange(n + 1) * m, *(np.broadcast_to(part, (n, m)).ravel() for part in (columns, x, logs[0]))]
        out = np.empty(n)
        self._loop(*query, starts, row_columns, y, logs[1], 0.0, out)
        if self._is_share:
            return self._formula.objective([out], totals[:1], totals[1:])
        if not self._is_normalized:
            return out
        inverses = [np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0) for roots in map(np.sqrt, totals)]
        value = out * (inverses[0] * inverses[1])
        if not self._is_distance:
            return value
        return -np.maximum((totals[0] > 0) + (totals[1] > 0).astype(np.float64) - 2 * value, 0.0)

    def _totals(self, starts, values):
        """K(x, x) of the kernel before it is normalised, row by row."""
        if isinstance(self._kernel, Linear):
            values = values * values
        elif getattr(self._kernel, "signed", False):
            values = np.abs(values)
        out = np.zeros(len(starts) - 1)
        filled = np.flatnonzero(starts[1:] > starts[:-1])
        if len(filled):
            out[filled] = np.add.reduceat(values, starts[filled])
        return out
