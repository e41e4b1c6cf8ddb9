"""Maps and quantisers on Dask collections: fitted to a sample, applied chunk by chunk where the chunks are."""

__all__ = ["dask_fit", "dask_transform"]

from functools import wraps

import numpy as np

from mercer._base.tables import open_rows


def dask_fit(method):
    """``fit`` that also takes a Dask array or data frame, of which it sees a sample of rows.

    The sample depends on the seed of the estimator and the order of the rows alone.
    """

    @wraps(method)
    def fit(self, X, y=None, **rest):
        if hasattr(X, "__dask_graph__"):
            X, y = _sampled(X, y, getattr(self, "random_state", None))
        return method(self, X, y, **rest)

    return fit


def dask_transform(method):
    """``transform`` that gives a Dask array for a Dask array or data frame."""

    @wraps(method)
    def transform(self, X):
        return _applied(self, method, X) if hasattr(X, "__dask_graph__") else method(self, X)

    return transform


def _sampled(X, y, random_state):
    """A sample of the rows in memory, with their targets."""
    rows = open_rows(X)
    which = rows.draw(rows.fitting_size(), random_state)
    if hasattr(y, "__dask_graph__"):
        y = y.compute()
    return rows.take(which), None if y is None else np.asarray(y)[which]


def _applied(estimator, method, X):
    import dask.array as da
    from dask import delayed

    rows = open_rows(X)
    example = method(estimator, rows.head(1))
    meta, apply, width = example[:0], delayed(method, pure=True), example.shape[1]
    sent = delayed(estimator)
    return da.concatenate(
        [
            da.from_delayed(apply(sent, block), (part.stop - part.start, width), meta=meta)
            for block, part in rows.delayed_blocks()
        ]
    )
