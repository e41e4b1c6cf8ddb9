"""How rows are cut for threads. Boundaries follow from the shapes alone, never from the number of threads."""

__all__ = ["even_slices", "ordered_total", "row_tasks", "width_of"]

from itertools import pairwise
from math import prod

import numpy as np

from mercer._base.threads import run_blocks

TASK_ROWS = 2048  # rows that a thread takes at a time
MOST_STRIPS = 16  # partial sums at most: enough for the cores of a large machine
PARTIAL_BYTES = 2**28  # memory that partial sums may take together
FEWEST_CLASSES = 16  # classes worth a loop of their own
STRIP_ENTRIES = 20  # entries per feature that a strip should bring: adding its sums then costs little beside them
SECOND_STRIP_ENTRIES = 4  # the same for two strips, which cost more than they should but serve two cores
ROUND_ENTRIES = 2**24  # entries that the groups of classes go through together: rows on disk are then read once
LINE = 64  # bytes of a cache line


def row_tasks(stop, start=0):
    """Slices of consecutive rows, one per task.

    >>> row_tasks(3000)
    [slice(0, 2048, None), slice(2048, 3000, None)]
    """
    return [slice(first, min(first + TASK_ROWS, stop)) for first in range(start, stop, TASK_ROWS)]


def width_of(a):
    """Number of classes of an array (D,) or (D, C)."""
    return 1 if a.ndim == 1 else a.shape[1]


def ordered_total(add, shape, n_entries, r, n_jobs, lanes=1):
    """Phi' r in float64 for Phi of that shape: strips of rows are summed by ``add(strip, r, total)`` and then in order.

    There are as many strips as their sums are cheap to keep and to add: each costs D C, against the products of all
    entries of Phi with C classes. Where few strips remain, the classes are shared out as well. ``add`` finds the width
    of ``total`` rounded up to a multiple of ``lanes``, and its numbers at the start of a cache line.
    """
    n_rows, n_features = shape
    n_strips, n_groups = _cuts(n_rows, n_features, width_of(r), n_entries)
    groups = [r]
    if n_groups > 1:
        groups = [np.ascontiguousarray(r[:, part]) for part in even_slices(r.shape[1], n_groups, lanes)]
    widths = [[-(-width // lanes) * lanes for width in group.shape[1:]] for group in groups]
    tasks = [
        (strip, group, aligned_zeros((n_features, *width)))
        for strip in even_slices(n_rows, n_strips)
        for group, width in zip(groups, widths, strict=True)
    ]
    n_rounds = 1 if n_groups == 1 else -(-n_entries // (n_strips * ROUND_ENTRIES))
    for k in range(n_rounds):
        run_blocks(lambda task: add(_piece(task[0], k, n_rounds), *task[1:]), tasks, n_jobs)
    totals = [total for _, _, total in tasks[:n_groups]]
    for at in range(n_groups, len(tasks)):
        totals[at % n_groups] += tasks[at][2]
    if r.ndim == 1:
        return totals[0]
    if n_groups == 1:
        return np.ascontiguousarray(totals[0][:, : r.shape[1]])
    return np.hstack([total[:, : group.shape[1]] for total, group in zip(totals, groups, strict=True)])


def _cuts(n_rows, n_features, classes, n_entries):
    """(strips of rows, groups of classes)"""
    per_feature = n_entries // max(1, n_features)
    worthwhile = max(per_feature // STRIP_ENTRIES, min(2, per_feature // SECOND_STRIP_ENTRIES))
    memory = PARTIAL_BYTES // max(1, 8 * n_features * classes)
    n_strips = max(1, min(MOST_STRIPS, n_rows // TASK_ROWS, worthwhile, memory))
    n_groups = max(1, min(MOST_STRIPS // n_strips, classes // FEWEST_CLASSES)) if n_entries > TASK_ROWS else 1
    return n_strips, n_groups


def _piece(strip, k, count):
    """The k-th of ``count`` nearly equal pieces of a strip."""
    piece = even_slices(strip.stop - strip.start, count)[k]
    return slice(strip.start + piece.start, strip.start + piece.stop)


def aligned_zeros(shape):
    """np.zeros whose first number starts a cache line: vectors of four then never lie across two."""
    size = prod(shape)
    zeros = np.zeros(size + LINE // 8)
    first = -zeros.ctypes.data % LINE // 8
    return zeros[first : first + size].reshape(shape)


def even_slices(length, count, multiple_of=1):
    """``count`` slices of nearly equal size, cut at multiples of a number.

    >>> even_slices(5, 2), even_slices(20, 2, multiple_of=4)
    ([slice(0, 2, None), slice(2, 5, None)], [slice(0, 8, None), slice(8, 20, None)])
    """
    ends = [length * k // count // multiple_of * multiple_of for k in range(count)] + [length]
    return [slice(start, stop) for start, stop in pairwise(ends)]
