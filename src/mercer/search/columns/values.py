"""Values of a column as a storage keeps them: the type is told by the values, or has been told by those before."""

__all__ = ["typed"]

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Integral

import numpy as np

from mercer._base.errors import InputError
from mercer.search.columns.types import DTYPES, EPOCH, MISSING, NO_NUMBER, RANGES

LONGEST_TEXT = 65_535  # bytes
_KINDS = {"b": "boolean", "i": "integer", "u": "integer", "f": "float"}
_JOINED = {frozenset({"integer", "float"}): "float", frozenset({"date", "timestamp"}): "timestamp"}
_DECLARED = {
    "int": "integer",
    "uint": "integer",
    "float": "float",
    "double": "float",
    "halffloat": "float",
    "decimal": "float",
    "bool": "boolean",
    "boolean": "boolean",
    "str": "text",
    "string": "text",
    "utf": "text",
    "large_string": "text",
    "date": "date",
    "datetime": "timestamp",
    "timestamp": "timestamp",
}


def typed(values, name, who, type=None, declared=""):
    """(type, values as a storage keeps them: an array, or a list of bytes for texts).

    Parameters
    ----------
    values : one-dimensional array, or list of Python's own values
    name : of the column
    type : that the column has already, or None
    declared : the type by the words of the table it comes from, for a column without any value
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufM":
        found = _kind_of(values.dtype)
        if type in (None, found) or (type, found) in (("float", "integer"), ("timestamp", "date")):
            return type or found, _from_array(values, type or found, name, who)
    objects = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "biufUO" else list(values)
    objects = [None if _is_missing(value) else value for value in objects]
    type = type or _type_of(objects, name, who) or _declared_type(declared)
    if type is None:
        raise InputError(
            f"{who} cannot infer the type of the column {name!r}, which has no values. Remove it, or pass it as a "
            "typed array or data frame."
        )
    convert = _CONVERT[type]
    kept = []
    for row, value in enumerate(objects):
        stored = MISSING[type] if value is None else convert(value)
        if stored is None:
            raise InputError(
                f"{who} stores {_PLURALS[type]} in the column {name!r}, but row {row} (counted from 0) has "
                f"{value!r:.80}. {_REMEDIES.get(type, '')}".strip()
            )
        kept.append(stored)
    return type, kept if type == "text" else np.array(kept, dtype=DTYPES[type])


def _kind_of(dtype):
    if dtype.kind == "M":
        return "date" if np.datetime_data(dtype)[0] in ("Y", "M", "W", "D") else "timestamp"
    return _KINDS[dtype.kind]


def _from_array(values, type, name, who):
    """The quick way of an array whose type fits."""
    if type == "integer" and values.size and values.dtype.kind == "u" and values.max() > np.iinfo(np.int64).max:
        raise InputError(f"{who} stores integers below 2**63 in the column {name!r}, got {values.max()}.")
    if type in RANGES:
        low, high = RANGES[type]
        stored = values.astype("M8[D]" if type == "date" else "M8[us]").astype(np.int64)
        wrong = (stored != NO_NUMBER) & ((stored < low) | (stored > high))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"{who} stores years 1 to 9999 in the column {name!r}, but row {row} has {values[row]}.")
        return stored
    stored = values.astype(DTYPES[type])
    if type == "integer" and stored.min(initial=0) == NO_NUMBER:
        raise InputError(f"{who} stores integers above -2**63 in the column {name!r}.")
    return stored


def _is_missing(value):
    """None, NaN, NaT, and what pandas calls NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return bool(value != value) if isinstance(value, (float, np.floating, np.datetime64, datetime, Decimal)) else False


def _natural(value):
    """The type of one value, or None."""
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, Integral):
        return "integer"
    if isinstance(value, (float, np.floating, Decimal)):
        return "float"
    if isinstance(value, str):
        return "text"
    if isinstance(value, np.datetime64):
        return _kind_of(value.dtype)
    if isinstance(value, datetime):
        return "timestamp"
    return "date" if isinstance(value, date) else None


def _type_of(objects, name, who):
    """What all values are, or None if there is none."""
    type = None
    for row, value in enumerate(objects):
        if value is None:
            continue
        found = _natural(value)
        joined = found if type in (None, found) else _JOINED.get(frozenset({type, found}))
        if found is None or joined is None:
            others = "" if type is None else f", below {_PLURALS[type]}"
            raise InputError(
                f"{who} stores columns of integers, floats, strings, booleans, dates and timestamps, but row {row} "
                f"(counted from 0) of {name!r} has {value!r:.80}{others}."
            )
        type = joined
    return type


def _declared_type(words):
    """The type in the words of pandas, polars and Arrow, or None."""
    word = str(words).lower()
    word = word[: next((i for i, letter in enumerate(word) if not (letter.isalpha() or letter == "_")), len(word))]
    return _DECLARED.get(word)


# ------------------------------------------------------------------------------- one value, None if it does not fit


def _integer(value):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Integral, float, np.floating)):
        return None
    if not isinstance(value, Integral) and not (math.isfinite(value) and float(value).is_integer()):
        return None
    return int(value) if NO_NUMBER < value < 2**63 else None


def _float(value):
    is_number = isinstance(value, (Integral, float, np.floating, Decimal)) and not isinstance(value, (bool, np.bool_))
    try:
        return float(value) if is_number else None
    except OverflowError:
        return None


def _boolean(value):
    return int(value) if isinstance(value, (bool, np.bool_)) else None


def _text(value):
    if not isinstance(value, str):
        return None
    try:
        found = value.encode()
    except UnicodeEncodeError:
        return None
    return found if len(found) <= LONGEST_TEXT else None


def _timestamp(value):
    if isinstance(value, np.datetime64):
        value = value.astype("M8[us]").item()
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        past = datetime(*value.timetuple()[:6], value.microsecond) - EPOCH  # without pandas's nanoseconds
    elif isinstance(value, date):
        past = datetime.combine(value, time()) - EPOCH
    else:
        return None
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds


def _date(value):
    found = _timestamp(value)
    return None if found is None or found % 86_400_000_000 else found // 86_400_000_000


_CONVERT = {
    "integer": _integer,
    "float": _float,
    "boolean": _boolean,
    "text": _text,
    "date": _date,
    "timestamp": _timestamp,
}
_PLURALS = {
    "integer": "integers",
    "float": "floats",
    "boolean": "booleans",
    "text": "strings",
    "date": "dates",
    "timestamp": "timestamps",
}
_REMEDIES = {
    "integer": "Integers have 64 bits.",
    "text": f"A string has at most {LONGEST_TEXT:,} bytes of UTF-8.",
    "date": "A date has no time of day.",
}
