"""Memory: how much there is, and how many rows of a large temporary array may exist at once.

The limit of temporary arrays is scikit-learn's (``sklearn.set_config(working_memory=...)``, in MiB), so one setting
serves both.
"""

__all__ = ["available_memory", "row_chunks"]

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def available_memory() -> int:
    """Bytes that this process may still take without swapping, as far as the system tells."""
    limits = [_system_memory()]
    limit, used = (Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory.current"))
    with suppress(OSError, ValueError):  # there may be no control group, or one without a limit
        limits.append(int(limit.read_text()) - int(used.read_text()))
    return max(0, min(limits))


def row_chunks(n_rows: int, bytes_per_row: float, multiple_of: int = 1, most: int | None = None) -> Iterator[slice]:
    """Slices of consecutive rows whose temporary results fit in the working memory, each at least one row.

    Boundaries depend on the sizes and the limit only, never on the number of threads.

    >>> list(row_chunks(5, bytes_per_row=1, most=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    from sklearn import get_config

    budget = get_config()["working_memory"] * 2**20
    step = max(1, int(budget / max(1.0, bytes_per_row)))
    if most is not None:
        step = min(step, most)
    if step > multiple_of:
        step -= step % multiple_of
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _system_memory():
    with suppress(OSError, StopIteration):  # other systems have no such file
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return 2**32
