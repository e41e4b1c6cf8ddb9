"""What may be among the nearest of one block of lists, by the ranking of a single sum.

While the k-th best so far is known, lists that could not bring a row near enough by themselves are left out at first.
Of a query that touches many rows of the block nobody notes which: all are looked at in the end.
"""

__all__ = ["Ranking"]

import numpy as np

from mercer._native.search.postings import forget, list_probes, list_sums, whole_sums
from mercer._native.search.ranking import keep_nearest, plan_lists
from mercer.search.lists.block import BLOCK_ROWS
from mercer.search.lists.formula import COSINE

LEAST_LEFT = 3  # a third of the postings must be left out, or all are read at once
WORTH = 16  # postings that may as well be read as one row looked for in a list
WHOLE = 6  # all rows of a block are looked at if there are more postings than rows over this
NONE = np.empty(0, dtype=np.float32)


class Ranking:
    """What may be near enough of one block, by a single sum.

    Attributes
    ----------
    size : int
        Of the heap ``lows`` of the largest lower bounds.
    is_whole : bool
        Whether all rows were looked at, those without a shared column too.
    """

    def __init__(self, search, block, lows, size):
        self._search, self._block, self._lows, self._part, self._room = search, block, lows, search.sums[0], search.room
        part = self._part
        begins, ends = block.lists_of(search.columns)
        lists = begins, ends, part.x, part.logs
        n_postings = int((ends - begins).sum())
        needed, rest, left = len(begins), 0.0, 0
        if size == len(lows) and not part.may_be_negative:
            lists = begins, ends, part.x.copy(), part.logs.copy()
            needed, rest = plan_lists(
                search.formula.form, *lists, part.energies.copy(), part.total, part.scale, *block.spread, part.least,
                lows[0],
            )  # fmt: skip
            left = int((ends[needed:] - begins[needed:]).sum())
            if LEAST_LEFT * left < n_postings:
                needed, rest, left = len(begins), 0.0, 0
        self._lists, self._n = lists, 0
        self.is_whole = part.scale > 0 and WHOLE * (n_postings - left) >= block.n_rows
        self._add(0, needed)
        if left:
            left = self._complete(needed, rest, left, size)
        else:
            self._count, self.size = self._keep(0.0, size)
        search.n_postings += n_postings
        search.n_read += n_postings - left

    def _complete(self, needed, rest, left, size):
        """Find what the sums of the first lists may lack: few rows are looked for in the others, of many these are
        read. Returns how many postings were not.
        """
        before, each = self._lows.copy(), WORTH * (len(self._lists[0]) - needed)
        count, _ = self._keep(rest, size, left // each)
        self._lows[:] = before
        if each * count >= left:
            self._add(needed, len(self._lists[0]))
            self._count, self.size = self._keep(0.0, size)
            return 0
        block, part, kept = self._block, self._part, self._room.kept
        list_probes(part.name)(
            kept, count, needed, *self._lists, block.rows, block.values, part.param, self._room.sums[0]
        )
        self._count, self.size = self._keep_those(kept[:count].copy(), count, NONE, 0.0, size, count)
        return left - each * count // WORTH

    def _add(self, first, last):
        block, part, room = self._block, self._part, self._room
        given = first, last, *self._lists, block.rows, block.values, part.param, room.contributions, room.sums[0]
        if self.is_whole:
            whole_sums(part.name, part.signed)(*given)
        else:
            self._n = list_sums(part.name, part.signed)(*given, room.seen, room.touched, self._n)

    def _keep(self, rest, size, most=BLOCK_ROWS):
        """(how many may be near enough, the new size of the heap), where ``rest`` of the query may be missing."""
        if not self.is_whole:
            return self._keep_those(self._room.touched, self._n, NONE, rest, size, most)
        block = self._block
        weights = block.inverse_weights if self._search.formula.form == COSINE else block.total_weights
        return self._keep_those(self._room.touched, block.n_rows, weights, rest, size, most)

    def _keep_those(self, rows, n, weights, rest, size, most):
        search, block, part, room = self._search, self._block, self._part, self._room
        return keep_nearest(
            search.formula.form, room.sums[0], rows, n, weights, block.spread[1], part.total, part.scale,
            block.totals[0], block.inverses, part.share, search.tiny, part.slack, self._margin(rest), rest, part.least,
            most, search.allowed_in(block), self._lows, size, room.kept, room.highs,
        )  # fmt: skip

    def _margin(self, rest):
        """Of a cosine in this block: (tiny + slack (a + b) + sqrt(rest b)) / sqrt(a b) at most."""
        part, (low, high) = self._part, self._block.spread
        parts = self._search.tiny / low**0.5 + part.slack * (part.total / low**0.5 + high**0.5) + rest**0.5
        return parts * part.scale

    def found(self):
        """(positions, upper ends of their ranks, sums, totals b) of what was kept; the room is clean again."""
        block, room = self._block, self._room
        rows = room.kept[: self._count]
        sums, highs = room.sums[0].take(rows).astype(np.float64), room.highs[: self._count].copy()
        found = rows + np.int64(block.first), highs, sums, block.totals[0].take(rows)
        if self.is_whole:
            room.sums[0, : block.n_rows] = 0
        else:
            forget(room.touched, self._n, room.sums[0], room.seen)
        return found
