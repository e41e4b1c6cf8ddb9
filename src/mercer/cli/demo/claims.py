"""Sentences that follow from numbers: the figures of a run decide every word in them."""

__all__ = ["HOW", "Difference", "best", "compared", "difference", "faster"]

from collections.abc import Iterable
from dataclasses import dataclass

from mercer.cli.demo.act import Line

ERRORS = 2.0  # standard errors of a difference that may be chance
HOW = f"± is the standard error of a difference; differences up to {ERRORS:g} standard errors are called level."


@dataclass(frozen=True)
class Difference:
    """How far one method is ahead of another on the same questions, in points, with the standard error."""

    points: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether chance is an unlikely reason."""
        return abs(self.points) > ERRORS * self.error

    @property
    def words(self) -> str:
        """The difference in words: ahead of, behind, or level with."""
        if not self.is_clear:
            return "level with"
        return f"{abs(self.points):.1f} points {'ahead of' if self.points > 0 else 'behind'}"


def difference(ours: Line, theirs: Line) -> Difference:
    """Of two methods that answered the same questions, with the standard error of paired answers."""
    each = ours.hits.astype(float) - theirs.hits
    return Difference(100 * float(each.mean()), 100 * float(each.std()) / len(each) ** 0.5)


def compared(ours: Line, theirs: Line) -> str:
    """One method beside another.

    >>> import numpy as np
    >>> right, wrong = Line("", "A", np.ones(100, bool), 1.0), Line("", "B", np.zeros(100, bool), 1.0)
    >>> compared(wrong, right)
    'B is 100.0 points behind A (0.0 % beside 100.0 %, ± 0.0)'
    """
    found = difference(ours, theirs)
    shares = f"{100 * ours.share:.1f} % beside {100 * theirs.share:.1f} %"
    return f"{ours.method} is {found.words} {theirs.method} ({shares}, ± {found.error:.1f})"


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
