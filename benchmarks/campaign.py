"""Every record anew: of one commit, on one idle machine, one benchmark after the other.

First those that were never run, then those of other code, then those that are only of another machine or disturbed;
of each kind the short ones first. ``python -m benchmarks all`` can be stopped at any time and goes on where it was
stopped: a record of the code, machine and versions of today is not measured again. Each benchmark has a process of its
own. Its record is written when it is complete; one during which others disturbed the machine is marked, and the
benchmark is run again at the end. ``--only`` names the benchmarks that count. ``--limit`` ends the run once so many
minutes are over: it begins nothing that took longer than what is left, and stops what is not ready then.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import environment, load
from benchmarks.registry import RESULTS, ROOT, Benchmark, write_pages
from benchmarks.report import load_result
from benchmarks.state import ELSEWHERE, NEVER, QUIET, is_disturbed, to_measure

REPEATS = 2  # of what was disturbed
PATIENCE = 900.0  # seconds to wait between two benchmarks until the machine is idle
_KEPT = "What was measured is kept; `make bench-all` goes on."


@dataclass(frozen=True)
class Due:
    """A benchmark, how long it took last time, and why it is to be run; no reason: it is current.

    Parameters
    ----------
    seconds : None of one that was never run
    stopped_after : seconds for which it ran when a limit stopped it, 0 if none did
    """

    name: str
    seconds: float | None
    reasons: list[str]
    stopped_after: float = 0.0

    @property
    def least(self) -> float:
        """Seconds that it takes, as far as is known."""
        return max(self.seconds or 0.0, self.stopped_after)

    @property
    def order(self) -> tuple[int, float, str]:
        kind = 0 if NEVER in self.reasons else 2 if set(self.reasons) <= ELSEWHERE else 1
        return kind, self.least, self.name


class Stopped(Exception):
    """Why the run ends before all is measured, a sentence for the user, and the exit code."""

    def __init__(self, sentence: str, code: int = 1):
        super().__init__(sentence)
        self.code = code


def planned(benchmarks: dict[str, Benchmark], results: Path = RESULTS, only: Sequence[str] = ()) -> list[Due]:
    """All benchmarks, or those of these names, in the order in which they are run."""
    here, stopped, found = environment.machine(), _stopped(results), []
    for name in only or benchmarks:
        result = _result(name, results)
        seconds = None if result is None or result["quick"] else result["seconds"]
        found.append(Due(name, seconds, to_measure(benchmarks[name], result, here), stopped.get(name, 0.0)))
    return sorted(found, key=lambda due: due.order)


def listed(plan: list[Due]) -> str:
    """What would be run, in this order: how long it took last time, when it would be ready, and why it is run."""
    due = [one for one in plan if one.reasons]
    width = max((len(one.name) for one in due), default=0)
    lines = [f"{'takes':>10} {'ready at':>10}"] if due else []
    ready, about = 0.0, ""
    for one in due:
        ready += one.least
        about = ">" if one.seconds is None else about
        takes = _duration(one.seconds) if one.seconds is not None else f">{_duration(one.least)}" if one.least else ""
        lines.append(f"{takes:>10} {about + _duration(ready):>10}  {one.name:{width}}  {', '.join(one.reasons)}")
    known = sum(one.seconds or 0.0 for one in due)
    new = sum(one.seconds is None for one in due)
    lines.append(f"{_duration(known):>10} for {len(due) - new} records, and {new} that were never run; "
                 f"{len(plan) - len(due)} are current.")  # fmt: skip
    return "\n".join(lines)


def run_all(
    benchmarks: dict[str, Benchmark],
    results: Path = RESULTS,
    run: Callable[[str, float], int] | None = None,
    *,
    only: Sequence[str] = (),
    limit: float | None = None,
) -> int:
    """Run what is due; returns the exit code.

    Parameters
    ----------
    benchmarks : all there are
    results : where the records are
    run : runs one benchmark by its name and returns its exit code; raises TimeoutExpired after so many seconds
    only : names of the benchmarks that count; none, all do
    limit : minutes after which the run ends
    """
    run = run or _in_a_process
    due = [one for one in planned(benchmarks, results, only) if one.reasons]
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # to end as by Ctrl-C
    failed, disturbed = [], []
    end = math.inf if limit is None else time.monotonic() + 60.0 * limit
    try:
        commit = _commit()
        if due:
            _require_idle(patience=0.0)
        left = _turn(due, results, run, commit, end, failed)
        for _ in range(REPEATS):
            disturbed = [one for one in due if one.name not in failed and one not in left
                         and is_disturbed(_result(one.name, results))]  # fmt: skip
            if left or not disturbed:
                break
            _say(f"Others disturbed {_names(disturbed)}: run again.")
            left = _turn(disturbed, results, run, commit, end, failed)
        if left:
            raise Stopped(f"{limit:g} minutes are over or too few for what is left: {_names(left)}. {_KEPT}", 0)
        disturbed = [one for one in disturbed if is_disturbed(_result(one.name, results))]
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
        _say(f"Still disturbed and marked so: {_names(disturbed)}.")
    return int(bool(failed or disturbed))


def _turn(
    due: list[Due],
    results: Path,
    run: Callable[[str, float], int],
    commit: str,
    end: float,
    failed: list[str],
) -> list[Due]:
    """Run these one after the other; returns those for which the time until `end` did not suffice."""
    left = []
    for number, one in enumerate(due):
        if time.monotonic() + one.least >= end:
            left.append(one)
            continue
        _require_idle(min(PATIENCE, end - time.monotonic()))
        _require_same(commit)
        _say(f"{number + 1} of {len(due)}: {one.name}")
        try:
            if run(one.name, end - time.monotonic()):
                failed.append(one.name)
        except subprocess.TimeoutExpired as stopped:
            _keep_stopped(results, one.name, stopped.timeout)
            left.append(one)
        else:
            _keep_stopped(results, one.name, None)
    return left


def _in_a_process(name: str, seconds: float) -> int:
    family = load.Family([sys.executable, "-m", "benchmarks", name, "--no-pages"], ROOT.parent)
    try:
        return family.wait(seconds)
    except KeyboardInterrupt:
        family.end()
        raise


def _stopped(results: Path) -> dict[str, float]:
    """name -> seconds for which a benchmark ran when a limit stopped it; beside the records, but not one of them."""
    path = results / "stopped"
    return json.loads(path.read_text()) if path.exists() else {}


def _keep_stopped(results: Path, name: str, seconds: float | None) -> None:
    found = {other: taken for other, taken in _stopped(results).items() if other != name}
    if seconds is not None:
        found[name] = round(seconds, 1)
    if found or (results / "stopped").exists():
        (results / "stopped").write_text(json.dumps(found) + "\n")


def _names(due: list[Due]) -> str:
    return ", ".join(one.name for one in due)


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
        cores, busy = load.busy_elsewhere()
        if cores <= QUIET:
            return
        told = ", ".join([f"{cores:.2f} in all", *(f"{who} {share:.2f}" for who, share in busy[:8])])
        if time.monotonic() >= end:
            raise Stopped(
                f"The machine is busy (cores: {told}), and times would be wrong. Run it again when it is idle."
            )
        _say(f"Waiting until the machine is idle (cores: {told}).")
        time.sleep(10.0)


def _result(name: str, results: Path) -> dict[str, Any] | None:
    path = results / f"{name}.json"
    return load_result(path) if path.exists() else None


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
