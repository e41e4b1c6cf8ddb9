"""Reading csv and tsv: what the first lines tell, a fast path over all lines, and a slow one that finds the mistake."""

__all__ = ["read_csv"]

import csv
import io
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from mercer._base.errors import InputError
from mercer._base.tables.limits import Limit
from mercer._base.tables.rules import InputRules, label_position

_CANDIDATE_DELIMITERS = ",;\t|"
_LOOKED_AT = 5  # lines that tell the delimiter and the header
_LINE_BYTES, _CELL_BYTES = (
    144,
    32,
)  # memory of a line besides its text; of a character that may be a cell of a split line


def read_csv(stream: BinaryIO, name: str, rules: InputRules):
    """Numbers in columns, an optional header line, an optional column of labels that may be words."""
    lines = _text_lines(stream, name, rules.limit)
    if not lines:
        raise InputError(f"{name} is empty.")
    delimiter = _delimiter(lines, rules)
    first, *rest = _split([line for _, line in lines[:2]], delimiter)
    second = rest[0] if rest else None
    has_header = _looks_like_header(first, second, rules) if rules.header is None else rules.header
    names = [cell.strip() for cell in first] if has_header else None
    label = None if rules.label is None else label_position(rules.label, names, len(first), name)
    body = lines[1:] if has_header else lines
    if not body:
        raise InputError(f"{name} has a header and no rows. If its only line is data, say that there is no header.")
    rules.limit.check(8 * len(body) * len(first), name)
    X, y = _parse(body, delimiter, len(first), names, label, name, rules.limit)
    kept = None if names is None else [title for i, title in enumerate(names) if i != label]
    return X, y, kept


def _text_lines(stream: BinaryIO, name: str, limit: Limit) -> list[tuple[int, str]]:
    """Lines that are not blank, with their numbers counted from 1."""
    lines, taken = [], limit.check_stream(stream, name)
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
            for number, line in enumerate(text, start=1):
                taken += _LINE_BYTES + (_CELL_BYTES * len(line) if number <= _LOOKED_AT else 0)
                limit.check(taken, name)
                if line.strip():
                    lines.append((number, line.rstrip("\n")))
        return lines
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}.") from error


def _delimiter(lines: Sequence[tuple[int, str]], rules: InputRules) -> str | None:
    """A character, or None for any run of white space."""
    if rules.delimiter is not None:
        return {"tab": "\t", r"\t": "\t", "space": None, " ": None}.get(rules.delimiter, rules.delimiter)
    if rules.format == "tsv":
        return "\t"
    # the character that splits the first lines into the same, largest number of cells
    scores = {}
    for candidate in _CANDIDATE_DELIMITERS:
        widths = {len(cells) for cells in _split([line for _, line in lines[:_LOOKED_AT]], candidate)}
        scores[candidate] = max(widths) if len(widths) == 1 else 1
    best = max(scores, key=lambda candidate: scores[candidate])
    return best if scores[best] > 1 else ","


def _split(lines: Iterable[str], delimiter: str | None) -> list[list[str]]:
    if delimiter is None:
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=delimiter))


def _looks_like_header(first: Sequence[str], second: Sequence[str] | None, rules: InputRules) -> bool:
    """Words above numbers are a header; words above words are labels, unless there is nothing but words."""
    words = [i for i, cell in enumerate(first) if not _is_number(cell)]
    if not words:
        return False
    if isinstance(rules.label, str) and rules.label in [cell.strip() for cell in first]:
        return True
    if second is None or len(words) == len(first):
        return len(words) == len(first)
    return any(i < len(second) and _is_number(second[i]) for i in words)


def _parse(body, delimiter, width, names, label, name, limit):
    import numpy as np

    codes: dict[str, int] = {}  # label -> its number, in order of appearance

    def encode(cell: str) -> float:
        return codes.setdefault(cell.strip(), len(codes))

    try:
        values = np.loadtxt(
            [line for _, line in body],
            delimiter=delimiter,
            dtype=np.float64,
            comments=None,
            quotechar='"',
            converters=None if label is None else {label: encode},
            ndmin=2,
        )
    except ValueError as error:
        problem = _first_problem(body, delimiter, width, names, label) or str(error).rstrip(".")
        raise InputError(f"{name}, {problem}.") from error
    if values.shape[1] != width:
        raise InputError(f"{name} has {width} columns in its header and {values.shape[1]} in its rows.")
    if label is None:
        return values, None
    limit.check_words(len(values), max(map(len, codes)), name)
    y = _labels(list(codes))[values[:, label].astype(np.intp)]
    return np.delete(values, label, axis=1), y


def _first_problem(body, delimiter, width, names, label) -> str | None:
    """Where the first cell stands that is not a number, or the first row of another length."""
    for number, line in body:
        cells = _split([line], delimiter)[0]
        if len(cells) != width:
            return f"line {number} has {len(cells)} columns where the first line has {width}"
        for i, cell in enumerate(cells):
            if i != label and not _is_number(cell):
                title = f" ({names[i]!r})" if names else ""
                what = f"holds {cell.strip()[:40]!r}, not a number" if cell.strip() else "is empty"
                return f"line {number}, column {i}{title} {what}; drop the column, or name it as the label if it is one"
    return None


def _labels(words: list[str]):
    """Labels as integers or floats if all of them are, otherwise as words."""
    import numpy as np

    for kind in (int, float):
        try:
            return np.array([kind(word) for word in words], dtype=np.int64 if kind is int else np.float64)
        except (ValueError, OverflowError):
            continue
    return np.array(words)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
