"""Recall: how many of the true nearest neighbors a search has found, by names that leave no doubt.

recall_1@R    share of queries whose exact nearest neighbor is among the first R found
recall_k@R    mean share of the exact k nearest neighbors that is among the first R found; k = R is recall_k@k

What some papers call "recall@R" is the first, what others call "recall@k" is the second with R = k.
"""

__all__ = ["recall_1_at", "recall_k_at", "recall_table"]

from collections.abc import Iterable

import numpy as np

from mercer._base.errors import InputError

LARGEST_KEY = np.iinfo(np.int64).max


def recall_1_at(found_ids, true_ids, R, *, found_scores=None, true_scores=None):
    """recall_1@R: the share of queries whose exact nearest neighbor is among the first R found.

    Parameters
    ----------
    found_ids, true_ids, R, found_scores, true_scores
        As for :func:`recall_k_at`; ``true_ids`` and ``true_scores`` may also have one dimension.

    Returns
    -------
    float

    Examples
    --------
    >>> recall_1_at([[4, 7], [2, -1]], [7, 5], R=2)
    0.5
    """
    columns = [None if values is None else _as_column(values) for values in (true_ids, true_scores)]
    return recall_k_at(found_ids, columns[0], 1, R, found_scores=found_scores, true_scores=columns[1])


def recall_k_at(found_ids, true_ids, k, R, *, found_scores=None, true_scores=None):
    """recall_k@R: the mean over queries of the share of the exact k nearest neighbors among the first R found.

        recall_k@R = mean_q |true_q[:k] ∩ found_q[:R]| / k

    Parameters
    ----------
    found_ids : array-like of int or str, shape (n_queries, R or more)
        The rows that the search found, best first. -1 and None mark missing results.
    true_ids : array-like of int or str, shape (n_queries, k or more)
        The exact nearest neighbors, nearest first.
    k, R : int
        Number of true neighbors, and number of found rows to consider.
    found_scores, true_scores : array-like of float or None
        Exact similarities or distances of the same rows. If given, a found row that is exactly as near as the k-th true
        neighbor counts as true, because ties are listed in any order.

    Returns
    -------
    float

    Examples
    --------
    >>> found, true = [["b", "a", "x"], ["c", None, None]], [["a", "b"], ["c", "d"]]
    >>> recall_k_at(found, true, k=2, R=2), recall_k_at(found, true, k=2, R=1)
    (0.75, 0.5)

    The distances tell that "x" lies where "b" does:

    >>> recall_k_at([["a", "x"]], [["a", "b"]], k=2, R=2, found_scores=[[1.0, 2.0]], true_scores=[[1.0, 2.0]])
    1.0
    """
    found, true = _first_columns("found_ids", found_ids, R, "R"), _first_columns("true_ids", true_ids, k, "k")
    if len(found) != len(true) or not len(true):
        raise InputError(
            f"recall needs the same number of rows in found_ids and true_ids; got {len(found)} and {len(true)}."
        )
    if (found_scores is None) != (true_scores is None):
        raise InputError("recall needs both found_scores and true_scores, or neither.")
    found, true, n_keys = _as_keys(found, true)
    if (true < 0).any():
        raise InputError(f"true_ids must hold {k} neighbors of every query, but contains -1 or None.")
    hits, is_true = _matches(found, true)
    if found_scores is not None:
        scores = _first_columns("found_scores", found_scores, R, "R", rows=len(found))
        boundary = _first_columns("true_scores", true_scores, k, "k", rows=len(true))[:, -1:]
        as_good = (scores == boundary) & (found >= 0) & ~is_true
        # each row that was found counts once, however often it is named
        further = np.bincount(np.unique(found[as_good]) // n_keys, minlength=len(true))
        hits = np.minimum(hits + further, k)
    return float(hits.mean() / k)


def recall_table(found_ids, true_ids, ranks=(1, 10, 100), neighbors=(1,), *, found_scores=None, true_scores=None):
    """Recall at several ranks, by name.

    Parameters
    ----------
    found_ids, true_ids, found_scores, true_scores
        As for :func:`recall_k_at`.
    ranks : sequence of int
        The numbers R of found rows to consider.
    neighbors : sequence of int
        The numbers k of true neighbors; pairs with k > R are skipped.

    Returns
    -------
    dict : name, such as ``"recall_1@10"`` -> value

    Examples
    --------
    >>> recall_table([[4, 7], [2, 5]], [[7, 4], [5, 3]], ranks=(1, 2), neighbors=(1, 2))
    {'recall_1@1': 0.0, 'recall_1@2': 1.0, 'recall_2@2': 0.75}
    """
    if not all(isinstance(numbers, Iterable) for numbers in (ranks, neighbors)):
        raise InputError(f"recall_table needs sequences of ranks and neighbors; got {ranks!r} and {neighbors!r}.")
    scores = {"found_scores": found_scores, "true_scores": true_scores}
    pairs = [(k, R) for k in neighbors for R in ranks if k <= R]
    return {f"recall_{k}@{R}": recall_k_at(found_ids, true_ids, k, R, **scores) for k, R in pairs}


def _matches(found, true):
    """How many of the true neighbors of each query were found, and which of the found are true."""
    listed = np.sort(true, axis=1).ravel()  # in ascending order as a whole, because a key tells its query first
    place = np.minimum(np.searchsorted(listed, found), len(listed) - 1)
    is_true = listed[place] == found
    is_found = np.zeros(len(listed), dtype=bool)
    is_found[place[is_true]] = True
    return is_found.reshape(true.shape).sum(axis=1), is_true


def _as_column(values):
    values = _as_array(values)
    return values[:, None] if values.ndim == 1 else values


def _as_array(values):
    # a list as objects: numpy would make one kind of numbers, words and None that stand beside each other
    return values if isinstance(values, np.ndarray) else np.array(values, dtype=object)


def _first_columns(name, values, n_columns, what, rows=None):
    """The first columns of a table, which must have them."""
    if isinstance(n_columns, bool) or not isinstance(n_columns, int | np.integer) or n_columns < 1:
        raise InputError(f"recall needs {what} to be an integer >= 1; got {n_columns!r}.")
    values = _as_array(values)
    if values.ndim != 2 or values.shape[1] < n_columns or rows not in (None, len(values)):
        wanted = f"({'n_queries' if rows is None else rows}, {n_columns} or more)"
        raise InputError(
            f"{name} must have the shape {wanted} for {what}={n_columns}, got {values.shape}. Pad short rows of ids "
            "with -1 or None."
        )
    return values[:, :n_columns]


def _as_keys(found, true):
    """Ids as integers that also tell their query, query * n_keys + number of the id, or -1 for padding; n_keys."""
    (found, found_empty), (true, true_empty) = _without_padding("found_ids", found), _without_padding("true_ids", true)
    if found.dtype.kind != true.dtype.kind and not (found_empty.all() or true_empty.all()):
        raise InputError(
            "recall needs ids of one type, but one of found_ids and true_ids holds strings and the other numbers."
        )
    numbered = found.dtype.kind == true.dtype.kind == "i" and min(found.min(), true.min()) >= 0
    if not numbered or max(found.max(), true.max()) >= LARGEST_KEY // len(true):
        _, numbers = np.unique(np.concatenate([found.ravel(), true.ravel()]), return_inverse=True)
        found, true = numbers[: found.size].reshape(found.shape), numbers[found.size :].reshape(true.shape)
    n_keys = int(max(found.max(), true.max())) + 1
    first = (np.arange(len(true)) * n_keys)[:, None]
    return np.where(found_empty, -1, first + found), np.where(true_empty, -1, first + true), n_keys


def _without_padding(name, ids):
    """Ids as int64 or words, with some id in place of padding, and where padding was."""
    empty = np.zeros(ids.shape, dtype=bool)
    if ids.dtype.kind == "O":
        empty[:] = np.frompyfunc(lambda value: value is None or (not isinstance(value, str) and value == -1), 1, 1)(ids)
        kept = ids[~empty]
        if len({isinstance(value, str) for value in kept}) > 1:
            raise InputError(f"{name} mixes numbers and strings. All ids must have the same type.")
        ids = np.array(np.where(empty, kept[0] if len(kept) else 0, ids).tolist())
    elif ids.dtype.kind in "iu":
        empty = ids == -1
    if ids.dtype.kind == "U":
        return ids, empty
    if ids.dtype.kind not in "iu" or ids.shape != empty.shape or ids.max() > LARGEST_KEY:
        raise InputError(f"{name} needs integers below 2**63 or strings; got values of type {ids.dtype}.")
    return np.where(empty, 0, ids).astype(np.int64), empty
