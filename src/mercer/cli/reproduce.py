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
    argument("name", "list|all|NAME", "Table or figure to reproduce, or all; list lists them."),
    flag("quick", "Use small sizes to check that everything runs; the numbers are not comparable."),
    flag("stored", "Print the stored results instead of measuring."),
    pathname("out", None, "Folder for the results.", "DIR", "-o", shown="benchmarks/results"),
    pathname("benchmarks", None, "Directory of the benchmarks.", "DIR", shown="./benchmarks, or the source checkout's"),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def reproduce(name, quick, stored, out, benchmarks, settings: Settings) -> None:
    """Measure a published table or figure again, and print the published numbers next to ours.

    Each result states which data replaces the paper's, is stored as a JSON file, and draws its figure. The benchmarks
    are part of the source checkout; a benchmark that several tables use runs only once.
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
            raise ArgumentError(f"{given} is not a benchmark directory: it has no published.py.")
        raise ArgumentError(
            "The benchmarks are part of the source checkout, not of the installed package. Run this command inside a "
            "checkout, or name the directory with --benchmarks."
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
        where = f" It measures these published tables: {', '.join(used)}." if used else ""
        raise ArgumentError(f"{name!r} is a benchmark; 'python -m benchmarks {name}' runs it in the checkout.{where}")
    hint = did_you_mean(name, known) or "Run 'mercer reproduce list' to list them."
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
        note(settings, "This was a quick run: its sizes are too small to compare the numbers.")
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
        yield f"Figure: {figure['file']}, in the results folder"
