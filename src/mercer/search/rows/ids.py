"""The caller's ids, integers or texts, and the positions at which their rows stand.

Ids of rows are kept as two columns of the storage: a number, and the bytes of a text, of which there are none where the
id is a number. In memory, positions are found through the sorted numbers and a dictionary of what came since they were
sorted: a dictionary of everything would take ten times the memory of the numbers.
"""

__all__ = ["ID_COLUMNS", "IdTable", "as_ids", "listed_ids", "pack_ids", "refuse_repeated"]

from numbers import Integral

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer.search.storage.blocks import Column

ID_COLUMNS = (Column("id_number", np.dtype(np.int64)), Column("id_text", np.dtype(np.uint8), ragged=True))
LONGEST_TEXT = 65535  # bytes
SORT_SHARE = 8  # sorted anew when an eighth of the numbers came since


def as_ids(ids, n_rows, who):
    """The ids of ``n_rows`` rows as an int64 array or a list of integers and texts; refuses all others."""
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__len__"):
        raise InputError(f"{who} needs a sequence of ids, one per row; got {type(ids).__name__}.")
    if len(ids) != n_rows:
        raise InputError(f"{who} needs one id per row, but there are {n_rows} rows and {len(ids)} ids.")
    array = ids if isinstance(ids, np.ndarray) else None
    if array is not None and array.ndim == 1 and array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
            raise InputError(f"{who} needs integer ids below 2**63; got {array.max()}.")
        return array.astype(np.int64)
    values = [_as_id(value, who) for value in (array.tolist() if array is not None else ids)]
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return values


def _as_id(value, who):
    if isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, str) and value and len(value.encode(errors="surrogatepass")) <= LONGEST_TEXT:
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            shown = value.encode("ascii", "backslashreplace").decode()
            raise InputError(
                f"{who} needs string ids that UTF-8 can represent, but '{shown:.80}' contains a lone surrogate."
            )
        return str(value)
    raise InputError(
        f"{who} supports as ids 64-bit integers and strings of 1 to {LONGEST_TEXT} bytes; got {value!r:.80}."
    )


def listed_ids(ids, who):
    """One id or a sequence of any length, as `as_ids` gives them."""
    if isinstance(ids, (str, Integral)):
        ids = [ids]
    return as_ids(ids, len(ids) if hasattr(ids, "__len__") else -1, who)


def refuse_repeated(ids, who):
    """Refuse checked ids of which one is there more than once."""
    unique = len(np.unique(ids)) if isinstance(ids, np.ndarray) else len(set(ids))
    if unique < len(ids):
        seen = set()
        twice = next(value for value in np.asarray(ids, dtype=object) if value in seen or seen.add(value))
        raise InputError(f"{who}: the id {twice!r} occurs more than once. Nothing was changed.")


def pack_ids(ids):
    """The columns of ids, for a storage."""
    if isinstance(ids, np.ndarray):
        return {"id_number": ids, "id_text": (np.empty(0, dtype=np.uint8), np.zeros(len(ids), dtype=np.int64))}
    texts = [value.encode() if isinstance(value, str) else b"" for value in ids]
    numbers = np.array([0 if isinstance(value, str) else value for value in ids], dtype=np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    return {"id_number": numbers, "id_text": (np.frombuffer(b"".join(texts), dtype=np.uint8), lengths)}


class IdTable:
    """Which id stands at a position, and where an id stands.

    >>> table = IdTable()
    >>> table.append(np.array([7, 5])); table.append(["a"])
    >>> table.positions([5, "a", 6]).tolist()
    [1, 2, -1]
    >>> table.remove([1])
    >>> table.positions([5]).tolist()
    [-1]
    """

    def __init__(self, highest=-1):
        self._numbers = np.empty(0, dtype=np.int64)
        self._texts = {}  # position -> text
        self._where_text = {}
        self._sorted = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)  # numbers, positions
        self._recent = {}
        self._removed = set()  # positions among the sorted ones that do not count
        self.highest = highest  # the largest number ever given

    def __len__(self):
        return len(self._numbers)

    @property
    def has_texts(self):
        """Whether some id is a text, or was."""
        return bool(self._texts)

    def load(self, segment):
        """Append the ids of a segment of a storage."""
        values, offsets = segment.arrays["id_text"]
        numbers = np.array(segment.arrays["id_number"])
        lengths = np.diff(offsets)
        if not lengths.any():
            self.append(numbers)
            return
        data = values.tobytes()
        try:
            ids = [
                data[start:stop].decode() if stop > start else int(number)
                for start, stop, number in zip(offsets[:-1].tolist(), offsets[1:].tolist(), numbers, strict=True)
            ]
        except UnicodeDecodeError as error:
            raise FileProblem(f"has a damaged id: {error.object[:80]!r} is not UTF-8 text.") from error
        self.append(ids)

    def append(self, ids):
        """Further ids, at the next positions."""
        first = len(self._numbers)
        if isinstance(ids, np.ndarray):
            self._append_numbers(ids, np.arange(first, first + len(ids)))
            self._numbers = np.concatenate([self._numbers, ids])
            return
        numbers = np.zeros(len(ids), dtype=np.int64)
        for place, value in enumerate(ids):
            if isinstance(value, str):
                self._texts[first + place] = value
                self._where_text[value] = first + place
            else:
                numbers[place] = value
        whole = np.array([place for place, value in enumerate(ids) if not isinstance(value, str)], dtype=np.int64)
        self._append_numbers(numbers[whole], first + whole)
        self._numbers = np.concatenate([self._numbers, numbers])

    def _append_numbers(self, numbers, positions):
        if not len(numbers):
            return
        self.highest = max(self.highest, int(numbers.max()))
        if SORT_SHARE * (len(numbers) + len(self._recent)) < len(self._sorted[0]):
            self._recent.update(zip(numbers.tolist(), positions.tolist(), strict=True))
            return
        kept = ~np.isin(self._sorted[1], list(self._removed)) if self._removed else slice(None)
        parts = [self._sorted[0][kept], np.array(list(self._recent), dtype=np.int64), numbers]
        places = [self._sorted[1][kept], np.array(list(self._recent.values()), dtype=np.int64), positions]
        numbers, positions = np.concatenate(parts), np.concatenate(places)
        order = np.argsort(numbers, kind="stable")
        self._sorted, self._recent, self._removed = (numbers[order], positions[order]), {}, set()

    def positions(self, ids):
        """Where the ids stand, -1 where they do not."""
        if isinstance(ids, np.ndarray):
            return self._find_numbers(ids)
        out = np.full(len(ids), -1, dtype=np.int64)
        whole = [place for place, value in enumerate(ids) if not isinstance(value, str)]
        out[whole] = self._find_numbers(np.array([ids[place] for place in whole], dtype=np.int64))
        for place, value in enumerate(ids):
            if isinstance(value, str):
                out[place] = self._where_text.get(value, -1)
        return out

    def _find_numbers(self, numbers):
        out = np.full(len(numbers), -1, dtype=np.int64)
        known, where = self._sorted
        left, place = np.arange(len(numbers)), np.searchsorted(known, numbers)
        while len(left):
            there = place < len(known)
            there[there] = known[place[there]] == numbers[left[there]]
            left, place = left[there], place[there]
            gone = np.isin(where[place], list(self._removed)) if self._removed else np.zeros(len(place), dtype=bool)
            out[left[~gone]] = where[place[~gone]]
            left, place = left[gone], place[gone] + 1  # an id that was replaced stands again further on
        if self._recent:
            for row in np.flatnonzero(out < 0):
                out[row] = self._recent.get(int(numbers[row]), -1)
        return out

    def remove(self, positions):
        """The ids at these positions are free again. The positions keep them."""
        for position in np.asarray(positions).tolist():
            if position in self._texts:
                if self._where_text.get(self._texts[position]) == position:
                    self._where_text.pop(self._texts[position])
            elif self._recent.get(int(self._numbers[position])) == position:
                self._recent.pop(int(self._numbers[position]))
            else:
                self._removed.add(position)

    def at(self, positions):
        """The ids at an array of positions: int64, or objects where there are texts; -1 or None for position -1."""
        positions = np.asarray(positions)
        there = positions >= 0
        numbers = np.where(there, self._numbers[positions], -1) if len(self) else np.full(positions.shape, -1)
        if not self._texts:
            return numbers
        out = numbers.astype(object)
        for place in zip(*np.nonzero(there), strict=True):
            out[place] = self._texts.get(int(positions[place]), int(numbers[place]))
        out[~there] = None
        return out

    def keys(self, positions):
        """Sort keys of the ids at these positions: numbers in their order, then texts in theirs."""
        if not self._texts:
            return self._numbers[positions]
        ids = [(1, self._texts[p]) if p in self._texts else (0, int(self._numbers[p])) for p in positions.tolist()]
        rank = {value: place for place, value in enumerate(sorted(set(ids)))}
        return np.array([rank[value] for value in ids], dtype=np.int64)
