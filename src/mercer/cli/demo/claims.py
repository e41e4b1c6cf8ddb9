"""Sentences computed from the numbers of a run, losses included."""

__all__ = ["HOW", "Difference", "best", "capital", "compared", "difference", "faster"]

from collections.abc import Iterable
from dataclasses import dataclass

from mercer.cli.demo.act import Line

ERRORS = 2.0  # standard errors of a difference that may be chance
HOW = f"± is the standard error of the difference. A difference of up to {ERRORS:g} standard errors counts as noise."


@dataclass(frozen=True)
class Difference:
    """How far one method beats another on the same questions, in percentage points, with the standard error."""

    points: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether the difference is larger than noise."""
        return abs(self.points) > ERRORS * self.error

    def sentence(self, ours: str, theirs: str) -> str:
        """The difference in words: one beats the other, trails it, or the difference is noise."""
        if not self.is_clear:
            return f"{ours} is within noise of {theirs}"
        return f"{ours} {'beats' if self.points > 0 else 'trails'} {theirs} by {abs(self.points):.1f} points"


def difference(ours: Line, theirs: Line) -> Difference:
    """Of two methods that answered the same questions, with the standard error of paired answers."""
    each = ours.hits.astype(float) - theirs.hits
    return Difference(100 * float(each.mean()), 100 * float(each.std()) / len(each) ** 0.5)


def compared(ours: Line, theirs: Line, name: str | None = None) -> str:
    """One method beside another, which is called ``name`` if that is given.

    >>> import numpy as np
    >>> right, wrong = Line("", "A", np.ones(100, bool), 1.0), Line("", "B", np.zeros(100, bool), 1.0)
    >>> compared(wrong, right)
    'B trails A by 100.0 points (0.0 % vs 100.0 %, ± 0.0)'
    """
    found = difference(ours, theirs)
    shares = f"{100 * ours.share:.1f} % vs {100 * theirs.share:.1f} %"
    return f"{found.sentence(ours.method, name or theirs.method)} ({shares}, ± {found.error:.1f})"


def capital(words: str) -> str:
    """Words as the beginning of a sentence; what follows the first letter stays as it is.

    >>> capital("exact chi2 beats SVC")
    'Exact chi2 beats SVC'
    """
    return words[:1].upper() + words[1:]


def best(lines: Iterable[Line]) -> Line:
    """The line with the largest share; of equals the quickest."""
    return max(lines, key=lambda line: (line.share, -line.seconds))


def faster(ours: float, theirs: float) -> str:
    """A ratio of times in words.

    >>> faster(1.0, 50.0), faster(3.0, 1.0), faster(1.0, 1.02)
    ('50 times faster than', '3 times slower than', 'as fast as')
    """
    ratio = max(ours, theirs) / min(ours, theirs)
    if ratio < 1.1:
        return "as fast as"
    times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
    return f"{times} times {'faster' if ours < theirs else 'slower'} than"
