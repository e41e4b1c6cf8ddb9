"""``mercer detect``: train detectors of objects, run them, and measure them."""

__all__ = ["app"]

import typer

from mercer.cli.detect import evaluate as detect_evaluate
from mercer.cli.detect import run as detect_run
from mercer.cli.detect import train as detect_train
from mercer.cli.framework.commands import Verb, Verbs, flowing

EXAMPLES = """
[bold]Examples[/bold]

A folder of photographs, and the boxes of the persons in some of them:
  mercer detect train --images photos --boxes boxes.csv --out person.mercer

What it finds in others, as pictures and as lines; how good it is:
  mercer detect run person.mercer new --out overlays
  mercer detect evaluate person.mercer --images test --boxes test.csv
"""
_VERBS = (
    (detect_train.train, detect_train.EXAMPLES),
    (detect_run.run, detect_run.EXAMPLES),
    (detect_evaluate.evaluate, detect_evaluate.EXAMPLES),
)

app = typer.Typer(cls=Verbs, rich_markup_mode="rich", help="Find objects in images.")
for function, examples in _VERBS:
    app.command(function.__name__, cls=Verb, help=flowing(function.__doc__), epilog=examples)(function)


@app.callback(invoke_without_command=True, epilog=EXAMPLES)
def detect_group(ctx: typer.Context) -> None:
    """Find objects in images.

    A detector is learnt from images with boxes around the objects and from images without objects. It is a model of the
    whole object and of parts that may move, on gradients kept as one byte per cell.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), end="")
