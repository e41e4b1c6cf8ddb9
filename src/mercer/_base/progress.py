"""Progress of long loops, reported to whoever asked to see it.

The library only says how far it is (:func:`track`); a display is installed with :func:`show_progress`, as the command
line does, or by ``verbose=1`` of an estimator (:func:`told`). Without a display the loops are silent apart from one
debug line on the ``mercer`` logger.

On a terminal the display is a bar. Elsewhere, in a log or a notebook's server, it is a line every few seconds, which
has the open loops from the outermost to the innermost, and the time that the outermost is likely to take still:

    mercer: Cross-validation 40% (2 of 5), Dual coordinate descent 12 steps; 0:35 left

The first step may compile loops, which no other does again, so time left is reckoned from the steps after it, once
these are a few percent of all or have taken some seconds.
"""

__all__ = ["LineProgress", "ProgressDisplay", "show_progress", "told", "took", "track"]

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
logger = logging.getLogger("mercer")
SECONDS = 5.0  # between two lines
LEAST_SHARE, LEAST_SECONDS = 0.05, 10.0  # of the steps after the first, from either of which on they tell a time left


class ProgressDisplay(Protocol):
    """What a display must offer; the methods mirror ``rich.progress.Progress``, which fits as it is."""

    def add_task(self, description: str, *, total: float | None) -> Any: ...

    def advance(self, task: Any, advance: float = 1) -> None: ...

    def remove_task(self, task: Any) -> None: ...


_display: ContextVar[ProgressDisplay | None] = ContextVar("mercer_progress", default=None)


@contextmanager
def show_progress(display: ProgressDisplay):
    """Send the progress of everything run inside the ``with`` block to ``display``."""
    token = _display.set(display)
    try:
        yield display
    finally:
        _display.reset(token)


@contextmanager
def told(verbose):
    """Show progress on standard error while the block runs, if ``verbose`` asks for it and no display does yet."""
    if not verbose or _display.get() is not None or sys.stderr is None:
        yield
        return
    if not sys.stderr.isatty():
        with show_progress(LineProgress()):
            yield
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as display, show_progress(display):
        yield


@dataclass(eq=False)
class _Loop:
    """A loop that goes on: what it does, of how many steps, how many are done, and when it began; and the same two of
    the end of its first step.
    """

    description: str
    total: float | None
    done: float
    start: float
    first: float = 0.0
    first_end: float = 0.0

    def __str__(self):
        if not self.total:
            return f"{self.description} {self.done:g} step{'s' * (self.done != 1)}"
        return f"{self.description} {self.done / self.total:.0%} ({self.done:g} of {self.total:g})"


class LineProgress:
    """A display for a standard error that is no terminal: a line every few seconds, and none for what is quicker.

    Parameters
    ----------
    write : function of a line; None writes to the standard error
    clock : function that gives seconds
    """

    def __init__(self, write=None, clock=time.monotonic):
        self._write, self._clock = _to_standard_error if write is None else write, clock
        self._loops: list[_Loop] = []
        self._last = clock()

    def add_task(self, description: str, *, total: float | None) -> _Loop:
        """A loop begins."""
        loop = _Loop(description, total, 0, self._clock())
        if not self._loops:
            self._last = loop.start
        self._loops.append(loop)
        return loop

    def advance(self, task: _Loop, advance: float = 1) -> None:
        """A step is done; a line is written if the last one is some time ago."""
        now = self._clock()
        if not task.done:
            task.first, task.first_end = advance, now
        task.done += advance
        if now - self._last >= SECONDS:
            self._last = now
            self._write(f"mercer: {', '.join(map(str, self._loops))}; {_time_left(self._loops[0], now)}\n")

    def remove_task(self, task: _Loop) -> None:
        """A loop has ended."""
        self._loops.remove(task)


def _time_left(loop, now):
    """What is left of a loop if the rest goes as what is done; how long it has taken, where that cannot be told."""
    done, taken = loop.done - loop.first, now - loop.first_end
    if not loop.total or not done or (done < LEAST_SHARE * loop.total and taken < LEAST_SECONDS):
        return f"{_minutes(now - loop.start)} elapsed"
    return f"{_minutes(taken * max(loop.total - loop.done, 0) / done)} left"


def _minutes(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _to_standard_error(line):
    sys.stderr.write(line)
    sys.stderr.flush()


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, telling the display after each one. Leaving the loop early tidies up."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    display = _display.get()
    logger.debug("%s: %s steps", description, "?" if total is None else total)
    if display is None:
        yield from items
        return
    task = display.add_task(description, total=total)
    try:
        for item in items:
            yield item
            display.advance(task)
    finally:
        display.remove_task(task)


def took(seconds: float) -> str:
    """Seconds in words.

    >>> took(0.1234), took(12.3)
    ('0.12 s', '12 s')
    """
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
