"""``mercer reproduce``: the published tables and figures, with our numbers beside them."""

__all__ = ["EXAMPLES", "reproduce"]

import logging
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from mercer._base.errors import MercerError, did_you_mean
from mercer._base.parameters import argument, flag, pathname
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, note, print_json, print_table, progress

EXAMPLES = """
  mercer reproduce list
  mercer reproduce wu10fast-table-5 --stored
  mercer reproduce wu10fast-table-5
  mercer reproduce all --quick --out /tmp/results
"""


@options((
    argument("name", "list|all|NAME", "List the tables and figures, or reproduce all or one."),
    flag("quick", "Small sizes, to see that everything runs; numbers cannot be compared."),
    flag("stored", "Measure nothing: print from the results that are stored."),
    pathname("out", None, "Where the results go.", "DIR", "-o", shown="benchmarks/results"),
    pathname("benchmarks", None, "The directory of the benchmarks.", "DIR", shown="./benchmarks, or that of the source "
        "checkout"),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def reproduce(name, quick, stored, out, benchmarks, settings: Settings) -> None:
    """Measure a published table or figure again, and print what was published beside what we find.

    Every one says what data takes the place of the paper's, is written as a JSON file, and draws its figure. What is
    measured are benchmarks of the source checkout; one that several tables need is run once.
    """
    bench = _benchmarks(benchmarks)
    known = bench.all_published()
    folder = bench.results_folder(quick, out)
    if name == "list":
        _list(settings, known, folder)
        return
    items = list(known.values()) if name == "all" else [_chosen(name, known, bench)]
    failed = [] if stored else _measure(settings, bench, items, quick, out)
    made = []
    for item in items:
        sheet = bench.Sheet(item, folder)
        if sheet.is_measured:
            path = sheet.write()
            made.append(sheet.as_dict())
            if not settings.json:
                _show(settings, bench, made[-1])
            note(settings, f"Written to {path}")
        elif stored and name != "all":
            raise MercerError(f"{name} has no stored result in {folder}. Run '{item.command}' without --stored.")
    answer_json(settings, made)
    if failed:
        raise MercerError(f"{len(failed)} of the benchmarks could not be run. {' '.join(failed)}")


def _benchmarks(given: Path | None) -> Any:
    """The module benchmarks.reproduce of the first directory that has it."""
    checkout = Path(__file__).resolve().parents[3]  # <checkout>/src/mercer/cli
    places = [given] if given is not None else [Path("benchmarks"), checkout / "benchmarks"]
    found = next((place.resolve() for place in places if (place / "published.py").is_file()), None)
    if found is None:
        if given is not None:
            raise ArgumentError(f"{given} holds no benchmarks: it has no published.py.")
        raise ArgumentError(
            "The published tables and their benchmarks are part of the source checkout and not of the installed "
            "package. Run this inside a checkout, or name its directory with --benchmarks."
        )
    if found.name != "benchmarks":
        raise ArgumentError(f"The directory of the benchmarks must be called benchmarks, not {found.name}.")
    sys.path.insert(0, str(found.parent))
    return import_module("benchmarks.reproduce")


def _chosen(name: str, known: dict[str, Any], bench: Any) -> Any:
    if name in known:
        return known[name]
    if name in bench.all_benchmarks():
        used = [item.name for item in known.values() if name in item.benchmarks]
        where = f" Published tables that it measures: {', '.join(used)}." if used else ""
        raise ArgumentError(f"{name!r} is a benchmark; 'python -m benchmarks {name}' in the checkout runs it.{where}")
    hint = did_you_mean(name, known) or "'mercer reproduce list' names them all."
    raise ArgumentError(f"There is no published table or figure {name!r}. {hint.strip()}")


def _list(settings: Settings, known: dict[str, Any], folder: Path) -> None:
    if settings.json:
        told = ("name", "title", "paper", "source", "benchmarks")
        print_json([{name: getattr(item, name) for name in told} for item in known.values()])
        return
    if settings.quiet:
        print("\n".join(known))
        return
    rows = [[item.name, item.title, ", ".join(item.benchmarks), _state(item, folder)] for item in known.values()]
    columns = ["name", "what it shows", "measured by", "stored"]
    print_table(settings, "Published tables and figures", columns, rows, text_columns=4)


def _state(item: Any, folder: Path) -> str:
    """How much of what it needs is stored.

    >>> from types import SimpleNamespace
    >>> _state(SimpleNamespace(benchmarks=("a", "b")), Path("nowhere"))
    'no'
    """
    found = [name for name in item.benchmarks if (folder / f"{name}.json").is_file()]
    if len(found) == len(item.benchmarks):
        return "yes"
    return f"{len(found)} of {len(item.benchmarks)}" if found else "no"


def _measure(settings: Settings, bench: Any, items: list[Any], quick: bool, out: Path | None) -> list[str]:
    """Run what the items need; returns a sentence for each benchmark that could not be run."""
    if not settings.quiet:  # a run takes minutes and says on the log how far it is
        logging.getLogger("mercer.benchmarks").setLevel(logging.INFO)
    failed = []
    with progress(settings):
        for name, error in bench.measure(items, quick, out):
            if error is not None:
                failed.append(f"{name}: {error}")
                note(settings, failed[-1])
            else:
                note(settings, f"{name} is measured.")
    return failed


def _show(settings: Settings, bench: Any, sheet: dict[str, Any]) -> None:
    """Print one sheet as tables."""
    if not settings.quiet:
        print(f"{sheet['name']}: {sheet['source']} of {sheet['paper']}, {sheet['title']}\n")
    if sheet["quick"]:
        note(settings, "A quick run: its sizes are too small for these numbers to be compared.")
    for grid in sheet["grids"]:
        columns, rows = bench.laid_out(grid)
        print_table(settings, bench.title_of(grid), columns, rows)
    for sentence in _told(bench, sheet):
        note(settings, f"- {sentence}")


def _told(bench: Any, sheet: dict[str, Any]) -> Iterable[str]:
    yield from bench.sentences(sheet)
    for by in sheet["measured_by"]:
        if by["date"] is None:
            yield f"{by['benchmark']} has no stored result."
    for figure in sheet["figures"]:
        yield f"Figure: {figure['file']}, in the folder of the results"
