"""The tree of a condition, without a node for NOT.

A comparison with a missing value is unknown, and NOT unknown is unknown. De Morgan's laws hold in this logic of three
values, and the negation of every leaf is a leaf again: NOT a < 3 is a >= 3, and both are unknown where a is missing. So
`not` is carried down to the leaves while a condition is read, and what is left asks one thing only: for which rows is
it true? That is the intersection or the union of the rows for which the parts are.
"""

__all__ = ["NEGATED", "All", "Among", "Any", "Compare", "Like", "Missing", "Node", "joined"]

from dataclasses import dataclass

from mercer.search.columns.types import DataColumn

NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class Compare:
    """``column operator value``, where the value is of the column's type; true for no row without a value."""

    column: DataColumn
    operator: str
    value: object


@dataclass(frozen=True)
class Among:
    """The value is one of these; negated, there is a value and it is none of them."""

    column: DataColumn
    values: tuple
    negated: bool = False


@dataclass(frozen=True)
class Like:
    """A text has this pattern, in which % stands for any letters and _ for one; negated, there is a text without it."""

    column: DataColumn
    pattern: str
    negated: bool = False


@dataclass(frozen=True)
class Missing:
    """There is no value; negated, there is one."""

    column: DataColumn
    negated: bool = False


@dataclass(frozen=True)
class All:
    """Every part is true."""

    parts: tuple


@dataclass(frozen=True)
class Any:
    """Some part is true."""

    parts: tuple


Node = Compare | Among | Like | Missing | All | Any


def joined(kind, parts):
    """The parts under one node, or the only part itself."""
    parts = tuple(parts)
    return parts[0] if len(parts) == 1 else kind(parts)
