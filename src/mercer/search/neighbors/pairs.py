"""Every row of an index asked about all others, block by block: memory grows with the rows and with what is found."""

__all__ = ["AllRows", "asked"]

import warnings
from contextlib import contextmanager

import numpy as np

from mercer._base.progress import track

BLOCK_ROWS = 4096  # rows that are asked at once


class AllRows:
    """The rows of an index at this moment, numbered from 0 in the order in which they were added.

    Parameters
    ----------
    index : KernelIndex that keeps its rows
    who : str
        Who asks, for the messages of errors.
    exact : bool
        Whether what is found is proven, among the rows as they are kept.
    where : condition on the columns of the index, or None
        Only rows that fulfill it are asked, and found.
    """

    def __init__(self, index, who, exact=False, where=None):
        self.index, self.rows, self.exact, self.where = index, index.rows_, exact, where
        self.rows.check_kept(who)
        allowed = self.rows.allowed(None, who, where)
        alive = self.rows.alive
        self.positions = alive if allowed is None else alive[allowed[alive]]

    def __len__(self):
        return len(self.positions)

    @property
    def ids(self):
        """The id of each row."""
        return self.rows.ids.at(self.positions)

    def nearest(self, k):
        """(numbers, values) of shape (n, k): of each row the k nearest others, nearest first."""
        numbers, values = np.empty((len(self), k), dtype=np.int64), np.empty((len(self), k))
        for part, block in self._blocks():
            ids, found = asked(self.index, block, k + 1, exact=self.exact, where=self.where)
            numbers[part], values[part] = _others(self._numbers(ids), found, np.arange(part.start, part.stop))
        return numbers, values

    def within(self, limit):
        """(counts, numbers, values): how many others each row has within a limit, and all of them, row after row."""
        exact = "stored" if self.exact else False
        counts, numbers, values = np.zeros(len(self), dtype=np.int64), [], []
        for part, block in self._blocks():
            with unnamed():
                found = self.index.range_search(block, **limit, exact=exact, where=self.where)
            lengths = np.array([len(each) for each in found[0]])
            others, near = self._numbers(np.concatenate(found[0])), np.concatenate(found[1])
            own = np.repeat(np.arange(part.start, part.stop), lengths)
            kept = others != own
            counts[part] = np.bincount(own[kept] - part.start, minlength=part.stop - part.start)
            numbers.append(others[kept])
            values.append(near[kept])
        return counts, np.concatenate(numbers), np.concatenate(values)

    def _blocks(self):
        """(their numbers as a slice, rows) of all blocks."""
        n = len(self)
        for start in track(range(0, n, BLOCK_ROWS), "Neighbors"):
            part = slice(start, min(start + BLOCK_ROWS, n))
            yield part, self.rows.take(self.positions[part])

    def _numbers(self, ids):
        """The numbers of rows by their ids."""
        known = ids.ravel() if ids.dtype != object else ids.ravel().tolist()
        return np.searchsorted(self.positions, self.rows.ids.positions(known)).reshape(ids.shape)


def asked(index, rows, k, exact=False, where=None):
    """(ids, values) of the k nearest rows of each of these. Where candidates were too few, all rows are compared."""
    with unnamed():
        ids, values = index.search(rows, k, exact="stored" if exact else False, where=where)
        short = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(short):
            ids[short], values[short] = index.search(rows[short], k, exact="stored", where=where)
    return ids, values


@contextmanager
def unnamed():
    """Kept rows are asked in the order of the index: that they have no names of columns is no news."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _others(numbers, values, own):
    """What was found without the row itself; where equal rows have left no place for it, without the farthest."""
    left_out = numbers == own[:, None]
    left_out[~left_out.any(axis=1), -1] = True
    return numbers[~left_out].reshape(len(own), -1), values[~left_out].reshape(len(own), -1)
