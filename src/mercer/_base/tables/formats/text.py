"""Reading csv and tsv: what the first lines tell, a fast path over all lines, and a slow one that finds the mistake."""

__all__ = ["read_csv"]

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from mercer._base.errors import InputError
from mercer._base.tables.columns import Chosen, choose_columns, features_of
from mercer._base.tables.content import Content
from mercer._base.tables.limits import Limit
from mercer._base.tables.rules import InputRules, is_missing

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
    chosen = choose_columns(names, len(first), rules, name)
    body = lines[1:] if has_header else lines
    if not body:
        raise InputError(
            f"{name} has a header but no rows. If its only line is data, set --no-header (header=False in Python)."
        )
    rules.limit.check(8 * len(body) * len(first), name)
    return _Reader(body, delimiter, len(first), names, chosen, name, rules.limit).content()


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
    return [_cells(line, delimiter) for line in lines]


def _cells(line: str, delimiter: str) -> list[str]:
    if '"' not in line:
        return line.split(delimiter)
    with _long_cells():
        return next(csv.reader([line], delimiter=delimiter))


@contextmanager
def _long_cells() -> Iterator[None]:
    """A wide line without the delimiter that is tried is one long cell, and the csv module refuses long ones."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _looks_like_header(first: Sequence[str], second: Sequence[str] | None, rules: InputRules) -> bool:
    """Words above numbers are a header; words above words are labels, unless there is nothing but words."""
    known = set(features_of(rules.like).names or ())
    if len(known) < 2 * len(known & {cell.strip() for cell in first}):
        return True  # the names of the model, even if they are numbers
    words = [i for i, cell in enumerate(first) if not _is_number(cell) and not is_missing(cell)]
    if not words:
        return False
    titles = {cell.strip() for cell in first}
    said = {rules.label, rules.id, *rules.drop, *rules.columns, *rules.keep}
    if any(isinstance(column, str) and column in titles and not _is_number(column) for column in said):
        return True
    if second is None or len(words) == len(first):
        return len(words) == len(first)
    return any(i < len(second) and _is_number(second[i]) for i in words)


class _Reader:
    """The lines below a header: numbers of the chosen columns at once, words of label and id as they come."""

    def __init__(self, body, delimiter, width: int, names, chosen: Chosen, source: str, limit: Limit):
        self._body, self._delimiter, self._width, self._names = body, delimiter, width, names
        self._chosen, self._source, self._limit = chosen, source, limit

    def content(self) -> Content:
        chosen = self._chosen
        words = {i: _Words() for i in (chosen.label, chosen.id, *chosen.kept) if i is not None}
        lines = [line for _, line in self._body]
        is_all = len(chosen.features) + len(words) == self._width
        if not is_all:
            self._refuse_ragged()  # numpy counts cells only where all of them are used
        try:
            values = self._parsed(lines, words, is_all)
        except ValueError as error:
            # the quick way was taken in vain: cells without a value, or a mistake, which is then found and named
            for each in words.values():
                each.clear()
            repaired = list(self._repaired(error))
            try:
                values = self._parsed(repaired, words, is_all)
            except ValueError:
                raise InputError(f"{self._source}: {str(error).rstrip('.')}.") from error
        n = len(chosen.features)
        y = unlabelled = ids = None
        data = {}
        for k, i in enumerate(words):
            self._limit.check_words(len(values), max(map(len, words[i])), self._source)
            if i == chosen.label:
                y, unlabelled = words[i].labels(values[:, n + k])
            elif i in chosen.kept:
                data[self._names[i]] = words[i].words(values[:, n + k])
            else:
                ids = words[i].words(values[:, n + k])
                self._refuse_unnamed(ids)
        X = values[:, :n] if words else values
        return Content(X, y, chosen.names, chosen.others, ids, unlabelled, self._line_numbers(), data or None)

    def _parsed(self, lines, words, is_all: bool):
        import numpy as np

        columns = [*self._chosen.features, *words]
        in_order = columns == list(range(self._width))
        values = np.loadtxt(
            lines,
            delimiter=self._delimiter,
            dtype=np.float64,
            comments=None,
            quotechar='"',
            converters=dict(words.items()) or None,
            usecols=None if is_all else columns,
            ndmin=2,
        )
        if is_all and values.shape[1] != self._width:
            raise InputError(
                f"{self._source} has {self._width} columns in its header and {values.shape[1]} in its rows."
            )
        return values if in_order or not is_all else values[:, columns]

    def _refuse_ragged(self) -> None:
        for number, line in self._body:
            quick = self._delimiter is not None and '"' not in line
            n = line.count(self._delimiter) + 1 if quick else len(_split([line], self._delimiter)[0])
            if n != self._width:
                raise InputError(f"{self._source}, {_other_width(number, n, self._width)}.")

    def _repaired(self, error: ValueError) -> Iterator[str]:
        """The lines with ``nan`` in numeric cells that have no value.

        Says where the first cell stands that is neither a number nor missing, or the first row of another length.
        """
        used = set(self._chosen.features)
        for number, line in self._body:
            cells = _split([line], self._delimiter)[0]
            if len(cells) != self._width:
                raise InputError(f"{self._source}, {_other_width(number, len(cells), self._width)}.") from error
            odd = [i for i, cell in enumerate(cells) if i in used and not _is_number(cell)]
            for i in odd:
                if not is_missing(cells[i]):
                    raise InputError(self._no_number(number, i, cells[i])) from error
                cells[i] = "nan"
            yield _line(cells, self._delimiter) if odd else line

    def _no_number(self, number: int, i: int, cell: str) -> str:
        title, drop = (f" ({self._names[i]!r})", self._names[i]) if self._names else ("", i)
        return (
            f"{self._source}, line {number}, column {i}{title} holds {cell.strip()[:40]!r}, which is not a number. "
            f"Ignore the column (--drop {drop}), or name it as the label or the id. To learn from categories, encode "
            "them in Python, with scikit-learn's OneHotEncoder in a Pipeline, which mercer.save keeps."
        )

    def _refuse_unnamed(self, ids) -> None:
        if not ids.all():
            line = self._body[int((ids == "").argmax())][0]
            raise InputError(f"{self._source}, line {line} has no id. Every row needs an id.")

    def _line_numbers(self):
        """The line of each row: a range, or an array where blank lines lie between."""
        import numpy as np

        first, last = self._body[0][0], self._body[-1][0]
        if last - first + 1 == len(self._body):
            return range(first, last + 1)
        return np.array([number for number, _ in self._body])


def _other_width(number: int, n: int, width: int) -> str:
    return f"line {number} has {n} columns, but the first line has {width}"


def _line(cells: Sequence[str], delimiter: str | None) -> str:
    if delimiter is None:
        return " ".join(cells)
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="").writerow(cells)
    return text.getvalue()


class _Words(dict[str, float]):
    """Words of one column, numbered in order of appearance: a converter for ``numpy.loadtxt``."""

    def __call__(self, cell: str) -> float:
        return self.setdefault(cell.strip(), float(len(self)))

    def words(self, numbers: Any):
        """The word of each row."""
        import numpy as np

        return np.array(list(self))[numbers.astype(np.intp)]

    def labels(self, numbers: Any):
        """(label of each row, integers or floats if all of them are; which rows have none, or None)."""
        import numpy as np

        words, codes = list(self), numbers.astype(np.intp)
        missing = np.array([is_missing(word) for word in words])
        known = _labels([word for word in words if not is_missing(word)])
        values = np.array(words) if known.dtype.kind == "U" else np.zeros(len(words), dtype=known.dtype)
        values[~missing] = known
        return values[codes], missing[codes] if missing.any() else None


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
