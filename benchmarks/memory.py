"""Peak memory of one call, measured in a process of its own.

The child is spawned, not forked: a fork of a process whose OpenMP pool has run may hang, and it would inherit the
parent's peak.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def peak_memory(
    function: Callable[..., Any], setup: Callable[[], tuple] | None = None, warmup: int = 1, timeout: float = 600
) -> int:
    """Bytes that ``function(*setup())`` needs at its peak beyond what was there before, its result included.

    Both callables are defined at the top of a module, so that the child can import them. `warmup` calls go first, so
    that compiled code and thread pools are not counted; what they leave behind is returned to the system.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply_async(_peak_in_child, (function, setup, warmup)).get(timeout)


def _peak_in_child(function: Callable[..., Any], setup: Callable[[], tuple] | None, warmup: int) -> int:
    arguments = setup() if setup else ()
    for _ in range(warmup):
        function(*arguments)
    gc.collect()
    _return_free_memory()
    before = _reset_peak()
    result = function(*arguments)
    extra = _peak_bytes() - before
    del result
    return max(0, extra)


def _return_free_memory() -> None:
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
        if trim:
            trim(0)


def _reset_peak() -> int:
    """Set the peak back to what is in use now, where the system can, and return it."""
    with suppress(OSError):  # not Linux, or not permitted: an earlier, higher peak then hides part of the call's
        Path("/proc/self/clear_refs").write_text("5")
    return _peak_bytes()


def _peak_bytes() -> int:
    if sys.platform == "linux":
        # not ru_maxrss: it survives exec, and so begins at the size of the parent process
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split(maxsplit=1)[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
