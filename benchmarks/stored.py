"""The result of one benchmark, as a published table reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.registry import all_benchmarks
from benchmarks.report import load_result


class Stored:
    """A result that may be missing: then everything read from it is None.

    Of a result that is there, whatever is asked for must be there too; only a quick run, whose sizes are other ones,
    may lack rows and columns.
    """

    def __init__(self, name: str, results: Path):
        path = results / f"{name}.json"
        self.name = name
        self.result: dict[str, Any] | None = load_result(path) if path.exists() else None

    def __bool__(self) -> bool:
        return self.result is not None

    @property
    def quick(self) -> bool:
        return self.result is not None and self.result["quick"]

    def bar(self, claim: str) -> float | None:
        """What was measured for the bar with this claim."""
        found = [bar["measured"] for bar in self._part("bars") if bar["claim"] == claim]
        return self._only(found, f"bar {claim!r}")

    def best(self, comparison: str, side: str) -> float | None:
        """Seconds of one side of the comparison whose title begins so."""
        found = [one["sides"][side]["best"] for one in self._part("comparisons")
                 if one["title"].startswith(comparison) and side in one["sides"]]  # fmt: skip
        return self._only(found, f"side {side!r} of {comparison!r}")

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of the table whose title begins so, each by the names of its columns.

        Of two columns with one name the first is meant.
        """
        found = [one for one in self._part("tables") if one["title"].startswith(table)]
        chosen = self._only(found, f"table {table!r}")
        if chosen is None:
            return []
        return [dict(reversed(list(zip(chosen["columns"], row, strict=True)))) for row in chosen["rows"]]

    def later(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table that results of before may lack."""
        return self.rows(table) if any(one["title"].startswith(table) for one in self._part("tables")) else []

    def cell(self, table: str, row: tuple, column: str) -> Any:
        """A cell of the row that begins with these values."""
        found = [one for one in self.rows(table) if tuple(list(one.values())[::-1][: len(row)]) == tuple(row)]
        return self._only([one[column] for one in found if column in one], f"{column!r} of {row} in {table!r}")

    def figure(self, file: str) -> dict[str, str] | None:
        """File and caption of a figure that the benchmark drew."""
        name = f"{self.name}-{file}.png"
        return self._only([one for one in self._part("figures") if one["file"] == name], f"figure {name!r}")

    def about(self) -> dict[str, Any]:
        """Where the numbers come from, for the reader."""
        command = all_benchmarks()[self.name].command
        if self.result is None:
            return {"benchmark": self.name, "command": command, "date": None}
        there = self.result["environment"]
        facts = {key: there[key] for key in ("date", "commit", "cpu", "threads")}
        return {"benchmark": self.name, "command": self.result["command"], "seconds": self.result["seconds"], **facts}

    def _part(self, name: str) -> list[dict[str, Any]]:
        return [] if self.result is None else self.result[name]

    def _only(self, found: list[Any], what: str) -> Any:
        if found:
            return found[0]
        if self.result is None or self.quick:
            return None
        raise KeyError(f"The result of {self.name} has no {what}.")
