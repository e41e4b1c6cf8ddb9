"""A published table or figure with our numbers beside it, and the JSON file it becomes.

{
  "schema": 1, "name", "title", "paper", "source", "command", "quick",
  "stand_ins":   [{"ours", "published", "why"}],
  "measured_by": [{"benchmark", "command", "seconds", "date", "commit", "cpu", "threads"}], "date" null if not measured,
  "grids":       [{"title", "unit", "digits", "corner", "columns",
                   "rows": [{"name", "published": [...], "ours": [...]}]}],
  "figures":     [{"file", "caption"}], files relative to the folder of the results
  "remarks":     [sentence]
}

A cell of a grid is a number, a word or null; published and ours have one for each column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.published import Published
from benchmarks.report import shown_number
from benchmarks.stored import Stored

SCHEMA = 1
FOLDER = "paper"  # of the JSON files and figures, in that of the results


class Sheet:
    """Handed to the function of a published table or figure.

    Parameters
    ----------
    item : the table or figure
    results : folder of the results of the benchmarks
    draw : whether figures are drawn; a page can be written without
    """

    def __init__(self, item: Published, results: Path, draw: bool = True):
        self._item, self._results, self._draw = item, Path(results), draw
        self._stored = {name: Stored(name, self._results) for name in item.benchmarks}
        self._grids: list[dict[str, Any]] = []
        self._figures: list[dict[str, str]] = []
        self._remarks: list[str] = []
        item.function(self)

    def __getitem__(self, benchmark: str) -> Stored:
        """The result of one of the benchmarks that were named."""
        return self._stored[benchmark]

    @property
    def stored(self) -> list[Stored]:
        """The results that it reads."""
        return list(self._stored.values())

    @property
    def is_measured(self) -> bool:
        """Whether any benchmark has a result, or none is needed."""
        return not self._stored or any(self._stored.values())

    @property
    def missing(self) -> list[str]:
        """Benchmarks without a result."""
        return [name for name, stored in self._stored.items() if not stored]

    def grid(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[tuple[str, Sequence[tuple[Any, Any]]]],
        unit: str = "",
        digits: int | None = None,
        corner: str = "",
    ) -> None:
        """Numbers side by side.

        Parameters
        ----------
        title : what the numbers are
        columns : names of the columns; "" if there is only one
        rows : (name, a pair of published and ours for each column); None where there is no number
        unit : of all numbers
        digits : decimal places of all numbers; None for three significant digits
        corner : what stands above the names of the rows
        """
        lines = []
        for name, pairs in rows:
            left, right = zip(*pairs, strict=True)
            lines.append({"name": name, "published": [_kept(x, digits) for x in left],
                          "ours": [_kept(x, digits) for x in right]})  # fmt: skip
        told = {"title": title, "unit": unit, "digits": digits, "corner": corner}
        self._grids.append({**told, "columns": list(columns), "rows": lines})

    def draw(self, figure: Callable[[], Any], caption: str, name: str = "") -> None:
        """Save what the function draws beside the JSON file; `name` tells several figures apart."""
        if not self.is_measured:
            return
        file = f"{FOLDER}/{self._item.name}{'-' if name else ''}{name}.png"
        if self._draw:
            (self._results / FOLDER).mkdir(parents=True, exist_ok=True)
            figure().savefig(self._results / file)
        self._figures.append({"file": file, "caption": caption})

    def show(self, benchmark: str, file: str, caption: str | None = None) -> None:
        """A figure that a benchmark has drawn already: its name without that of the benchmark."""
        found = self._stored[benchmark].figure(file)
        if found is not None:
            self._figures.append({**found, **({"caption": caption} if caption else {})})

    def remark(self, sentence: str) -> None:
        """Something a reader must know to compare the numbers rightly."""
        self._remarks.append(sentence)

    def as_dict(self) -> dict[str, Any]:
        item = self._item
        return {
            "schema": SCHEMA,
            "name": item.name,
            "title": item.title,
            "paper": item.paper,
            "source": item.source,
            "command": item.command,
            "quick": any(stored.quick for stored in self._stored.values()),
            "stand_ins": [asdict(one) for one in item.stand_ins],
            "measured_by": [stored.about() for stored in self._stored.values()],
            "grids": self._grids,
            "figures": self._figures,
            "remarks": self._remarks,
        }

    def write(self) -> Path:
        """Write the JSON file and return its path."""
        path = self._results / FOLDER / f"{self._item.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n")
        return path


def laid_out(grid: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A grid as the columns and cells of a table of words; a column without a single entry is left out."""
    sides = ("published", "ours")
    columns = [(i, side) for i in range(len(grid["columns"])) for side in sides
               if any(row[side][i] is not None for row in grid["rows"])]  # fmt: skip
    both = any(side == "published" for _, side in columns)
    head = [", ".join(filter(None, [grid["columns"][i], side if both else ""])) or side for i, side in columns]
    rows = [[row["name"], *(_shown(row[side][i], grid["digits"]) for i, side in columns)] for row in grid["rows"]]
    return [grid["corner"], *head], rows


def title_of(grid: dict[str, Any]) -> str:
    """Title and unit; where nothing is published, it says that the numbers are ours."""
    published = grid["corner"] or any(value is not None for row in grid["rows"] for value in row["published"])
    title = f"{grid['title']}, {grid['unit']}" if grid["unit"] else grid["title"]
    return title if published else f"{title} (ours)"


def _kept(value: Any, digits: int | None) -> Any:
    """Numbers with the digits that are shown, so that the file and the page say the same."""
    if not isinstance(value, float):
        return value
    return round(value, digits) if digits is not None else float(f"{value:.6g}")


def _shown(value: Any, digits: int | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int):
        return f"{value:,}"
    return shown_number(value) if digits is None else f"{value:,.{digits}f}"
