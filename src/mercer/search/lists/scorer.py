"""Final scores of a single query in every bit as `Measure.scores` gives them, without making a matrix for it.

What a call costs beside the arithmetic, matrices made, validated and copied, is ten times the arithmetic of a dozen
rows. Sums are those of the same loop, in the same order; K(y, y) of rows is known from their lists.
"""

__all__ = ["PairScorer"]

import numpy as np

from mercer._native.kernels.pair_sums import shared_entries, shared_sums
from mercer.kernels import (
    BrayCurtis,
    Chi2,
    DotTanimoto,
    Hellinger,
    Intersection,
    JensenShannon,
    Linear,
    MinMax,
    NormalizedKernel,
)

SMALLEST = 1e-60  # magnitudes of which no product vanishes
LOOPS = {
    Chi2: "chi2",
    Intersection: "minimum",
    JensenShannon: "jensen-shannon",
    Linear: "product",
    Hellinger: "product",
    BrayCurtis: "minimum",
    MinMax: "minimum",
    DotTanimoto: "product",
}


class PairScorer:
    """Objectives of one query and some rows.

    Parameters
    ----------
    measure : Measure
    formula : Formula of it
    """

    def __init__(self, measure, formula):
        self._formula, self._is_distance, self._cut = formula, measure.is_distance, measure.cut
        kernel = measure.kernel
        self._is_share = isinstance(kernel, (BrayCurtis, MinMax, DotTanimoto))
        self._is_normalized = isinstance(kernel, NormalizedKernel)
        self._kernel = kernel = kernel.kernel if self._is_normalized else kernel
        loop = LOOPS.get(type(kernel))
        self._signed = bool(getattr(kernel, "signed", False)) and loop != "product"
        self._takes_logs = loop == "jensen-shannon"
        # distances that are not normalized come from differences, by another loop
        self.serves = loop is not None and (self._is_normalized or not measure.is_distance)
        self._loop = shared_sums(loop, self._signed) if self.serves else None

    def scores(self, columns, values, entries, totals):
        """Float64 objectives; None for magnitudes that need more care.

        Parameters
        ----------
        columns, values : of the query, values that are zero left out
        entries : (begins, ends, columns, values), where the rows lie and what they have: see `VectorFormat.entries`
        totals : float64, K(y, y) of the rows before the kernel is normalized
        """
        begins, ends, row_columns, row_values = entries
        n, m, x = len(totals), len(columns), values.astype(np.float64)
        if values.dtype == np.float64 and np.abs(x).min(initial=1.0) < SMALLEST:
            return None
        places, at, stops = np.empty(n * m, np.int32), np.empty(n * m, np.int64), np.empty(n, np.int64)
        n_shared = shared_entries(columns, row_columns, row_values, begins, ends, places, at, stops)
        y = row_values[at[:n_shared]].astype(np.float64)
        total = self._total(x)
        if isinstance(self._kernel, Hellinger):
            x, y = (np.copysign(np.abs(side) ** 0.5, side) for side in (x, y))
        logs = (self._log2(x), self._log2(y)) if self._takes_logs else (x, y)  # no value is zero
        out = np.empty(n)
        self._loop(x, logs[0], places, y, logs[1], stops, 0.0, out)
        if self._is_share:
            objective = self._formula.objective([out], [total], [totals])
            return objective if self._is_distance else self._cut(objective)
        if not self._is_normalized:
            return out
        roots = np.sqrt(totals)
        inverses = 1.0 / roots if roots.all() else np.divide(1.0, roots, out=np.zeros(n), where=roots > 0)
        value = out * ((1.0 / np.sqrt(total) if total > 0 else 0.0) * inverses)
        if not self._is_distance:
            return self._cut(value)
        return -np.maximum((total > 0) + (totals > 0).astype(np.float64) - 2 * value, 0.0)

    def _log2(self, values):
        return np.log2(np.abs(values) if self._signed else values)

    def _total(self, values):
        """K(x, x) of the query before the kernel is normalized, added up as scipy adds up a row."""
        if isinstance(self._kernel, (Linear, DotTanimoto)):
            values = values * values
        elif getattr(self._kernel, "signed", False):
            values = np.abs(values)
        return np.add.reduceat(values, _FIRST)[0] if len(values) else 0.0


_FIRST = np.zeros(1, dtype=np.int64)
