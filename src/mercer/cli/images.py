"""``mercer images``: from a folder of images to a classifier that says why."""

__all__ = ["app"]

import typer

from mercer.cli import images_evaluate, images_explain, images_predict, images_rows, images_train
from mercer.cli.commands import Verb, Verbs, flowing

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
