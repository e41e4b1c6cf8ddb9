"""How busy other processes keep the machine; what belongs to the measurement itself does not count.

To a measurement belong its process and all below it: children that still run, those that have ended, theirs, and
servers that detached themselves. These last are below nobody once their parent has ended, unless somebody adopts them:
a campaign does, and tells its benchmarks by OF_CAMPAIGN that all below the campaign is theirs.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

OF_CAMPAIGN = "MERCER_BENCH_ALL"  # environment variable: the id of the process whose family belongs together
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux
_LOOK = 0.2  # seconds between two looks at the processes of a family


class Busy:
    """What others use of the processor, from its construction on."""

    def __init__(self):
        self._start = _busy_seconds(), _own_seconds(), time.perf_counter()

    def elsewhere(self) -> float | None:
        """Cores that others kept busy; unlike the load average, since then and nothing else. None: not known."""
        busy, own, clock = self._start
        busy_now = _busy_seconds()
        if busy is None or busy_now is None:
            return None
        seconds = max(time.perf_counter() - clock, 1e-9)
        return round(max(0.0, (busy_now - busy) - (_own_seconds() - own)) / seconds, 2)


def busy_elsewhere(seconds: float = 2.0) -> tuple[float, list[tuple[str, float]]]:
    """Cores that others keep busy, and the processes behind it as (name and id, cores), the busiest first.

    The cores include what begins and ends meanwhile, as the steps of a build do; the list does not.
    """
    busy, before = Busy(), _processes()
    time.sleep(seconds)
    cores, after = busy.elsewhere(), _processes()
    own = _family(after)
    used = {f"{one.name} ({pid})": (one.seconds - before[pid].seconds) / seconds for pid, one in after.items()
            if pid in before and pid not in own}  # fmt: skip
    found = sorted(((who, share) for who, share in used.items() if share > 0.05), key=lambda one: -one[1])
    return (sum(used.values()) if cores is None else cores), found


class Family:
    """All that a command starts, until :meth:`wait` or :meth:`end` returns: then nothing of it is left.

    Orphans are adopted, and waited for as soon as they end, as the first process of a system does.
    """

    def __init__(self, command: list[str], folder: Path):
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
        self._before = set(_below(os.getpid(), _processes()))
        self._process = subprocess.Popen(command, cwd=folder, env=os.environ | {OF_CAMPAIGN: str(os.getpid())})

    def wait(self, seconds: float) -> int:
        """The exit code of the command; ends it and raises TimeoutExpired after so many seconds."""
        end = time.monotonic() + seconds
        while self._process.poll() is None:
            if time.monotonic() >= end:
                self.end()
                raise subprocess.TimeoutExpired(self._process.args, seconds)
            self._bury()
            time.sleep(_LOOK)
        self._end_others()
        return self._process.returncode

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._end_others()

    def _bury(self) -> None:
        """Wait for orphans that have ended; the command itself is left to Popen."""
        if sys.platform != "linux":
            return
        with suppress(ChildProcessError):  # there is none left
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if found.si_pid == self._process.pid:
                    return
                os.waitpid(found.si_pid, 0)

    def _end_others(self, patience: float = 10.0) -> None:
        """A server that outlives its benchmark would disturb the next one."""
        if sys.platform != "linux":
            return
        started = time.monotonic()
        while left := set(_below(os.getpid(), _processes())) - self._before:
            if (taken := time.monotonic() - started) > 2 * patience:
                return
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM if taken < patience else signal.SIGKILL)
            self._bury()
            time.sleep(_LOOK)


@dataclass(frozen=True)
class _Process:
    parent: int
    name: str
    seconds: float
    seconds_of_children: float


def _processes() -> dict[int, _Process]:
    """Every process by its id; empty where the system does not tell."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            pid, rest = stat.read_text().split(" (", 1)
            name, _, rest = rest.rpartition(") ")
            fields = rest.split()
            ticks = [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]
            found[int(pid)] = _Process(int(fields[1]), name, ticks[0] + ticks[1], ticks[2] + ticks[3])
    return found


def _below(top: int, processes: dict[int, _Process]) -> list[int]:
    """Ids of the children of a process, of their children, and so on."""
    children: dict[int, list[int]] = {}
    for pid, one in processes.items():
        children.setdefault(one.parent, []).append(pid)
    found = [top]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def _family(processes: dict[int, _Process]) -> set[int]:
    """The ids of all that belongs to this measurement."""
    top = int(os.environ.get(OF_CAMPAIGN, os.getpid()))
    found = {top, *_below(top, processes)}
    return found if os.getpid() in found else {os.getpid(), *_below(os.getpid(), processes)}


def _own_seconds() -> float:
    """Processor seconds of the family, those of its processes included that have ended."""
    processes = _processes()
    family = [processes[pid] for pid in _family(processes) if pid in processes]
    return sum(one.seconds + one.seconds_of_children for one in family)


def _busy_seconds() -> float | None:
    """Processor seconds that all processes of the machine have used; None where the system does not tell."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, kernel = (int(field) for field in stat.read_text().split(maxsplit=4)[1:4])
    return (user + nice + kernel) / os.sysconf("SC_CLK_TCK")
