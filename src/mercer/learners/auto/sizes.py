"""How many rows and landmarks a machine may take: counted in operations, because a clock would not repeat itself.

A fit without a budget may take a number of operations that grows with the rows. A second of a budget counts as
PER_SECOND operations of one core, which is an assumption.
"""

__all__ = ["LEAST_CELL_ROWS", "cell_rows", "landmark_counts", "takes_all"]

import numpy as np
from scipy import sparse

from mercer._base.memory import available_memory
from mercer._base.threads import effective_threads
from mercer.learners.auto.local.machine import OVERLAP

EXACT_ROWS = 5000  # up to which all rows are compared in closed form
WHOLE_ROWS = 30_000  # up to which each may be compared with every other: half a minute of one core
STEPS = 40  # of conjugate gradients, about, that such a comparison takes for every column of scores
# Operations per pair of rows: of a kernel value for each column, and of a pass over all values, which reading limits.
VALUE, LEAST_PASS = 4, 16
OPERATIONS, OPERATIONS_PER_ROW = 4e10, 7e7  # where no budget is given
PER_SECOND = 4e10
MEMORY_SHARE = 0.25  # of the available memory that features may take
FIRST_LANDMARKS, LEAST_LANDMARKS = 1000, 100  # the latter however short the time is
LOCAL_ROWS = 10_000  # from which local machines are tried where these are not all compared
# Rows that lie in a cell, at most: a sixteenth of all, within these limits; a budget may ask for fewer.
FEW_CELL_ROWS, CELL_ROWS, CELL_SHARE, LEAST_CELL_ROWS = 2500, 4000, 1 / 16, 250


def takes_all(X, n_columns, left=None):
    """Whether rows are few enough for the comparison of each with every other by steps, and too many for a closed form.

    ``n_columns`` are those of scores, ``left`` the seconds that it may take, or None.
    """
    n = X.shape[0]
    d = X.nnz / n if sparse.issparse(X) else X.shape[1]
    if not EXACT_ROWS < n <= WHOLE_ROWS or 4 * n**2 > MEMORY_SHARE * available_memory():
        return False
    return n**2 * (VALUE * d + STEPS * (LEAST_PASS + 2 * n_columns)) <= _operations(n, left)


def landmark_counts(n, left=None):
    """How many landmarks are tried one after the other for n rows: M of them take about 4 n M^2 operations.

    >>> landmark_counts(1500), landmark_counts(10_000), landmark_counts(50_000)
    ([1500], [1000, 2000, 4000], [1000, 2000, 4000])
    """
    if n <= EXACT_ROWS:
        return [n]
    room = MEMORY_SHARE * available_memory() / 4  # in values
    most = min(n, np.sqrt(_operations(n, left) / (4 * n)), room / n)
    sizes = [max(LEAST_LANDMARKS, min(FIRST_LANDMARKS, int(most)))]
    while 2 * sizes[-1] <= most and 2 * sizes[-1] < n:
        sizes.append(2 * sizes[-1])
    return sizes


def cell_rows(n, left=None):
    """How many rows may lie in a cell of local machines; None if rows or time are too few for such machines.

    n / m cells of (1 + OVERLAP) m members each take the third power of these in operations.
    """
    if n <= LOCAL_ROWS:
        return None
    usual = min(max(FEW_CELL_ROWS, int(CELL_SHARE * n)), CELL_ROWS)
    if left is None:
        return usual
    most = int(np.sqrt(max(0.0, left) * PER_SECOND * effective_threads() / (n * (1 + OVERLAP) ** 3)))
    return min(usual, most) if most >= LEAST_CELL_ROWS else None


def _operations(n, left):
    return OPERATIONS + n * OPERATIONS_PER_ROW if left is None else left * PER_SECOND
