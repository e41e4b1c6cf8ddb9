"""What an act of the demo hands over: lines of a table, claims computed from them, pictures for the page."""

__all__ = ["Act", "Line", "milliseconds"]

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line of a table: on which data, by which method, which share was right and of how many, and what it cost.

    ``hits`` says of each question whether it was answered right, so that lines can be compared question by question.
    """

    data: str
    method: str
    hits: Any
    seconds: float
    n_bytes: int | None = None
    ours: bool = False

    @property
    def share(self) -> float:
        """The share that was right."""
        return float(self.hits.mean())

    def facts(self) -> dict[str, Any]:
        """The line for a JSON document."""
        low, high = interval(self)
        facts = {"data": self.data, "method": self.method, "right": self.share, "low": low, "high": high}
        return facts | {"questions": len(self.hits), "seconds": self.seconds, "bytes": self.n_bytes}


def interval(line: Line) -> tuple[float, float]:
    """The 95 % interval of the share."""
    from mercer._base.evaluation.intervals import wilson_interval

    return wilson_interval(line.share, len(line.hits))


def milliseconds(seconds: float) -> str:
    """A time for people, from microseconds to minutes.

    >>> milliseconds(0.000512), milliseconds(0.0321), milliseconds(6.5)
    ('0.51 ms', '32 ms', '6.5 s')
    """
    from mercer._base.progress import took

    return (
        took(seconds) if seconds >= 1 else f"{1e3 * seconds:.0f} ms" if seconds >= 0.01 else f"{1e3 * seconds:.2g} ms"
    )


@dataclass(frozen=True)
class Act:
    """A part of the demo.

    Attributes
    ----------
    title, about : what is shown, and on what
    columns : titles of the table, for those of ``cells``
    lines : the table
    headline : the figure to remember, and what it says
    claims : sentences, each computed from the lines
    pictures : (caption, pairs of a picture's URI and the words below it)
    cells : from a line to the text of the table
    snippet : code to try next
    """

    title: str
    about: str
    columns: tuple[str, ...] = ()
    lines: list[Line] = field(default_factory=list)
    headline: tuple[str, str] | None = None
    claims: list[str] = field(default_factory=list)
    pictures: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    cells: Callable[[Line], list[str]] | None = None
    snippet: str = ""

    def rows(self) -> list[list[str]]:
        """The table as text."""
        return [self.cells(line) for line in self.lines] if self.cells else []

    def facts(self) -> dict[str, Any]:
        """The act for a JSON document."""
        lines = [line.facts() for line in self.lines]
        return {"title": self.title, "about": self.about, "lines": lines, "claims": self.claims}
