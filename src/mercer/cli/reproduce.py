"""``mercer reproduce``: list and run the benchmarks of a source checkout."""

__all__ = ["EXAMPLES", "reproduce"]

import json
import logging
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.tables import ArgumentError
from mercer.cli.options import Settings, common_options, option_groups
from mercer.cli.output import note, print_json, print_table, progress

EXAMPLES = """
[bold]Examples[/bold]

  mercer reproduce list
  mercer reproduce kernels-speed
  mercer reproduce all --quick --out /tmp/results
"""


@option_groups(settings=common_options)
def reproduce(
    name: Annotated[str, typer.Argument(metavar="list|all|NAME", help="List the benchmarks, run all, or run one.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes, to see that everything runs; nothing is judged.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where the results go.", show_default="benchmarks/results"),
    ] = None,
    benchmarks: Annotated[
        Path | None,
        typer.Option(
            "--benchmarks",
            metavar="DIR",
            help="The directory of the benchmarks.",
            show_default="./benchmarks, or that of the source checkout",
        ),
    ] = None,
    *,
    settings: Settings,
) -> None:
    """List the benchmarks, or run them and print their tables.

    Every number that Mercer publishes about itself comes from one of these. A run writes a JSON file with the
    measurements, the versions, the processor and its load, and prints it as a table in markdown.
    """
    known = _registry(benchmarks)
    if name == "list":
        _list(settings, known)
        return
    if name != "all" and name not in known:
        near = get_close_matches(name, known)
        hint = f"Did you mean {near[0]!r}?" if near else "'mercer reproduce list' names them all."
        raise ArgumentError(f"There is no benchmark {name!r}. {hint}")
    chosen = list(known.values()) if name == "all" else [known[name]]
    render = import_module("benchmarks.report").render
    if not settings.quiet:  # a run takes minutes and says on the log how far it is
        logging.getLogger("mercer.benchmarks").setLevel(logging.INFO)
    results = []
    for benchmark in chosen:
        note(settings, f"{benchmark.name}: {benchmark.title}")
        with progress(settings):
            path = benchmark.run(quick=quick, out_dir=out)
        results.append(json.loads(Path(path).read_text()))
        if not settings.json:
            print(render(path))
        note(settings, f"Written to {path}")
    if settings.json:
        print_json(results)


def _registry(given: Path | None) -> dict[str, Any]:
    """Benchmark objects by name, from the first directory that has a registry."""
    checkout = Path(__file__).resolve().parents[3]  # <checkout>/src/mercer/cli
    places = [given] if given is not None else [Path("benchmarks"), checkout / "benchmarks"]
    found = next((place.resolve() for place in places if (place / "registry.py").is_file()), None)
    if found is None:
        if given is not None:
            raise ArgumentError(f"{given} holds no benchmarks: it has no registry.py.")
        raise ArgumentError(
            "The benchmarks are part of the source checkout and not of the installed package. "
            "Run this inside a checkout, or name its directory with --benchmarks."
        )
    if found.name != "benchmarks":
        raise ArgumentError(f"The directory of the benchmarks must be called benchmarks, not {found.name}.")
    sys.path.insert(0, str(found.parent))
    return import_module("benchmarks.registry").all_benchmarks()


def _list(settings: Settings, known: dict[str, Any]) -> None:
    if settings.json:
        print_json([{"name": b.name, "title": b.title, "paper": b.paper, "needs": b.needs} for b in known.values()])
        return
    if settings.quiet:
        print("\n".join(known))
        return
    rows = [[b.name, b.title, b.paper or "", ", ".join(b.needs)] for b in known.values()]
    print_table(settings, "Benchmarks", ["name", "what is compared", "repeats", "data"], rows, text_columns=4)
