"""Kinds of values that attributes of scikit-learn's estimators have, each a function that refuses what is not one.

A function takes the value, the axes of an array as letters, and the lengths that letters stand for so far; it raises
ValueError, TypeError or OverflowError.
"""

__all__ = ["KINDS", "is_estimator", "is_part", "is_plain", "packed", "require", "unpacked"]

import re
from collections.abc import Callable
from typing import Any

import numpy as np


def require(condition: Any, reason: str) -> None:
    if not condition:
        raise ValueError(reason)


def is_part(value: Any) -> bool:
    """(name, estimator or word), with columns behind it in a ColumnTransformer."""
    if not isinstance(value, tuple | list) or len(value) not in (2, 3) or type(value[0]) is not str:
        return False
    inner = value[1]
    return (inner is None or type(inner) is str or is_estimator(inner)) and all(map(is_plain, value[2:]))


def is_estimator(value: Any) -> bool:
    """An object of Mercer or of the list: the encoder and the decoder know no others."""
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)


def is_plain(value: Any, depth: int = 0) -> bool:
    """Numbers, words, arrays of them, and lists, tuples, dictionaries and slices of such."""
    if depth > 8:
        return False
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiubU" or all(type(item) is str for item in value.flat)
    if isinstance(value, dict):
        return all(is_plain(item, depth + 1) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple):
        return all(is_plain(item, depth + 1) for item in value)
    if isinstance(value, slice):
        return all(part is None or isinstance(part, int | str) for part in (value.start, value.stop, value.step))
    return value is None or isinstance(value, bool | int | float | str | np.generic)


def _count(value, axes, lengths):
    require(isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= value < 2**31, "no count")


def _samples(value, axes, lengths):
    found = np.asarray(value)
    require(found.dtype.kind in "iuf" and found.ndim <= 1 and np.isfinite(found).all(), "not a number of samples")


def _flag(value, axes, lengths):
    require(isinstance(value, bool | np.bool_), "neither True nor False")


def _number(value, axes, lengths):
    require(isinstance(value, int | float | np.number) and np.isfinite(value), "not a finite number")


def _word(value, axes, lengths):
    require(isinstance(value, str), "no word")


def _shaped(value, axes, lengths, kinds):
    require(isinstance(value, np.ndarray) and value.dtype.kind in kinds, "not an array of such values")
    require(value.ndim == len(axes.split()), f"{value.ndim} axes")
    for axis, length in zip(axes.split(), value.shape, strict=True):
        known = length if axis == "*" else lengths.setdefault(axis, length)
        require(length == known, f"{length} entries where {known} belong")


def _array(value, axes, lengths):
    _shaped(value, axes, lengths, "fiu")
    require(np.isfinite(value).all(), "not finite")


def _any(value, axes, lengths):
    _shaped(value, axes, lengths, "fiu")


def _integers(value, axes, lengths):
    _shaped(value, axes, lengths, "iu")
    require(value.min(initial=0) >= 0, "negative")
    require(value.max(initial=0) < 2**31, "too large")


def _fill(value, axes, lengths):
    _shaped(value, axes, lengths, "fiubUO")
    require(value.dtype.kind != "O" or all(type(item) is str for item in value), "neither numbers nor strings")


def _labels(value, axes, lengths):
    require(isinstance(value, np.ndarray) and value.ndim == 1 and len(value), "not an array of labels")
    require(value.dtype.kind in "fiubU" or all(type(item) is str for item in value), "neither numbers nor strings")


def _coefficients(value, axes, lengths):
    _array(value, "F" if np.ndim(value) == 1 else "* F", lengths)


def _intercept(value, axes, lengths):
    found = np.asarray(value)
    require(found.dtype.kind in "fiu" and found.ndim <= 1 and np.isfinite(found).all(), "not finite")


def _names(value, axes, lengths):
    require(isinstance(value, np.ndarray) and value.ndim == 1 and all(type(item) is str for item in value), "no names")
    require(len(value) == lengths.get("F", len(value)), "not one name per column")


def _plain(value, axes, lengths):
    require(is_plain(value), "not a plain value")


def _categories(value, axes, lengths):
    require(isinstance(value, list) and len(value) == lengths["F"], "not one for each column")
    for each in value:
        _labels(each, axes, lengths)


def _objects(value, axes, lengths):
    """An object array with an integer, None or a vector for each column."""
    require(isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.shape == (lengths["F"],), "no values")
    for item in value:
        if isinstance(item, np.ndarray):
            _array(item, "*", {})
        elif item is not None:
            _count(item, axes, lengths)


def _object(value, axes, lengths):
    require(is_estimator(value), "no estimator")


def _part(value, axes, lengths):
    require(isinstance(value, tuple) and len(value) == 3 and is_part(value), "not a name, an estimator and columns")


def _parts(value, axes, lengths):
    require(isinstance(value, list), "no list")
    for each in value:
        _part(each, axes, lengths)


def _dtype(value, axes, lengths):
    require(isinstance(value, np.dtype) and value.kind in "OUfiub", "not a type of numbers or strings")


KINDS: dict[str, Callable[[Any, str, dict[str, int]], None]] = {
    "any": _any,
    "array": _array,
    "categories": _categories,
    "coefficients": _coefficients,
    "count": _count,
    "dtype": _dtype,
    "fill": _fill,
    "flag": _flag,
    "integers": _integers,
    "intercept": _intercept,
    "labels": _labels,
    "names": _names,
    "number": _number,
    "object": _object,
    "objects": _objects,
    "part": _part,
    "parts": _parts,
    "plain": _plain,
    "samples": _samples,
    "word": _word,
}


def packed(value: Any, kind: str) -> Any:
    """A value as the encoder takes it."""
    if kind.endswith("objects") and value is not None:
        return list(value)
    return value.str if kind.endswith("dtype") else value


def unpacked(value: Any, kind: str) -> Any:
    if kind.endswith("objects") and isinstance(value, list):
        found = np.empty(len(value), dtype=object)
        for i, item in enumerate(value):
            found[i] = item
        return found
    if kind.endswith("dtype"):
        require(isinstance(value, str) and re.fullmatch(r"[<>|=]?[OUfiub]\d{0,4}", value), "no type")
        return np.dtype(value)
    return value
