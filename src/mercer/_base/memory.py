"""Working memory: how many rows of a large temporary array may exist at once.

The limit is scikit-learn's (``sklearn.set_config(working_memory=...)``, in MiB), so one setting serves both.
"""

__all__ = ["row_chunks"]

from collections.abc import Iterator


def row_chunks(n_rows: int, bytes_per_row: float, multiple_of: int = 1, most: int | None = None) -> Iterator[slice]:
    """Slices of consecutive rows whose temporary results fit in the working memory, each at least one row.

    Boundaries depend on the sizes and the limit only, never on the number of threads.

    >>> list(row_chunks(5, bytes_per_row=1, most=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    from sklearn import get_config

    budget = get_config()["working_memory"] * 2**20
    step = max(1, int(budget / max(1.0, bytes_per_row)))
    if most is not None:
        step = min(step, most)
    if step > multiple_of:
        step -= step % multiple_of
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
