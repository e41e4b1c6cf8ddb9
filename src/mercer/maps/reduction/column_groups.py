"""Columns put together: which may be added up because they rise and fall together.

If column j is a multiple of column i, a homogeneous additive kernel loses nothing when the two are replaced by their
sum: k(x_i, y_i) + k(a x_i, a y_i) is a multiple of k(x_i + a x_i, y_i + a y_i). So columns are compared by what is left
when scale and mean are taken away,

    p_i = (r_i - mean r_i) / |r_i - mean r_i|,      r_i the square roots of column i (with its signs)

whose inner products are correlations, and clustered by the rule of [ward63hierarchical]: the pair of groups is merged
that adds least to the squared distances of all p_i from the mean of their group. One tree has the groups for any number
of them. Roots, because the values of histograms vary in proportion to their size, and a few large ones would decide.

With labels, r_i are the means of the roots in each class: columns are put together that speak for the same classes.

Of very many columns those with the largest squares make the tree, and every other one joins the column of the tree with
which it is correlated most.
"""

__all__ = ["WIDEST", "ColumnTree", "numbered", "sums_of_squares"]

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from mercer._base.threads import run_blocks, run_row_blocks, single_threaded
from mercer.maps.landmarks.choice import sample_rows
from mercer.spaces.blocks import even_slices

WIDEST = 2**14  # columns that are all compared with each other: the distances of that many take 1 GiB
TRUNK = 2**13  # columns of the tree, if there are more
STRIP = 1024  # columns that are compared with those of the tree at a time
PROFILE_BYTES = 2**28  # of the rows that columns are compared on
SUM_STRIPS = 16  # strips of the matrix of correlations that threads share out


class ColumnTree:
    """The tree of merged columns, which can be cut into any number of groups.

    Parameters
    ----------
    X : validated rows
    labels : class of each row, or None
    columns : the columns to be grouped
    random_state : which rows are looked at, when there are many
    """

    def __init__(self, X, labels, columns, random_state, n_jobs=None):
        self.n_columns, self.columns = X.shape[1], columns
        if len(columns) > WIDEST:
            strongest = np.argsort(-sums_of_squares(X)[columns], kind="stable")[:TRUNK]
            self.columns = columns[np.sort(strongest)]
        X, labels = _sampled(X, labels, len(self.columns), random_state)
        profiles = _profiles(X[:, self.columns], labels)
        m = len(self.columns)
        tree = linkage(_distances(profiles, n_jobs), method="ward") if m > 1 else np.empty((0, 4))
        self.merges = tree[:, :2].astype(np.int64)  # the two groups that each step puts together, as scipy numbers them
        self.others = np.setdiff1d(columns, self.columns, assume_unique=True)
        self.joined = _joined(X, labels, self.others, profiles, n_jobs)

    @property
    def most(self):
        """Groups that there can be."""
        return len(self.columns)

    def groups(self, n_groups):
        """The group of each column of X, -1 for those that belong to none; groups in the order of their first.

        scipy's ``fcluster`` gives fewer groups where several merges have the same height, and ``cut_tree`` takes a
        second for thousands of columns.
        """
        m = len(self.columns)
        steps = m - n_groups
        owner = np.arange(m + steps)
        for step in range(steps - 1, -1, -1):  # from the last merge down: what it puts together has its owner by then
            owner[self.merges[step]] = owner[m + step]
        found = np.full(self.n_columns, -1, dtype=np.int64)
        found[self.columns] = owner[:m]
        found[self.others] = np.where(self.joined >= 0, owner[self.joined], -1)
        return numbered(found)


def numbered(groups):
    """The same groups, numbered from 0 by their first column; -1 stays.

    >>> numbered(np.array([5, -1, 2, 5]))
    array([ 0, -1,  1,  0])
    """
    inside = np.flatnonzero(groups >= 0)
    _, first, member = np.unique(groups[inside], return_index=True, return_inverse=True)
    out = np.full(len(groups), -1, dtype=np.int64)
    out[inside] = np.argsort(np.argsort(first))[member]
    return out


def sums_of_squares(X):
    """The sum of the squares of each column."""
    squares = np.square(X, dtype=np.float64) if isinstance(X, np.ndarray) else X.multiply(X)
    return np.asarray(squares.sum(axis=0), dtype=np.float64).ravel()


def _sampled(X, labels, width, random_state):
    """Rows, and their labels, of which so many columns take PROFILE_BYTES at most."""
    most = max(2, PROFILE_BYTES // (8 * width))
    if X.shape[0] <= most:
        return X, labels
    chosen = sample_rows(X.shape[0], most, random_state)
    return X[chosen], None if labels is None else labels[chosen]


def _profiles(X, labels):
    """p_i of the columns, float64 (rows or classes, columns); 0 for those that do not vary."""
    roots = _roots(X.toarray() if sparse.issparse(X) else X, labels)
    scale = np.linalg.norm(roots, axis=0)
    roots -= roots.mean(axis=0)
    lengths = np.linalg.norm(roots, axis=0)
    still = lengths <= 1e-12 * scale  # the rounding errors of its mean must not pass for the shape of a constant column
    roots[:, still] = 0.0
    roots /= np.where(still, 1.0, lengths)
    return roots


def _roots(X, labels):
    """Roots with signs, float64, or their means in each class."""
    rows = X.astype(np.float64)
    roots = np.copysign(np.sqrt(np.abs(rows)), rows)
    if labels is None:
        return roots
    return np.stack([roots[labels == label].mean(axis=0) for label in np.unique(labels)])


def _joined(X, labels, others, profiles, n_jobs):
    """The column of the tree, by its place there, that each of the others is most like; -1 if it is like none.

    Profiles have mean 0, so that their products with columns as they are order them as correlations do.
    """
    X = sparse.csc_array(X) if sparse.issparse(X) else X

    def nearest(part):
        rows = X[:, others[part]]
        if sparse.issparse(rows) and labels is None:
            rows = sparse.csc_array((_roots(rows.data, None), rows.indices, rows.indptr), rows.shape)
        else:
            rows = _roots(rows.toarray() if sparse.issparse(rows) else rows, labels)
        alike = rows.T @ profiles
        best = alike.argmax(axis=1)
        return np.where(alike[np.arange(len(best)), best] > 0, best, -1)

    found = run_row_blocks(nearest, len(others), STRIP, n_jobs)
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, dtype=np.int64)


def _distances(profiles, n_jobs):
    """|p_i - p_j| of all pairs of columns, in the order of scipy's condensed matrices; the same bits on any threads."""
    D = profiles.shape[1]
    condensed = np.empty(D * (D - 1) // 2)
    norms = np.einsum("ri,ri->i", profiles, profiles)

    def fill(strip):
        for start in range(strip.start, strip.stop, STRIP):
            rows, right = slice(start, min(start + STRIP, strip.stop)), slice(start, D)
            squared = norms[rows, None] + norms[right] - 2 * (profiles[:, rows].T @ profiles[:, right])
            distances = np.sqrt(np.maximum(squared, 0.0))
            for row in range(rows.start, rows.stop):
                first = row * D - row * (row + 1) // 2  # where the D - 1 - row distances of this column begin
                condensed[first : first + D - 1 - row] = distances[row - start, row - start + 1 :]

    with single_threaded():
        run_blocks(fill, even_slices(D, min(SUM_STRIPS, D)), n_jobs)
    return condensed
