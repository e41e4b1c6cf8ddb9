"""Cells of a space, and a predictor that asks only the machine of the cell in which a row lies.

A tree of halfspaces cuts the space: at each node a row x goes on to the first child where direction' x <= threshold,
else to the second, until it comes to a cell. Each cell has a machine of its own, whose landmarks are some of the rows
that all cells share:

    f(x) = offset_c + sum_i coefficient_ci K(x, row_ci)          c the cell of x, i over the members of the cell
"""

__all__ = ["CellPredictor", "CellTree"]

from typing import Any

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.memory import row_chunks
from mercer._base.threads import run_blocks, single_threaded
from mercer._base.validation import as_rows
from mercer.kernels import Kernel
from mercer.spaces.predictors import Predictor, predictor_class

ROUTE_ROWS = 4096  # rows that go down the tree together
KERNEL_ROWS, KERNEL_VALUES = 1024, 2**22  # rows and kernel values per task


@predictor_class
class CellTree:
    """Tree that assigns rows to cells.

    Parameters
    ----------
    directions : array of shape (nodes, features)
    thresholds : array of shape (nodes,)
    children : int32 array of shape (nodes, 2); a number k >= 0 is a node, which comes after its parent, and k < 0 the
        cell -1 - k. The root is node 0; without any node there is one cell.

    Examples
    --------
    >>> import numpy as np
    >>> tree = CellTree(np.ones((1, 1)), np.array([0.5]), np.array([[-1, -2]], dtype=np.int32))
    >>> tree.cells_of(np.array([[0.2], [0.7]])).tolist()
    [0, 1]
    """

    directions: Any
    thresholds: Any
    children: Any

    def __post_init__(self):
        self.directions, self.thresholds, self.children = (
            np.asarray(part) for part in (self.directions, self.thresholds, self.children)
        )
        nodes = len(self.thresholds) if self.thresholds.ndim == 1 else -1
        for name, kind, shape in (("directions", "f", (nodes, self._width())), ("thresholds", "f", (nodes,)),
                                  ("children", "i", (nodes, 2))):  # fmt: skip
            part = getattr(self, name)
            if part.dtype.kind != kind or part.shape != shape or (kind == "f" and not np.isfinite(part).all()):
                raise InputError(f"CellTree needs finite `{name}` of its shape; got {part.dtype} {part.shape}.")
        inner, own = self.children[self.children >= 0], np.arange(nodes)[:, None]
        cells = np.sort(-1 - self.children[self.children < 0].astype(np.int64))
        if (
            not np.array_equal(np.sort(inner), np.arange(1, nodes))
            or not ((self.children < 0) | (self.children > own)).all()
            or not np.array_equal(cells, np.arange(nodes + 1 if nodes else 0))
        ):
            raise InputError(
                "CellTree needs `children` that contain each cell, and each node except the first, exactly once."
            )

    def _width(self):
        return self.directions.shape[1] if self.directions.ndim == 2 else -1

    @property
    def n_features_in_(self) -> int:
        """Width of the rows."""
        return self.directions.shape[1]

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.thresholds) + 1

    def get_params(self, deep=True):
        """Constructor arguments by name, which is what a model file keeps."""
        return {"directions": self.directions, "thresholds": self.thresholds, "children": self.children}

    def cells_of(self, X):
        """The cell of each row, int64 (n,)."""
        out = np.zeros(len(X), dtype=np.int64)

        def fill(part):
            out[part] = self._cells(X[part])

        run_blocks(fill, row_chunks(len(X), 8 * X.shape[1], most=ROUTE_ROWS))
        return out

    def _cells(self, X):
        at = np.zeros(len(X), dtype=np.int64) - (not len(self.thresholds))
        going = np.flatnonzero(at >= 0)
        while len(going):
            nodes = at[going]
            # a sum per row, whose bits do not depend on the rows beside it
            heights = np.einsum("ij,ij->i", X[going], self.directions[nodes])
            at[going] = self.children[nodes, (heights > self.thresholds[nodes]).astype(np.int64)]
            going = going[at[going] >= 0]
        return -1 - at


@predictor_class
class CellPredictor(Predictor):
    """f(x) = offset_c + sum_i coefficient_i K(x, row_i), over the members of the cell c in which x lies.

    Parameters
    ----------
    kernel : the kernel K
    tree : CellTree
    rows : dense rows of shape (n, features), which the cells share
    members : int32 array: numbers of rows, first those of cell 0, then those of cell 1, ...
    starts : int64 array of shape (cells + 1,): where the members of each cell begin, and the end
    coefficients : array of shape (len(members), C)
    offsets : array of shape (cells, C)

    Examples
    --------
    Two cells, left and right of 0.5, with one landmark each:

    >>> import numpy as np
    >>> from mercer import Linear
    >>> tree = CellTree(np.ones((1, 1)), np.array([0.5]), np.array([[-1, -2]], dtype=np.int32))
    >>> parts = np.arange(2, dtype=np.int32), np.arange(3), np.array([[1.0], [-1.0]]), np.array([[0.0], [10.0]])
    >>> CellPredictor(Linear(), tree, np.array([[1.0], [2.0]]), *parts)([[0.25], [1.0]]).tolist()
    [[0.25], [8.0]]
    """

    kernel: Any
    tree: Any
    rows: Any
    members: Any
    starts: Any
    coefficients: Any
    offsets: Any

    def __post_init__(self):
        if not isinstance(self.kernel, Kernel) or not isinstance(self.tree, CellTree):
            raise InputError("CellPredictor needs a kernel object and a CellTree.")
        self.rows = as_rows(self.rows, "CellPredictor", "rows")
        if sparse.issparse(self.rows) or self.rows.shape[1] != self.tree.n_features_in_:
            raise InputError("CellPredictor needs dense rows with as many features as its tree.")
        self.kernel.check_values(self.rows, "rows")
        self.members, self.starts = np.asarray(self.members), np.asarray(self.starts)
        self.coefficients, self.offsets = np.asarray(self.coefficients), np.asarray(self.offsets)
        self._check_members()
        n_columns = self.coefficients.shape[1] if self.coefficients.ndim == 2 else -1
        for name, shape in (
            ("coefficients", (len(self.members), n_columns)),
            ("offsets", (self.tree.n_cells, n_columns)),
        ):
            part = getattr(self, name)
            if part.dtype.kind != "f" or part.shape != shape:
                raise InputError(f"CellPredictor needs `{name}` of shape {shape}; got {part.dtype} {part.shape}.")

    def _check_members(self):
        members, starts = self.members, self.starts
        if starts.dtype != np.int64 or starts.shape != (self.tree.n_cells + 1,) or members.dtype != np.int32:
            raise InputError("CellPredictor needs int64 `starts`, one more than cells, and int32 `members`.")
        if starts[0] != 0 or members.shape != (starts[-1],) or (np.diff(starts) <= 0).any():
            raise InputError("CellPredictor needs `starts` that ascend from 0 to the number of members.")
        if members.min() < 0 or members.max() >= len(self.rows):
            raise InputError(f"CellPredictor has {len(self.rows)} rows, but `members` refer to others.")

    @property
    def n_features_in_(self):
        return self.rows.shape[1]

    def scores(self, X):
        self.kernel.check_values(X, "X")
        dtype = np.result_type(X.dtype, self.coefficients.dtype)
        out = np.empty((X.shape[0], self.coefficients.shape[1]), dtype=dtype)
        if sparse.issparse(X):
            for part in row_chunks(X.shape[0], 8 * X.shape[1]):
                self._fill(X[part].toarray(), out[part])
        else:
            self._fill(X, out)
        return out

    def _fill(self, X, out):
        cells = self.tree.cells_of(X)
        order = np.argsort(cells, kind="stable")
        ends = np.searchsorted(cells[order], np.arange(self.tree.n_cells + 1))
        tasks = [(cell, order[ends[cell] :][part]) for cell in range(self.tree.n_cells)
                 for part in self._chunks(cell, ends[cell + 1] - ends[cell])]  # fmt: skip

        def score(task):
            cell, rows = task
            own = slice(self.starts[cell], self.starts[cell + 1])
            values = self.kernel.gram_block(X[rows], self.rows[self.members[own]], None)
            out[rows] = values @ self.coefficients[own] + self.offsets[cell]

        with single_threaded():  # BLAS gives other bits on other numbers of threads
            run_blocks(score, tasks)

    def _chunks(self, cell, n):
        size = int(self.starts[cell + 1] - self.starts[cell])
        return row_chunks(int(n), 8 * size, most=max(1, min(KERNEL_ROWS, KERNEL_VALUES // size)))
