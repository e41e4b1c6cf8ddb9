"""What a paper claims, beside what stored results say of it: held, not held, or open.

The file verdicts.py in the folder of each paper lists the claims of its abstract, tables, figures and conclusion. Our
numbers are read from stored results, and the verdict is a function of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.sheet import Sheet

HELD, NOT_HELD, OPEN = "held", "**not held**", "open"
NOT_MEASURED = "not measured"
COLUMNS = ("published", "found", "verdict", "why")


class Verdicts:
    """The claims of one paper, to be laid out as a table."""

    def __init__(self):
        self._rows: list[tuple[str, list[tuple[None, str]]]] = []

    def claim(
        self,
        what: str,
        published: str,
        form: str,
        values: Sequence[Any] = (),
        holds: Callable[..., bool | None] | bool | None = None,
        why: str = "",
    ) -> None:
        """One row.

        Parameters
        ----------
        what : the claim
        published : what the paper says, in its numbers
        form : a format of what we find
        values : what is put into it; if one is None, the claim is not measured and open
        holds : whether the claim is held, as a function of the values, or as it is known without them; None is open
        why : whose scheme it is where it is not the paper's, and what explains the difference
        """
        missing = any(value is None for value in values)
        found = NOT_MEASURED if missing else form.format(*values)
        verdict = None if missing else holds(*values) if callable(holds) else holds
        told = {True: HELD, False: NOT_HELD, None: OPEN}[verdict if verdict is None else bool(verdict)]
        self._rows.append((what, [(None, cell) for cell in (published, found, told, why)]))

    def lay_out(self, sheet: Sheet) -> None:
        sheet.grid("Claims and verdicts", COLUMNS, self._rows, corner="claim")
        sheet.remark(
            "Held, not held and open are judged from the stored numbers: open is what differs by less than its error, "
            "what needs data that is not at hand, or what nobody has measured."
        )


def clearly(ratio: float) -> bool | None:
    """Whether a ratio is above 1 by more than the tenth that single timings differ by."""
    return None if 0.9 < ratio < 1.1 else ratio > 1


def by_points(least: float) -> Callable[[float], bool | None]:
    """Whether a difference in points is positive, open if it is smaller than its standard error."""
    return lambda difference: None if abs(difference) < least else difference > 0


def less(left: float | None, right: float | None) -> float | None:
    """A difference, None if a side is missing."""
    return None if left is None or right is None else left - right


def over(left: float | None, right: float | None) -> float | None:
    """A ratio, None if a side is missing."""
    return None if left is None or right is None else left / right
