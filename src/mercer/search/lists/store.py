"""The lists of all rows of an index, and which rows may be the nearest of a query.

Sums are added up in single precision. A sum of m terms of one sign errs by at most (m + r) units in the last place, r
for the formula of a term; of terms with signs, by as many units of sqrt(a b). From the interval of its sums follows
that of a row's value, and the k-th largest lower end is a threshold: every row whose upper end reaches it is a
candidate, and gets its final score elsewhere. Rows that share no column with the query are looked at only if the
nearest that they could be, a row with the smallest totals, reaches the threshold too.
"""

__all__ = ["Candidates", "ListStore", "Room"]

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._native.search.postings import STRETCH, forget, list_sums, whole_sums
from mercer.search.lists.block import BLOCK_ROWS, LARGEST, build_block
from mercer.search.lists.formula import APART, COSINE, SINGLE, SLACK, TINY, Formula
from mercer.search.lists.ranking import Ranking
from mercer.search.lists.scorer import PairScorer

MOST_TIES = 1000  # rows beyond those wanted that may be near enough, or rows without a shared column are looked at
LEAST_RANKED, LARGEST_EXPONENT = 1e-280, 640.0  # an exponential below it may have vanished
SMALL_EXPONENT = 20.0  # and may not show any more beside 1
LEAST = ("minimum", "sizes", "powers", "common-part")  # formulas of which sum_j k(x_j, y_j) <= min(a, b)


@dataclass
class Candidates:
    """Rows that may be the nearest of one query.

    Attributes
    ----------
    positions : int64 (n,)
    scores : float64 (n,)
        The final score where it is known, else NaN.
    n_read, n_postings : int
        Postings that were read, and that the lists of the query's columns have.
    """

    positions: np.ndarray
    scores: np.ndarray
    n_read: int
    n_postings: int


class ListStore:
    """Blocks of lists.

    Parameters
    ----------
    measure : Measure
    blocks : list of Block
    """

    def __init__(self, measure, blocks=()):
        self.formula = Formula(measure)
        self._measure, self.blocks = measure, list(blocks)
        self._rooms = []
        self.scorer = PairScorer(measure, self.formula)

    @property
    def n_rows(self):
        return self.blocks[-1].stop if self.blocks else 0

    @property
    def nbytes(self):
        return sum(block.nbytes for block in self.blocks)

    def extended(self, n_rows, take, load=None):
        """The store of the first ``n_rows`` positions: rows are what ``take`` gives, full blocks what ``load`` has."""
        blocks, sums = list(self.blocks), self.formula.sums
        first = blocks[-1].stop if blocks else 0
        while first < n_rows:
            stop = min(n_rows, first - first % BLOCK_ROWS + BLOCK_ROWS)
            # pieces of one block that are not much larger than what comes, and all of a full one, become one piece
            while (
                blocks
                and blocks[-1].stop % BLOCK_ROWS
                and (stop % BLOCK_ROWS == 0 or blocks[-1].n_rows <= 2 * (stop - first))
            ):
                first = blocks.pop().first
            stored = load(first) if load is not None and stop - first == BLOCK_ROWS else None
            blocks.append(stored or build_block(take(np.arange(first, stop)), first, sums))
            first = stop
        return ListStore(self._measure, blocks)

    def is_safe(self, total):
        """Whether single precision holds the sums of a query whose largest total this is."""
        return total <= LARGEST and self._largest <= LARGEST

    @cached_property
    def _largest(self):
        return max((block.largest for block in self.blocks), default=0.0)

    @cached_property
    def least_total(self):
        """The smallest total of the first sum."""
        return min(block.least_total for block in self.blocks)

    def totals_at(self, positions):
        """The totals of the first sum of the rows at ascending positions."""
        if len(self.blocks) == 1:
            return self.blocks[0].totals[0][positions]
        cuts = np.searchsorted(positions, [block.first for block in self.blocks] + [self.n_rows]).tolist()
        pairs = zip(self.blocks, itertools.pairwise(cuts), strict=True)
        return np.concatenate([block.totals[0][positions[i:j] - block.first] for block, (i, j) in pairs])

    def take_room(self):
        """Room to work in, for one thread; a list hands it out in one step."""
        try:
            return self._rooms.pop()
        except IndexError:
            return Room(len(self.formula.sums))

    def give_back(self, room):
        """The room is free, and as clean as it was."""
        self._rooms.append(room)

    # ---------------------------------------------------------------------------------------------------- searching

    def nearest(self, columns, values, k, allowed, keys_of, room):
        """`Candidates` of the k nearest rows of a query, given by its columns and values that are not zero; None if
        single precision does not hold its sums.
        """
        search = _Search(self, columns, values, allowed, room)
        if not self.is_safe(max(search.totals)):
            return None
        found = search.ranked(k) if self.formula.form is not None and len(columns) else None
        if found is None:
            found = search.valued(k)
        if isinstance(found, Candidates):
            return found
        return search.with_rest(found, k, keys_of)

    def within(self, columns, values, limit, allowed, room):
        """`Candidates` of the rows whose objective reaches a limit."""
        search = _Search(self, columns, values, allowed, room)
        return search.with_rest(search.valued(None, limit), None, None, limit)


class Room:
    """What loops work in: for one thread."""

    def __init__(self, n_sums):
        self.contributions = np.empty(STRETCH, dtype=np.float32)
        self.sums = np.zeros((n_sums, BLOCK_ROWS), dtype=np.float32)
        self.seen = np.zeros(BLOCK_ROWS, dtype=np.uint8)
        self.touched, self.kept = (np.empty(BLOCK_ROWS + 1, dtype=np.int32) for _ in range(2))
        self.highs = np.empty(BLOCK_ROWS)


class _Search:
    """One query among all blocks."""

    def __init__(self, store, columns, values, allowed, room):
        self.store, self.formula, self.room = store, store.formula, room
        self.columns = columns
        self.allowed = allowed
        self.sums = [_QuerySum(part, values) for part in self.formula.sums]
        self.totals = [part.total for part in self.sums]
        self.n_read = self.n_postings = 0

    def allowed_in(self, block):
        """Bool per row of a block, none at all if every row may be found."""
        return _ALL if self.allowed is None else self.allowed[block.first : block.stop]

    def _add(self, block, begins, ends):
        """All sums of the rows in some lists; returns how many rows there are, which the first sum notes for all."""
        room, n = self.room, 0
        for place, part in enumerate(self.sums):
            given = (
                0, len(begins), begins, ends, part.x, part.logs, block.rows, block.values, part.param,
                room.contributions, room.sums[place],
            )  # fmt: skip
            if place == 0:
                n = list_sums(part.name, part.signed)(*given, room.seen, room.touched, 0)
            else:
                whole_sums(part.name, part.signed)(*given)
        return n

    # ------------------------------------------------------------------------- one sum, ranked by a loop

    def ranked(self, k):
        """(positions, lows, highs) of what may be among the k nearest, by the ranking of a single sum; None if that
        cannot tell, and `Candidates` if no other row can be.
        """
        lows, size, found, whole = np.empty(k), 0, [], []
        for block in self.store.blocks:
            ranking = Ranking(self, block, lows, size)
            found.append(ranking.found())
            whole.append(ranking.is_whole)
            size = ranking.size
        positions, ranks, *sums = found[0] if len(found) == 1 else _joined(found)
        if size == k and self._is_decided(lows[0]):
            return self._candidates(positions[ranks >= lows[0]])
        if any(whole) and (self.formula.form == COSINE or not all(whole)):
            return None
        low, high = self._interval(*sums)
        kept = high >= _kth_largest(low, k)
        positions, low, high = positions[kept], low[kept], high[kept]
        if self.formula.rate is not None and len(low) >= k and _kth_largest(low, k) < LEAST_RANKED:
            return None
        if not any(whole):
            return positions, low, high
        # rows that share no column are among them; of many ties these are better filled in by their ids
        return None if len(positions) > k + MOST_TIES else self._candidates(positions)

    def _candidates(self, positions):
        return Candidates(positions, np.full(len(positions), np.nan), self.n_read, self.n_postings)

    def _is_decided(self, lowest):
        """Whether no row that shares no column has so high a rank, and no value with it has vanished."""
        least = self.store.least_total
        if self.formula.form != APART:
            # of normalized distances an empty row has 1, as a row with the cosine 1/2
            empty_counts = least == 0 and self.formula.form == COSINE and self.formula.is_distance
            return lowest > (0.5 + SLACK if empty_counts else 0.0)
        limit = SMALL_EXPONENT if self.formula.is_distance else LARGEST_EXPONENT
        vanishing = self.formula.rate is not None and -lowest * self.formula.rate > limit
        return lowest > -(self.totals[0] + least) * (1 - 1e-9) and not vanishing

    @property
    def tiny(self):
        """What a sum may lose beside its rounding: terms that vanish, and what an exponential does not show."""
        return TINY if self.formula.rate is None else TINY + 1e-10 / self.formula.rate

    def _interval(self, s, b):
        part = self.sums[0]
        error = part.error(s, b, self.tiny)
        return self.formula.interval([s - error], [s + error], self.totals, [b])

    # ----------------------------------------------------------------------------- any formula, by its values

    def valued(self, k, limit=None):
        """(positions, lows, highs) of rows that share a column, and may be among the k nearest or within a limit."""
        found, floor = [], -np.inf if limit is None else limit
        for block in self.store.blocks:
            rows, low, high = self._values(block)
            if k is not None:
                floor = max(floor, _kth_largest(low, k))
            kept = high >= floor
            found.append((rows[kept] + np.int64(block.first), low[kept], high[kept]))
        return _joined(found)

    def _values(self, block):
        begins, ends = block.lists_of(self.columns)
        n_postings = int((ends - begins).sum())
        self.n_postings += n_postings
        self.n_read += n_postings
        room, n = self.room, self._add(block, begins, ends)
        rows = np.sort(room.touched[:n])
        if self.allowed is not None:
            rows = rows[self.allowed_in(block)[rows]]
        totals = [b[rows] for b in block.totals]
        lows, highs = [], []
        for place, part in enumerate(self.sums):
            s = room.sums[place][rows].astype(np.float64)
            error = part.error(s, totals[place], self.tiny)
            lows.append(s - error)
            highs.append(s + error)
        for place in range(len(self.sums)):
            forget(room.touched, n, room.sums[place], room.seen)
        return rows, *self.formula.interval(lows, highs, self.totals, totals)

    # ------------------------------------------------------------------------- rows that share no column

    def with_rest(self, found, k, keys_of, limit=None):
        """`Candidates`: of what was found, and of the rows that share no column with the query."""
        positions, low, high = found
        floor = _kth_largest(low, k) if limit is None else limit
        parts = [(positions, low, high, np.full(len(low), np.nan))]
        for block in self.store.blocks:
            if self._could_be(block, floor):
                parts.append(self._rest(block, floor, k, keys_of))
                if limit is None:
                    floor = max(floor, _kth_largest(np.concatenate([part[1] for part in parts]), k))
        positions, low, high, scores = _joined(parts)
        if limit is None:
            floor = _kth_largest(low, k)
        kept = high >= floor
        return Candidates(positions[kept], scores[kept], self.n_read, self.n_postings)

    def _could_be(self, block, floor):
        zeros = [np.zeros(1)] * len(self.sums)
        return self.formula.interval(zeros, zeros, self.totals, list(block.least_totals))[1][0] >= floor

    def _rest(self, block, floor, k, keys_of):
        """(positions, lows, highs, scores if known) of rows that share no column."""
        rows = np.flatnonzero(self._untouched(block))
        zeros = [np.zeros(len(rows))] * len(self.sums)
        totals = [b[rows] for b in block.totals]
        low, high = self.formula.interval(zeros, zeros, self.totals, totals)
        kept = high >= (floor if k is None else max(floor, _kth_largest(low, k)))
        rows, low, high = rows[kept], low[kept], high[kept]
        scores = np.full(len(rows), np.nan)
        if self.formula.has_fixed_rest:
            scores = self.formula.objective(
                [np.zeros(len(rows))] * len(self.sums), self.totals, [b[rows] for b in block.totals]
            )
            low = high = scores
            if k is not None and len(rows) > k:
                chosen = np.lexsort((keys_of(rows + block.first), -scores))[:k]
                rows, low, high, scores = rows[chosen], low[chosen], high[chosen], scores[chosen]
        return rows + np.int64(block.first), low, high, scores

    def _untouched(self, block):
        """Bool per row of a block: whether it may be found and is in no list of the query."""
        begins, ends = block.lists_of(self.columns)
        there = np.ones(block.n_rows, dtype=bool) if self.allowed is None else self.allowed_in(block).copy()
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            there[block.rows[begin:end]] = False
        return there


_ALL = np.empty(0, dtype=bool)


class _QuerySum:
    """What loops need of a query, for one sum."""

    def __init__(self, part, values):
        self.name, self.signed, self.may_be_negative = part.name, part.signed, part.may_be_negative
        self.least = part.name in LEAST
        self.param, values = np.float32(part.param), values.astype(np.float64)
        self.x, self.logs = part.prepared(values)
        self.energies = part.energies(values)
        self.total = float(self.energies.sum())
        self.scale = 1 / np.sqrt(self.total) if self.total > 0 else 0.0
        share = (len(values) + part.roundings) * SINGLE
        # terms with signs: a share of sqrt(a b) <= (a + b) / 2
        self.share, self.slack = (0.0, SLACK + share / 2) if part.may_be_negative else (share, SLACK)

    def error(self, s, b, tiny):
        """How far a sum may be from what it stands for."""
        return self.share * s + tiny + self.slack * (self.total + b)


def _joined(parts):
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _kth_largest(values, k):
    """-inf if there are fewer."""
    return np.partition(values, len(values) - k)[len(values) - k] if len(values) >= k else -np.inf
