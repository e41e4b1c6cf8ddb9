"""What the papers published, and which measurements of ours belong beside it.

A published table or figure is one file in the folder of its paper, whose name makes its own: the file
benchmarks/paper/wu10fast/table_5.py is wu10fast-table-5. A decorator registers its function:

    @published("time and accuracy with default parameters", source="Table 5", benchmarks=["icd-accuracy"])
    def table_5(sheet): ...

The function measures nothing. It is given a :class:`benchmarks.sheet.Sheet`, which reads the results of the benchmarks
that were named, and lays their numbers beside those of the paper, which stand in its file. Nothing is computed twice,
and a published table is up to date as soon as its benchmarks are.

Reading this registry imports these files, so they import numpy and matplotlib inside their functions.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from benchmarks.registry import ROOT

if TYPE_CHECKING:
    from benchmarks.sheet import Sheet

PAPERS = ("vedaldi12sparse", "wu10fast", "gavves12convex", "boufounos15universal", "bourrier15explicit")
_registered: dict[str, Published] = {}


@dataclass(frozen=True)
class StandIn:
    """Data or code of ours that takes the place of the paper's.

    Parameters
    ----------
    ours : what we measure on; None for what is not repeated
    published : what the paper measured on
    why : the reason, a sentence
    """

    ours: str | None
    published: str
    why: str


@dataclass(frozen=True)
class Published:
    """A table, figure or equation of a paper.

    Parameters
    ----------
    name : how it is called on the command line, the key of the paper first
    title : what it shows, one line
    paper : key in docs/references.bib
    source : where it stands in the paper
    function : called with a :class:`benchmarks.sheet.Sheet`, which it fills
    benchmarks : names of the benchmarks whose results it reads
    stand_ins : what takes the place of the paper's data
    """

    name: str
    title: str
    paper: str
    source: str
    function: Callable[[Sheet], None]
    benchmarks: tuple[str, ...]
    stand_ins: tuple[StandIn, ...]

    @property
    def command(self) -> str:
        return f"mercer reproduce {self.name}"


def published(
    title: str, *, source: str, benchmarks: list[str], stand_ins: list[StandIn] | None = None
) -> Callable[[Callable[[Sheet], None]], Published]:
    """Register the decorated function under the name of its file; see :class:`Published` for the parameters."""

    def register(function: Callable[[Sheet], None]) -> Published:
        paper, place = function.__module__.split(".")[-2:]
        name = f"{paper}-{place.replace('_', '-')}"
        made = Published(name, title, paper, source, function, tuple(benchmarks), tuple(stand_ins or ()))
        _registered[name] = made
        return made

    return register


def all_published() -> dict[str, Published]:
    """Every table and figure by name, in the order of the papers and then of the names."""
    for paper in PAPERS:
        for module in pkgutil.iter_modules([str(ROOT / "paper" / paper)]):
            if not module.name.startswith("_"):
                import_module(f"benchmarks.paper.{paper}.{module.name}")
    found = sorted(_registered.values(), key=lambda item: (PAPERS.index(item.paper), item.name))
    return {item.name: item for item in found}
