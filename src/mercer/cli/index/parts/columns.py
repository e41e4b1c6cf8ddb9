"""Columns of a text beside the rows: words become numbers, booleans, dates or texts, whichever all of them are."""

__all__ = ["typed_columns"]

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables.rules import is_missing

_BOOLEANS = {"true": True, "false": False}


def typed_columns(data: dict[str, Any], known: dict[str, str], source: str) -> dict[str, Any]:
    """Columns of a file as an index takes them: those of Arrow as they are, words as the type they look like.

    ``known`` are the types of columns that the index has.
    """
    return {name: _typed(values, known.get(name), f"{source}, column {name!r}") for name, values in data.items()}


def _typed(values: Any, kind: str | None, where: str) -> Any:
    if getattr(getattr(values, "dtype", None), "kind", "") != "U":
        return values
    words = {word: None for word in values.tolist()}
    kinds: Iterable[str] = [kind] if kind is not None else _WAYS
    for each in kinds:
        found = _parsed(words, _WAYS[each])
        if isinstance(found, dict):
            return [found[word] for word in values.tolist()]
        if kind is not None:
            raise InputError(f"{where} holds {found[:40]!r}, but the index stores {kind} values there.")
    raise AssertionError("every value is text")


def _parsed(words: Iterable[str], parse: Callable[[str], Any]) -> dict[str, Any] | str:
    """Values by word, or the first word that has none."""
    found: dict[str, Any] = {}
    for word in words:
        try:
            found[word] = None if is_missing(word) else parse(word)
        except (ValueError, KeyError):
            return word
    return found


def _as(shape: str, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A way of parsing for words of one shape only: Python's own ways take more, as 1_000."""

    def checked(word: str) -> Any:
        if not re.fullmatch(shape, word):
            raise ValueError(word)
        return parse(word)

    return checked


# in the order in which they are tried
_WAYS: dict[str, Callable[[str], Any]] = {
    "integer": _as(r"-?(0|[1-9]\d{0,18})", int),  # 007 is no number but a code
    "float": _as(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", float),
    "boolean": lambda word: _BOOLEANS[word.lower()],
    "date": _as(r"\d{4}-\d\d-\d\d", date.fromisoformat),
    "timestamp": _as(r"\d{4}-\d\d-\d\d([ T][\d:.]+(Z|[+-][\d:]+)?)?", datetime.fromisoformat),
    "text": str,
}
