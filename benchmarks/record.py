"""What a benchmark writes down while it runs, and the JSON file it becomes.

{
  "schema": 1, "name", "title", "group", "paper", "needs", "command", "quick", "seconds",
  "code": hash of what was measured, see code.py; of old records that of their commit, null if that is not known,
  "environment": see environment.py,
  "bars":        [{"claim", "target", "unit", "published", "measured", "met", "detail"}],
  "comparisons": [{"title", "baseline", "threads", "pools",
                   "sides": {name: {"times", "best", "median", "spread", "error", "ratio"}}}],
  "tables":      [{"title", "columns", "rows"}],
  "figures":     [{"file", "caption"}],
  "notes":       [sentence]
}

"met" is null for what was not judged, "ratio" is the best time over the baseline's best time.
"""

from __future__ import annotations

import io
import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.code import code_today
from benchmarks.environment import Watch

if TYPE_CHECKING:
    from benchmarks.registry import Benchmark
    from benchmarks.runner import Comparison

SCHEMA = 1
logger = logging.getLogger("mercer.benchmarks")


class Record:
    """Handed to a benchmark's function.

    Attributes
    ----------
    quick : small sizes are wanted, and no bar is judged
    threads : number of threads that every side may use
    """

    def __init__(self, benchmark: Benchmark, quick: bool, out_dir: Path):
        self.quick = quick
        self.threads = benchmark.threads
        self._benchmark = benchmark
        self._out_dir = out_dir
        self._watch = Watch(benchmark.threads)
        self._start = time.perf_counter()
        self._measured: dict[str, tuple[float, str]] = {}
        self._comparisons: list[dict[str, Any]] = []
        self._tables: list[dict[str, Any]] = []
        self._figures: list[dict[str, str]] = []
        self._drawn: dict[str, bytes] = {}
        self._notes: list[str] = []

    def measured(self, claim: str, value: float, detail: str = "") -> None:
        """The value that the bar with this claim is held against; `detail` says how it came about."""
        claims = [bar.claim for bar in self._benchmark.bars]
        if claim not in claims:
            raise KeyError(f"Benchmark {self._benchmark.name!r} has no bar {claim!r}. It declares {claims}.")
        self._measured[claim] = (float(value), detail)
        logger.info("%s: %.4g %s", claim, value, detail)

    def comparison(self, title: str, comparison: Comparison, baseline: str) -> None:
        """Keep every time of a comparison; ratios in the report are to the side `baseline`."""
        sides = {}
        for name, timing in comparison.timings.items():
            sides[name] = {
                "times": [_short(seconds) for seconds in timing.times],
                "best": _short(timing.best),
                "median": _short(timing.median),
                "spread": _short(timing.spread),
                "error": _short(comparison.errors[name]) if name in comparison.errors else None,
                "ratio": _short(comparison.ratio(name, baseline)),
            }
            logger.info("%s, %s: best %.4g s", title, name, timing.best)
        self._comparisons.append(
            {
                "title": title,
                "baseline": baseline,
                "threads": comparison.threads,
                "pools": comparison.pools,
                "sides": sides,
            }
        )

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Numbers for information."""
        kept = [[_short(cell) if isinstance(cell, float) else cell for cell in row] for row in rows]
        self._tables.append({"title": title, "columns": list(columns), "rows": kept})

    def figure(self, name: str, figure: Any, caption: str) -> None:
        """Save a figure from benchmarks.plotting beside the result."""
        file = f"{self._benchmark.name}-{name}.png"
        drawn = io.BytesIO()
        figure.savefig(drawn)
        self._drawn[file] = drawn.getvalue()  # written with the numbers: a run that is stopped changes nothing
        self._figures.append({"file": file, "caption": caption})

    def note(self, sentence: str) -> None:
        """Something a reader must know to read the numbers rightly."""
        self._notes.append(sentence)

    def write(self) -> Path:
        """Write the figures and the JSON file, replacing an earlier one only when complete."""
        self._out_dir.mkdir(parents=True, exist_ok=True)
        for file, drawn in self._drawn.items():
            (self._out_dir / file).write_bytes(drawn)
        path = self._out_dir / f"{self._benchmark.name}.json"
        unfinished = path.with_suffix(".json.part")
        unfinished.write_text(json.dumps(self._as_dict(), indent=1, allow_nan=False) + "\n")
        os.replace(unfinished, path)
        return path

    def _as_dict(self) -> dict[str, Any]:
        benchmark = self._benchmark
        return {
            "schema": SCHEMA,
            "name": benchmark.name,
            "title": benchmark.title,
            "group": benchmark.group,
            "paper": benchmark.paper,
            "needs": benchmark.needs,
            "command": benchmark.command + (" --quick" if self.quick else ""),
            "quick": self.quick,
            "seconds": round(time.perf_counter() - self._start, 1),
            "code": code_today(benchmark.function.__module__),
            "environment": self._watch.describe(),
            "bars": [self._judge(bar) for bar in benchmark.bars],
            "comparisons": self._comparisons,
            "tables": self._tables,
            "figures": self._figures,
            "notes": self._notes,
        }

    def _judge(self, bar: Any) -> dict[str, Any]:
        value, detail = self._measured.get(bar.claim, (None, ""))
        judged = value is not None and not self.quick
        measured = None if value is None else _short(value)
        return {**asdict(bar), "measured": measured, "met": bar.is_met(value) if judged else None, "detail": detail}


def _short(value: float) -> float:
    """Six significant digits: more are noise, and would make every result file twice as long."""
    return float(f"{value:.6g}")
