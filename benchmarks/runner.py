"""Times several ways of doing one job, fairly: alternately, in one process, on the same number of threads.

A B A B ... with the order rotated each round, so that a slow minute of the machine or a warm cache falls on every side
alike. The best time is the one to compare: noise only ever adds. Every single time is kept.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Timing:
    """The times of one side in seconds, in the order they were taken."""

    times: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def spread(self) -> float:
        """(worst - best) / best: how much the machine disturbed this side."""
        return (max(self.times) - self.best) / self.best


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` measured.

    Parameters
    ----------
    timings : side -> its times
    errors : side -> the largest error its check reported, for the sides that have a check
    threads : the limit all sides ran under, None for no limit
    pools : the thread pools that were loaded, each with its number of threads
    """

    timings: dict[str, Timing]
    errors: dict[str, float] = field(default_factory=dict)
    threads: int | None = None
    pools: list[dict[str, Any]] = field(default_factory=list)

    def best(self, side: str) -> float:
        return self.timings[side].best

    def ratio(self, slow: str, fast: str) -> float:
        """How many times faster `fast` is than `slow`, by their best times."""
        return self.best(slow) / self.best(fast)


def compare(
    sides: Mapping[str, Callable[[], Any]],
    repeats: int = 5,
    warmup: int = 1,
    *,
    slow: Mapping[str, int] | None = None,
    checks: Mapping[str, Callable[[Any], float]] | None = None,
    threads: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Time the sides alternately.

    Parameters
    ----------
    sides : name -> the job as a callable without arguments
    repeats : timed rounds
    warmup : untimed rounds before them (compilation, page faults, thread pools)
    slow : side -> its own, smaller number of timed rounds, without warm-up; for a side that takes minutes
    checks : side -> called with every result of that side, outside the clock; returns the error, raises WrongResult
    threads : limit for Mercer, BLAS, OpenMP, faiss and numba alike
    clock : where the time comes from
    """
    slow, checks = dict(slow or {}), dict(checks or {})
    for name in [*slow, *checks]:
        if name not in sides:
            raise KeyError(f"compare() was told about a side {name!r} that is not among {list(sides)}.")
    times: dict[str, list[float]] = {name: [] for name in sides}
    errors: dict[str, float] = {}

    def run(name: str, timed: bool) -> None:
        start = clock()
        result = sides[name]()
        seconds = clock() - start
        if timed:
            times[name].append(seconds)
        if name in checks:
            errors[name] = max(errors.get(name, 0.0), float(checks[name](result)))

    with limited_threads(threads):
        for _ in range(warmup):
            for name in sides:
                if name not in slow:
                    run(name, timed=False)
    # the limit is set again: a thread pool first loaded by a warm-up was not there to be limited before
    with limited_threads(threads), _no_garbage_collection():
        for number in range(repeats):
            for name in _rotated(list(sides), number):
                if number < slow.get(name, repeats):
                    run(name, timed=True)
        pools = _thread_pools()
    return Comparison({name: Timing(tuple(taken)) for name, taken in times.items()}, errors, threads, pools)


def _rotated(names: list[str], by: int) -> list[str]:
    by %= len(names)
    return names[by:] + names[:by]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def limited_threads(n_threads: int | None) -> Iterator[None]:
    """At most `n_threads` threads in everything that is loaded; None changes nothing."""
    if n_threads is None:
        yield
        return
    from mercer import thread_limit

    with thread_limit(n_threads):
        numba = sys.modules.get("numba")
        # asking numba for its setting would start its threads, so it is only asked where the limit binds
        if numba is None or n_threads >= numba.config.NUMBA_NUM_THREADS:
            yield
            return
        before = numba.get_num_threads()
        numba.set_num_threads(n_threads)
        try:
            yield
        finally:
            numba.set_num_threads(before)


def _thread_pools() -> list[dict[str, Any]]:
    from threadpoolctl import threadpool_info

    pools = [{"library": pool["internal_api"], "threads": pool["num_threads"]} for pool in threadpool_info()]
    return sorted(pools, key=lambda pool: (pool["library"], pool["threads"]))
