"""The language of the tables: what a parameter is, what it accepts, and the one sentence that refuses the rest.

>>> number("tol", 1e-3, "Relative duality gap at which to stop.", above=0).check(0.0)
Traceback (most recent call last):
mercer._base.errors.InputError: `tol` must be a number > 0; got 0.
"""

__all__ = [
    "REQUIRED",
    "Parameter",
    "Table",
    "Values",
    "anything",
    "argument",
    "check_parameters",
    "choice",
    "flag",
    "integer",
    "integers",
    "keep_arguments",
    "named",
    "number",
    "pathname",
    "pick",
    "text",
    "texts",
]

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NoReturn

from mercer._base.errors import InputError, did_you_mean

REQUIRED: Any = ...  # the default of what must be given


class Values(dict[str, Any]):
    """The values of a table's parameters: keywords for a call, or attributes.

    >>> Values(tol=0.1).tol
    0.1
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    name : as in Python
    kind : int, float, str, bool, Path, list of texts, tuple of integers, or object for anything else
    default : its value if nothing is said, or REQUIRED
    help : one sentence
    metavar : what stands for a value in the help
    flags : names on the command line where they are not made from ``name``, with a space between them; a single short
        one is added to the usual one, and ``""`` is the usual one alone
    shown : the default in words, for the help
    words : all that a text may be; or, of numbers, the words that may stand for one
    least, most, above, below : the range of a number; the last two bounds are not part of it
    optional : whether None may be given; it may where it is the default
    what : what a value must be, in words, if that is checked where the value is used
    panel : the group of the help that it is shown in
    positional : whether the command line takes it by its place
    """

    name: str
    kind: type
    default: Any
    help: str
    metavar: str | None = None
    flags: str = ""
    shown: str | bool = True
    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    optional: bool = False
    what: str = ""
    panel: str | None = None
    positional: bool = False

    def but(self, **changes: Any) -> "Parameter":
        """The same with other properties."""
        return replace(self, **changes)

    def unsaid(self, shown: str | None = None, **changes: Any) -> "Parameter":
        """The same with the default None: the estimator's own, or, if it depends on others, the one in words."""
        words = f"{self.default:g}" if isinstance(self.default, float) else str(self.default)
        return replace(self, default=None, shown=shown or words, **changes)

    @property
    def constraint(self) -> str:
        """What a value must be, in words; None, which cannot be said on the command line, is not among them.

        >>> integer("bins", "auto", "How many bins.", least=1, words=("auto",)).constraint
        "an integer >= 1, or 'auto'"
        """
        return _any_of(self._alternatives)

    @property
    def domain(self) -> str:
        """What a value must be in Python, in words.

        >>> integer("bins", "auto", "How many bins.", least=1, words=("auto",), optional=True).domain
        "an integer >= 1, 'auto', or None"
        """
        may_be_none = (self.optional or self.default is None) and not self.what
        return _any_of([*self._alternatives, *["None"] * may_be_none])

    @property
    def _alternatives(self) -> list[str]:
        named = [repr(word) for word in self.words]
        if self.what:
            return [self.what]
        if self.kind is str and len(named) > 1:
            return [f"one of {', '.join(named)}"]
        if self.kind is str and named:
            return named
        if self.kind not in (int, float):
            texts = {bool: "True or False", Path: "a path", tuple: "integers >= 1 with commas between them"}
            return [texts.get(self.kind, "a text")]
        bounds = [(">", self.above), (">=", self.least), ("<", self.below), ("<=", self.most)]
        limits = " and ".join(f"{sign} {bound:,}" for sign, bound in bounds if bound is not None)
        return [" ".join(filter(None, ["an integer" if self.kind is int else "a number", limits])), *named]

    def accepts(self, value: Any) -> bool:
        """Whether a value is of the kind and in the range."""
        if self.what or value is self.default:
            return True
        if value is None:
            return self.optional
        if self.words and isinstance(value, str):
            return value in self.words
        if self.kind in (int, float):
            kind = Integral if self.kind is int else Real
            return isinstance(value, kind) and not _is_bool(value) and self._in_range(value)
        if self.kind is bool:
            return _is_bool(value)
        kinds: dict[type, Any] = {str: str, Path: (str, os.PathLike), tuple: (tuple, list)}
        return not self.words and isinstance(value, kinds.get(self.kind, object))

    def _in_range(self, value: Any) -> bool:
        return (
            (isinstance(value, Integral) or math.isfinite(value))
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.below is None or value < self.below)
            and (self.most is None or value <= self.most)
        )

    def check(self, value: Any, who: str = "") -> None:
        """Refuse a value that is not accepted; ``who`` is the estimator or function that asks."""
        if not self.accepts(value):
            self.refuse(value, who)

    def refuse(self, value: Any, who: str = "") -> NoReturn:
        """Raise the error of a value that is not accepted."""
        got = f"{value:g}" if isinstance(value, float) else f"{value!r:.80}"
        if isinstance(value, Integral) and not _is_bool(value):
            got = str(value)
        hint = did_you_mean(value, self.words) if isinstance(value, str) else ""
        subject, wanted = (f"{who}: `{self.name}`", self.domain) if who else (f"`{self.name}`", self.constraint)
        raise InputError(f"{subject} must be {wanted}; got {got}. {hint}".rstrip())

    def parse(self, said: Any) -> Any:
        """The value that a word of the command line stands for; other things than words are values already.

        >>> number("C", "auto", "Weight of the losses.", above=0, words=("auto",)).parse("0.5")
        0.5
        """
        value = said
        if isinstance(said, str) and self.kind is tuple:
            value = self._integers(said)
        elif isinstance(said, str) and said not in self.words and self.kind in (int, float):
            try:
                value = self.kind(said)
            except ValueError:
                self.refuse(said)
        self.check(value)
        return value

    def _integers(self, said: str) -> tuple[int, ...]:
        words = said.split(",")
        if not all(word.isascii() and word.isdigit() and 0 < int(word) < 2**31 for word in words):
            self.refuse(said)
        return tuple(map(int, words))


Table = tuple[Parameter, ...]  # the parameters of an estimator


def named(table: Iterable[Parameter]) -> dict[str, Parameter]:
    """The parameters of a table by their names."""
    return {parameter.name: parameter for parameter in table}


def pick(table: Iterable[Parameter], names: str, **defaults: Any) -> Table:
    """Some parameters of a table, named in one text, some of them with another default.

    >>> [each.default for each in pick([integer("k", 10, "Neighbours."), flag("exact", "No codes.")], "k", k=5)]
    [5]
    """
    known = named(table)
    return tuple(known[name].but(default=defaults.get(name, known[name].default)) for name in names.split())


def check_parameters(owner: Any, table: Iterable[Parameter], who: str = "") -> None:
    """Refuse the first parameter of an estimator that its table does not accept; ``who`` is its name for the error."""
    for parameter in table:
        if not parameter.what:
            parameter.check(getattr(owner, parameter.name), who or type(owner).__name__)


def keep_arguments(estimator: Any, given: dict[str, Any]) -> None:
    """Keep the arguments of ``__init__`` as they are, in attributes of the same names, as scikit-learn asks for.

    >>> class Scaler:
    ...     def __init__(self, factor, *, offset=0.0):
    ...         keep_arguments(self, locals())
    >>> vars(Scaler(2.0))
    {'factor': 2.0, 'offset': 0.0}
    """
    vars(estimator).update({name: value for name, value in given.items() if name != "self"})


def _is_bool(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # of Python or of numpy, which is not loaded here


def _any_of(texts: list[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)}, or {last}" if first else last


def anything(name: str, default: Any, help: str, what: str) -> Parameter:
    """What is checked where it is used: ``what`` says in words what it must be."""
    return Parameter(name, object, default, help, what=what)


def integer(name: str, default: Any, help: str, metavar: str = "N", flags: str = "", **more: Any) -> Parameter:
    """A integer."""
    return Parameter(name, int, default, help, metavar, flags, **more)


def integers(name: str, default: Any, help: str, metavar: str = "N,...", flags: str = "", **more: Any) -> Parameter:
    """Integers >= 1, separated by commas.

    >>> integers("sizes", None, "Sizes of patches.").parse("4,8")
    (4, 8)
    """
    return Parameter(name, tuple, default, help, metavar, flags, **more)


def number(name: str, default: Any, help: str, metavar: str = "NUMBER", flags: str = "", **more: Any) -> Parameter:
    """A number."""
    return Parameter(name, float, default, help, metavar, flags, **more)


def text(name: str, default: Any, help: str, metavar: str = "NAME", flags: str = "", **more: Any) -> Parameter:
    """Any text."""
    return Parameter(name, str, default, help, metavar, flags, **more)


def texts(name: str, default: Any, help: str, metavar: str, flags: str = "", **more: Any) -> Parameter:
    """Any number of texts."""
    return Parameter(name, list, default, help, metavar, flags, **more)


def pathname(name: str, default: Any, help: str, metavar: str = "FILE", flags: str = "", **more: Any) -> Parameter:
    """A file or a folder."""
    return Parameter(name, Path, default, help, metavar, flags, **more)


def flag(name: str, help: str, flags: str = "", default: bool | None = False, **more: Any) -> Parameter:
    """Said or not said."""
    return Parameter(name, bool, default, help, None, flags, **more)


def argument(name: str, metavar: str, help: str, kind: type = str, default: Any = REQUIRED, **more: Any) -> Parameter:
    """What the command line takes by its place."""
    return Parameter(name, kind, default, help, metavar, positional=True, **more)


def choice(name: str, words: str, default: Any, help: str, metavar: str = "NAME", **more: Any) -> Parameter:
    """One of several words, which stand in one text.

    >>> choice("solver", "auto bundle dual", "auto", "The solver.").words
    ('auto', 'bundle', 'dual')
    """
    return Parameter(name, str, default, help, metavar, words=tuple(words.split()), **more)
