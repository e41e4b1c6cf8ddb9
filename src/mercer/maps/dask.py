"""Maps and quantizers on Dask collections: fitted to a sample, applied chunk by chunk where the chunks are."""

__all__ = ["is_dask", "named", "rows_to_fit", "sampled", "transform_chunks"]

import numpy as np

from mercer._base.alignment import settled
from mercer._base.feature_names import settle_feature_names
from mercer._base.files.steps import without_names
from mercer._base.tables import open_rows


def is_dask(X):
    """Whether X is a Dask array or data frame."""
    return hasattr(X, "__dask_graph__")


def rows_to_fit(estimator, X):
    """X, or of a Dask collection a sample, which depends on the estimator's seed and the order of the rows alone."""
    return sampled(X, None, getattr(estimator, "random_state", None))[0] if is_dask(X) else X


def sampled(X, y, random_state):
    """A sample of the rows of a Dask collection in memory, with their targets; of a data frame, a frame of pandas."""
    rows = open_rows(X)
    which = rows.draw(rows.fitting_size(), random_state)
    if is_dask(y):
        y = y.compute()
    return named(rows.take(which), rows.feature_names), None if y is None else np.asarray(y)[which]


def named(X, names):
    """Rows as a data frame, from which an estimator learns the names of its columns; rows without names as they are."""
    if names is None:
        return X
    import pandas as pd  # which dask[dataframe] brings: only its frames have names

    return pd.DataFrame(X, columns=list(names))


def transform_chunks(estimator, X):
    """The features or codes of a Dask collection, as a Dask array that is not computed yet."""
    import dask.array as da
    from dask import delayed

    rows = open_rows(X)
    settle_feature_names(estimator, rows.feature_names, reset=False)
    estimator = without_names(estimator)  # chunks are arrays: names are compared here, once
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
