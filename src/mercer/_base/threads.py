"""Threads, in one place: how many, and how work is spread over them.

Mercer's compiled loops are serial and release the GIL; parallel work is a list of independent blocks handed to a
thread pool here. Against numba's own ``prange`` this costs nothing measurable on blocks of a millisecond and buys
three things: loops compile in a fraction of the time, Ctrl-C takes effect between blocks, and calls from several user
threads (a web server, Dask, joblib) are safe, which numba's default threading layer is not.

Blocks are chosen by the caller and never depend on the number of threads, so results do not either.
"""

__all__ = ["effective_threads", "run_blocks", "run_row_blocks", "single_threaded", "thread_limit"]

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from mercer._base.errors import InputError
from mercer._base.progress import track

Block = TypeVar("Block")
Result = TypeVar("Result")

_limit: ContextVar[int | None] = ContextVar("mercer_thread_limit", default=None)
MOST_THREADS = 16  # unless there are more cores
_inside_worker = threading.local()
_single_lock = threading.Lock()
_single_limit: Any = None
_single_users = 0


def effective_threads(n_jobs: int | None = None) -> int:
    """Number of threads that ``n_jobs`` stands for.

    ``None`` means the limit in force: :func:`thread_limit`, else ``MERCER_NUM_THREADS``, else ``OMP_NUM_THREADS``
    (which joblib and Dask set in their workers), else every core this process may use. Negative values count from the
    end as in scikit-learn: -1 is every core, -2 all but one.
    """
    if getattr(_inside_worker, "active", False):
        return 1
    if n_jobs is None:
        return _limit.get() or _default_threads()
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0. Use 1 for a single thread, or -1 for all cores.")
    if n_jobs < 0:
        return max(1, _available_cores() + 1 + n_jobs)
    return min(int(n_jobs), max(MOST_THREADS, _available_cores()))  # a model's n_jobs may come from a file


def _available_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not offered by macOS and Windows
        return os.cpu_count() or 1


def _default_threads() -> int:
    for name in ("MERCER_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return _available_cores()


@contextmanager
def thread_limit(n_threads: int | None):
    """Run a block of code with at most ``n_threads`` threads in Mercer, BLAS, OpenMP and faiss alike.

    ``None`` changes nothing.

    Examples
    --------
    >>> from mercer import Chi2, thread_limit
    >>> with thread_limit(1):
    ...     Chi2()([[1.0, 1.0]]).tolist()
    [[2.0]]
    """
    if n_threads is None:
        yield
        return
    n_threads = effective_threads(n_threads)
    of_libraries = min(n_threads, _available_cores())  # each thread of theirs takes megabytes, used or not
    faiss = sys.modules.get("faiss")  # only a faiss already in use can have threads to limit
    faiss_before = faiss.omp_get_max_threads() if faiss else None
    token = _limit.set(n_threads)
    try:
        with _controller().limit(limits=of_libraries):
            if faiss:
                faiss.omp_set_num_threads(of_libraries)
            yield
    finally:
        _limit.reset(token)
        if faiss:
            faiss.omp_set_num_threads(faiss_before)


@contextmanager
def single_threaded():
    """One BLAS thread: eigh, svd, qr and products do not give the same bits on different numbers of threads.

    The limit is the process's, so threads that need it at the same time share it: the first sets it, the last lifts it.
    """
    global _single_limit, _single_users
    with _single_lock:
        if _single_users == 0:
            _single_limit = _controller().limit(limits=1)
        _single_users += 1
    try:
        yield
    finally:
        with _single_lock:
            _single_users -= 1
            if _single_users == 0:
                _single_limit.restore_original_limits()


def _controller():
    """threadpoolctl's view of the loaded libraries.

    Looking them up takes 10 ms, so the view is kept until a further module has been imported, which may have brought a
    BLAS or OpenMP of its own.
    """
    return _controller_after(len(sys.modules))


@lru_cache(maxsize=1)
def _controller_after(n_modules):
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def run_blocks(
    function: Callable[[Block], Result], blocks: Iterable[Block], n_jobs: int | None = None, title: str | None = None
) -> Sequence[Result]:
    """``[function(block) for block in blocks]``, spread over threads, results in the order of the blocks.

    The first exception, Ctrl-C included, cancels the blocks not yet started and is raised once the running ones have
    ended. A call from inside a block runs serially: the outer loop already uses every thread. With a ``title`` it is
    told how many blocks are done.
    """
    blocks = list(blocks)
    # what is said by the environment is looked up only if it matters
    n_threads = len(blocks) if len(blocks) <= 1 and n_jobs is None else min(effective_threads(n_jobs), len(blocks))
    if n_threads <= 1:
        return [function(block) for block in (blocks if title is None else track(blocks, title))]
    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="mercer", initializer=_mark_worker)
    try:
        futures = [pool.submit(function, block) for block in blocks]
        done: Iterable[Future[Result]] = (
            wait(futures, return_when=FIRST_EXCEPTION).done
            if title is None
            else track(as_completed(futures), title, total=len(futures))
        )
        for future in done:
            future.result()  # raises the first failure before the blocks behind it are waited for
        return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run_row_blocks(function: Callable[[slice], Result], n_rows: int, size: int, n_jobs: int | None = None):
    """Run ``function`` on slices of ``size`` rows, with one BLAS thread in each block.

    A threaded matrix product may give other last bits on another number of threads; products of fixed blocks do not.
    """
    blocks = [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    with single_threaded():
        return run_blocks(function, blocks, n_jobs)


def _mark_worker() -> None:
    _inside_worker.active = True
