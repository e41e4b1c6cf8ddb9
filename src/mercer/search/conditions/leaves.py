"""Leaves of a condition: values are made to be of the type of their column, or refused.

Integers are compared exactly with any number: x < 2.5 is x <= 2, x = 2.5 is true for no row.
"""

__all__ = ["comparison", "membership", "pattern"]

import math
import re
from datetime import UTC, date, datetime, time
from numbers import Integral

import numpy as np

from mercer._base.errors import InputError
from mercer.search.conditions.tree import Among, Compare, Like, Missing

SMALLEST, LARGEST = -(2**63) + 1, 2**63 - 1
NEEDED = {
    "integer": "a number",
    "float": "a number",
    "boolean": "true or false",
    "text": "a text",
    "date": "a date as '2024-12-31'",
    "timestamp": "a time as '2024-12-31' or '2024-12-31 23:59:59'",
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?")


def comparison(column, operator, value):
    """A leaf for ``column operator value``."""
    value = _checked(column, value)
    if column.type == "boolean" and operator not in ("=", "!="):
        raise InputError(f"The column {column.name!r} is boolean and cannot be ordered. Use = or !=.")
    if column.type == "integer":
        return _whole(column, operator, value)
    return Compare(column, operator, float(value) if column.type == "float" else value)


def _whole(column, operator, value):
    if operator in ("=", "!="):
        if value == math.floor(value) and SMALLEST <= value <= LARGEST:
            return Compare(column, operator, int(value))
        return Missing(column, negated=True) if operator == "!=" else Among(column, ())
    # x < v is x <= ceil(v) - 1, x > v is x >= floor(v) + 1
    bounds = {
        "<": math.ceil(value) - 1,
        "<=": math.floor(value),
        ">": math.floor(value) + 1,
        ">=": math.ceil(value),
    }
    bound, upwards = bounds[operator], operator in (">", ">=")
    if (bound <= SMALLEST) if upwards else (bound >= LARGEST):
        return Missing(column, negated=True)
    if not SMALLEST <= bound <= LARGEST:
        return Among(column, ())
    return Compare(column, ">=" if upwards else "<=", bound)


def membership(column, values, negated=False):
    """A leaf for ``column in (values)``."""
    found = [_checked(column, value) for value in values]
    if column.type == "integer":
        found = [int(value) for value in found if value == math.floor(value) and SMALLEST <= value <= LARGEST]
    elif column.type == "float":
        found = [float(value) for value in found]
    return Among(column, tuple(dict.fromkeys(found)), negated)


def pattern(column, value, negated=False):
    """A leaf for ``column like value``."""
    if column.type != "text":
        raise InputError(f"The column {column.name!r} is {column.type}; like works only with strings.")
    return Like(column, _checked(column, value), negated)


def _checked(column, value):
    """The value as one of the column's type."""
    if isinstance(value, np.generic):
        value = value.item()
    found = _CHECKS[column.type](value)
    if found is None:
        raise InputError(
            f"The column {column.name!r} is {column.type} and must be compared with {NEEDED[column.type]}, not "
            f"{_shown(value)}."
        )
    return found


def _shown(value):
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else f"{value!r:.80}"


def _number(value):
    if isinstance(value, bool) or not isinstance(value, (Integral, float)):
        return None
    try:
        return value if math.isfinite(float(value)) else None
    except OverflowError:
        return None


def _text(value):
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def _date(value):
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


def _timestamp(value):
    if isinstance(value, str) and _TIME.fullmatch(value):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        try:
            return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            return None
    return datetime.combine(value, time()) if isinstance(value, date) else None


_CHECKS = {
    "integer": _number,
    "float": _number,
    "boolean": lambda value: value if isinstance(value, bool) else None,
    "text": _text,
    "date": _date,
    "timestamp": _timestamp,
}
