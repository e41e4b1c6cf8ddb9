"""Maps and quantisers on Dask collections: fitted to a sample, applied chunk by chunk where the chunks are."""

__all__ = ["is_dask", "rows_to_fit", "sampled", "transform_chunks"]

import numpy as np

from mercer._base.alignment import settled
from mercer._base.tables import open_rows


def is_dask(X):
    """Whether X is a Dask array or data frame."""
    return hasattr(X, "__dask_graph__")


def rows_to_fit(estimator, X):
    """X, or of a Dask collection a sample, which depends on the estimator's seed and the order of the rows alone."""
    return sampled(X, None, getattr(estimator, "random_state", None))[0] if is_dask(X) else X


def sampled(X, y, random_state):
    """A sample of the rows of a Dask collection in memory, with their targets."""
    rows = open_rows(X)
    which = rows.draw(rows.fitting_size(), random_state)
    if is_dask(y):
        y = y.compute()
    return rows.take(which), None if y is None else np.asarray(y)[which]


def transform_chunks(estimator, X):
    """The features or codes of a Dask collection, as a Dask array that is not computed yet."""
    import dask.array as da
    from dask import delayed

    rows = open_rows(X)
    example = estimator.transform(rows.head(1))
    apply, sent = delayed(_transformed, pure=True), delayed(estimator)
    return da.concatenate(
        [
            da.from_delayed(apply(sent, block), (part.stop - part.start, example.shape[1]), meta=example[:0])
            for block, part in rows.delayed_blocks()
        ]
    )


def _transformed(estimator, rows):
    estimator, rows = settled((estimator, rows))
    return estimator.transform(rows)
