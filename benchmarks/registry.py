"""What benchmarks exist, what each one promises, and how to run one.

A benchmark is one file in a group folder, registered by a decorator on its function:

    @benchmark("kernels-speed", "Exact kernels against ...", bars=[Bar("chi2 against scikit-learn", ">= 15", "x")])
    def kernels_speed(record): ...

Reading the registry imports these files, so they import numpy, numba, scikit-learn and mercer inside their functions.
Files whose names begin with an underscore hold what several benchmarks share and are not imported.
"""

from __future__ import annotations

import operator
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.record import Record

ROOT = Path(__file__).parent
RESULTS = ROOT / "results"
GROUPS = ("speed", "paper", "search", "serving", "vision", "detection", "compare", "maps", "uses", "fields", "trust")

_COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_TARGET = re.compile(r"(>=|<=|>|<)\s*(-?[0-9.]+(?:e-?[0-9]+)?)")
_registered: dict[str, Benchmark] = {}


@dataclass(frozen=True)
class Bar:
    """One promise of a benchmark: a measured number and the target it is held against.

    Parameters
    ----------
    claim : what is measured, unique within the benchmark
    target : a comparison and a number, for instance ">= 15" or "< 0.2"
    unit : printed behind the numbers, for instance "x" or "s"
    published : what a paper states for the same quantity, as it should be printed
    """

    claim: str
    target: str
    unit: str = ""
    published: str | None = None

    def __post_init__(self):
        self._parsed()

    def is_met(self, value: float) -> bool:
        comparison, number = self._parsed()
        return bool(_COMPARISONS[comparison](value, number))

    def _parsed(self) -> tuple[str, float]:
        found = _TARGET.fullmatch(self.target)
        if found is None:
            raise ValueError(
                f"Bar {self.claim!r}: the target must be >=, <=, > or < and a number, as in '>= 15'. "
                f"Got {self.target!r} instead."
            )
        return found[1], float(found[2])


@dataclass(frozen=True)
class Benchmark:
    """A registered benchmark. ``run`` measures, writes one JSON file and returns its path.

    Parameters
    ----------
    name : how it is called on the command line; also the name of the result file
    title : one line that says what is compared
    function : called with a :class:`benchmarks.record.Record`, which it fills
    bars : what it promises
    group : the folder it is defined in
    paper : key in docs/references.bib of the publication it repeats, if any
    needs : names of the data sets it reads
    threads : number of threads that every side may use
    """

    name: str
    title: str
    function: Callable[[Record], None]
    bars: tuple[Bar, ...]
    group: str
    paper: str | None
    needs: list[str]
    threads: int

    @property
    def command(self) -> str:
        return f"python -m benchmarks {self.name}"

    def run(self, quick: bool = False, out_dir: Path | None = None) -> Path:
        """Measure. A quick run uses small sizes, judges no bar and is kept apart from the committed results."""
        from benchmarks.record import Record

        folder = Path(out_dir) if out_dir else RESULTS / "quick" if quick else RESULTS
        record = Record(self, quick=quick, out_dir=folder)
        self.function(record)
        return record.write()


def benchmark(
    name: str,
    title: str,
    *,
    bars: list[Bar],
    paper: str | None = None,
    needs: list[str] | None = None,
    threads: int = 2,
) -> Callable[[Callable[[Record], None]], Benchmark]:
    """Register the decorated function; see :class:`Benchmark` for the parameters."""

    def register(function: Callable[[Record], None]) -> Benchmark:
        group = function.__module__.split(".")[-2]
        made = Benchmark(name, title, function, tuple(bars), group, paper, list(needs or []), threads)
        claims = [bar.claim for bar in bars]
        if len(set(claims)) < len(claims):
            raise ValueError(f"Benchmark {name!r} states a claim twice: {claims}. Give every bar its own claim.")
        if name in _registered and _registered[name].function.__module__ != function.__module__:
            raise ValueError(f"Two benchmarks are called {name!r}: in {_registered[name].group}/ and in {group}/.")
        _registered[name] = made
        return made

    return register


def all_benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name, in the order of the groups and then of the names."""
    for group in GROUPS:
        for module in pkgutil.iter_modules([str(ROOT / group)]):
            if not module.name.startswith("_"):
                import_module(f"benchmarks.{group}.{module.name}")
    return {made.name: made for made in sorted(_registered.values(), key=lambda b: (GROUPS.index(b.group), b.name))}


def write_pages() -> list[Path]:
    """Bring the pages that are made from stored results up to date."""
    from benchmarks.report import write_results
    from benchmarks.reproduce import write_page
    from benchmarks.state import add_codes

    add_codes(RESULTS)
    return [write_results(), write_page()]
