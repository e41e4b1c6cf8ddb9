"""For which rows a condition is true: its tree over the columns of a storage, segment by segment.

Nothing here trusts what a column holds: every byte gives some answer, and offsets were checked when they were mapped.
"""

__all__ = ["fulfilled", "stored_value"]

import itertools
import re
from datetime import date, datetime

import numpy as np

from mercer.search.columns.types import EPOCH, MISSING
from mercer.search.conditions.tree import All, Any, Compare, Like, Missing

FEW = 16  # texts that are looked for one by one
_OPERATORS = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def fulfilled(tree, columns, snapshot):
    """One bool per position of a snapshot; those of removed rows mean nothing."""
    parts = [_Segment(columns, segment).true(tree) for segment in snapshot.segments]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)


class _Segment:
    """A condition over the rows of one segment."""

    def __init__(self, columns, segment):
        self._columns, self._segment = columns, segment

    def true(self, node):
        """Where a node is true."""
        if isinstance(node, (All, Any)):
            join = np.logical_and if isinstance(node, All) else np.logical_or
            found = self.true(node.parts[0])
            for part in node.parts[1:]:
                join(found, self.true(part), out=found)
            return found
        array = self._segment.arrays[f"data_{self._columns.index(node.column)}"]
        return _text_leaf(node, *array) if node.column.type == "text" else _number_leaf(node, array)


def _number_leaf(node, values):
    there = ~np.isnan(values) if node.column.type == "float" else values != MISSING[node.column.type]
    if isinstance(node, Missing):
        return there if node.negated else ~there
    if isinstance(node, Compare):
        return _OPERATORS[node.operator](values, stored_value(node.value)) & there
    found = np.isin(values, np.array([stored_value(value) for value in node.values], dtype=values.dtype))
    return (~found if node.negated else found) & there


def stored_value(value):
    """A value as a storage keeps it."""
    if isinstance(value, datetime):
        past = value - EPOCH
        return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds
    if isinstance(value, date):
        return value.toordinal() - EPOCH.toordinal()
    return int(value) if isinstance(value, bool) else value


def _text_leaf(node, values, offsets):
    there = ~_equal(values, offsets, MISSING["text"])
    if isinstance(node, Missing):
        return there if node.negated else ~there
    if isinstance(node, Compare):
        text = node.value.encode()
        if node.operator in ("=", "!="):
            found = _equal(values, offsets, text)
            return (~found if node.operator == "!=" else found) & there
        return _OPERATORS[node.operator](_order(values, offsets, text), 0) & there
    found = _like(values, offsets, node.pattern) if isinstance(node, Like) else _among(values, offsets, node.values)
    return (~found if node.negated else found) & there


def _among(values, offsets, texts):
    if len(texts) > FEW:
        wanted = {text.encode() for text in texts}
        return np.array([value in wanted for value in _each(values, offsets)], dtype=bool)
    found = np.zeros(len(offsets) - 1, dtype=bool)
    for text in texts:
        found |= _equal(values, offsets, text.encode())
    return found


def _equal(values, offsets, text):
    return _begins(values, offsets, text, np.flatnonzero(np.diff(offsets) == len(text)))


def _begins(values, offsets, text, rows):
    """Where texts begin with these bytes, among rows whose texts are as long at least."""
    return _marked(rows[_same(values, offsets[rows], text)], offsets)


def _contains(values, offsets, text):
    """Where these bytes, one or more, are somewhere within a text."""
    starts = np.flatnonzero(values[: max(0, len(values) - len(text) + 1)] == text[0])
    starts = starts[_same(values, starts, text)]
    rows = np.searchsorted(offsets, starts, side="right") - 1
    return _marked(rows[starts + len(text) <= offsets[rows + 1]], offsets)


def _marked(rows, offsets):
    found = np.zeros(len(offsets) - 1, dtype=bool)
    found[rows] = True
    return found


def _same(values, starts, text):
    """Which of these places begin with the bytes of a text, whose end lies within the values."""
    left = np.arange(len(starts))
    size = next(size for size in (8, 4, 2, 1, 0) if size <= len(text))
    # words of so many bytes, the last of which may overlap the one before it
    places = sorted({*range(0, len(text) - size + 1, size), len(text) - size}) if size else []
    for place in places:
        if not len(left):
            break
        words = np.ndarray(len(values) - size + 1, dtype=f"u{size}", buffer=values, strides=(1,))
        word = np.frombuffer(text, words.dtype, 1, place)
        left = left[words[starts[left] + place] == word]
    return left


def _order(values, offsets, text):
    """-1, 0 or 1: texts before, equal to or behind this one by their bytes, which is the order of code points."""
    lengths = np.diff(offsets)
    order = np.sign(lengths - len(text)).astype(np.int8)  # if the shorter of the two begins the other
    rows = np.arange(len(lengths))
    for place, byte in enumerate(text):
        rows = rows[lengths[rows] > place]
        found = values[offsets[rows] + place]
        order[rows[found < byte]], order[rows[found > byte]] = -1, 1
        rows = rows[found == byte]
    return order


def _each(values, offsets):
    data, cuts = values.tobytes(), offsets.tolist()
    return [data[start:stop] for start, stop in itertools.pairwise(cuts)]


def _like(values, offsets, pattern):
    head, *rest = pattern.split("%")
    if rest == [""] and "_" not in head:  # letters at the beginning
        text = head.encode()
        return _begins(values, offsets, text, np.flatnonzero(np.diff(offsets) >= len(text)))
    if head == "" and len(rest) == 2 and rest[0] and not rest[1] and "_" not in rest[0]:  # letters anywhere
        return _contains(values, offsets, rest[0].encode())
    matches = _Pattern(pattern)
    return np.array([matches(value.decode(errors="replace")) for value in _each(values, offsets)], dtype=bool)


class _Pattern:
    """LIKE without going back: what stands between two % is found as early as possible, which is never too early."""

    def __init__(self, pattern):
        pieces = [
            re.compile("".join("." if c == "_" else re.escape(c) for c in p), re.DOTALL) for p in pattern.split("%")
        ]
        self._head, self._middle, self._tail = pieces[0], pieces[1:-1], pieces[-1] if len(pieces) > 1 else None
        self._tail_length = len(pattern) - pattern.rfind("%") - 1

    def __call__(self, text):
        if self._tail is None:
            return self._head.fullmatch(text) is not None
        found = self._head.match(text)
        for piece in self._middle:
            found = found and piece.search(text, found.end())
        last = len(text) - self._tail_length
        return bool(found) and found.end() <= last and self._tail.fullmatch(text, last) is not None
