"""Other tools at Mercer's jobs, each in a process of its own: what it answers, its time and its peak memory.

A job is a function at the top of a module, called in a new process. It prepares itself untimed, and measures its parts:

    def job(parts, ...):
        ...load, choose parameters...
        with parts.part("fit"): ...
        with parts.part("predict"): ...
        return answers

A package that is not installed is an answer too: :data:`MISSING`.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from benchmarks.memory import _peak_bytes, _reset_peak, _return_free_memory

MISSING = "not installed"
logger = logging.getLogger("mercer.benchmarks")
TIMEOUT = 1200


@dataclass
class Measured:
    """What a job came to: answers, seconds of each part, and the megabytes at its peak over what was there before."""

    answers: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    megabytes: float = 0.0
    problem: str | None = None


class Parts:
    """Handed to a job: measures its parts."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self.peak = 0
        self._before: int | None = None

    @contextmanager
    def part(self, name: str):
        """Time a part; memory that the first part began with does not count."""
        if self._before is None:
            gc.collect()
            _return_free_memory()
            self._before = _reset_peak()
        start = time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start
        self.peak = max(self.peak, _peak_bytes() - self._before)


def version_of(package: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def measure(job, package: str, *arguments, threads: int = 1, timeout: float = TIMEOUT) -> Measured:
    """Run ``job(parts, *arguments)`` in a new process that has so many threads, and so many seconds."""
    if version_of(package) is None:
        logger.info("%s is not installed", package)
        return Measured(problem=MISSING)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            found = pool.submit(_in_child, job, arguments, threads).result(timeout)
        except BrokenProcessPool:  # a peer that takes its process with it must not take ours
            found = Measured(problem="its process died")
    logger.info("%s: %s", arguments[0], found.problem or found.seconds)
    return found


def _in_child(job, arguments, threads) -> Measured:
    from benchmarks.runner import limited_threads

    parts = Parts()
    try:
        with limited_threads(threads):
            answers = job(parts, *arguments)
    except (ImportError, MemoryError, ValueError, TypeError) as error:  # what a peer cannot do belongs into the table
        return Measured(problem=f"{type(error).__name__}: {str(error).splitlines()[0][:120]}")
    return Measured(answers, parts.seconds, parts.peak / 1e6)
