"""Parameters said on the command line as NAME=VALUE."""

__all__ = ["OF_KERNEL", "kernel_values", "named_values", "parameters_of"]

from collections.abc import Iterable
from typing import Any

from mercer._base.files.renames import renamed
from mercer._base.tables import ArgumentError

OF_KERNEL = "kernel__"  # scikit-learn's way of naming the parameters of a parameter
Value = bool | int | float | str | None


def named_values(texts: Iterable[str], example: str) -> dict[str, Value]:
    """Names and values; a value is a truth value, a number, none, or else a word.

    >>> named_values(["order=2", "signed=true", "window=uniform"], "--param order=2")
    {'order': 2, 'signed': True, 'window': 'uniform'}
    """
    found = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not name or not separator or not value:
            raise ArgumentError(f"A parameter must have the form NAME=VALUE, as in {example}; got {text!r}.")
        found[name.strip()] = _value(value.strip())
    return found


def kernel_values(texts: Iterable[str], example: str) -> dict[str, Value]:
    """Names and values of a kernel's parameters, whose names may have the prefix that a map's command needs.

    >>> kernel_values(["gamma=0.5", "kernel__signed=true"], "--param gamma=0.5")
    {'gamma': 0.5, 'signed': True}
    """
    return {name.removeprefix(OF_KERNEL): value for name, value in named_values(texts, example).items()}


def parameters_of(estimator, texts: Iterable[str], example: str, hidden: set[str]) -> dict[str, Any]:
    """Names and values that are parameters of an estimator, without the hidden ones, which are said otherwise."""
    found = renamed(type(estimator).__name__, named_values(texts, example))
    known = sorted(set(estimator.get_params(deep=False)) - hidden)
    for unknown in set(found) - set(known):
        raise ArgumentError(
            f"{type(estimator).__name__} has no parameter {unknown}. Its parameters are {', '.join(known)}."
        )
    return dict(found)


def _value(text: str) -> Value:
    words: dict[str, Value] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
