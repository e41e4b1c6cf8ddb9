"""Options that several verbs share, each group written once as a function from options to one object.

``@option_groups(settings=common_options)`` on a verb makes its argument ``settings`` appear on the command line as all
the options of ``common_options``; the verb receives what that function returns.
"""

__all__ = ["Settings", "common_options", "input_options", "option_groups"]

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import typer

from mercer.cli.framework.runtime import prepared

LogLevel = Literal["debug", "info", "warning", "error"]
Format = Literal["npy", "npz", "csv", "tsv", "parquet", "svmlight", "fvecs", "bvecs", "ivecs"]
_COMMON = "Common options (before or after the command)"
_INPUT = "Input"


@dataclass(frozen=True)
class Settings:
    """The common options in force."""

    json: bool = False
    quiet: bool = False
    log_level: str = "warning"
    threads: int | None = None
    seed: int = 0
    debug: bool = False


def option_groups(**groups: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace arguments of a verb by the options of the named groups."""

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb, eval_str=True).parameters
        options = {name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()}
        merged: dict[str, inspect.Parameter] = {}
        for name, parameter in own.items():
            merged.update(options.get(name, {name: parameter}))

        @functools.wraps(verb)
        def command(**values: Any) -> None:
            arguments = {name: values[name] for name in own if name not in groups}
            for name, group in groups.items():
                arguments[name] = group(**{option: values[option] for option in options[name]})
            verb(**arguments)

        # typer reads the signature and the annotations, and passes everything by keyword
        by_keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in merged.values()]
        command.__signature__ = inspect.Signature(by_keyword)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in by_keyword}
        return command

    return decorate


def common_options(
    ctx: typer.Context,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document; errors are JSON too.", rich_help_panel=_COMMON)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the result and nothing else.", rich_help_panel=_COMMON)
    ] = False,
    log_level: Annotated[
        LogLevel,
        typer.Option(
            "--log-level",
            metavar="LEVEL",
            help="Report on the standard error: debug, info, warning or error.",
            rich_help_panel=_COMMON,
        ),
    ] = "warning",
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            help="Threads to use; -1 is every core, -2 all but one.",
            show_default="every core",
            rich_help_panel=_COMMON,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", min=0, help="Seed of everything random.", rich_help_panel=_COMMON),
    ] = 0,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_COMMON)
    ] = False,
) -> Settings:
    """Put the options into effect for the verb; those said before the verb hold unless said again after it."""
    if threads == 0:
        raise typer.BadParameter("0 threads cannot work; use 1 or more, or -1 for every core.", param_hint="--threads")
    said: dict[str, Any] = {
        "json": json,
        "quiet": quiet,
        "log_level": log_level,
        "threads": threads,
        "seed": seed,
        "debug": debug,
    }
    said = {name: value for name, value in said.items() if _is_said(ctx, name)}
    settings = replace(ctx.obj if isinstance(ctx.obj, Settings) else Settings(), **said)
    ctx.obj = settings
    if ctx.parent is not None:  # a verb, not the bare command
        ctx.with_resource(prepared(settings.log_level, settings.threads))
    return settings


def _is_said(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def input_options(
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="npy, npz, csv, tsv, parquet, svmlight, fvecs, bvecs or ivecs; needed for -.",
            show_default="by suffix",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="Column of the labels, by name or position (-1 is the last); it is then no feature.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first csv line names the columns.",
            show_default="by looking",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="CHAR",
            help="What separates csv cells: a character, tab or space.",
            show_default="by looking",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    dtype: Annotated[
        Literal["float32", "float64"] | None,
        typer.Option(
            "--dtype",
            metavar="TYPE",
            help="float32 or float64.",
            show_default="float64 where stored so, else float32",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    array: Annotated[
        str | None,
        typer.Option(
            "--array",
            metavar="NAME",
            help="Member of an npz file, also written FILE.npz::NAME.",
            show_default="X, or the only one",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column of the ids of the rows, by name or position; it is then no feature.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="COLUMN",
            help="Column to leave out, by name or position; may be repeated.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help="The columns that are features, by names or positions; all others are left out.",
            show_default="all",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="HOW",
            help="Cells without a value (empty, NA, N/A, nan, null): error, drop-rows, fill:VALUE, or mean, that of "
            "the training rows.",
            show_default="error; mean for a model fitted so",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    n_features: Annotated[
        int | None,
        typer.Option(
            "--n-features",
            metavar="N",
            min=1,
            help="Number of columns of an svmlight file.",
            show_default="largest index",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    max_unpacked: Annotated[
        str | None,
        typer.Option(
            "--max-unpacked",
            metavar="SIZE",
            help="Memory that a file may take once unpacked, as 8GB.",
            show_default="a quarter of the memory available",
            rich_help_panel=_INPUT,
        ),
    ] = None,
) -> dict[str, Any]:
    """The rules for reading input, as keywords of ``mercer.open_rows``."""
    return {
        "format": format,
        "label": label,
        "header": header,
        "delimiter": delimiter,
        "dtype": dtype,
        "array": array,
        "n_features": n_features,
        "max_unpacked": max_unpacked,
        "id": id,
        "drop": tuple(drop or ()),
        "columns": tuple(column.strip() for column in columns.split(",")) if columns else (),
        "missing": missing,
    }
