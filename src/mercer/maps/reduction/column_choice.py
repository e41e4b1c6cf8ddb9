"""Columns of one weight: which are merged or kept at a given number, and which number keeps the kernel well enough."""

__all__ = ["ErrorJudge", "choose_size", "groups_by_size", "used_columns"]

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.errors import InputError
from mercer.maps.reduction.column_groups import ColumnTree, sums_of_squares
from mercer.maps.reduction.pair_moments import draw_pairs, pair_values, weighted_values
from mercer.maps.reduction.reduced_columns import reduce_columns

JUDGED_PAIRS = 2**13  # pairs on which (7) is measured: its standard error is then about a hundredth
HALVINGS = 7  # of the number of columns, for the path


def used_columns(X):
    """The columns with a value other than 0; no other has a part in a kernel with k(0, y) = 0."""
    if isinstance(X, np.ndarray):
        found = np.flatnonzero((X != 0).any(axis=0))
    else:
        found = np.unique(X.indices[X.data != 0]).astype(np.int64)
    if not len(found):
        raise InputError("ConvexReduction needs nonzero values, but all of X is 0.")
    return found


def groups_by_size(method, X, y, random_state, n_jobs=None):
    """(function from a number of columns to the groups that a method makes of the columns of X, the largest number)"""
    used = used_columns(X)
    if method in ("merge", "supervised"):
        labels = np.asarray(y) if method == "supervised" else None
        tree = ColumnTree(X, labels, used, random_state, n_jobs)
        return tree.groups, tree.most
    if method == "random":
        order = random_state.permutation(used)
    else:
        order = used[np.argsort(-sums_of_squares(X)[used], kind="stable")]

    def groups(n_dims):
        chosen = np.full(X.shape[1], -1, dtype=np.int64)
        chosen[np.sort(order[:n_dims])] = np.arange(n_dims)
        return chosen

    return groups, len(used)


@dataclass(frozen=True)
class ErrorJudge:
    """Pairs of rows with their kernel values, against which reductions are measured.

    ``X`` has only the rows of these pairs, whose numbers in X are ``pairs``.
    """

    kernel: Any
    X: Any
    pairs: np.ndarray
    values: np.ndarray
    n_jobs: int | None

    @classmethod
    def of(cls, kernel, X, n_pairs, random_state, n_jobs=None):
        """A judge on evenly drawn pairs, ``n_pairs`` of them or fewer."""
        drawn = draw_pairs(X.shape[0], min(int(n_pairs), JUDGED_PAIRS), random_state)
        found, pairs = np.unique(drawn, return_inverse=True)
        X, pairs = X[found], pairs.reshape(drawn.shape)
        return cls(kernel, X, pairs, pair_values(kernel, X, pairs, n_jobs), n_jobs)

    def common_weight(self, groups):
        """(c, error) of these groups when all have the weight c that approximates the values best."""
        ones = np.ones(groups.max() + 1)
        reduced = reduce_columns(self.X, groups, ones, self.n_jobs)
        found = weighted_values(self.kernel, reduced, self.pairs, ones, self.n_jobs)
        square, product = float(found @ found), float(found @ self.values)
        c = product / square if product > 0 else 1.0  # where the pairs say nothing about the scale it stays
        return c, self.error(c * found)

    def error(self, approximate):
        """(7): the root mean square error over the mean of the kernel."""
        mean = abs(float(self.values.mean()))
        return float(np.sqrt(np.mean(np.square(approximate - self.values))) / mean) if mean > 0 else 0.0


def choose_size(groups_of, most, judge, n_dims, tolerance):
    """(groups, their weight, path) for ``n_dims`` columns or for the fewest with an error within the tolerance.

    Parameters
    ----------
    groups_of : function from a number of columns to groups
    most : the largest number of columns that groups_of takes
    judge : ErrorJudge
    n_dims, tolerance : what is asked for, one of the two

    Returns
    -------
    groups : of each column
    weight : float
    path : dict with the arrays ``n_dims`` and ``error``, of all numbers that were tried
    """
    tried: dict[int, tuple[float, float]] = {}

    def error(size):
        if size not in tried:
            tried[size] = judge.common_weight(groups_of(size))
        return tried[size][1]

    for halvings in range(1, HALVINGS + 1):
        if most >> halvings:
            error(most >> halvings)
    chosen = min(int(n_dims), most) if tolerance is None else _smallest(error, most, tolerance)
    error(chosen)
    seen = sorted(tried)
    path = {"n_dims": np.array(seen, dtype=np.int64), "error": np.array([tried[size][1] for size in seen])}
    return groups_of(chosen), tried[chosen][0], path


def _smallest(error, most, tolerance):
    """The smallest number with an error within the tolerance, found by halving as if errors fell with the number."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if error(middle) <= tolerance else (middle, high)
    return high
