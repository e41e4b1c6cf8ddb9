"""Checks of results, run outside the clock, so that a fast side that is wrong is caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class WrongResult(Exception):
    """A side computed something else than the job; its time means nothing."""


@dataclass(frozen=True)
class Matches:
    """The named rows of a result agree with an oracle; returns the largest absolute error.

    Parameters
    ----------
    expected : array, the oracle's rows
    rows : which rows of the result these are
    tolerance : largest absolute error that is accepted
    read : turns the rows of a result into the oracle's quantity, for a rival that returns another form of it
    """

    expected: Any
    rows: Any
    tolerance: float
    read: Callable[[Any], Any] | None = None

    def __call__(self, result: Any) -> float:
        import numpy as np

        found = np.asarray(result[self.rows], dtype=np.float64)
        if self.read is not None:
            found = self.read(found)
        error = float(np.abs(found - self.expected).max())
        if not error <= self.tolerance:  # written so that NaN is refused too
            raise WrongResult(f"The largest error is {error:.3g}; at most {self.tolerance:.3g} was expected.")
        return error
