"""Progress of long loops, reported to whoever asked to see it.

The library only says how far it is (:func:`track`); a display is installed with :func:`show_progress`, as the command
line does. Without a display the loops are silent apart from one debug line on the ``mercer`` logger.
"""

__all__ = ["ProgressDisplay", "show_progress", "track"]

import logging
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
logger = logging.getLogger("mercer")


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
