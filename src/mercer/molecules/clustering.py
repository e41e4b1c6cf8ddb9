"""Groups of molecules: by the method of Butina or as connected components of similar pairs, and far-apart ones.

The memory of the first two grows with the molecules and the pairs above the cutoff, never with all pairs.
"""

__all__ = ["Clusters", "cluster", "maxmin"]

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.validation import canonical
from mercer.kernels import BrayCurtis, DotTanimoto, Linear, MinMax


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each molecule.

    Attributes
    ----------
    labels : ndarray of int64
        The number of the cluster of each molecule.
    centers : ndarray of int64
        The center of each cluster: the molecule with the most neighbors.
    """

    labels: np.ndarray
    centers: np.ndarray

    def __len__(self):
        return len(self.centers)

    @property
    def sizes(self):
        """Molecules of each cluster."""
        return np.bincount(self.labels, minlength=len(self))

    def members(self, number):
        """The molecules of a cluster, its center first."""
        found = np.flatnonzero(self.labels == number)
        return np.concatenate([self.centers[number : number + 1], found[found != self.centers[number]]])


def cluster(first, second, n, method="butina"):
    """Cluster ``n`` molecules, given the pairs of similar ones.

    Parameters
    ----------
    first, second : arrays of int, the molecules of each pair, each pair once
    n : int
    method : {"butina", "components"}
        ``"butina"``: the molecule with the most neighbors and these are a cluster, then the one with the most among
        those that are left, and so on [butina99unsupervised]; of equally many the one with the largest number comes
        first, so that the clusters are those of RDKit, in its order. ``"components"``: molecules that a chain of pairs
        joins; the largest comes first.

    Returns
    -------
    Clusters

    Examples
    --------
    >>> found = cluster([0, 1, 3], [1, 2, 4], 6)
    >>> found.labels.tolist(), found.centers.tolist()
    ([0, 0, 0, 1, 1, 2], [1, 4, 5])
    """
    if method not in ("butina", "components"):
        raise InputError(f"cluster needs method to be 'butina' or 'components'; got {method!r:.80}.")
    first, second = (np.asarray(each, dtype=np.int64) for each in (first, second))
    if len(first) and not (min(first.min(), second.min()) >= 0 and max(first.max(), second.max()) < n):
        raise InputError(f"cluster needs pairs of molecules from 0 to {n - 1}.")
    ones = np.ones(2 * len(first), dtype=bool)
    pairs = np.concatenate([first, second]), np.concatenate([second, first])
    near = sparse.csr_array((ones, pairs), shape=(n, n))
    return _butina(near, n) if method == "butina" else _components(near, n)


def _butina(near, n):
    degree = np.diff(near.indptr)
    labels, centers = np.full(n, -1, dtype=np.int64), []
    for center in np.lexsort((np.arange(n), degree))[::-1].tolist():
        if labels[center] < 0:
            others = near.indices[near.indptr[center] : near.indptr[center + 1]]
            labels[others[labels[others] < 0]] = len(centers)
            labels[center] = len(centers)
            centers.append(center)
    return Clusters(labels, np.array(centers, dtype=np.int64))


def _components(near, n):
    count, found = connected_components(near, directed=False)
    order = np.argsort(-np.bincount(found, minlength=count), kind="stable")
    places = np.empty(count, dtype=np.int64)
    places[order] = np.arange(count)
    labels, degree = places[found], np.diff(near.indptr)
    _, leaders = np.unique(labels[np.lexsort((-degree, labels))], return_index=True)
    return Clusters(labels, np.lexsort((-degree, labels))[leaders] if count else np.empty(0, dtype=np.int64))


def maxmin(X, n, kernel=None, first=(), random_state=0):
    """Pick ``n`` diverse rows by MaxMin: each next row is the one least similar to its most similar picked row.

    This is the MaxMin algorithm [ashton02identification], computed exactly: the sequence is that of RDKit's
    MaxMinPicker from the same first molecules, but for ties, of which the lowest number is taken here. Time grows
    with the rows times those picked, memory with the rows.

    Parameters
    ----------
    X : CSR matrix of fingerprints
    n : int
        Number of rows to pick, including those in ``first``.
    kernel : MinMax, DotTanimoto, BrayCurtis or Linear, or None
        Kernel that compares rows. None uses MinMax; Linear stands for the cosine.
    first : sequence of int
        Rows already picked. If empty, the first one is drawn at random.
    random_state : int
        Seed of that draw.

    Returns
    -------
    picked : ndarray of int64
    similarity : ndarray of float64
        Of each picked row to the most similar one picked before it, NaN for those that were given or drawn.
    """
    kernel = kernel or MinMax()
    X = canonical(sparse.csr_array(X, dtype=np.float64))
    n_rows = X.shape[0]
    if not isinstance(n, Integral) or isinstance(n, bool) or not max(1, len(first)) <= n <= n_rows:
        raise InputError(
            f"maxmin needs n from {max(1, len(first))} to {n_rows}, the number of molecules; got {n!r:.80}."
        )
    picked = [int(row) for row in first] or [int(np.random.default_rng(random_state).integers(n_rows))]
    if len(set(picked)) < len(picked) or not 0 <= min(picked) <= max(picked) < n_rows:
        raise InputError(f"maxmin needs first to be different numbers from 0 to {n_rows - 1}.")
    values_of = _one_with_all(X, kernel)
    nearest, similarity = np.full(n_rows, -np.inf), [np.nan] * len(picked)
    for row in picked:
        np.maximum(nearest, values_of(row), out=nearest)
    nearest[picked] = np.inf
    for _ in track(range(n - len(picked)), "Picking"):
        row = int(np.argmin(nearest))
        picked.append(row)
        similarity.append(float(nearest[row]))
        np.maximum(nearest, values_of(row), out=nearest)
        nearest[row] = np.inf
    return np.array(picked, dtype=np.int64), np.array(similarity)


def _one_with_all(X, kernel):
    """The function from the number of a row to its similarities with all rows: by the columns that it has alone."""
    lists, n_rows = X.tocsc(), X.shape[0]
    shares_minima = isinstance(kernel, (MinMax, BrayCurtis))
    totals = X.sum(axis=1) if shares_minima else X.multiply(X).sum(axis=1)

    def values(row):
        common = np.zeros(n_rows)
        part = slice(X.indptr[row], X.indptr[row + 1])
        for column, value in zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True):
            where = slice(lists.indptr[column], lists.indptr[column + 1])
            others = lists.data[where]
            common[lists.indices[where]] += np.minimum(others, value) if shares_minima else others * value
        if isinstance(kernel, Linear):
            roots = np.sqrt(totals[row]) * np.sqrt(totals)
            return np.divide(common, roots, out=np.zeros(n_rows), where=roots > 0)
        twice = isinstance(kernel, BrayCurtis)
        over = totals[row] + totals - (0 if twice else common)
        return np.divide((1 + twice) * common, over, out=np.ones(n_rows), where=over > 0)

    if not isinstance(kernel, (MinMax, BrayCurtis, DotTanimoto, Linear)):
        raise InputError(f"maxmin supports the kernels MinMax, DotTanimoto, BrayCurtis and Linear, not {kernel!r:.80}.")
    return values
