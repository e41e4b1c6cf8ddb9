"""From tables of parameters to the options of a verb, and the two groups of options that most verbs share.

``@options(TABLE, settings=COMMON)`` on a verb makes its arguments that the table names appear on the command line, and
its argument ``settings`` as all the options of the group ``COMMON``; the verb receives what the group makes of them.
"""

__all__ = ["COMMON", "INPUT", "Group", "OptionError", "Settings", "options"]

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal

import typer

from mercer._base.errors import InputError
from mercer._base.parameters import REQUIRED, Parameter, Values, choice, flag, integer, named, text, texts
from mercer._base.tables import FORMATS
from mercer.cli.framework.runtime import prepared


class OptionError(typer.BadParameter):
    """A value that an option does not accept."""

    def format_message(self) -> str:
        """The sentence, which names the option."""
        return self.message


@dataclass(frozen=True)
class Group:
    """Options that a verb receives as one object, which ``make`` makes of their values."""

    table: tuple[Parameter, ...]
    make: Callable[..., Any] = Values
    panel: str | None = None
    takes_context: bool = False

    @property
    def declared(self) -> dict[str, inspect.Parameter]:
        """The options as typer reads them."""
        context = {"ctx": inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)}
        made = {each.name: _declared(each.but(panel=each.panel or self.panel)) for each in self.table}
        return (context if self.takes_context else {}) | made


def options(
    own: Iterable[Parameter] = (), examples: str = "", **groups: Group
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give the arguments of a verb the options of its own table and of the named groups, and its help examples."""
    table = named(own)

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        arguments = inspect.signature(verb, eval_str=True).parameters
        declared = {name: group.declared for name, group in groups.items()}
        merged: dict[str, inspect.Parameter] = {}
        for name, argument in arguments.items():
            merged |= (
                declared[name] if name in groups else {name: _declared(table[name]) if name in table else argument}
            )

        @functools.wraps(verb)
        def command(**values: Any) -> None:
            given = {name: values[name] for name in arguments if name not in groups}
            for name, group in groups.items():
                given[name] = group.make(**{option: values[option] for option in declared[name]})
            verb(**given)

        # typer reads the signature and the annotations, and passes everything by keyword
        by_keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in merged.values()]
        command.__signature__ = inspect.Signature(by_keyword)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in by_keyword}
        command.examples = examples  # type: ignore[attr-defined]
        return command

    return decorate


def _declared(each: Parameter) -> inspect.Parameter:
    """A parameter as typer reads it."""
    about: dict[str, Any] = {"metavar": each.metavar, "help": _help(each), "show_default": each.shown}
    about["rich_help_panel"] = each.panel
    if each.kind in (int, float, tuple) or each.words:
        about["parser"] = functools.partial(_parsed, each)
    if each.kind in (int, float) and not each.words:
        about |= {"min": each.least, "max": each.most}
    said = typer.Argument(**about) if each.positional else typer.Option(*_flags(each), **about)
    default = inspect.Parameter.empty if each.default is REQUIRED else each.default
    annotation = Annotated[_annotation(each) | None if default is None else _annotation(each), said]  # type: ignore[valid-type]
    return inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(each: Parameter) -> str:
    """The sentence of an option, with the choices that it does not name and the range that typer does not show.

    >>> _help(choice("mode", "a b", "a", "The mode.")), _help(choice("mode", "a b", "a", "Use a or b."))
    ("The mode. Must be one of 'a', 'b'.", 'Use a or b.')
    """
    if each.kind is str:
        is_told = each.words == (each.metavar,) or all(word in each.help for word in each.words)
    else:
        bounds = (each.least, each.most) if each.words else ()
        is_told = all(bound is None for bound in (each.above, each.below, *bounds))
    return each.help if is_told else f"{each.help} Must be {each.constraint}."


def _annotation(each: Parameter) -> Any:
    """The type that the help is to show."""
    if each.kind is list:
        return list[str]
    if each.kind is tuple or (each.kind in (int, float) and each.words):
        return str
    return Literal[each.words] if each.words else each.kind


def _flags(each: Parameter) -> list[str]:
    """The names of an option.

    >>> _flags(integer("n_features", None, "Columns.")), _flags(text("out", None, "The file.", "FILE", "-o"))
    (['--n-features'], ['--out', '-o'])
    """
    usual = f"--{each.name.replace('_', '-')}"
    return each.flags.split() if "--" in each.flags else [usual, *each.flags.split()]


def _parsed(each: Parameter, said: Any) -> Any:
    """The value of an option; what is refused is refused under the option's name."""
    try:
        return each.parse(said)
    except InputError as error:
        flags = _flags(each)
        short = f"-{each.name}"  # -k, where --k is there for form only
        short = short if short in flags else flags[0]
        name = each.metavar if each.positional else short.partition("/")[0]
        raise OptionError(str(error).replace(f"`{each.name}`", str(name), 1)) from error


# ------------------------------------------------------------------------------------------------- options of all verbs


@dataclass(frozen=True)
class Settings:
    """The common options in force."""

    json: bool = False
    quiet: bool = False
    log_level: str = "warning"
    threads: int | None = None
    seed: int = 0
    debug: bool = False


def _settings(ctx: typer.Context, **values: Any) -> Settings:
    """Put the options into effect for the verb; those said before the verb hold unless said again after it."""
    if values["threads"] == 0:
        raise OptionError("--threads must be a nonzero integer, such as -1 for all cores; got 0.", ctx=ctx)
    said = {name: value for name, value in values.items() if _is_said(ctx, name)}
    settings = replace(ctx.obj if isinstance(ctx.obj, Settings) else Settings(), **said)
    ctx.obj = settings
    if ctx.parent is not None:  # a verb, not the bare command
        ctx.with_resource(prepared(settings.log_level, settings.threads))
    return settings


def _is_said(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


_LEVELS = "debug info warning error"
COMMON = Group(
    (
        flag("json", "Print the result, or the error, as one JSON document."),
        flag("quiet", "Print only the result.", "-q"),
        choice(
            "log_level",
            _LEVELS,
            "warning",
            "Minimum level of messages on standard error: debug, info, warning or error.",
            "LEVEL",
        ),
        integer("threads", None, "Number of threads; -1 uses all cores, -2 all but one.", shown="all cores"),
        integer("seed", 0, "Seed of the random number generator; the same seed gives the same result.", least=0),
        flag("debug", "Show the full traceback if an error occurs."),
    ),
    _settings,
    panel="Common options (before or after the command)",
    takes_context=True,
)
assert [each.name for each in COMMON.table] == [each.name for each in fields(Settings)]


# ------------------------------------------------------------------------------------------------- how input is read


def _rules(drop: list[str] | None, columns: str | None, **others: Any) -> dict[str, Any]:
    """The rules for reading input, as keywords of ``mercer.open_rows``."""
    wanted = tuple(column.strip() for column in columns.split(",")) if columns else ()
    return others | {"drop": tuple(drop or ()), "columns": wanted}


_FORMATS = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}; required for standard input (-)."
INPUT = Group(
    (
        choice("format", " ".join(FORMATS), None, _FORMATS, "FORMAT", shown="by suffix"),
        text("label", None, "Column of the labels, by name or position (-1 is the last); it is not used as a feature.",
            "COLUMN"),
        flag("header", "Read column names from the first csv line, or not.", "--header/--no-header", None,
            shown="detected"),
        text("delimiter", None, "Delimiter of csv cells: a character, tab or space.", "CHAR", shown="detected"),
        choice("dtype", "float32 float64", None, "Number type of the rows in memory.", "TYPE",
            shown="float64 if stored as float64, else float32"),
        text("array", None, "Member of an npz file, also written FILE.npz::NAME.", shown="X, or the only member"),
        text("id", None, "Column of the row ids, by name or position; it is not used as a feature.", "COLUMN"),
        texts("drop", None, "Column to ignore, by name or position; may be repeated.", "COLUMN"),
        text("columns", None, "Columns to use as features, by names or positions; all others are ignored.",
            "A,B,...", shown="all"),
        text("missing", None, "What to do with missing values (empty, NA, N/A, nan, null): stop (error), drop the "
            "row (drop-rows), insert a value (fill:VALUE), or insert the column mean of the training rows "
            "(mean).", "HOW", shown="error; mean if the model was fitted with it"),
        integer("n_features", None, "Number of columns of an svmlight file.", shown="largest index", least=1),
        text("max_unpacked", None, "Maximum memory for an unpacked file, such as 8GB.", "SIZE",
            shown="a quarter of the available memory"),
    ),
    _rules,
    panel="Input",
)  # fmt: skip
