"""Stored results of benchmarks for the pages: what is read is remembered, what is missing says so."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.registry import RESULTS, all_benchmarks
from benchmarks.state import in_bold, marks
from benchmarks.stored import Stored

MISSING = "not measured"


class Results:
    """Results by the name of their benchmark.

    A benchmark that nobody has run yet gives cells that say so. A name that no benchmark has, or a row that its result
    does not have, is an error: the page would be out of date.
    """

    def __init__(self, folder: Path = RESULTS):
        self.folder = Path(folder)
        self.used: dict[str, Stored] = {}

    def __getitem__(self, name: str) -> Stored:
        if name not in all_benchmarks():
            raise KeyError(f"There is no benchmark {name!r}.")
        return self.used.setdefault(name, Stored(name, self.folder))

    @property
    def paths(self) -> list[Path]:
        """The files behind everything that was read."""
        return [self.folder / f"{name}.json" for name in self.used]

    def provenance(self) -> str:
        """Which benchmarks were read, when and where they were run."""
        places: dict[str, list[dict]] = {}
        for stored in self.used.values():
            about = stored.about() | {"marks": marks(stored.result) if stored else []}
            where = MISSING if about["date"] is None else f"{_threads(about['threads'])} of {about['cpu']}"
            places.setdefault(where, []).append(about)
        return "; ".join(_sentence(where, found) for where, found in places.items()) + "."


def shown(form: str, *values: float | str | None) -> str:
    """The values in their form, each on one line with its unit; if one of them is missing, that."""
    if any(value is None for value in values):
        return MISSING
    return re.sub(r"(?<=\d) (?=%|ms|s\b|MB)", "\N{NO-BREAK SPACE}", form.format(*values))


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"


def _sentence(where: str, found: list[dict]) -> str:
    names = ", ".join(f"{in_bold(about['marks'])}`{about['benchmark']}`" for about in found)
    if where == MISSING:
        return f"{names}: {MISSING}"
    dates = sorted({about["date"] for about in found})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"{names} ({when}, {where})"
