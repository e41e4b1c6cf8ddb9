"""How typer is bent to our customs: errors end in one place, flags show no type in the help."""

__all__ = ["Verbs", "add_verbs", "epilog", "group"]

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from mercer.cli.framework.errors import FAILURE, INTERRUPTED, report

# earlier names of options, which stay accepted
RENAMED_OPTIONS = {"--neighbours": "--neighbors", "--max-neighbours": "--max-neighbors"}


class Verb(TyperCommand):
    """One command."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """The parameters, where a flag has no type to show: ``--json``, not ``--json <bool>``."""
        return _without_flag_types(super().get_params(ctx))

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the arguments; an option may also be given by its earlier name, which the help no longer shows."""
        known = {name for each in self.get_params(ctx) for name in each.opts}
        return super().parse_args(ctx, [_renamed(argument, known) for argument in args])


class Verbs(TyperGroup):
    """The group of all commands; its ``main`` is the only place where exceptions end."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """As for one command."""
        return _without_flag_types(super().get_params(ctx))

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> None:  # type: ignore[override]
        """Run the command line and exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False  # so that errors arrive here instead of being printed by typer
        try:
            code = super().main(arguments, prog_name="mercer", **extra)
            sys.stdout.flush()  # a closed pipe shows itself here at the latest
        except BrokenPipeError:
            # Python flushes once more at exit; nothing may be left to fail there
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILURE
        except Exception as error:  # whatever it is, it becomes a sentence
            code = report(error, arguments)
        if code == INTERRUPTED:
            print("mercer: interrupted.", file=sys.stderr)
        sys.exit(code if isinstance(code, int) else 0)


def group(about: str, examples: str, *verbs: Callable[..., None]) -> typer.Typer:
    """A command of several verbs, which alone prints its help."""
    title, _, _ = about.partition("\n\n")
    app = typer.Typer(cls=Verbs, rich_markup_mode="rich", help=title)
    add_verbs(app, *verbs)

    def alone(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            print(ctx.get_help(), end="")

    app.callback(invoke_without_command=True, help=_flowing(about), epilog=epilog(examples))(alone)
    return app


def add_verbs(app: typer.Typer, *verbs: Callable[..., None]) -> None:
    """Register functions under their names, with their docstrings as the help."""
    for verb in verbs:
        about = {"help": _flowing(verb.__doc__), "epilog": epilog(verb.examples)}  # type: ignore[attr-defined]
        app.command(verb.__name__, cls=Verb, **about)(verb)  # type: ignore[arg-type]


def epilog(examples: str) -> str:
    """The end of a help text."""
    return f"\n[bold]Examples[/bold]\n{examples}"


def _flowing(docstring: str | None) -> str:
    """A docstring for the help: paragraphs without line breaks, which the terminal then sets to its own width."""
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _renamed(argument: str, known: set[str]) -> str:
    """An argument with the name that its option has now.

    >>> _renamed("--neighbours=5", {"-k", "--neighbors"})
    '--neighbors=5'
    """
    name, equals, value = argument.partition("=")
    now = RENAMED_OPTIONS.get(name)
    return argument if now not in known else f"{now}{equals}{value}"


def _without_flag_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters
