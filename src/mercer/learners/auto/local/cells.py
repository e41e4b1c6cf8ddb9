"""Rows cut into cells of about equal numbers, each with the rows just beyond its borders.

A node is cut in two at the median along the direction in which its rows spread most. A row near a border lies in one
cell, its own, and is also a neighbor of the cell on the other side: there it is learned from, so that a machine knows
what is beyond its border. Of a row x outside of a cell,

    sum over the cuts that x is on the wrong side of, (direction' x - threshold)^2

grows from node to node; the rows where it is smallest are the neighbors. Targets are not looked at.
"""

__all__ = ["Cell", "grow_cells"]

from dataclasses import dataclass

import numpy as np

from mercer._base.memory import row_chunks
from mercer._base.threads import run_blocks, single_threaded
from mercer.spaces import CellTree

SPREAD_ROWS = 2000  # rows of a node that say in which direction it spreads
POWER_STEPS = 30
LEAST_SHARE = 0.25  # of a node's rows on either side of a cut that does not part equal rows
HEIGHT_ROWS = 8192  # per task


@dataclass(frozen=True)
class Cell:
    """The rows of a cell, as ascending numbers.

    Parameters
    ----------
    own : rows that lie in the cell
    members : these and their neighbors: what the machine of the cell learns from
    """

    own: np.ndarray
    members: np.ndarray


def grow_cells(X, most, overlap):
    """(CellTree, a list of Cell) of dense rows in random order.

    Parameters
    ----------
    X : rows, float (n, d)
    most : rows of a cell
    overlap : neighbors per row of a cell
    """
    growth = _Growth(X, most, overlap)
    everything = np.arange(len(X))
    growth.cut(everything, everything[:0], np.zeros(0))
    n_nodes = len(growth.thresholds)
    tree = CellTree(
        np.array(growth.directions, dtype=X.dtype).reshape(n_nodes, X.shape[1]),
        np.array(growth.thresholds, dtype=X.dtype),
        np.array(growth.children, dtype=np.int32).reshape(n_nodes, 2),
    )
    return tree, growth.cells


class _Growth:
    """The nodes and cells so far, parents before their children."""

    def __init__(self, X, most, overlap):
        self.X, self.most, self.overlap = X, most, overlap
        self.directions, self.thresholds = list[np.ndarray](), list[float]()
        self.children, self.cells = list[list[int]](), list[Cell]()

    def cut(self, own, around, squared):
        """Cut the node of these rows until it is small; its number as a child.

        Parameters
        ----------
        own : rows of the node, ascending
        around : rows near it
        squared : their squared distances from it
        """
        if len(own) <= self.most:
            self.cells.append(Cell(own, np.sort(np.concatenate([own, around]))))
            return -len(self.cells)
        direction = _spread(self.X[own[:SPREAD_ROWS]])
        heights, beside = self._heights(own, direction), self._heights(around, direction)
        is_second, threshold = _halves(heights)
        node = len(self.thresholds)
        self.directions.append(direction)
        self.thresholds.append(threshold)
        self.children.append([0, 0])
        for side, sign in enumerate((1.0, -1.0)):
            inside = is_second == bool(side)
            near = np.concatenate([own[~inside], around])
            beyond = np.maximum(sign * (np.concatenate([heights[~inside], beside]).astype(np.float64) - threshold), 0)
            far = beyond**2
            far[len(far) - len(around) :] += squared
            kept = _smallest(far, int(self.overlap * inside.sum()))
            self.children[node][side] = self.cut(own[inside], near[kept], far[kept])
        return node

    def _heights(self, rows, direction):
        """direction' x of some rows, with the bits that a prediction has."""
        directions = direction[None]
        chunks = list(row_chunks(len(rows), 8 * len(direction), most=HEIGHT_ROWS))
        parts = run_blocks(
            lambda part: np.einsum("ij,ij->i", self.X[rows[part]], np.repeat(directions, len(rows[part]), axis=0)),
            chunks,
        )
        return np.concatenate([np.zeros(0, dtype=self.X.dtype), *parts])


def _spread(X):
    """The unit vector along which rows spread most, by power iteration from the row farthest from their mean."""
    with single_threaded():
        centered = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
        direction = centered[np.argmax(np.square(centered).sum(axis=1))]
        if not direction.any():
            direction = np.ones(X.shape[1])
        for _ in range(POWER_STEPS):
            following = centered.T @ (centered @ direction)
            length = np.linalg.norm(following)
            if not length > 0:
                break
            direction = following / length
    return (direction / np.linalg.norm(direction)).astype(X.dtype)


def _halves(heights):
    """(which rows go to the second child, threshold): half of them, or as many as equal heights allow.

    Where one height has more than half of the rows, they go to both sides: cells must become smaller.
    """
    order = np.argsort(heights, kind="stable")
    ordered, n = heights[order], len(heights)
    middle = ordered[n // 2]
    cuts = np.searchsorted(ordered, middle, "left"), np.searchsorted(ordered, middle, "right")
    cut = min(cuts, key=lambda one: abs(int(one) - n // 2))
    if not LEAST_SHARE * n <= cut <= (1 - LEAST_SHARE) * n:
        cut = n // 2
    is_second = np.zeros(n, dtype=bool)
    is_second[order[cut:]] = True
    return is_second, float(ordered[cut - 1])


def _smallest(values, count):
    """Numbers of the ``count`` smallest values; of equal ones, the first."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argsort(values, kind="stable")[:count]
