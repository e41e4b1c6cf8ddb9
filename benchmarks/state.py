"""What a stored result is worth today: of which code, processor and day it is, and whether it is to be run again."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.code import code_at, code_today
from benchmarks.environment import code_commit, is_in_history
from benchmarks.registry import Benchmark, all_benchmarks

OUT_OF_DATE, UNKNOWN, DISTURBED = "out of date", "unknown code", "disturbed"
NEVER, MACHINE, VERSIONS = "never run", "another machine", "other versions"
ELSEWHERE = {DISTURBED, MACHINE, VERSIONS}  # reasons to measure again that say nothing against the code
QUIET = 0.2  # cores that other processes may keep busy during a run
BEGIN, END = "<!-- state of the records -->", "<!-- end of the state -->"
Marks = Callable[[dict[str, Any]], list[str]]


def marks(result: dict[str, Any]) -> list[str]:
    """What a reader of its numbers must know first: that the code is another one now, that others disturbed."""
    return [*_code_marks(result), *([DISTURBED] if is_disturbed(result) else [])]


def unmarked(_: dict[str, Any]) -> list[str]:
    """No marks: what a page says whatever the code is."""
    return []


def in_bold(words: list[str]) -> str:
    """Marks as they stand on a page, in front of what they mark."""
    return f"**[{', '.join(words)}]** " if words else ""


def without_marks(page: str) -> str:
    """A page but for what depends on today's code."""
    page = re.sub(f"{BEGIN}.*?{END}\n*", "", page, flags=re.DOTALL)
    return re.sub(r"\*\*\[[a-z, ]+\]\*\* ", "", page)


def is_disturbed(result: dict[str, Any]) -> bool:
    return (result["environment"]["cores_busy_elsewhere"] or 0.0) > QUIET


def to_measure(benchmark: Benchmark, result: dict[str, Any] | None, here: dict[str, Any]) -> list[str]:
    """Why a benchmark must be run on this machine (see environment.machine); empty if it need not."""
    if result is None:
        return [NEVER]
    there = result["environment"]
    versions = {name: version for name, version in there["versions"].items() if name != "mercer"}
    reasons = {
        MACHINE: (there["cpu"], there["cores"]) != (here["cpu"], here["cores"]),
        VERSIONS: versions != here["versions"],
        "uncommitted code": there["dirty"] is not False,
        "a commit that is not in the history": not is_in_history(there["commit"]),
        "a quick run": result["quick"],
    }
    return [*marks(result), *(reason for reason, holds in reasons.items() if holds)]


def add_codes(results: Path) -> None:
    """Give old records the hash of their commit's code, where the history has it and nothing was uncommitted."""
    known, commits = all_benchmarks(), {}
    for path in sorted(results.glob("*.json")):
        result = json.loads(path.read_text())
        commit = result["environment"]["commit"]
        if "code" in result or result["environment"]["dirty"] is not False or commit is None or path.stem not in known:
            continue
        if commit not in commits:
            commits[commit] = code_at(commit)
        if commits[commit] is not None:
            # a benchmark that was in another file then is of other code
            code = commits[commit].hash_of(known[path.stem].function.__module__) or "another file"
            unfinished = path.with_suffix(".json.part")
            unfinished.write_text(json.dumps(_after(result, "seconds", {"code": code}), indent=1) + "\n")
            os.replace(unfinished, path)


def overview(found: Iterable[dict[str, Any]], marked: Marks) -> str:
    """How many records are of which commit, processor and day, and which are out of date, in Markdown."""
    found = list(found)
    told = {result["name"]: marked(result) for result in found}
    counts, old = Counter(map(_origin, found)), Counter(_origin(one) for one in found if told[one["name"]])
    rows = [
        f"| {' | '.join(origin)} | {counts[origin]} | {counts[origin] - old[origin]} |" for origin in sorted(counts)
    ]
    lists = [f"- {word.capitalize()}: {', '.join(names)}." for word in (OUT_OF_DATE, UNKNOWN, DISTURBED)
             if (names := [f"`{name}`" for name, words in told.items() if word in words])]  # fmt: skip
    commits, processors, days = (len({origin[i] for origin in counts}) for i in range(3))
    sentence = (
        f"{len(found)} records of {commits} commits, {processors} processors and {days} days. *Out of date* are "
        f"numbers of code that has changed since, *unknown code* those whose commit the history does not have or that "
        f"had uncommitted changes, *disturbed* those of runs during which other processes kept more than {QUIET} cores "
        f"busy. `make bench-all` measures these again.\n\n{_of_one_code(told)}"
    )
    head = "| commit | processor | day | records | of them current |\n| --- | --- | --- | --- | --- |"
    table = "\n".join([head, *rows])
    return f"{BEGIN}\n\n{sentence}\n\n{table}\n\n" + "\n".join(lists) + f"\n\n{END}\n"


def _of_one_code(told: dict[str, list[str]]) -> str:
    """How many records are of today's code: by their hashes, as a commit that adds records or words is another one."""
    current = sum(not {OUT_OF_DATE, UNKNOWN} & set(words) for words in told.values())
    commit = (code_commit() or "none")[:12]
    return (
        f"By the hash of what they import, {current} of {len(told)} records measured the code of commit {commit}, "
        f"the last one that changed more than records and words."
    )


def _origin(result: dict[str, Any]) -> tuple[str, str, str]:
    there = result["environment"]
    commit = (there["commit"] or "none")[:12] + (" and changes" if there["dirty"] else "")
    return commit, there["cpu"], there["date"]


def _code_marks(result: dict[str, Any]) -> list[str]:
    benchmark = all_benchmarks().get(result["name"])
    if benchmark is None or result.get("code") is None:
        return [UNKNOWN]
    return [] if result["code"] == code_today(benchmark.function.__module__) else [OUT_OF_DATE]


def _after(result: dict[str, Any], key: str, more: dict[str, Any]) -> dict[str, Any]:
    """A dictionary with more behind one of its keys."""
    items = list(result.items())
    place = 1 + list(result).index(key)
    return dict([*items[:place], *more.items(), *items[place:]])
