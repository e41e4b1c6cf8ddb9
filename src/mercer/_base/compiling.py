"""A word when loops are compiled: once in a process, and only if it takes long enough for somebody to wonder."""

__all__ = ["announce_compilation"]

import logging
import sys
import threading
import time

LONG = 1.5  # seconds of compilation after which something is said
WORD = (
    "Compiling loops for this processor. This happens on first use only; later runs load the compiled code from disk."
)
logger = logging.getLogger("mercer")


class Announcer:
    """Listens to numba: compilations of loops of Mercer, one inside the other, begin and end.

    Parameters
    ----------
    say : function without arguments, called once
    long : seconds of compilation before that
    """

    def __init__(self, say, long=LONG):
        self._say, self._long = say, long
        self._depth, self._seconds, self._begun = 0, 0.0, 0.0
        self._timer = None
        self._has_said = False

    def begin(self):
        """A compilation begins; numba does one at a time."""
        self._depth += 1
        if self._depth > 1 or self._has_said:
            return
        self._begun = time.monotonic()
        self._timer = threading.Timer(max(self._long - self._seconds, 0.0), self._tell)
        self._timer.daemon = True
        self._timer.start()

    def end(self):
        """A compilation has ended."""
        self._depth -= 1
        if self._depth or self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._seconds += time.monotonic() - self._begun

    def _tell(self):
        if not self._has_said:
            self._has_said = True
            self._say()


def announce_compilation():
    """From now on, tell the log that loops are compiled: a warning if somebody waits, otherwise information."""
    from numba.core import event

    announcer = Announcer(_say)

    class Listener(event.Listener):
        def on_start(self, event):
            if _is_ours(event):
                announcer.begin()

        def on_end(self, event):
            if _is_ours(event):
                announcer.end()

    event.register("numba:compile", Listener())


def _is_ours(event):
    return str(event.data["dispatcher"].py_func.__module__).startswith("mercer.")


def _say():
    logger.log(logging.WARNING if _is_watched() else logging.INFO, WORD)


def _is_watched():
    """Whether a person looks at the standard error: a terminal, or a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
