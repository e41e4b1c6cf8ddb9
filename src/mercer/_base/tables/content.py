"""What a reader finds in a file: numbers, labels, ids, and how the columns are called."""

__all__ = ["Content"]

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Content:
    """Rows of numbers with what belongs to them.

    Attributes
    ----------
    X : array or CSR matrix; missing values are NaN
    y : labels, or None
    names : of the features, or None
    others : names of the columns that are no features
    ids : of the rows, or None
    unlabeled : which rows have no label, or None if all have one
    lines : the line of a text that each row stands in, or None
    data : values of the columns that go along, by name: words of a text, or columns of Arrow
    """

    X: Any
    y: Any = None
    names: tuple[str, ...] | None = None
    others: tuple[str, ...] = ()
    ids: Any = None
    unlabelled: Any = None
    lines: Any = None
    data: Any = None
