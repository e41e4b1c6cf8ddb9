"""The ``mercer`` command: the verbs, the options before the verb, and the entry point."""

__all__ = ["app", "run"]

import platform
from importlib import metadata
from typing import Annotated

import typer

from mercer import __version__
from mercer.cli import datasets, inspect, kernel, reproduce, serve
from mercer.cli.demo import demo
from mercer.cli.detect import app as detect
from mercer.cli.framework.commands import Verb, Verbs, flowing
from mercer.cli.framework.options import Settings, common_options, option_groups
from mercer.cli.framework.output import print_json
from mercer.cli.images import app as images
from mercer.cli.index import app as index
from mercer.cli.map import app as map
from mercer.cli.models import encode, evaluate, fit, predict
from mercer.cli.wire import app as wire

_DEPENDENCIES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "typer", "rich")
_EXAMPLES = """
[bold]Examples[/bold]

  mercer demo                                   what a kernel buys, on digits
  mercer kernel X.npy --kernel js --top 10      the most similar rows
  mercer fit X.csv --label kind --out m.mercer  a classifier
  mercer predict m.mercer new.csv               what it says of other rows
  mercer inspect m.mercer                       what a model file holds
  mercer index build X.npy --out X.index        nearest neighbours, in bytes
  mercer images train pictures --out m.mercer   a classifier of images
  mercer detect run m.mercer photo.jpg          where the objects are

Data comes as npy, npz, csv, tsv, parquet, svmlight, fvecs, bvecs or
ivecs; - is the standard input or output. Exit codes: 0 success,
1 failure, 2 a command line that must be changed, 130 interrupted.
"""

app = typer.Typer(
    name="mercer",
    cls=Verbs,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for verb in (demo, kernel, fit, predict, evaluate, encode, inspect, datasets, reproduce, serve):
    verb_name = verb.__name__.rpartition(".")[2]
    function = getattr(verb, verb_name)
    app.command(verb_name, cls=Verb, help=flowing(function.__doc__), epilog=verb.EXAMPLES)(function)
app.add_typer(map.app, name="map")
app.add_typer(index.app, name="index")
app.add_typer(wire.app, name="wire")
app.add_typer(images.app, name="images")
app.add_typer(detect.app, name="detect")


@app.callback(invoke_without_command=True, epilog=_EXAMPLES)
@option_groups(settings=common_options)
def mercer(
    ctx: typer.Context,
    settings: Settings,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version; with --json also those of the dependencies.")
    ] = False,
) -> None:
    """Mercer: non-linear kernels at linear cost.

    Exact chi2, intersection, Jensen-Shannon and other kernels, their linear maps, and what can be done with them.
    """
    if version:
        if settings.json:
            print_json(_versions())
        else:
            print(f"mercer {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), end="")


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"mercer": __version__, "python": platform.python_version()}
    for name in _DEPENDENCIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def run() -> None:
    """Entry point of the ``mercer`` script."""
    app()


if __name__ == "__main__":
    run()
