"""Raw rows to encoded rows: from memory at once, from disk block by block, into memory or into a store on disk."""

__all__ = [
    "column_range",
    "design_of",
    "encoded",
    "expected",
    "fetched",
    "few_rows",
    "in_single",
    "is_on_disk",
    "is_quantizer",
    "memory",
    "opened",
    "raw_blocks",
    "sample_rows",
    "stacked",
]

import numpy as np
from scipy import sparse

from mercer._base.progress import track
from mercer._base.tables import RowSource, open_rows
from mercer._base.tables.sources.dask import DaskSource
from mercer.learners.dask.groups import row_groups
from mercer.maps import HomogeneousMap
from mercer.maps.dask import is_dask
from mercer.spaces import Design, Identity
from mercer.spaces.stored import store_rows

SINGLE_TOL = 1e-4  # relative gap from which features of float32 are exact enough
TRIAL_ROWS = 256  # rows encoded to see how large the others become
MOST_PLANES = 100  # kept by the bundle solver, for each problem
WORK_ARRAYS = 6  # scores, directions, slopes ... of all rows, and as many of weights, that a solver holds at once


def is_on_disk(X):
    """Whether X is a memory-mapped array or a source of rows, which is then read block by block."""
    return isinstance(X, (np.memmap, RowSource))


def opened(X):
    """X, or if it is a Dask collection, its rows as a source."""
    return open_rows(X) if is_dask(X) else X


def fetched(y):
    """y, or what it holds if it is a Dask collection."""
    return np.asarray(y.compute()) if is_dask(y) else y


def is_quantizer(map):
    """Whether the map gives codes that can be learned on in several ways."""
    return hasattr(map, "expanded_rows")


# ---------------------------------------------------------------------------------------------------- raw rows on disk


def raw_blocks(X):
    """Consecutive blocks of the rows of X, which lies on disk or not."""
    for block, _ in open_rows(X).blocks():
        yield block


def sample_rows(X, seed):
    """A uniform sample of rows on disk in their order, as many as a map is fitted to."""
    rows = open_rows(X)
    return rows.sample(rows.fitting_size(), seed)


def few_rows(X, size):
    """Some raw rows, without reading the others: every so many, or the first that lie on disk."""
    if isinstance(X, DaskSource):
        return X.head(size)
    if is_on_disk(X):
        return next(raw_blocks(X))[:size]
    few = X[:: max(1, X.shape[0] // size)][:size]
    return few if sparse.issparse(few) else np.ascontiguousarray(few)


def column_range(X):
    """The smallest and the largest value of each column, float64 (2, d)."""
    ends = [X.min(axis=0), X.max(axis=0)]
    return np.stack([end.toarray().ravel() if sparse.issparse(end) else end for end in ends]).astype(np.float64)


# ------------------------------------------------------------------------------------------------------------ encoding


def in_single(map, tol):
    """Whether rows may be encoded in float32 for a learner of that tolerance: where features need no more digits."""
    return isinstance(map, HomogeneousMap) and tol >= SINGLE_TOL


def encoded(map, X, expansion, is_validated=False, single=False):
    """(rows, inner product) of raw rows, which the map validates unless that has been done.

    With ``single`` values are rounded to float32 first: half the memory, and products at twice the speed.
    """
    if single:
        X = X.astype(np.float32, copy=False)
    if is_quantizer(map):
        return map.expanded_rows(map.rows_of_validated(X) if is_validated else X, expansion)
    return map.rows_to_learn(X, is_validated)


def design_of(map, X, expansion, storage, n_jobs, single=False):
    """The design of raw rows, kept in memory or on disk.

    Parameters
    ----------
    map : fitted map or quantizer
    X : raw rows: validated ones in memory, or what lies on disk
    expansion : of a quantizer
    storage : ``"memory"`` or ``"disk"``
    single : as in :func:`encoded`
    """
    reads_itself = not is_on_disk(X) or (is_quantizer(map) and isinstance(X, np.memmap))
    if storage == "memory" and reads_itself:
        return Design(*encoded(map, X, expansion, not is_on_disk(X), single), n_jobs)
    later = is_quantizer(map) and expansion == "immediate"  # codes are kept; decoding them comes with every pass
    how = "delayed" if later else expansion, not is_on_disk(X), single
    blocks = (encoded(map, block, *how)[0] for block in track(raw_blocks(X), "Encoding"))
    rows = store_rows(blocks, X.shape[0]) if storage == "disk" else stacked(list(blocks))
    if later:
        return Design(*map.expanded_rows(rows, expansion), n_jobs)
    if is_quantizer(map):
        return Design(rows, map.inner_ if expansion == "delayed" else Identity(rows.shape[1]), n_jobs)
    inner = map.inner_to_learn
    if rows.kind == "landmarks" and isinstance(X, DaskSource):
        rows = rows.with_parts(row_groups([part for _, part in X.delayed_blocks()], rows.nbytes / len(rows))[1])
    return Design(rows, inner, n_jobs)


def stacked(parts):
    """Blocks of encoded rows as one."""
    first, *rest = parts
    return first.followed_by(rest) if rest else first


# ------------------------------------------------------------------------------------------------------ expected sizes


def expected(map, X, expansion, single=False):
    """What a fitted map will make of X: the :class:`RowShape` of all rows, and the design of a few."""
    few = Design(*encoded(map, few_rows(X, TRIAL_ROWS), expansion, not is_on_disk(X), single))
    return few.rows.shape_of(X.shape[0]), few


def memory(shape, few, n_columns, solver):
    """Sizes of what a fit of that many columns keeps, at most, by their names in a Plan."""
    n, (_, r), number = shape.shape[0], few.shape, few.dtype.itemsize
    return {
        "rows_bytes": shape.nbytes,
        "work_bytes": WORK_ARRAYS * (n * number + 8 * r) * n_columns,
        "planes_bytes": MOST_PLANES * r * n_columns * number if solver == "bundle" else 0,
        "tables_bytes": (8 * shape.shape[1] * n_columns if few.has_table else 0) + few.inner.nbytes,
    }
