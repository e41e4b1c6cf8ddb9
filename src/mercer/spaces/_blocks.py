"""How rows are cut for threads. Boundaries follow from the shapes alone, never from the number of threads."""

__all__ = ["even_slices", "ordered_total", "row_tasks", "width_of"]

from itertools import pairwise

import numpy as np

from mercer._base.threads import run_blocks

TASK_ROWS = 2048  # rows that a thread takes at a time
MOST_STRIPS = 16  # partial sums at most: enough for the cores of a large machine
PARTIAL_BYTES = 2**28  # memory that partial sums may take together
FEWEST_CLASSES = 16  # classes worth a loop of their own


def row_tasks(stop, start=0):
    """Slices of consecutive rows, one per task.

    >>> row_tasks(3000)
    [slice(0, 2048, None), slice(2048, 3000, None)]
    """
    return [slice(first, min(first + TASK_ROWS, stop)) for first in range(start, stop, TASK_ROWS)]


def width_of(a):
    """Number of classes of an array (D,) or (D, C)."""
    return 1 if a.ndim == 1 else a.shape[1]


def ordered_total(add, shape, n_entries, r, n_jobs):
    """Phi' r in float64 for Phi of that shape: strips of rows are summed by ``add(strip, r, total)`` and then in order.

    There are as many strips as their sums are cheap to keep and to add: each costs D C, against the products of all
    entries of Phi with C classes. Where few strips remain, the classes are shared out instead.
    """
    n_rows, n_features = shape
    classes = width_of(r)
    n_strips = max(
        1,
        min(
            MOST_STRIPS,
            n_rows // TASK_ROWS,
            n_entries // max(1, n_features),
            PARTIAL_BYTES // max(1, 8 * n_features * classes),
        ),
    )
    n_groups = max(1, min(MOST_STRIPS // n_strips, classes // FEWEST_CLASSES)) if n_entries > TASK_ROWS else 1
    columns = even_slices(classes, n_groups)
    groups = [r] if n_groups == 1 else [np.ascontiguousarray(r[:, part]) for part in columns]
    tasks = [(strip, k) for strip in even_slices(n_rows, n_strips) for k in range(n_groups)]

    def partial(task):
        strip, k = task
        part = np.zeros((n_features, *groups[k].shape[1:]))
        add(strip, groups[k], part)
        return part

    parts = run_blocks(partial, tasks, n_jobs)
    if len(parts) == 1:
        return parts[0]
    total = np.zeros((n_features, *r.shape[1:]))
    for (_, k), part in zip(tasks, parts, strict=True):
        target = total if n_groups == 1 else total[:, columns[k]]
        target += part
    return total


def even_slices(length, count):
    """``count`` slices of nearly equal size.

    >>> even_slices(5, 2)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    ends = [length * k // count for k in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]
