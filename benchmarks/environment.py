"""Where and when a result was measured: versions, processor, threads, memory, load, commit, date.

No host names and no paths: results are committed.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.load import Busy

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu")
_ROOT = Path(__file__).parents[1]
# results are written by the run itself; neither they nor words about them make the measured code another one
_NOT_CODE = (":(exclude)benchmarks/results", ":(exclude)docs", ":(exclude)*.md")


class Watch:
    """The environment of one run, from its construction to :meth:`describe`."""

    def __init__(self, threads: int):
        self._threads = threads
        self._load = _load_average()
        self._busy = Busy()

    def describe(self) -> dict[str, Any]:
        """Everything a reader needs in order to judge or repeat the numbers."""
        return {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "versions": _versions(),
            "cpu": processor(),
            "cores": _cores(),
            "threads": self._threads,
            "memory_gib": _memory_gib(),
            "system": platform.system(),
            "load_at_start": self._load,
            "load_at_end": _load_average(),
            "cores_busy_elsewhere": self._busy.elsewhere(),
            "commit": code_commit(),
            "dirty": _is_dirty(),
        }


def _versions() -> dict[str, str | None]:
    import mercer

    versions: dict[str, str | None] = {"python": platform.python_version(), "mercer": mercer.__version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions


def processor() -> str:
    """The model of the processor, with its widest instruction set."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return _with_instruction_set(line.split(":", 1)[1].strip())
    return _with_instruction_set(platform.processor() or platform.machine())


def _with_instruction_set(model: str) -> str:
    """Virtual machines hide the model, but not what the compiler makes of it."""
    from llvmlite.binding import get_host_cpu_name

    return f"{model} ({get_host_cpu_name()})"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):  # not offered on this system
        return None


def _load_average() -> list[float] | None:
    return [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):  # no git, or a repository that does not answer
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def code_commit() -> str | None:
    """The last commit that changed anything but results, so that committing a result is no new code."""
    return _git("log", "-1", "--format=%H", "--", ".", *_NOT_CODE)


def committed_code() -> str | None:
    """The commit of the code that runs, None if it has changes that are not committed."""
    return None if _is_dirty() is not False else code_commit()


def is_in_history(commit: str | None) -> bool:
    return commit is not None and _git("merge-base", "--is-ancestor", commit, "HEAD") is not None


def machine() -> dict[str, Any]:
    """What two records must share to be compared: processor, cores, and the versions of other packages."""
    versions = {name: version for name, version in _versions().items() if name != "mercer"}
    return {"cpu": processor(), "cores": _cores(), "versions": versions}


def _is_dirty() -> bool | None:
    status = _git("status", "--porcelain", "--", ".", *_NOT_CODE)
    return None if status is None else bool(status)
