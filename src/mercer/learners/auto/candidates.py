"""What may be tried on given rows: scalings of the columns, kernels, and widths around the mean distance.

The rows decide what is possible: histogram kernels need values >= 0, sparse rows stay sparse. Targets are not looked
at here; which of the candidates is good, trials tell.
"""

__all__ = ["Candidate", "Family", "families"]

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mercer.kernels import RBF, Chi2, ExpChi2, Intersection, JensenShannon, Kernel, Laplacian, Linear
from mercer.kernels.exponential import ExponentialKernel
from mercer.kernels.widths import resolve_kernel
from mercer.learners.auto.scaling import ColumnScaling

ANY_SIGN = (Linear(), RBF(), Laplacian())
NON_NEGATIVE = (Chi2(), Intersection(), JensenShannon(), ExpChi2())
DISTANCE_ROWS = 400  # rows whose mean distance is the unit of widths
FIRST_WIDTHS = (0.5, 4.0)  # gamma times the mean distance
WIDTH_STEP = 8.0**0.5  # between neighbors, once the first are known


@dataclass(frozen=True)
class Candidate:
    """One way to compare rows.

    Parameters
    ----------
    family : Family
    width : gamma times the mean distance between rows, or None for a kernel without a width
    """

    family: "Family"
    width: float | None

    @property
    def kernel(self) -> Kernel:
        """The kernel of scaled rows."""
        family = self.family
        return family.kernel if self.width is None else replace(family.kernel, gamma=self.width * family.natural_width)

    def neighbors(self):
        """The candidates with the next smaller and the next larger width."""
        if self.width is None:
            return []
        return [replace(self, width=self.width / WIDTH_STEP), replace(self, width=self.width * WIDTH_STEP)]


@dataclass(frozen=True, eq=False)
class Family:
    """A scaling and a kernel, whose width is open.

    Parameters
    ----------
    scaling : fitted ColumnScaling
    kernel : Kernel; of an exponential one, gamma may be open (None)
    rows : scaled rows of which distances are taken
    """

    scaling: ColumnScaling
    kernel: Any
    rows: Any

    @cached_property
    def natural_width(self) -> float:
        """1 over the mean of D between different rows, for kernels exp(-gamma D)."""
        return float(self.kernel.natural_width(self.rows[:DISTANCE_ROWS].astype(np.float64), None))

    def candidates(self):
        """The first candidates of the family."""
        if isinstance(self.kernel, ExponentialKernel) and self.kernel.gamma is None:
            return [Candidate(self, width) for width in FIRST_WIDTHS]
        return [Candidate(replace(self, kernel=resolve_kernel(self.kernel, self.rows)), None)]

    def weighed(self, weights, sample):
        """The same with other weights of the columns; ``sample`` are raw rows."""
        scaling = self.scaling.weighed(weights)
        return Family(scaling, self.kernel, scaling.of_validated(sample))


def families(X, sample, kernels=None, scalings=None):
    """The families that are possible for rows X.

    Parameters
    ----------
    X : validated rows
    sample : some of them
    kernels, scalings : what the caller has fixed, else None
    """
    found = []
    for kind in _scalings(X) if scalings is None else scalings:
        scaling = ColumnScaling(kind).fit_validated(X)
        rows = scaling.of_validated(sample)
        possible = ANY_SIGN + (NON_NEGATIVE if _least(rows) >= 0 and kind != "standard" else ())
        found += [Family(scaling, kernel, rows) for kernel in (possible if kernels is None else kernels)]
    return found


def _scalings(X):
    is_non_negative = _least(X) >= 0
    if sparse.issparse(X):
        return ["none", "unit", *(["rows"] if is_non_negative else [])]
    return ["unit", "standard", "ranks", *(["none", "rows"] if is_non_negative else [])]


def _least(X):
    return X.data.min(initial=0.0) if sparse.issparse(X) else X.min()
