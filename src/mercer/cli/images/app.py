"""``mercer images``: from a folder of images to a classifier that says why."""

__all__ = ["app"]

import typer

from mercer.cli.framework.commands import Verb, Verbs, flowing
from mercer.cli.images import evaluate as images_evaluate
from mercer.cli.images import explain as images_explain
from mercer.cli.images import predict as images_predict
from mercer.cli.images import rows as images_rows
from mercer.cli.images import train as images_train

EXAMPLES = """
[bold]Examples[/bold]

A folder with one folder of images per class, a model, and a page that shows how good it is:
  mercer images train flowers --out flowers.mercer

What other images show, how often that is right, and why:
  mercer images predict flowers.mercer new/*.jpg
  mercer images evaluate flowers.mercer test
  mercer images explain flowers.mercer new/rose.jpg --out rose.png
"""
_VERBS = (
    (images_train.train, images_train.EXAMPLES),
    (images_predict.predict, images_predict.EXAMPLES),
    (images_explain.explain, images_explain.EXAMPLES),
    (images_evaluate.evaluate, images_evaluate.EXAMPLES),
    (images_rows.rows, images_rows.EXAMPLES),
)

app = typer.Typer(cls=Verbs, rich_markup_mode="rich", help="Classify images, and see why.")
for function, examples in _VERBS:
    app.command(function.__name__, cls=Verb, help=flowing(function.__doc__), epilog=examples)(function)


@app.callback(invoke_without_command=True, epilog=EXAMPLES)
def images_group(ctx: typer.Context) -> None:
    """Classify images, and see why.

    Images are described patch by patch, patches become visual words, and a classifier with a kernel between histograms
    of words tells classes apart. mercer fit and mercer predict are for rows of numbers.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), end="")
