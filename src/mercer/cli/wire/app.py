"""``mercer wire``: classifiers of rows that arrive as a few hundred bits."""

__all__ = ["app"]

import typer

from mercer.cli.framework.commands import Verb, Verbs, flowing
from mercer.cli.wire import ask as wire_ask
from mercer.cli.wire import distances as wire_distances
from mercer.cli.wire import fit as wire_fit
from mercer.cli.wire import rates as wire_rates
from mercer.cli.wire import specification as wire_specification

EXAMPLES = """
[bold]Examples[/bold]

A classifier at three rates, its codes as a message, and a service that takes them:
  mercer wire fit train.npz --rates 64,128,256 --input drawing:8x8:16 --out wire.mercer
  mercer encode wire.mercer new.npy --bits 128 --out codes.mrcw
  mercer serve wire.mercer
  mercer wire ask http://127.0.0.1:8321 new.npy --bits 128

  mercer wire specification wire.mercer --bits 128

Which code is good enough, and what it costs:
  mercer wire rates train.npz --bits 32,64,128,256 --plot rates.png
"""
_VERBS = (
    (wire_fit.fit, wire_fit.EXAMPLES),
    (wire_rates.rates, wire_rates.EXAMPLES),
    (wire_specification.specification, wire_specification.EXAMPLES),
    (wire_ask.ask, wire_ask.EXAMPLES),
    (wire_distances.distances, wire_distances.EXAMPLES),
)

app = typer.Typer(cls=Verbs, rich_markup_mode="rich", help="Classify rows that arrive as a few hundred bits.")
for function, examples in _VERBS:
    app.command(function.__name__, cls=Verb, help=flowing(function.__doc__), epilog=examples)(function)


@app.callback(invoke_without_command=True, epilog=EXAMPLES)
def wire_group(ctx: typer.Context) -> None:
    """Classify rows that arrive as a few hundred bits.

    A model has one embedding, and a classifier for each of several lengths of its code. mercer encode makes the bits,
    mercer predict and mercer evaluate use them, mercer serve takes them from others, and mercer wire ask sends them.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), end="")
