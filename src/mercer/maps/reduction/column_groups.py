"""Columns put together: which may be added up because they rise and fall together.

If column j is a multiple of column i, a homogeneous additive kernel loses nothing when the two are replaced by their
sum: k(x_i, y_i) + k(a x_i, a y_i) is a multiple of k(x_i + a x_i, y_i + a y_i). So columns are compared by what is left
when scale and mean are taken away,

    p_i = (r_i - mean r_i) / |r_i - mean r_i|,      r_i the square roots of column i (with its signs)

whose inner products are correlations, and clustered by the rule of [ward63hierarchical]: the pair of groups is merged
that adds least to the squared distances of all p_i from the mean of their group. One tree has the groups for any number
of them. Roots, because the values of histograms vary in proportion to their size, and a few large ones would decide.

With labels, r_i are the means of the roots in each class: columns are put together that speak for the same classes.
"""

__all__ = ["ColumnTree", "numbered"]

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from mercer._base.threads import run_blocks, single_threaded
from mercer.maps.landmarks.choice import sample_rows
from mercer.spaces.blocks import even_slices

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
        profiles = _profiles(X, labels, columns, random_state)
        tree = linkage(_distances(profiles, n_jobs), method="ward") if len(columns) > 1 else np.empty((0, 4))
        self.merges = tree[:, :2].astype(np.int64)  # the two groups that each step puts together, as scipy numbers them

    def groups(self, n_groups):
        """The group of each column of X, -1 for those that are not in the tree; groups in the order of their first.

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


def _profiles(X, labels, columns, random_state):
    """p_i of the columns, float64 (rows or classes, columns); 0 for those that do not vary."""
    most = max(2, PROFILE_BYTES // (8 * X.shape[1]))
    if X.shape[0] > most:
        chosen = sample_rows(X.shape[0], most, random_state)
        X, labels = X[chosen], None if labels is None else labels[chosen]
    rows = (X[:, columns].toarray() if sparse.issparse(X) else X[:, columns]).astype(np.float64)
    roots = np.copysign(np.sqrt(np.abs(rows)), rows)
    if labels is not None:
        roots = np.stack([roots[labels == label].mean(axis=0) for label in np.unique(labels)])
    scale = np.linalg.norm(roots, axis=0)
    roots -= roots.mean(axis=0)
    lengths = np.linalg.norm(roots, axis=0)
    still = lengths <= 1e-12 * scale  # the rounding errors of its mean must not pass for the shape of a constant column
    roots[:, still] = 0.0
    roots /= np.where(still, 1.0, lengths)
    return roots


def _distances(profiles, n_jobs):
    """|p_i - p_j| of all pairs of columns, in the order of scipy's condensed matrices; the same bits on any threads."""
    D = profiles.shape[1]
    squared = np.zeros((D, D))
    norms = np.einsum("ri,ri->i", profiles, profiles)

    def fill(strip):  # scipy reads the upper triangle only
        right = slice(strip.start, D)
        squared[strip, right] = norms[strip, None] + norms[right] - 2 * (profiles[:, strip].T @ profiles[:, right])

    with single_threaded():
        run_blocks(fill, even_slices(D, min(SUM_STRIPS, D)), n_jobs)
    return np.sqrt(np.maximum(squareform(squared, checks=False), 0.0))
