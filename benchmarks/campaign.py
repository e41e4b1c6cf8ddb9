"""Every record anew: of one commit, on one idle machine, one benchmark after the other, the short ones first.

``python -m benchmarks all`` can be stopped at any time and goes on where it was stopped: a record of the code, machine
and versions of today is not measured again. Each benchmark has a process of its own. Its record is written when it is
complete; one during which others disturbed the machine is marked, and the benchmark is run again at the end. ``--only``
names the benchmarks that count, and ``--limit`` ends the run once so many minutes are over.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import environment
from benchmarks.registry import RESULTS, ROOT, Benchmark, write_pages
from benchmarks.report import load_result
from benchmarks.state import QUIET, is_disturbed, to_measure

REPEATS = 2  # of what was disturbed
PATIENCE = 900.0  # seconds to wait between two benchmarks until the machine is idle
_KEPT = "What was measured is kept; `make bench-all` goes on."


@dataclass(frozen=True)
class Due:
    """A benchmark, how long it took last time (None: never run), and why it is to be run; no reason: it is current."""

    name: str
    seconds: float | None
    reasons: list[str]


class Stopped(Exception):
    """Why the run ends before all is measured, a sentence for the user, and the exit code."""

    def __init__(self, sentence: str, code: int = 1):
        super().__init__(sentence)
        self.code = code


def planned(benchmarks: dict[str, Benchmark], results: Path = RESULTS, only: Sequence[str] = ()) -> list[Due]:
    """All benchmarks, or those of these names: the short ones first and those that were never run at the end."""
    here, found = environment.machine(), []
    for name in only or benchmarks:
        benchmark = benchmarks[name]
        result = _result(name, results)
        seconds = None if result is None or result["quick"] else result["seconds"]
        found.append(Due(name, seconds, to_measure(benchmark, result, here)))
    return sorted(found, key=lambda due: (due.seconds is None, due.seconds or 0.0, due.name))


def listed(plan: list[Due]) -> str:
    """What would be run, in this order: how long it took last time, when it would be ready, and why it is run."""
    due = [one for one in plan if one.reasons]
    width = max((len(one.name) for one in due), default=0)
    lines = [f"{'takes':>9} {'ready at':>9}"] if due else []
    ready = 0.0
    for one in due:
        ready += one.seconds or 0.0
        at = "" if one.seconds is None else _duration(ready)
        lines.append(f"{_duration(one.seconds):>9} {at:>9}  {one.name:{width}}  {', '.join(one.reasons)}")
    known = sum(one.seconds or 0.0 for one in due)
    new = sum(one.seconds is None for one in due)
    lines.append(f"{_duration(known):>9} for {len(due) - new} records, and {new} that were never run; "
                 f"{len(plan) - len(due)} are current.")  # fmt: skip
    return "\n".join(lines)


def run_all(
    benchmarks: dict[str, Benchmark],
    results: Path = RESULTS,
    run: Callable[[str], int] | None = None,
    *,
    only: Sequence[str] = (),
    limit: float | None = None,
) -> int:
    """Run what is due; returns the exit code.

    Parameters
    ----------
    benchmarks : all there are
    results : where the records are
    run : runs one benchmark by its name and returns its exit code
    only : names of the benchmarks that count; none, all do
    limit : minutes after which no further benchmark is begun
    """
    run = run or _in_a_process
    due = [one.name for one in planned(benchmarks, results, only) if one.reasons]
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # to end as by Ctrl-C
    failed, disturbed = [], []
    end = math.inf if limit is None else time.monotonic() + 60.0 * limit
    try:
        commit = _commit()
        if due:
            _require_idle(patience=0.0)
        for turn in range(1 + REPEATS):
            names = due if turn == 0 else disturbed
            for number, name in enumerate(names):
                if time.monotonic() >= end:
                    raise Stopped(f"{limit:g} minutes are over, {len(names) - number} are left. {_KEPT}", 0)
                _require_idle(PATIENCE)
                _require_same(commit)
                _say(f"{number + 1} of {len(names)}: {name}")
                if run(name):
                    failed.append(name)
            disturbed = [name for name in due if name not in failed and is_disturbed(_result(name, results))]
            if not disturbed:
                break
            if turn < REPEATS:
                _say(f"Others disturbed {', '.join(disturbed)}: run again.")
    except Stopped as stopped:
        _say(str(stopped))
        return stopped.code or int(bool(failed))
    except KeyboardInterrupt:
        _say(f"Stopped. {_KEPT}")
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
        if results == RESULTS:
            write_pages()
    if failed:
        _say(f"{len(failed)} failed, their older records are kept: {', '.join(failed)}.")
    if disturbed:
        _say(f"Still disturbed and marked so: {', '.join(disturbed)}.")
    return int(bool(failed or disturbed))


def _in_a_process(name: str) -> int:
    process = subprocess.Popen([sys.executable, "-m", "benchmarks", name, "--no-pages"], cwd=ROOT.parent)
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise


def _commit() -> str:
    commit = environment.committed_code()
    if commit is None:
        raise Stopped("The records would be of no commit: there are uncommitted changes, or no git. Commit first.")
    return commit


def _require_same(commit: str) -> None:
    if environment.committed_code() != commit:
        raise Stopped(f"The code is no longer that of {commit[:12]}, and all records are to be of one commit. Stopped.")


def _require_idle(patience: float) -> None:
    """Wait so many seconds at most until other processes use less than QUIET cores together."""
    end = time.monotonic() + patience
    while True:
        busy = environment.busy_processes()
        if sum(cores for _, cores in busy) <= QUIET:
            return
        told = ", ".join(f"{who} {cores:.2f}" for who, cores in busy[:8])
        if time.monotonic() >= end:
            raise Stopped(
                f"The machine is busy (cores: {told}), and times would be wrong. Run it again when it is idle."
            )
        _say(f"Waiting until the machine is idle (cores: {told}).")
        time.sleep(10.0)


def _result(name: str, results: Path) -> dict[str, Any] | None:
    path = results / f"{name}.json"
    return load_result(path) if path.exists() else None


def _duration(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
